#ifdef __cplusplus
extern "C" {
#endif
int area(int width, int height);
#ifdef __cplusplus
}
#endif
