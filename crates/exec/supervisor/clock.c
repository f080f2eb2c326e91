/* The time of a run, without what it spent waiting for a processor that others had: on a busy machine a slow program
   must not look like one that hangs. Programs that wait for something else are charged for it, so that one that waits
   for ever ends too. */
#define _GNU_SOURCE
#include "supervisor.h"
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Most runs are over before the first look. */
#define LOOK_NS 20000000ull
#define SOON_NS 1000000ull

static unsigned processors(void) {
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? (unsigned)count : 1;
}

void start_clock(struct clock *clock, uint64_t time_ns, pid_t spared) {
    clock->began = clock->looked = now_ns();
    clock->charged = 0;
    clock->limit = time_ns;
    clock->spared = spared;
    clock->count = 0;
}

static bool read_text(int directory, const char *name, const char *file, char *text, size_t room) {
    char path[64];
    snprintf(path, sizeof path, "%s/%s", name, file);
    int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t length = read(fd, text, room - 1);
    close(fd);
    text[length > 0 ? length : 0] = 0;
    return length > 0;
}

/* False if the kernel does not tell. */
static bool read_thread(int threads, const char *name, struct thread_time *time) {
    char text[512];
    *time = (struct thread_time){.id = atoi(name)};
    if (!read_text(threads, name, "schedstat", text, sizeof text)) return false;
    if (sscanf(text, "%" SCNu64 " %" SCNu64, &time->ran, &time->queued) != 2) return false;
    if (!read_text(threads, name, "stat", text, sizeof text)) return false;
    /* The name before it may hold anything. */
    const char *state = strrchr(text, ')');
    time->ready = state && state[1] == ' ' && state[2] == 'R';
    return true;
}

/* All threads of all processes of the run, as far as there is room. */
static unsigned read_threads(const struct cage *cage, pid_t spared, struct thread_time *found) {
    unsigned count = 0;
    pid_t processes[CLOCK_THREADS];
    int alive = cage->proc_fd >= 0 ? list_processes(cage, spared, processes, CLOCK_THREADS) : 0;
    for (int i = 0; i < alive; i++) {
        char path[32];
        snprintf(path, sizeof path, "%d/task", (int)processes[i]);
        int fd = openat(cage->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
        if (!directory) continue;
        for (struct dirent *entry; count < CLOCK_THREADS && (entry = readdir(directory));)
            if (isdigit((unsigned char)entry->d_name[0]) && read_thread(fd, entry->d_name, &found[count])) count++;
        closedir(directory);
    }
    return count;
}

static struct thread_time before(const struct clock *clock, const struct thread_time *now) {
    for (unsigned i = 0; i < clock->count; i++) {
        const struct thread_time *old = &clock->threads[i];
        /* A number that was given out again belongs to a new thread. */
        if (old->id == now->id && old->ran <= now->ran && old->queued <= now->queued) return *old;
    }
    return (struct thread_time){0};
}

/* How long a thread was kept from running since the last look. */
static uint64_t delay(struct thread_time *now, const struct thread_time *old, uint64_t passed) {
    uint64_t ran = now->ran - old->ran, queued = now->queued - old->queued;
    /* The kernel counts time in the queue when it ends, so one that is still there may have waited since the last look. */
    if (now->ready) {
        uint64_t kept = ran < passed ? passed - ran : 0;
        uint64_t told = old->ahead + kept;
        now->ahead = told > queued ? told - queued : 0;
        return kept;
    }
    /* What was taken for waiting before is not waited again. */
    uint64_t rest = queued > old->ahead ? queued - old->ahead : 0;
    return rest < passed ? rest : passed;
}

bool time_is_over(const struct cage *cage, struct clock *clock) {
    uint64_t now = now_ns();
    uint64_t passed = now - clock->looked;
    struct thread_time threads[CLOCK_THREADS];
    unsigned count = read_threads(cage, clock->spared, threads), running = 0;
    uint64_t ran = 0, kept = 0;
    for (unsigned i = 0; i < count; i++) {
        struct thread_time old = before(clock, &threads[i]);
        ran += threads[i].ran - old.ran;
        running += threads[i].ran > old.ran;
        uint64_t one = delay(&threads[i], &old, passed);
        if (one > kept) kept = one;
    }
    /* Threads that wait for each other's processor are not kept from anything: together they get what there is. */
    unsigned most = processors();
    uint64_t used = running > 0 ? ran / (running < most ? running : most) : 0;
    uint64_t charge = passed - kept;
    if (charge < used) charge = used < passed ? used : passed;
    clock->charged += charge;
    clock->looked = now;
    clock->count = count;
    memcpy(clock->threads, threads, count * sizeof threads[0]);
    return clock->charged >= clock->limit || now - clock->began >= clock->limit * CLOCK_PATIENCE;
}

uint64_t next_look(const struct clock *clock) {
    uint64_t left = clock->limit > clock->charged ? clock->limit - clock->charged : 0;
    uint64_t pause = left < LOOK_NS ? left : LOOK_NS;
    return clock->looked + (pause < SOON_NS ? SOON_NS : pause);
}
