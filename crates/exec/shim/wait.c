/* Waiting with a deadline. Deadlines were computed from our clock and must be translated for the real one; a wait that ran
   out has passed on our clock as well. */
#define _GNU_SOURCE
#include "shim.h"
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <threads.h>

/* Our two kinds of clocks are so far apart that an instant tells which one it was taken from. */
static int clock_of(const struct timespec *instant) {
    return instant->tv_sec >= 1000000000 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
}

/* `call` is an expression that uses `real_time`, and gives ETIMEDOUT when the deadline passed. */
#define TIMED(id, instant, call)                                                                      \
    do {                                                                                              \
        struct timespec real_time = real_instant((id), (instant));                                    \
        int result = (call);                                                                          \
        if (result == ETIMEDOUT) clock_reach((id), nanoseconds(instant));                             \
        return result;                                                                                \
    } while (0)

EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict instant) {
    BEHIND(int, "pthread_cond_timedwait", pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    TIMED(clock_of(instant), instant, real(condition, mutex, &real_time));
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, clockid_t id, const struct timespec *restrict instant) {
    BEHIND(int, "pthread_cond_clockwait", pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
    TIMED(id, instant, real(condition, mutex, id, &real_time));
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict instant) {
    BEHIND(int, "pthread_mutex_timedlock", pthread_mutex_t *, const struct timespec *);
    TIMED(CLOCK_REALTIME, instant, real(mutex, &real_time));
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *restrict mutex, clockid_t id, const struct timespec *restrict instant) {
    BEHIND(int, "pthread_mutex_clocklock", pthread_mutex_t *, clockid_t, const struct timespec *);
    TIMED(id, instant, real(mutex, id, &real_time));
}

EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict instant) {
    BEHIND(int, "pthread_rwlock_timedrdlock", pthread_rwlock_t *, const struct timespec *);
    TIMED(CLOCK_REALTIME, instant, real(lock, &real_time));
}

EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict instant) {
    BEHIND(int, "pthread_rwlock_timedwrlock", pthread_rwlock_t *, const struct timespec *);
    TIMED(CLOCK_REALTIME, instant, real(lock, &real_time));
}

EXPORT int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict instant) {
    BEHIND(int, "sem_timedwait", sem_t *, const struct timespec *);
    struct timespec real_time = real_instant(CLOCK_REALTIME, instant);
    int result = real(semaphore, &real_time);
    if (result != 0 && errno == ETIMEDOUT) clock_reach(CLOCK_REALTIME, nanoseconds(instant));
    return result;
}

EXPORT int sem_clockwait(sem_t *restrict semaphore, clockid_t id, const struct timespec *restrict instant) {
    BEHIND(int, "sem_clockwait", sem_t *, clockid_t, const struct timespec *);
    struct timespec real_time = real_instant(id, instant);
    int result = real(semaphore, id, &real_time);
    if (result != 0 && errno == ETIMEDOUT) clock_reach(id, nanoseconds(instant));
    return result;
}

EXPORT int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict instant) {
    BEHIND(int, "cnd_timedwait", cnd_t *, mtx_t *, const struct timespec *);
    struct timespec real_time = real_instant(CLOCK_REALTIME, instant);
    int result = real(condition, mutex, &real_time);
    if (result == thrd_timedout) clock_reach(CLOCK_REALTIME, nanoseconds(instant));
    return result;
}

EXPORT int poll(struct pollfd *polled, nfds_t count, int milliseconds) {
    if (count == 0 && milliseconds >= 0) {
        struct timespec time = timespec_of((uint64_t)milliseconds * 1000000);
        sleep_on(CLOCK_MONOTONIC, false, &time);
        return 0;
    }
    long result = raw_call(SYS_poll, (long)polled, (long)count, milliseconds, 0, 0, 0);
    if (result == 0 && milliseconds > 0) clock_pass((uint64_t)milliseconds * 1000000);
    return (int)with_errno(result);
}

EXPORT int ppoll(struct pollfd *polled, nfds_t count, const struct timespec *limit, const sigset_t *mask) {
    if (count == 0 && limit && !mask) {
        sleep_on(CLOCK_MONOTONIC, false, limit);
        return 0;
    }
    struct timespec copy = limit ? *limit : (struct timespec){0, 0};
    long result = raw_call(SYS_ppoll, (long)polled, (long)count, limit ? (long)&copy : 0, (long)mask, 8, 0);
    if (result == 0 && limit) clock_pass(nanoseconds(limit));
    return (int)with_errno(result);
}

EXPORT int select(int count, fd_set *restrict reads, fd_set *restrict writes, fd_set *restrict errors, struct timeval *restrict limit) {
    uint64_t duration = limit ? (uint64_t)limit->tv_sec * SECOND + (uint64_t)limit->tv_usec * 1000 : 0;
    if (limit && (count == 0 || (!reads && !writes && !errors))) {
        struct timespec time = timespec_of(duration);
        sleep_on(CLOCK_MONOTONIC, false, &time);
        *limit = (struct timeval){0, 0};
        return 0;
    }
    long result = raw_call(SYS_select, count, (long)reads, (long)writes, (long)errors, (long)limit, 0);
    if (result == 0 && limit) clock_pass(duration);
    return (int)with_errno(result);
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int room, int milliseconds) {
    long result = raw_call(SYS_epoll_wait, fd, (long)events, room, milliseconds, 0, 0);
    if (result == 0 && milliseconds > 0) clock_pass((uint64_t)milliseconds * 1000000);
    return (int)with_errno(result);
}
