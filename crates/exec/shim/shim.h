/* The shim: preloaded into programs so that time, identity and randomness are the same in every run. Each file stands in
   front of one family of library functions. State is atomic: programs have threads. */
#ifndef CHANGELING_SHIM_H
#define CHANGELING_SHIM_H
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
#define SECOND 1000000000ull

/* What the kernel does not do for us here (see `environment.rs`). */
extern bool duty_processes, duty_devices;

/* A system call without the library; the result is -errno on failure. */
static inline long raw_call(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return result;
}

static inline long with_errno(long result) {
    if (result >= 0 || result < -4095) return result;
    errno = (int)-result;
    return -1;
}

/* The library's own function behind ours. */
void *behind(const char *name);
#define BEHIND(result, name, ...)                                                                     \
    static result (*real)(__VA_ARGS__);                                                               \
    if (!real) real = (result(*)(__VA_ARGS__))behind(name)

/* clock.c */
uint64_t clock_now(int id);                 /* advances by one step */
void clock_pass(uint64_t nanoseconds);      /* time that somebody waited for */
void clock_reach(int id, uint64_t instant); /* an instant that somebody waited for */
uint64_t nanoseconds(const struct timespec *time);
struct timespec timespec_of(uint64_t nanoseconds);
/* The real instant that is as far away as `instant` is on our clock. */
struct timespec real_instant(int id, const struct timespec *instant);
int sleep_on(int id, bool absolute, const struct timespec *time);

/* random.c */
void fill_random(void *buffer, size_t size);

/* identity.c */
int own_process(void);
int parent_process(void);
int own_thread(void);
bool is_alone(void); /* no other thread and no child was ever started */

#endif
