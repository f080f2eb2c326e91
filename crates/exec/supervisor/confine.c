/* What a program may not do. Called between vfork and exec: nothing here may touch the supervisor's own state. */
#define _GNU_SOURCE
#include "supervisor.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#define LANDLOCK_NET_TCP 3ULL   /* bind and connect, since version 4 */
#define LANDLOCK_SCOPES 3ULL    /* abstract sockets and signals, since version 6 */

/* The attribute structure of version 6; older headers know only its first word. */
struct ruleset {
    uint64_t handled_access_fs, handled_access_net, scoped;
};

static bool drop_privileges(const struct cage *cage);
static bool restrict_files(const struct cage *cage);
static bool filter_calls(const struct cage *cage);

bool confine_limits(const struct cage *cage, const struct request *request) {
    struct {
        int resource;
        rlim_t value;
    } limits[] = {
        {RLIMIT_AS, request->address_space},
        {RLIMIT_FSIZE, request->file_size},
        {RLIMIT_STACK, STACK_BYTES},
        {RLIMIT_NOFILE, LIBRARY_LIMIT_OPEN_FILES},
        /* One byte, not none: with 0 a crash handler behind a pipe would still be started. */
        {RLIMIT_CORE, 1},
        /* Message queues outlive the processes that made them. */
        {RLIMIT_MSGQUEUE, 0},
        {RLIMIT_MEMLOCK, 64 << 10},
        {RLIMIT_NPROC, request->processes},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        /* Without a user namespace of our own the count would include all of the user's processes. */
        if (limits[i].resource == RLIMIT_NPROC && !(cage->in_force & LAYER_PROCESS_LIMIT)) continue;
        struct rlimit limit = {limits[i].value, limits[i].value};
        if (syscall(SYS_prlimit64, 0, limits[i].resource, &limit, NULL) == 0) continue;
        /* The caller's own hard limit may be lower: then that one holds. */
        struct rlimit own;
        if (syscall(SYS_prlimit64, 0, limits[i].resource, NULL, &own) != 0) return false;
        own.rlim_cur = own.rlim_max;
        if (syscall(SYS_prlimit64, 0, limits[i].resource, &own, NULL) != 0) return false;
    }
    return true;
}

bool confine_self(const struct cage *cage) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    if ((cage->in_force & LAYER_LANDLOCK) && !restrict_files(cage)) return false;
    if (!drop_privileges(cage)) return false;
    return !(cage->in_force & LAYER_SECCOMP) || filter_calls(cage);
}

int landlock_abi(void) {
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return abi < 0 ? 0 : (int)abi;
}

/* Under root the program becomes somebody else, whose processes the kernel counts. It keeps the right to read and
   run files that only root may (the binary may be in /root); writing is stopped by the mounts and by Landlock. */
static bool drop_privileges(const struct cage *cage) {
    uint32_t kept = 0;
    if (syscall(SYS_getuid) != (long)cage->program_uid) {
        kept = 1u << CAP_DAC_READ_SEARCH;
        if (cage->in_force & LAYER_READ_ONLY) kept |= 1u << CAP_DAC_OVERRIDE;
        if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || syscall(SYS_setgroups, 0, NULL) != 0) return false;
        if (syscall(SYS_setresgid, cage->program_gid, cage->program_gid, cage->program_gid) != 0) return false;
        if (syscall(SYS_setresuid, cage->program_uid, cage->program_uid, cage->program_uid) != 0) return false;
    } else {
        /* Fails without CAP_SETPCAP, when there is nothing to lose either. */
        prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0);
    }
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{kept, kept, kept}, {0, 0, 0}};
    if (syscall(SYS_capset, &header, data) != 0) return false;
    for (int capability = 0; capability < 32; capability++)
        if (kept & (1u << capability)) prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0);
    return true;
}

static bool allow(int ruleset, int fd, uint64_t access) {
    struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};
    return fd >= 0 && syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

static bool restrict_files(const struct cage *cage) {
    static const char *const sinks[] = {"/dev/null", "/dev/zero", "/dev/full"};
    uint64_t file = LANDLOCK_ACCESS_FS_WRITE_FILE;
    uint64_t all = file | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                   LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                   LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
    if (cage->landlock_abi >= 2) all |= LANDLOCK_ACCESS_FS_REFER;
    if (cage->landlock_abi >= 3) {
        file |= LANDLOCK_ACCESS_FS_TRUNCATE;
        all |= LANDLOCK_ACCESS_FS_TRUNCATE;
    }
    struct ruleset attributes = {.handled_access_fs = all};
    size_t size = sizeof attributes.handled_access_fs;
    if (cage->landlock_abi >= 4) {
        /* In a network namespace of its own the program gets the ordinary error of an unplugged machine instead. */
        if (!(cage->in_force & LAYER_NETWORK)) attributes.handled_access_net = LANDLOCK_NET_TCP;
        size = offsetof(struct ruleset, scoped);
    }
    if (cage->landlock_abi >= 6) {
        attributes.scoped = LANDLOCK_SCOPES;
        size = sizeof attributes;
    }
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
    if (ruleset < 0) return false;
    bool done = allow(ruleset, cage->work_fd, all);
    for (size_t i = 0; i < sizeof sinks / sizeof *sinks; i++) {
        int fd = (int)syscall(SYS_openat, AT_FDCWD, sinks[i], O_PATH | O_CLOEXEC, 0);
        if (fd < 0) continue;
        done &= allow(ruleset, fd, file);
        syscall(SYS_close, fd);
    }
    done = done && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    int error = errno;
    syscall(SYS_close, ruleset);
    errno = error;
    return done;
}

#define CALL offsetof(struct seccomp_data, nr)
#define FIRST offsetof(struct seccomp_data, args[0])
#define REFUSE(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define REFUSED(number, error) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), REFUSE(error)

/* Calls that could leave something behind for the next run (keys), open a nested cage, or reach the network where the
   kernel gave us no network namespace. */
static bool filter_calls(const struct cage *cage) {
    bool no_network = !(cage->in_force & LAYER_NETWORK);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
        REFUSE(ENOSYS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, CALL),
        REFUSED(SYS_add_key, ENOSYS),
        REFUSED(SYS_request_key, ENOSYS),
        REFUSED(SYS_keyctl, ENOSYS),
        REFUSED(SYS_unshare, EPERM),
        REFUSED(SYS_setns, EPERM),
        REFUSED(SYS_bpf, EPERM),
        REFUSED(SYS_perf_event_open, EPERM),
        REFUSED(SYS_userfaultfd, EPERM),
        REFUSED(SYS_io_uring_setup, ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, no_network ? SYS_socket : ~0u, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIRST),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0),
        REFUSE(EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}
