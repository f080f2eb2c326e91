/* Waiting for processes, and making sure that none is left. */
#define _GNU_SOURCE
#include "supervisor.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A killed process may take a while to give back much memory; longer than this and something is wrong. */
#define PATIENCE_NS 5000000000ull
#define TICK_NS 5000000ull
/* Rounds of killing one by one before everybody is killed at once. */
#define ROUNDS 50

static void kill_descendants(void);

uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

enum wake sleep_until(struct cage *cage, uint64_t deadline, int fd) {
    for (;;) {
        uint64_t now = now_ns();
        if (now >= deadline) return WAKE_TIMEOUT;
        uint64_t left = deadline - now;
        struct timespec pause = {(time_t)(left / 1000000000ull), (long)(left % 1000000000ull)};
        struct pollfd polled[3] = {{cage->control_fd, POLLRDHUP, 0}, {cage->signal_fd, POLLIN, 0}, {fd, POLLIN, 0}};
        int ready = ppoll(polled, fd >= 0 ? 3 : 2, &pause, NULL);
        if (ready < 0 && errno != EINTR) return WAKE_TIMEOUT;
        if (ready <= 0) continue;
        /* The parent is gone. Leaving ends the namespace and everybody in it. */
        if (polled[0].revents) _exit(0);
        if (polled[1].revents) {
            drain_signals(cage);
            return WAKE_CHILD;
        }
        if (fd >= 0 && polled[2].revents) return WAKE_READABLE;
    }
}

void drain_signals(struct cage *cage) {
    struct signalfd_siginfo info[8];
    while (read(cage->signal_fd, info, sizeof info) > 0) {
    }
}

bool end_everyone(struct cage *cage) {
    uint64_t deadline = now_ns() + PATIENCE_NS;
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG | __WALL);
        if (pid > 0) {
            orphan_ended(pid, status);
            continue;
        }
        if (pid < 0 && errno == ECHILD) return true;
        if (now_ns() > deadline) return false;
        if (cage->in_force & LAYER_PID)
            kill(-1, SIGKILL);
        else
            kill_descendants();
        sleep_until(cage, now_ns() + TICK_NS, -1);
    }
}

int list_processes(const struct cage *cage, pid_t spared, pid_t *found, int room) {
    int count = 0;
    int fd = openat(cage->proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (!directory) return -1;
    for (struct dirent *entry; count < room && (entry = readdir(directory));) {
        if (!isdigit((unsigned char)entry->d_name[0])) continue;
        pid_t pid = atoi(entry->d_name);
        if (pid > 1 && pid != spared) found[count++] = pid;
    }
    closedir(directory);
    return count;
}

bool end_everyone_but(struct cage *cage, pid_t spared) {
    /* Without a list of processes the spared one cannot be told from the others. */
    if (cage->proc_fd < 0) return end_everyone(cage);
    for (int round = 0; round < ROUNDS; round++) {
        int status;
        for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0;) orphan_ended(pid, status);
        pid_t found[256];
        int count = list_processes(cage, spared, found, 256);
        if (count == 0) return true;
        if (count < 0) break;
        for (int i = 0; i < count; i++) kill(found[i], SIGKILL);
        sleep_until(cage, now_ns() + TICK_NS / 5, -1);
    }
    /* Somebody forks faster than we kill. This is one step for the kernel. */
    return end_everyone(cage);
}

/* Children of a process; several levels down if `depth` says so. */
static unsigned walk_children(const char *pid, int depth, unsigned enough, bool kill_them) {
    char path[96], text[4096];
    snprintf(path, sizeof path, "/proc/%s/task/%s/children", pid, pid);
    if (strcmp(pid, "self") == 0) snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0) return 0;
    text[length] = 0;
    unsigned count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word && count < enough; word = strtok_r(NULL, " ", &rest)) {
        count++;
        if (depth > 0) count += walk_children(word, depth - 1, enough - count, kill_them);
        if (kill_them) kill(atoi(word), SIGKILL);
    }
    return count;
}

static void kill_descendants(void) { walk_children("self", 8, 100000, true); }

unsigned count_processes(const struct cage *cage, unsigned enough) {
    if (cage->proc_fd < 0) return walk_children("self", 8, enough, false);
    pid_t found[4096];
    int count = list_processes(cage, 0, found, enough < 4096 ? (int)enough : 4096);
    return count < 0 ? 0 : (unsigned)count;
}

void rewind_pids(struct cage *cage, pid_t last) {
    if (cage->last_pid_fd < 0) return;
    char text[16];
    int length = snprintf(text, sizeof text, "%d", (int)last);
    if (pwrite(cage->last_pid_fd, text, (size_t)length, 0) != length) cage->in_force &= ~(uint32_t)LAYER_PID_RESET;
}

/* System V objects outlive processes; the next run must not find them. */
void forget_ipc(const struct cage *cage) {
    if (!(cage->in_force & LAYER_IPC)) return;
    struct shm_info shm;
    struct seminfo sem;
    struct msginfo msg;
    int last = shmctl(0, SHM_INFO, (struct shmid_ds *)&shm);
    for (int i = 0; last >= 0 && shm.used_ids > 0 && i <= last; i++) {
        struct shmid_ds one;
        int id = shmctl(i, SHM_STAT, &one);
        if (id >= 0) shmctl(id, IPC_RMID, NULL);
    }
    last = semctl(0, 0, SEM_INFO, &sem);
    for (int i = 0; last >= 0 && sem.semusz > 0 && i <= last; i++) {
        struct semid_ds one;
        int id = semctl(i, 0, SEM_STAT, &one);
        if (id >= 0) semctl(id, 0, IPC_RMID);
    }
    last = msgctl(0, MSG_INFO, (struct msqid_ds *)&msg);
    for (int i = 0; last >= 0 && msg.msgpool > 0 && i <= last; i++) {
        struct msqid_ds one;
        int id = msgctl(i, MSG_STAT, &one);
        if (id >= 0) msgctl(id, IPC_RMID, NULL);
    }
}
