/* The supervisor: process 1 of the cage. It starts programs, watches the clock and leaves nobody behind. */
#ifndef CHANGELING_SUPERVISOR_H
#define CHANGELING_SUPERVISOR_H
#include "protocol.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CAGE_DIRECTORY "/changeling"
#define CAGE_SHIM "/changeling/shim.so"
#define CAGE_WORK "/changeling/work"
#define LIBRARY_LIMIT_OPEN_FILES 1024
#define STACK_BYTES (8ul << 20)

struct cage {
    uint32_t in_force;
    int landlock_abi;
    uint64_t disk_bytes;
    const char *binary;
    const char *work; /* the working directory as programs see it */
    int binary_fd;
    int work_fd;
    int control_fd; /* to the parent; -1 once there is none */
    int signal_fd;
    int last_pid_fd; /* /proc/sys/kernel/ns_last_pid, or -1 */
    int proc_fd;     /* this namespace's /proc, or -1 */
    uid_t program_uid;
    gid_t program_gid;
};

struct strings {
    struct request request;
    char *text;
    char **arguments;
    char **variables;
};

/* A process that was started, or the reason why not. */
struct start {
    pid_t pid;
    uint32_t stage;
    int error;
};

/* root.c: gives the calling process a file system of its own. False: nothing was changed that matters. */
bool build_root(struct cage *cage);

/* confine.c: called in a child between vfork and exec; no return to ordinary code on failure. */
bool confine_limits(const struct cage *cage, const struct request *request);
bool confine_self(const struct cage *cage);
int landlock_abi(void);

/* start.c */
bool read_strings(struct strings *strings, struct start *start);
void free_strings(struct strings *strings);
struct start start_program(struct cage *cage, const struct strings *strings, int command_fd, int reply_fd);

/* reaper.c */
uint64_t now_ns(void);
bool end_everyone(struct cage *cage);
bool end_everyone_but(struct cage *cage, pid_t spared);
unsigned count_processes(const struct cage *cage, unsigned enough);
void forget_ipc(const struct cage *cage);
void rewind_pids(struct cage *cage, pid_t last);
void drain_signals(struct cage *cage);

/* Numbers of the processes in this namespace other than the supervisor and one more; -1 if they cannot be listed. */
int list_processes(const struct cage *cage, pid_t spared, pid_t *found, int room);

/* clock.c */
#define CLOCK_THREADS 256
struct thread_time {
    pid_t id;
    bool ready;           /* running or in the queue for a processor */
    uint64_t ran, queued; /* so far, as the kernel tells it */
    uint64_t ahead;       /* time taken for waiting that is not in `queued` yet */
};
struct clock {
    uint64_t began, looked, charged, limit;
    pid_t spared; /* not part of the run */
    unsigned count;
    struct thread_time threads[CLOCK_THREADS];
};
void start_clock(struct clock *clock, uint64_t time_ns, pid_t spared);
/* To be asked again at `next_look`. */
bool time_is_over(const struct cage *cage, struct clock *clock);
uint64_t next_look(const struct clock *clock);

/* plain.c, server.c */
struct reply run_plain(struct cage *cage, uint64_t time_ns);
struct reply serve(struct cage *cage, uint64_t time_ns);
struct reply run_traced(struct cage *cage, uint64_t time_ns);
void orphan_ended(pid_t pid, int status);

/* How a wait for the end of a run came out. */
enum wake { WAKE_CHILD, WAKE_TIMEOUT, WAKE_READABLE };
/* Sleeps until a child changed state, `fd` (or -1) can be read, or the deadline. Leaves the process if the parent is gone. */
enum wake sleep_until(struct cage *cage, uint64_t deadline, int fd);

struct reply ended(int status);

#endif
