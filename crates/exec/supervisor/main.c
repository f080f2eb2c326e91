/* Building the cage. The outer process makes the namespaces, step by step with fewer of them where the kernel refuses;
   the inner one, process 1 inside, is the supervisor and answers commands until the parent closes the connection.

   usage: supervisor LAYERS DISK-BYTES BINARY WORK-DIRECTORY */
#define _GNU_SOURCE
#include "supervisor.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534
#define REFUSED_ROOT 77

struct wishes {
    uint32_t layers;
    uint64_t disk_bytes;
    const char *binary, *work;
};

static void prepare_self(void);
static pid_t try_cage(const struct wishes *wishes, uint32_t layers);
static bool write_maps(pid_t pid);
static bool is_mapped(const char *map, unsigned id);
static int inside(const struct wishes *wishes, uint32_t layers, int start, int ready);
static int answer_commands(struct cage *cage);

int main(int count, char **arguments) {
    if (count != 5) return 2;
    struct wishes wishes = {(uint32_t)strtoul(arguments[1], NULL, 0), strtoull(arguments[2], NULL, 0), arguments[3], arguments[4]};
    prepare_self();
    const uint32_t namespaces = LAYER_USER | LAYER_PID | LAYER_MOUNT | LAYER_NETWORK | LAYER_IPC | LAYER_HOST_NAME;
    const uint32_t ladder[] = {
        namespaces,
        namespaces & ~(uint32_t)LAYER_USER,
        namespaces & ~(uint32_t)LAYER_MOUNT,
        namespaces & ~(uint32_t)(LAYER_USER | LAYER_MOUNT),
        LAYER_USER | LAYER_PID | LAYER_MOUNT,
        LAYER_USER | LAYER_PID,
        0,
    };
    uint32_t others = wishes.layers & ~namespaces, tried = ~0u;
    for (size_t rung = 0; rung < sizeof ladder / sizeof *ladder; rung++) {
        uint32_t layers = ladder[rung] & wishes.layers;
        if (layers == tried) continue;
        tried = layers;
        pid_t pid = try_cage(&wishes, layers | others);
        if (pid <= 0) continue;
        close(FD_CONTROL);
        int status;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        /* Without a PID namespace the supervisor's orphans are ours. */
        struct cage rest = {.control_fd = -1, .signal_fd = -1, .proc_fd = -1};
        if (!(layers & LAYER_PID)) end_everyone(&rest);
        return 0;
    }
    struct hello hello = {.magic = PROTOCOL_MAGIC, .stage = STAGE_NAMESPACE, .error = errno};
    send(FD_CONTROL, &hello, sizeof hello, MSG_NOSIGNAL);
    return 1;
}

/* Only what the parent meant for us, and nothing of it for the programs. */
static void settle_descriptors(void) {
    for (int fd = FD_CONTROL; fd <= FD_SHARED; fd++) fcntl(fd, F_SETFD, FD_CLOEXEC);
    bool closed = syscall(SYS_close_range, 3, FD_CONTROL - 1, 0) == 0 && syscall(SYS_close_range, FD_SHARED + 1, ~0u, 0) == 0;
    for (int fd = 3; !closed && fd < 65536; fd++)
        if (fd < FD_CONTROL || fd > FD_SHARED) close(fd);
}

static void prepare_self(void) {
    settle_descriptors();
    for (int number = 1; number < 65; number++) signal(number, SIG_DFL);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigaddset(&blocked, SIGPIPE);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    umask(022);
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    personality(ADDR_NO_RANDOMIZE);
    /* If the machine runs out of memory, programs under test go first. */
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (write(fd, "1000", 4) < 0) errno = 0;
        close(fd);
    }
}

/* The supervisor's process id, or -1 if there can be no cage with these layers. */
static pid_t try_cage(const struct wishes *wishes, uint32_t layers) {
    static const struct {
        uint32_t layer;
        unsigned long flag;
    } flags[] = {{LAYER_USER, CLONE_NEWUSER}, {LAYER_PID, CLONE_NEWPID}, {LAYER_MOUNT, CLONE_NEWNS},
                 {LAYER_NETWORK, CLONE_NEWNET}, {LAYER_IPC, CLONE_NEWIPC}, {LAYER_HOST_NAME, CLONE_NEWUTS}};
    unsigned long wanted = SIGCHLD;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (layers & flags[i].layer) wanted |= flags[i].flag;
    int start[2], ready[2];
    if (pipe2(start, O_CLOEXEC) != 0 || pipe2(ready, O_CLOEXEC) != 0) return -1;
    pid_t pid = (pid_t)syscall(SYS_clone, wanted, NULL, NULL, NULL, NULL);
    if (pid == 0) {
        close(start[1]);
        close(ready[0]);
        _exit(inside(wishes, layers, start[0], ready[1]));
    }
    int error = errno;
    close(start[0]);
    close(ready[1]);
    char byte = 0;
    bool built = pid > 0 && (!(layers & LAYER_USER) || write_maps(pid)) && write(start[1], "m", 1) == 1 &&
                 read(ready[0], &byte, 1) == 1;
    if (built) {
        struct born born = {PROTOCOL_MAGIC, pid};
        built = send(FD_CONTROL, &born, sizeof born, MSG_NOSIGNAL) == (ssize_t)sizeof born && write(start[1], "g", 1) == 1;
    }
    close(start[1]);
    close(ready[0]);
    if (built) return pid;
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    errno = error;
    return -1;
}

static bool write_text(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool written = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return written;
}

/* Every id is its own image: as root for all ids there are, else for our own. */
static bool write_map(pid_t pid, const char *name, unsigned own) {
    char path[64], text[2048] = "";
    size_t used = 0;
    if (geteuid() == 0) {
        snprintf(path, sizeof path, "/proc/self/%s", name);
        FILE *map = fopen(path, "re");
        unsigned from, to, length;
        while (map && used < sizeof text - 64 && fscanf(map, "%u %u %u", &from, &to, &length) == 3)
            used += (size_t)snprintf(text + used, sizeof text - used, "%u %u %u\n", from, from, length);
        if (map) fclose(map);
    } else {
        snprintf(text, sizeof text, "%u %u 1\n", own, own);
    }
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return write_text(path, text);
}

static bool write_maps(pid_t pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/setgroups", (int)pid);
    if (geteuid() != 0 && !write_text(path, "deny")) return false;
    return write_map(pid, "uid_map", geteuid()) && write_map(pid, "gid_map", getegid());
}

static bool is_mapped(const char *path, unsigned id) {
    FILE *map = fopen(path, "re");
    if (!map) return false;
    unsigned from, to, length;
    bool found = false;
    while (!found && fscanf(map, "%u %u %u", &from, &to, &length) == 3) found = id >= from && id - from < length;
    fclose(map);
    return found;
}

static void choose_identity(struct cage *cage) {
    cage->program_uid = getuid();
    cage->program_gid = getgid();
    if (!(cage->in_force & LAYER_USER)) return;
    /* The kernel never limits the number of root's processes, so programs run as somebody else. */
    if (getuid() == 0 && is_mapped("/proc/self/uid_map", NOBODY) && is_mapped("/proc/self/gid_map", NOBODY)) {
        cage->program_uid = NOBODY;
        cage->program_gid = NOBODY;
    }
    if (cage->program_uid != 0) cage->in_force |= LAYER_PROCESS_LIMIT;
}

static void say_hello(const struct cage *cage, uint32_t stage, int error) {
    struct hello hello = {PROTOCOL_MAGIC, cage->in_force, cage->landlock_abi, stage, error, cage->program_uid, cage->program_gid, 0};
    struct iovec part = {&hello, sizeof hello};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (cage->work_fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control.room;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &cage->work_fd, sizeof(int));
    }
    sendmsg(FD_CONTROL, &message, MSG_NOSIGNAL);
}

static int inside(const struct wishes *wishes, uint32_t layers, int start, int ready) {
    const uint32_t namespaces = LAYER_USER | LAYER_PID | LAYER_MOUNT | LAYER_NETWORK | LAYER_IPC | LAYER_HOST_NAME;
    struct cage cage = {.in_force = layers & namespaces, .disk_bytes = wishes->disk_bytes, .binary = wishes->binary,
                        .work = wishes->work, .control_fd = FD_CONTROL, .binary_fd = -1, .work_fd = -1, .last_pid_fd = -1, .proc_fd = -1};
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (read(start, &byte, 1) != 1) return 1;
    choose_identity(&cage);
    if ((layers & LAYER_HOST_NAME) && (sethostname("changeling", 10) != 0 || setdomainname("(none)", 6) != 0))
        cage.in_force &= ~(uint32_t)LAYER_HOST_NAME;
    if ((layers & LAYER_MOUNT) && !build_root(&cage)) return REFUSED_ROOT;
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (cage.in_force & LAYER_PROC) {
        cage.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (cage.last_pid_fd >= 0) cage.in_force |= LAYER_PID_RESET;
        rewind_pids(&cage, 1);
    }
    cage.landlock_abi = (layers & LAYER_LANDLOCK) ? landlock_abi() : 0;
    if (cage.landlock_abi > 0) cage.in_force |= LAYER_LANDLOCK;
    if ((layers & LAYER_SECCOMP) && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0) cage.in_force |= LAYER_SECCOMP;
    if (personality(0xffffffff) & ADDR_NO_RANDOMIZE) cage.in_force |= LAYER_FIXED_ADDRESSES;
    if (write(ready, "r", 1) != 1 || read(start, &byte, 1) != 1) return 1;
    close(start);
    close(ready);

    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    cage.signal_fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    cage.work_fd = open(cage.work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cage.signal_fd < 0 || cage.work_fd < 0) {
        say_hello(&cage, STAGE_WORK, errno);
        return 1;
    }
    if (*cage.binary && (cage.binary_fd = open(cage.binary, O_PATH | O_CLOEXEC)) < 0) {
        say_hello(&cage, STAGE_BINARY, errno);
        return 1;
    }
    say_hello(&cage, STAGE_NONE, 0);
    return answer_commands(&cage);
}

static int answer_commands(struct cage *cage) {
    for (;;) {
        struct command_packet packet;
        ssize_t length = recv(FD_CONTROL, &packet, sizeof packet, 0);
        if (length < 0 && errno == EINTR) continue;
        if (length != (ssize_t)sizeof packet) return 0;
        struct reply reply = {.outcome = OUTCOME_NOT_STARTED, .stage = STAGE_REQUEST, .error = EINVAL};
        if (packet.kind == COMMAND_PLAIN) reply = run_plain(cage, packet.time_ns);
        if (packet.kind == COMMAND_SERVE) reply = serve(cage, packet.time_ns);
        if (packet.kind == COMMAND_TRACED) reply = run_traced(cage, packet.time_ns);
        if (send(FD_CONTROL, &reply, sizeof reply, MSG_NOSIGNAL) != (ssize_t)sizeof reply) return 0;
    }
}
