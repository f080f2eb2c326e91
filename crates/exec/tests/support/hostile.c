/* Programs that misbehave; the first argument says how. What they print tells the test what the sandbox let them do. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *target; /* second argument */

static void report(const char *what, long result) {
    printf("%s: %s\n", what, result < 0 ? strerrorname_np(errno) : "allowed");
    fflush(stdout);
}

static int crash(void) { return *(volatile int *)8; }
static int abort_now(void) { abort(); }
static int divide(void) {
    volatile int zero = 0;
    return 1 / zero;
}
static int loop(void) {
    puts("before");
    fflush(stdout);
    for (volatile int i = 0;; i++) {
    }
}
/* As many milliseconds on a processor as the second argument says, by a clock that the shim does not replace. */
static int work(void) {
    struct timespec used;
    do {
        for (volatile int i = 0; i < 100000; i++) {
        }
        long result = SYS_clock_gettime;
        __asm__ volatile("syscall" : "+a"(result) : "D"((long)CLOCK_PROCESS_CPUTIME_ID), "S"(&used) : "rcx", "r11", "memory");
    } while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < atol(target));
    return 0;
}
static int work_in_child(void) {
    pid_t pid = fork();
    if (pid == 0) _exit(work());
    int status = 1;
    waitpid(pid, &status, 0);
    return status;
}
static int wait_for_ever(void) {
    for (;;) pause();
}
static int overflow_stack(void) {
    volatile char frame[4096];
    frame[0] = 1;
    return overflow_stack() + frame[0];
}

static int fork_bomb(void) {
    for (;;) fork();
}

static int count_forks(void) {
    int count = 0;
    while (count < 1000) {
        pid_t pid = fork();
        if (pid < 0) break;
        if (pid == 0)
            for (;;) pause();
        count++;
    }
    printf("%d %s\n", count, strerrorname_np(errno));
    return 0;
}

static int memory(void) {
    size_t total = 0;
    for (char *block; (block = malloc(1 << 20)); total++) *block = 1;
    printf("stopped %s\n", total < 4096 ? "early" : "late");
    return 0;
}

static int write_outside(void) {
    char path[4200];
    report("/tmp", open("/tmp/changeling-hostile-was-here", O_CREAT | O_WRONLY, 0644));
    report("..", open("../changeling-hostile-was-here", O_CREAT | O_WRONLY, 0644));
    report("/dev/shm", open("/dev/shm/changeling-hostile", O_CREAT | O_WRONLY, 0644));
    snprintf(path, sizeof path, "%s/new", target);
    report("new", open(path, O_CREAT | O_WRONLY, 0644));
    report("mkdir", mkdir(path, 0755));
    snprintf(path, sizeof path, "%s/victim", target);
    report("write", open(path, O_WRONLY));
    report("truncate", truncate(path, 0));
    report("chmod", chmod(path, 0));
    report("chown", chown(path, 1, 1));
    report("unlink", unlink(path));
    report("rename", rename(path, "./stolen"));
    report("utime", utimensat(AT_FDCWD, path, NULL, 0));
    report("link", symlink(path, "way-out"));
    report("through", open("way-out", O_WRONLY));
    report("proc", open("/proc/sys/kernel/core_pattern", O_WRONLY));
    report("device", open("/dev/sda", O_WRONLY));
    report("null", open("/dev/null", O_WRONLY | O_TRUNC));
    unlink("way-out");
    return 0;
}

static int kill_group(void) { return kill(0, SIGKILL); }
static int kill_all(void) {
    report("kill", kill(-1, SIGKILL));
    return 5;
}
static int kill_parent(void) {
    kill(getppid(), SIGKILL);
    kill(1, SIGKILL);
    kill(2, SIGKILL);
    kill(1, SIGSTOP);
    kill(2, SIGSTOP);
    puts("done");
    return 6;
}

/* Out of the session, the process group and the parent's sight. */
static int daemonize(void) {
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            signal(SIGTERM, SIG_IGN);
            for (;;) {
                int fd = open("daemon-was-here", O_CREAT | O_WRONLY, 0644);
                close(fd);
                usleep(1000);
                if (fork() > 0) _exit(0);
            }
        }
        _exit(0);
    }
    wait(NULL);
    puts("parent leaves");
    return 0;
}

static int close_all(void) {
    puts("last words");
    fflush(stdout);
    for (int fd = 0; fd < 1024; fd++) close(fd);
    return 7;
}

static int fill_file(void) {
    char block[65536];
    memset(block, 'x', sizeof block);
    signal(SIGXFSZ, SIG_IGN);
    int fd = open("big", O_CREAT | O_WRONLY, 0644);
    long total = 0;
    for (ssize_t n; (n = write(fd, block, sizeof block)) > 0; total += n) {
    }
    printf("%ld %s\n", total, strerrorname_np(errno));
    return 0;
}

static int fill_disk(void) {
    char block[65536], name[32];
    memset(block, 'x', sizeof block);
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "f%d", i);
        int fd = open(name, O_CREAT | O_WRONLY, 0644);
        if (fd < 0 || write(fd, block, sizeof block) < (ssize_t)sizeof block) {
            puts("stopped");
            return 0;
        }
        close(fd);
    }
    puts("never stopped");
    return 0;
}

static int connect_out(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(53)};
    int tcp = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0);
    inet_pton(AF_INET, "8.8.8.8", &address.sin_addr);
    report("tcp", connect(tcp, (struct sockaddr *)&address, sizeof address));
    report("udp", sendto(udp, "x", 1, 0, (struct sockaddr *)&address, sizeof address));
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    address.sin_port = htons((unsigned short)atoi(target));
    report("local", connect(tcp, (struct sockaddr *)&address, sizeof address));
    return 0;
}

static int remove_cwd(void) {
    char path[4096];
    unlink("given");
    report("rmdir", rmdir(getcwd(path, sizeof path)));
    chmod(".", 0);
    return 0;
}

static int lock_directories(void) {
    mkdir("locked", 0755);
    mkdir("locked/inner", 0755);
    close(open("locked/inner/file", O_CREAT | O_WRONLY, 0));
    chmod("locked/inner", 0);
    chmod("locked", 0);
    mkfifo("pipe", 0600);
    symlink("/etc/passwd", "link");
    return 0;
}

static int deep_tree(void) {
    for (int i = 0; i < 3000; i++)
        if (mkdir("d", 0755) != 0 || chdir("d") != 0) break;
    puts("deep");
    return 0;
}

static int large_output(void) {
    signal(SIGXFSZ, SIG_IGN);
    char line[1024];
    memset(line, 'y', sizeof line);
    while (write(1, line, sizeof line) > 0) {
    }
    return 8;
}

static int raise_limits(void) {
    struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    report("memory", setrlimit(RLIMIT_AS, &none));
    report("files", setrlimit(RLIMIT_FSIZE, &none));
    report("processes", setrlimit(RLIMIT_NPROC, &none));
    report("core", setrlimit(RLIMIT_CORE, &none));
    return 0;
}

static int trace_others(void) {
    report("init", ptrace(PTRACE_ATTACH, 1, NULL, NULL));
    report("memory", open("/proc/1/mem", O_RDWR));
    report("descriptors", open("/proc/1/fd/100", O_RDWR));
    return 0;
}

static int escape(void) {
    report("unshare", unshare(CLONE_NEWUSER | CLONE_NEWNS));
    report("mount", mount("none", "/", "tmpfs", 0, NULL));
    report("remount", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
    report("umount", umount2("/changeling/work", MNT_DETACH));
    report("chroot", chroot("."));
    report("setuid", setuid(0));
    report("sethostname", sethostname("x", 1));
    report("keys", syscall(SYS_add_key, "user", "a", "b", 1, -3));
    report("clone", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
    return 0;
}

static int shared_memory(void) {
    int id = shmget(0x4711, 4096, 0);
    printf("%s\n", id < 0 ? "nothing there" : "left over");
    shmget(0x4711, 4096, IPC_CREAT | 0600);
    return 0;
}

static void *spin(void *unused) {
    for (;;) pause();
    return unused;
}

static int threads(void) {
    int count = 0;
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    while (count < 5000 && pthread_create(&thread, &small, spin, NULL) == 0) count++;
    printf("%s\n", count < 5000 ? "bounded" : "unbounded");
    return 0;
}

static int echo(void) {
    char block[4096];
    for (ssize_t n; (n = read(0, block, sizeof block)) > 0;) write(1, block, (size_t)n);
    return 0;
}

static int edit_files(void) {
    FILE *file = fopen("given", "a");
    fputs(" more", file);
    fclose(file);
    unlink("doomed");
    mkdir("sub", 0755);
    file = fopen("sub/new", "w");
    fputs("new", file);
    fclose(file);
    rename("dir/inner", "dir/renamed");
    return 0;
}

static int descriptors(void) {
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0) printf("%d ", fd);
    puts("");
    return 0;
}

static int alter_stdin(void) {
    report("write", write(0, "x", 1));
    return 0;
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        int (*run)(void);
    } modes[] = {{"crash", crash}, {"abort", abort_now}, {"divide", divide}, {"loop", loop}, {"work", work}, {"work-in-child", work_in_child}, {"wait", wait_for_ever}, {"stack", overflow_stack},
                 {"fork-bomb", fork_bomb}, {"count-forks", count_forks}, {"memory", memory}, {"write-outside", write_outside},
                 {"kill-group", kill_group}, {"kill-all", kill_all}, {"kill-parent", kill_parent}, {"daemon", daemonize},
                 {"close-all", close_all}, {"fill-file", fill_file}, {"fill-disk", fill_disk}, {"connect", connect_out},
                 {"remove-cwd", remove_cwd}, {"lock-directories", lock_directories}, {"deep-tree", deep_tree},
                 {"large-output", large_output}, {"raise-limits", raise_limits}, {"trace-others", trace_others},
                 {"escape", escape}, {"shared-memory", shared_memory}, {"threads", threads}, {"echo", echo},
                 {"edit-files", edit_files}, {"descriptors", descriptors}, {"alter-stdin", alter_stdin}};
    if (count > 2) target = arguments[2];
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (count > 1 && strcmp(arguments[1], modes[i].name) == 0) return modes[i].run();
    return 99;
}
