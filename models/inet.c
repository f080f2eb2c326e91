// <arpa/inet.h>: byte order. With optimisation these are macros.
#include <arpa/inet.h>

uint32_t __model_htonl(uint32_t n) { return __builtin_bswap32(n); }
uint32_t __model_ntohl(uint32_t n) { return __builtin_bswap32(n); }
uint16_t __model_htons(uint16_t n) { return __builtin_bswap16(n); }
uint16_t __model_ntohs(uint16_t n) { return __builtin_bswap16(n); }
