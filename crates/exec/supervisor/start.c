/* Starting a program: from a request to a process that has been executed, or the exact reason why not. */
#define _GNU_SOURCE
#include "supervisor.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char **split(char **from, char *end, uint32_t count);
static void become_program(struct cage *cage, const struct strings *strings, int command_fd, int reply_fd, volatile struct start *start);

bool read_strings(struct strings *strings, struct start *start) {
    memset(strings, 0, sizeof *strings);
    start->stage = STAGE_REQUEST;
    struct request *request = &strings->request;
    if (pread(FD_REQUEST, request, sizeof *request, 0) != (ssize_t)sizeof *request) return false;
    strings->text = malloc(request->string_bytes + 1);
    if (!strings->text) return false;
    size_t done = 0;
    while (done < request->string_bytes) {
        ssize_t n = pread(FD_REQUEST, strings->text + done, request->string_bytes - done, (off_t)(sizeof *request + done));
        if (n <= 0) break;
        done += (size_t)n;
    }
    char *at = strings->text, *end = strings->text + done;
    *end = 0;
    strings->arguments = split(&at, end, request->argument_count);
    strings->variables = split(&at, end, request->variable_count);
    if (strings->arguments && strings->variables && done == request->string_bytes) return true;
    start->error = EINVAL;
    free_strings(strings);
    return false;
}

void free_strings(struct strings *strings) {
    free(strings->text);
    free(strings->arguments);
    free(strings->variables);
    memset(strings, 0, sizeof *strings);
}

struct start start_program(struct cage *cage, const struct strings *strings, int command_fd, int reply_fd) {
    /* Shared with the child until it executes: that is how a failure comes back without a pipe. */
    static volatile struct start shared;
    shared.stage = STAGE_NONE;
    shared.error = 0;
    pid_t pid = vfork();
    if (pid == 0) {
        become_program(cage, strings, command_fd, reply_fd, &shared);
        _exit(127);
    }
    struct start start = {.pid = pid, .stage = shared.stage, .error = shared.error};
    if (pid < 0) {
        start.stage = STAGE_FORK;
        start.error = errno;
    }
    return start;
}

static char **split(char **from, char *end, uint32_t count) {
    char **list = calloc((size_t)count + 1, sizeof *list);
    if (!list) return NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (*from >= end) {
            free(list);
            return NULL;
        }
        list[i] = *from;
        *from += strlen(*from) + 1;
    }
    return list;
}

static bool give(int from, int to) { return syscall(SYS_dup3, from, to, 0) == to; }

static void become_program(struct cage *cage, const struct strings *strings, int command_fd, int reply_fd, volatile struct start *start) {
    syscall(SYS_setsid);
    start->stage = STAGE_DIRECTORY;
    if (syscall(SYS_fchdir, cage->work_fd) != 0) goto failed;
    start->stage = STAGE_DESCRIPTORS;
    if (!give(FD_STDIN, 0) || !give(FD_STDOUT, 1) || !give(FD_STDERR, 2) || !give(FD_OBSERVE, PROGRAM_OBSERVE)) goto failed;
    if (command_fd >= 0 &&
        (!give(command_fd, PROGRAM_COMMAND) || !give(reply_fd, PROGRAM_REPLY) || !give(FD_SHARED, PROGRAM_SHARED)))
        goto failed;
    start->stage = STAGE_CONFINE;
    if (!confine_self(cage)) goto failed;
    start->stage = STAGE_LIMITS;
    if (!confine_limits(cage, &strings->request)) goto failed;
    sigset_t none;
    sigemptyset(&none);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, 8);
    start->stage = STAGE_EXEC;
    syscall(SYS_execveat, cage->binary_fd, "", strings->arguments, strings->variables, AT_EMPTY_PATH);
failed:
    start->error = errno;
}
