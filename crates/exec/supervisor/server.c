/* The fork server of a traced program: starting it, and runs through it. Everything it says may be a lie. */
#define _GNU_SOURCE
#include "supervisor.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Time for the server to notice the end of a child that we killed. */
#define NOTICE_NS 1000000000ull
#define COUNT_NS 10000000ull

static struct {
    pid_t pid; /* 0: none */
    int status;
    int command, reply;
    uint64_t processes;
    /* It has served a run before this one, whose words may come late. */
    bool used;
    /* The current run: its process, and its end if it came to us because the server had died. */
    pid_t run;
    bool run_ended;
    int run_status;
    /* The part of the word being received that is already here. */
    unsigned char word[4];
    unsigned received;
} server = {.command = -1, .reply = -1};

static void forget(void);
static struct reply stop(struct cage *cage, struct reply reply);
static enum wake receive(struct cage *cage, uint64_t deadline, uint32_t *word);
static bool discard(void);

void orphan_ended(pid_t pid, int status) {
    if (server.pid > 0 && pid == server.pid) {
        server.pid = 0;
        server.status = status;
    }
    if (server.run > 0 && pid == server.run) {
        server.run_ended = true;
        server.run_status = status;
    }
}

static void reap(void) {
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0;) orphan_ended(pid, status);
}

struct reply serve(struct cage *cage, uint64_t time_ns) {
    struct reply reply = {.outcome = OUTCOME_NOT_STARTED};
    struct strings strings;
    struct start start = {.pid = -1};
    int command[2], answer[2];
    end_everyone(cage);
    forget();
    if (!read_strings(&strings, &start)) {
        reply.stage = start.stage;
        reply.error = start.error;
        return reply;
    }
    server.processes = strings.request.processes;
    if (pipe2(command, O_CLOEXEC) != 0) {
        reply.stage = STAGE_DESCRIPTORS;
        reply.error = errno;
        free_strings(&strings);
        return reply;
    }
    if (pipe2(answer, O_CLOEXEC) != 0) {
        reply.stage = STAGE_DESCRIPTORS;
        reply.error = errno;
        close(command[0]);
        close(command[1]);
        free_strings(&strings);
        return reply;
    }
    rewind_pids(cage, 1);
    uint64_t begin = now_ns();
    start = start_program(cage, &strings, command[0], answer[1]);
    free_strings(&strings);
    close(command[0]);
    close(answer[1]);
    server.command = command[1];
    server.reply = answer[0];
    fcntl(server.reply, F_SETFL, O_NONBLOCK);
    fcntl(server.command, F_SETFL, O_NONBLOCK);
    if (start.error != 0) {
        reply.stage = start.stage;
        reply.error = start.error;
        return stop(cage, reply);
    }
    server.pid = start.pid;
    uint32_t word = 0;
    enum wake wake = receive(cage, begin + time_ns, &word);
    if (wake == WAKE_READABLE && word == HELLO_WORD)
        reply.outcome = OUTCOME_READY;
    else if (wake == WAKE_TIMEOUT)
        reply.outcome = OUTCOME_TIMED_OUT;
    else if (wake == WAKE_CHILD)
        reply = ended(server.status);
    else
        reply.error = EPROTO;
    reply.elapsed_ns = now_ns() - begin;
    if (reply.outcome == OUTCOME_READY) return reply;
    reply.stage = STAGE_HELLO;
    return stop(cage, reply);
}

/* Lets the run end, one way or another. */
static struct reply follow(struct cage *cage, uint64_t time_ns) {
    uint32_t word;
    bool counting = !(cage->in_force & LAYER_PROCESS_LIMIT);
    struct clock clock;
    start_clock(&clock, time_ns, server.pid);
    for (;;) {
        if (server.run_ended) return ended(server.run_status);
        uint64_t wake = next_look(&clock);
        if (counting) {
            if (count_processes(cage, (unsigned)server.processes + 1) > server.processes)
                return (struct reply){.outcome = OUTCOME_SIGNAL, .value = SIGKILL};
            uint64_t soon = now_ns() + COUNT_NS;
            if (soon < wake) wake = soon;
        }
        switch (receive(cage, wake, &word)) {
        case WAKE_READABLE: return ended((int)word);
        case WAKE_TIMEOUT:
            if (time_is_over(cage, &clock)) return (struct reply){.outcome = OUTCOME_TIMED_OUT};
            break;
        case WAKE_CHILD:
            /* The server is gone; its child is ours now and we will hear of its end. */
            while (!server.run_ended) {
                if (kill(server.run, 0) != 0) return (struct reply){.outcome = OUTCOME_NO_SERVER};
                if (sleep_until(cage, next_look(&clock), -1) == WAKE_TIMEOUT && time_is_over(cage, &clock))
                    return (struct reply){.outcome = OUTCOME_TIMED_OUT};
                reap();
            }
        }
    }
}

static bool anyone_else(struct cage *cage) {
    if (cage->last_pid_fd < 0 || !(cage->in_force & LAYER_PID_RESET)) return true;
    /* The last number given out is the run's own: nobody else was ever started. */
    char text[16] = "";
    if (pread(cage->last_pid_fd, text, sizeof text - 1, 0) <= 0) return true;
    return atoi(text) != server.run;
}

struct reply run_traced(struct cage *cage, uint64_t time_ns) {
    struct reply lost = {.outcome = OUTCOME_NO_SERVER};
    reap();
    server.run = 0;
    server.run_ended = false;
    if (server.pid == 0 || !discard()) return stop(cage, lost);
    rewind_pids(cage, server.pid);
    uint64_t begin = now_ns();
    uint32_t word = COMMAND_RUN;
    if (write(server.command, &word, sizeof word) != (ssize_t)sizeof word) return stop(cage, lost);
    /* With numbers that start anew we know the run's before it is told: it may kill the server first. */
    if (cage->in_force & LAYER_PID_RESET) server.run = server.pid + 1;
    bool used = server.used;
    server.used = true;
    /* A run that speaks in the server's name, unless the word is a late one of an earlier run. A fresh server tells which. */
    struct reply liar = {.outcome = OUTCOME_SIGNAL, .value = SIGKILL};
    struct reply strange = used ? lost : liar;
    enum wake wake = receive(cage, begin + time_ns + NOTICE_NS, &word);
    bool orphaned = wake == WAKE_CHILD && server.run > 0;
    if (wake != WAKE_READABLE && !orphaned) return stop(cage, lost);
    if (wake == WAKE_READABLE) {
        /* The server cannot start processes. */
        if ((pid_t)word <= 0) return stop(cage, lost);
        if (server.run > 0 && (pid_t)word != server.run) return stop(cage, strange);
        server.run = (pid_t)word;
    }
    /* A process that is not there is no sign of a lie: a short run may have ended, and the server have noticed, before
       we are awake. */
    bool impossible = server.run == 1 || server.run == server.pid || (kill(server.run, 0) != 0 && errno != ESRCH);
    if (impossible && !server.run_ended) return stop(cage, strange);

    struct reply reply = follow(cage, time_ns);
    reply.elapsed_ns = now_ns() - begin;
    bool killed = reply.outcome == OUTCOME_TIMED_OUT || server.run_ended;
    if (killed || anyone_else(cage)) reply.unclean = !end_everyone_but(cage, server.pid);
    if (reply.outcome == OUTCOME_TIMED_OUT && server.pid > 0 && receive(cage, now_ns() + NOTICE_NS, &word) != WAKE_READABLE)
        reply = stop(cage, reply);
    /* Its end was told, yet it lives: it told so itself and may go on to speak in the middle of the next run, or it was
       the end of an earlier run. */
    else if (!killed && server.pid > 0 && kill(server.run, 0) == 0)
        reply = stop(cage, used ? lost : reply);
    forget_ipc(cage);
    return reply;
}

static void forget(void) {
    if (server.command >= 0) close(server.command);
    if (server.reply >= 0) close(server.reply);
    server.command = server.reply = -1;
    server.pid = server.run = 0;
    server.run_ended = false;
    server.received = 0;
    server.used = false;
}

static struct reply stop(struct cage *cage, struct reply reply) {
    reply.unclean |= !end_everyone(cage);
    forget();
    return reply;
}

/* One word from the server: WAKE_READABLE; WAKE_CHILD if the server ended instead. */
static enum wake receive(struct cage *cage, uint64_t deadline, uint32_t *word) {
    for (;;) {
        ssize_t n = read(server.reply, server.word + server.received, sizeof server.word - server.received);
        if (n > 0) server.received += (unsigned)n;
        if (server.received == sizeof server.word) {
            memcpy(word, server.word, sizeof server.word);
            server.received = 0;
            return WAKE_READABLE;
        }
        if (server.pid == 0) return WAKE_CHILD;
        /* Closed, though the server lives: nothing will ever come, and polling would not sleep. */
        bool closed = n == 0;
        enum wake wake = sleep_until(cage, deadline, closed ? -1 : server.reply);
        if (wake == WAKE_TIMEOUT) return WAKE_TIMEOUT;
        if (wake == WAKE_CHILD) reap();
    }
}

/* False if there was something to discard. */
static bool discard(void) {
    char rest[256];
    bool silent = server.received == 0;
    server.received = 0;
    while (read(server.reply, rest, sizeof rest) > 0) silent = false;
    return silent;
}
