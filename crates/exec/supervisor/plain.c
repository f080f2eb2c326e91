/* One run of a plain program. */
#define _GNU_SOURCE
#include "supervisor.h"
#include <sys/wait.h>

/* How often processes are counted where the kernel does not do it. */
#define COUNT_NS 10000000ull
/* The program's process id in every run; 2 is taken by the fork server when there is one. */
#define LAST_PID 2

struct reply ended(int status) {
    struct reply reply = {0};
    if (WIFSIGNALED(status)) {
        reply.outcome = OUTCOME_SIGNAL;
        reply.value = WTERMSIG(status);
    } else {
        reply.outcome = OUTCOME_EXIT;
        reply.value = WEXITSTATUS(status);
    }
    return reply;
}

static struct reply wait_for(struct cage *cage, pid_t program, uint64_t time_ns, uint64_t processes) {
    bool counting = !(cage->in_force & LAYER_PROCESS_LIMIT);
    struct clock clock;
    start_clock(&clock, time_ns, 0);
    for (;;) {
        int status;
        for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0;)
            if (pid == program) return ended(status);
        uint64_t wake = next_look(&clock);
        if (counting) {
            if (count_processes(cage, (unsigned)processes + 1) > processes) return (struct reply){.outcome = OUTCOME_SIGNAL, .value = 9};
            uint64_t soon = now_ns() + COUNT_NS;
            if (soon < wake) wake = soon;
        }
        if (sleep_until(cage, wake, -1) == WAKE_TIMEOUT && time_is_over(cage, &clock)) return (struct reply){.outcome = OUTCOME_TIMED_OUT};
    }
}

struct reply run_plain(struct cage *cage, uint64_t time_ns) {
    struct strings strings;
    struct start start = {.pid = -1};
    struct reply reply = {.outcome = OUTCOME_NOT_STARTED};
    if (!read_strings(&strings, &start)) {
        reply.stage = start.stage;
        reply.error = start.error;
        return reply;
    }
    rewind_pids(cage, LAST_PID);
    uint64_t begin = now_ns();
    start = start_program(cage, &strings, -1, -1);
    if (start.pid > 0 && start.error == 0) reply = wait_for(cage, start.pid, time_ns, strings.request.processes);
    reply.elapsed_ns = now_ns() - begin;
    if (start.error != 0) {
        reply.stage = start.stage;
        reply.error = start.error;
    }
    reply.unclean = !end_everyone(cage);
    forget_ipc(cage);
    free_strings(&strings);
    return reply;
}
