// <signal.h>, <poll.h>, <sys/ioctl.h>, <sys/mman.h>, locks of <pthread.h>: what the system is told, and where it finds it.
// Branches decide what that is, so nothing is lost.
#include "place.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>

// --- signals

int __model_sigaction(int number, const struct sigaction *action, struct sigaction *old) {
    if (action != NULL) decide_memory(action, sizeof *action);
    int result = sigaction((int)decide((uint32_t)number), action, old);
    if (result == 0 && old != NULL) __chg_clear(old, sizeof *old);
    return result;
}

int __model_sigaltstack(const stack_t *stack, stack_t *old) {
    if (stack != NULL) decide_memory(stack, sizeof *stack);
    int result = sigaltstack(stack, old);
    if (result == 0 && old != NULL) __chg_clear(old, sizeof *old);
    return result;
}

static int mask(int (*real)(int, const sigset_t *, sigset_t *), int how, const sigset_t *set, sigset_t *old) {
    if (set != NULL) decide_memory(set, sizeof *set);
    int result = real((int)decide((uint32_t)how), set, old);
    if (result == 0 && old != NULL) __chg_clear(old, sizeof *old);
    return result;
}

int __model_sigprocmask(int how, const sigset_t *set, sigset_t *old) { return mask(sigprocmask, how, set, old); }
int __model_pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
    return mask(pthread_sigmask, how, set, old);
}

int __model_sigemptyset(sigset_t *set) {
    int result = sigemptyset(set);
    if (result == 0) __chg_clear(set, sizeof *set);
    return result;
}

int __model_sigfillset(sigset_t *set) {
    int result = sigfillset(set);
    if (result == 0) __chg_clear(set, sizeof *set);
    return result;
}

static int change(int (*real)(sigset_t *, int), sigset_t *set, int number) {
    number = (int)decide((uint32_t)number);
    decide_memory(set, sizeof *set);
    int result = real(set, number);
    __chg_clear(set, sizeof *set);
    return result;
}

int __model_sigaddset(sigset_t *set, int number) { return change(sigaddset, set, number); }
int __model_sigdelset(sigset_t *set, int number) { return change(sigdelset, set, number); }

int __model_sigismember(const sigset_t *set, int number) {
    decide_memory(set, sizeof *set);
    return sigismember(set, (int)decide((uint32_t)number));
}

// --- descriptors

// More than a process can have.
#define MOST (1 << 20)

int __model_poll(struct pollfd *list, nfds_t count, int timeout) {
    count = decide(count);
    for (nfds_t i = 0; i < count && i < MOST; i++) decide_memory(&list[i], offsetof(struct pollfd, revents));
    int result = poll(list, count, (int)decide((uint32_t)timeout));
    if (result < 0) return result;
    for (nfds_t i = 0; i < count; i++) __chg_clear(&list[i].revents, sizeof list[i].revents);
    return result;
}

// The third argument fits a register, whatever its type.
int __model_ioctl(int fd, unsigned long request, ...) {
    va_list rest;
    va_start(rest, request);
    unsigned long argument = va_arg(rest, unsigned long);
    va_end(rest);
    request = decide(request);
    argument = decide(argument);
    if (request != FIONREAD) {
        __chg_hand_over((const void *)argument);
        return ioctl((int)decide((uint32_t)fd), request, argument);
    }
    struct place *place = __mdl_place(fd);
    int *left = (int *)argument;
    int result = ioctl(fd, request, left);
    if (result != 0) return result;
    __chg_clear(left, sizeof *left);
    if (place == NULL) return result;
    uint64_t known = __mdl_left(place->stream, __mdl_position(place), INT32_MAX);
    if ((int)plain(known) == *left) *left = (int)known;
    else (void)__chg_lost(known, CHG_LOSS_EXTERNAL_CALL);
    return result;
}

// --- locks

int __model_pthread_mutex_init(pthread_mutex_t *lock, const pthread_mutexattr_t *attributes) {
    if (attributes != NULL) decide_memory(attributes, sizeof *attributes);
    lock = (pthread_mutex_t *)decide((uintptr_t)lock);
    return pthread_mutex_init(lock, attributes);
}
