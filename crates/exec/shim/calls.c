/* The door to the kernel that the library leaves open: `syscall` with a number. Rust's standard library and others use it
   for locks and seeds. */
#define _GNU_SOURCE
#include "shim.h"
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static long futex(long a, long operation, long c, long time, long e, long f) {
    int command = (int)operation & FUTEX_CMD_MASK;
    const struct timespec *limit = (const struct timespec *)time;
    bool waits = command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI;
    if (!waits || !limit) return raw_call(SYS_futex, a, operation, c, time, e, f);
    if (command == FUTEX_WAIT) {
        long result = raw_call(SYS_futex, a, operation, c, time, e, f);
        if (result == -ETIMEDOUT) clock_pass(nanoseconds(limit));
        return result;
    }
    int id = (operation & FUTEX_CLOCK_REALTIME) || command == FUTEX_LOCK_PI ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    struct timespec real = real_instant(id, limit);
    long result = raw_call(SYS_futex, a, operation, c, (long)&real, e, f);
    if (result == -ETIMEDOUT) clock_reach(id, nanoseconds(limit));
    return result;
}

EXPORT long syscall(long number, ...) {
    va_list rest;
    va_start(rest, number);
    long a = va_arg(rest, long), b = va_arg(rest, long), c = va_arg(rest, long);
    long d = va_arg(rest, long), e = va_arg(rest, long), f = va_arg(rest, long);
    va_end(rest);
    switch (number) {
    case SYS_getrandom: fill_random((void *)a, (size_t)b); return b;
    case SYS_getpid: return own_process();
    case SYS_getppid: return parent_process();
    case SYS_gettid: return own_thread();
    case SYS_clock_gettime: return clock_gettime((clockid_t)a, (struct timespec *)b);
    case SYS_gettimeofday: return gettimeofday((struct timeval *)a, (void *)b);
    case SYS_time: return time((time_t *)a);
    case SYS_nanosleep: return nanosleep((const struct timespec *)a, (struct timespec *)b);
    case SYS_clock_nanosleep: {
        int error = sleep_on((int)a, b & TIMER_ABSTIME, (const struct timespec *)c);
        return with_errno(-error);
    }
    case SYS_futex: return with_errno(futex(a, b, c, d, e, f));
    default: return with_errno(raw_call(number, a, b, c, d, e, f));
    }
}
