/* Clocks. All of them are one counter that advances by a fixed step whenever somebody looks, so that a loop that waits for
   a time ends, and by the whole duration when somebody sleeps. */
#define _GNU_SOURCE
#include "shim.h"
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <unistd.h>

#define STEP 1000ull
/* The same as EPOCH_SECONDS in workdir.rs: files of the input are not younger than the program's start. */
#define REAL_TIME_START (1700000000ull * SECOND)
#define BOOT_START (1000ull * SECOND)
/* Where others may be waiting to run, a sleep really takes a moment. */
#define MOMENT (2 * SECOND / 1000)

static _Atomic uint64_t passed;

static uint64_t start_of(int id) {
    switch (id) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_REALTIME_ALARM:
    case CLOCK_TAI: return REAL_TIME_START;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_BOOTTIME_ALARM: return BOOT_START;
    default: return 0; /* processor time */
    }
}

uint64_t clock_now(int id) { return start_of(id) + atomic_fetch_add(&passed, STEP) + STEP; }

void clock_pass(uint64_t duration) { atomic_fetch_add(&passed, duration); }

void clock_reach(int id, uint64_t instant) {
    uint64_t start = start_of(id), before = atomic_load(&passed);
    if (instant < start) return;
    while (before < instant - start && !atomic_compare_exchange_weak(&passed, &before, instant - start)) {
    }
}

uint64_t nanoseconds(const struct timespec *time) {
    if (time->tv_sec < 0) return 0;
    /* Centuries: enough for "never", and no overflow. */
    uint64_t seconds = (uint64_t)time->tv_sec < 9000000000ull ? (uint64_t)time->tv_sec : 9000000000ull;
    return seconds * SECOND + (uint64_t)time->tv_nsec;
}

struct timespec timespec_of(uint64_t value) {
    return (struct timespec){(time_t)(value / SECOND), (long)(value % SECOND)};
}

struct timespec real_instant(int id, const struct timespec *instant) {
    uint64_t wanted = nanoseconds(instant), now = start_of(id) + atomic_load(&passed);
    struct timespec real = {0, 0};
    raw_call(SYS_clock_gettime, id, (long)&real, 0, 0, 0, 0);
    if (wanted <= now) return (struct timespec){0, 1};
    return timespec_of(nanoseconds(&real) + (wanted - now));
}

int sleep_on(int id, bool absolute, const struct timespec *time) {
    if (time->tv_nsec < 0 || time->tv_nsec >= (long)SECOND || time->tv_sec < 0) return EINVAL;
    uint64_t duration = nanoseconds(time);
    if (absolute) {
        clock_reach(id, duration);
        duration = MOMENT;
    } else {
        clock_pass(duration);
    }
    if (is_alone()) return 0;
    struct timespec moment = timespec_of(duration < MOMENT ? duration : MOMENT);
    raw_call(SYS_nanosleep, (long)&moment, 0, 0, 0, 0, 0);
    return 0;
}

EXPORT int clock_gettime(clockid_t id, struct timespec *time) {
    /* Clocks of other processes and of devices have numbers of their own. */
    if (id < 0 || id > CLOCK_TAI || id == 10) return (int)with_errno(raw_call(SYS_clock_gettime, id, (long)time, 0, 0, 0, 0));
    *time = timespec_of(clock_now(id));
    return 0;
}

EXPORT int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    if (zone) memset(zone, 0, sizeof(struct timezone));
    /* Declared as never null, yet callers pass null: the compiler must not know. */
    __asm__("" : "+r"(time));
    struct timeval *given = time;
    if ((uintptr_t)given == 0) return 0;
    uint64_t now = clock_now(CLOCK_REALTIME);
    time->tv_sec = (time_t)(now / SECOND);
    time->tv_usec = (suseconds_t)(now % SECOND / 1000);
    return 0;
}

EXPORT time_t time(time_t *result) {
    time_t now = (time_t)(clock_now(CLOCK_REALTIME) / SECOND);
    if (result) *result = now;
    return now;
}

EXPORT int timespec_get(struct timespec *time, int base) {
    if (base != TIME_UTC) return 0;
    *time = timespec_of(clock_now(CLOCK_REALTIME));
    return base;
}

EXPORT clock_t clock(void) { return (clock_t)(clock_now(CLOCK_PROCESS_CPUTIME_ID) / 1000); }

EXPORT clock_t times(struct tms *buffer) {
    uint64_t now = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    if (buffer) *buffer = (struct tms){.tms_utime = (clock_t)(now / (SECOND / 100))};
    return (clock_t)((BOOT_START + now) / (SECOND / 100));
}

EXPORT int getrusage(__rusage_who_t who, struct rusage *usage) {
    long result = raw_call(SYS_getrusage, (long)who, (long)usage, 0, 0, 0, 0);
    if (result != 0) return (int)with_errno(result);
    uint64_t now = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    memset(usage, 0, sizeof *usage);
    usage->ru_utime = (struct timeval){(time_t)(now / SECOND), (suseconds_t)(now % SECOND / 1000)};
    return 0;
}

EXPORT int nanosleep(const struct timespec *wanted, struct timespec *left) {
    int error = sleep_on(CLOCK_MONOTONIC, false, wanted);
    if (error != 0) {
        errno = error;
        return -1;
    }
    if (left) *left = (struct timespec){0, 0};
    return 0;
}

EXPORT int clock_nanosleep(clockid_t id, int flags, const struct timespec *wanted, struct timespec *left) {
    (void)left;
    return sleep_on(id, flags & TIMER_ABSTIME, wanted);
}

EXPORT int thrd_sleep(const struct timespec *wanted, struct timespec *left) {
    (void)left;
    return sleep_on(CLOCK_MONOTONIC, false, wanted) == 0 ? 0 : -2;
}

EXPORT unsigned sleep(unsigned seconds) {
    struct timespec wanted = {(time_t)seconds, 0};
    sleep_on(CLOCK_MONOTONIC, false, &wanted);
    return 0;
}

EXPORT int usleep(useconds_t microseconds) {
    struct timespec wanted = timespec_of((uint64_t)microseconds * 1000);
    sleep_on(CLOCK_MONOTONIC, false, &wanted);
    return 0;
}
