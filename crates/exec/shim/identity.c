/* Who and where the program is: process ids, host, processors, memory. */
#define _GNU_SOURCE
#include "shim.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <unistd.h>

#define HOST "changeling"
/* The program's number in its namespace; also what we pretend where there is none. */
#define PROGRAM 3
#define FORK_SERVER 2
#define INIT 1
#define MEMORY (1ul << 30)
#define PAGE_BYTES 4096ul

static int first; /* the process that loaded the shim */
static _Atomic bool has_forked;

static void before_fork(void) { atomic_store(&has_forked, true); }

/* Older headers do not know scopes; the kernel knows them since version 6 of Landlock and refuses them before. */
struct scoped_ruleset {
    uint64_t files, network, scoped;
};
#define SCOPE_SIGNAL 2

/* The child of a fork server is the program itself, in the place of one that was started alone: a session of its own,
   and no power over the server. */
static void after_fork(void) {
    if (duty_processes || raw_call(SYS_getppid, 0, 0, 0, 0, 0, 0) != FORK_SERVER) return;
    atomic_store(&has_forked, false);
    raw_call(SYS_setsid, 0, 0, 0, 0, 0, 0);
    struct scoped_ruleset attributes = {.scoped = SCOPE_SIGNAL};
    long ruleset = raw_call(SYS_landlock_create_ruleset, (long)&attributes, sizeof attributes, 0, 0, 0, 0);
    if (ruleset < 0) return;
    raw_call(SYS_landlock_restrict_self, ruleset, 0, 0, 0, 0, 0);
    raw_call(SYS_close, ruleset, 0, 0, 0, 0, 0);
}

__attribute__((constructor)) static void remember(void) {
    first = (int)raw_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
    pthread_atfork(before_fork, NULL, after_fork);
}

bool is_alone(void) { return __libc_single_threaded && !atomic_load(&has_forked); }

static int shown(int pid) { return duty_processes && pid == first && pid != 0 ? PROGRAM : pid; }

static int meant(int pid) { return duty_processes && pid == PROGRAM && first != 0 ? first : pid; }

int own_process(void) { return shown((int)raw_call(SYS_getpid, 0, 0, 0, 0, 0, 0)); }

int own_thread(void) { return shown((int)raw_call(SYS_gettid, 0, 0, 0, 0, 0, 0)); }

/* A traced program's parent is its fork server, a plain one's the supervisor: both are nobody to the program. */
int parent_process(void) {
    int parent = (int)raw_call(SYS_getppid, 0, 0, 0, 0, 0, 0);
    bool is_first = (int)raw_call(SYS_getpid, 0, 0, 0, 0, 0, 0) == first;
    if (duty_processes) return is_first ? INIT : shown(parent);
    return parent == FORK_SERVER ? INIT : parent;
}

EXPORT pid_t getpid(void) { return own_process(); }
EXPORT pid_t getppid(void) { return parent_process(); }
EXPORT pid_t gettid(void) { return own_thread(); }

EXPORT int kill(pid_t pid, int number) {
    pid_t target = pid < -1 ? -meant(-pid) : meant(pid);
    return (int)with_errno(raw_call(SYS_kill, target, number, 0, 0, 0, 0));
}

EXPORT int gethostname(char *name, size_t size) {
    snprintf(name, size, "%s", HOST);
    if (size >= sizeof HOST) return 0;
    errno = ENAMETOOLONG;
    return -1;
}

EXPORT int uname(struct utsname *names) {
    long result = raw_call(SYS_uname, (long)names, 0, 0, 0, 0, 0);
    if (result != 0) return (int)with_errno(result);
    snprintf(names->nodename, sizeof names->nodename, "%s", HOST);
    snprintf(names->domainname, sizeof names->domainname, "(none)");
    return 0;
}

EXPORT long gethostid(void) { return 0x43484731; }

EXPORT int sched_getcpu(void) { return 0; }
EXPORT int getcpu(unsigned *processor, unsigned *node) {
    if (processor) *processor = 0;
    if (node) *node = 0;
    return 0;
}

EXPORT int get_nprocs(void) { return 1; }
EXPORT int get_nprocs_conf(void) { return 1; }
EXPORT long get_phys_pages(void) { return (long)(MEMORY / PAGE_BYTES); }
EXPORT long get_avphys_pages(void) { return (long)(MEMORY / PAGE_BYTES); }

EXPORT long sysconf(int name) {
    BEHIND(long, "sysconf", int);
    switch (name) {
    case _SC_NPROCESSORS_CONF:
    case _SC_NPROCESSORS_ONLN: return 1;
    case _SC_PHYS_PAGES:
    case _SC_AVPHYS_PAGES: return (long)(MEMORY / PAGE_BYTES);
    default: return real(name);
    }
}

static int only_first_processor(size_t size, cpu_set_t *set) {
    memset(set, 0, size);
    if (size > 0) *(unsigned char *)set = 1;
    return 0;
}

EXPORT int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set) {
    (void)pid;
    return only_first_processor(size, set);
}

EXPORT int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set) {
    (void)thread;
    return only_first_processor(size, set);
}

EXPORT int sysinfo(struct sysinfo *info) {
    memset(info, 0, sizeof *info);
    info->uptime = (long)(clock_now(CLOCK_BOOTTIME) / SECOND);
    info->totalram = info->freeram = MEMORY;
    info->procs = 1;
    info->mem_unit = 1;
    return 0;
}

EXPORT int getloadavg(double averages[], int count) {
    int given = count < 3 ? count : 3;
    for (int i = 0; i < given; i++) averages[i] = 0;
    return given;
}
