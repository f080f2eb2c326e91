/* The file system of the cage: everything as it is outside, but read-only, without devices and without /run; and
   a small memory file system as the working directory, which vanishes together with the cage. */
#define _GNU_SOURCE
#include "supervisor.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MNT_DETACH 2
/* <sys/mount.h> clashes with the kernel's header. */
extern int mount(const char *, const char *, const char *, unsigned long, const void *);
extern int umount2(const char *, int);

/* Unlikely to be the name of a user's directory. */
#define OUTSIDE "/.changeling-outside"
/* Enough for every seed a library reads, small enough to be made at once. */
#define RANDOM_BYTES (256 << 10)

/* All System V shared memory of a run, in pages. */
#define SHARED_PAGES "16384"

static bool bind_entries(struct cage *cage);
static void set_kernel(const char *path, const char *value);
static bool make_devices(const struct cage *cage);
static bool make_random(const char *path);
static bool make_read_only(const char *path, unsigned recursive);
static bool copy_shim(void);
static bool make_work(struct cage *cage);

bool build_root(struct cage *cage) {
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return false;
    /* /tmp is only a place to stand on: once the root has moved, the old /tmp is visible again. */
    const char *stand = access("/tmp", F_OK) == 0 ? "/tmp" : "/dev";
    char outside[64];
    snprintf(outside, sizeof outside, "%s%s", stand, OUTSIDE);
    if (mount("tmpfs", stand, "tmpfs", MS_NOSUID, "mode=0755,size=8m") != 0) return false;
    if (mkdir(outside, 0755) != 0 || syscall(SYS_pivot_root, stand, outside) != 0) {
        umount2(stand, MNT_DETACH);
        return false;
    }
    if (chdir("/") != 0) return false;

    bool read_only = bind_entries(cage);
    mkdir("/proc", 0555);
    if ((cage->in_force & LAYER_PID) && mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0) {
        cage->in_force |= LAYER_PROC;
        cage->last_pid_fd = open("/proc/sys/kernel/ns_last_pid", O_RDWR | O_CLOEXEC);
        set_kernel("/proc/sys/user/max_user_namespaces", "0");
        if (cage->in_force & LAYER_IPC) set_kernel("/proc/sys/kernel/shmall", SHARED_PAGES);
        make_read_only("/proc", 0);
    } else {
        mount(OUTSIDE "/proc", "/proc", NULL, MS_BIND | MS_REC, NULL);
        read_only &= make_read_only("/proc", AT_RECURSIVE);
    }
    bool usable = make_devices(cage) && copy_shim() && make_work(cage);
    if (umount2(OUTSIDE, MNT_DETACH) == 0) rmdir(OUTSIDE);
    read_only &= make_read_only("/", 0);
    if (read_only) cage->in_force |= LAYER_READ_ONLY;
    return usable;
}

/* Whether programs and their libraries may live below this top-level entry. */
static bool is_hidden(const struct cage *cage, const char *name) {
    static const char *const replaced[] = {".", "..", "proc", "dev", "changeling", "lost+found"};
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
        if (strcmp(name, replaced[i]) == 0) return true;
    /* Sockets of services are there, and a connection to one is a way out. */
    return strcmp(name, "run") == 0 && strncmp(cage->binary, "/run/", 5) != 0;
}

static bool bind_entries(struct cage *cage) {
    bool read_only = true;
    DIR *root = opendir(OUTSIDE);
    if (!root) return false;
    for (struct dirent *entry; (entry = readdir(root));) {
        if (is_hidden(cage, entry->d_name)) continue;
        char from[600], to[300], target[4096];
        snprintf(from, sizeof from, "%s/%s", OUTSIDE, entry->d_name);
        snprintf(to, sizeof to, "/%s", entry->d_name);
        struct stat info;
        if (lstat(from, &info) != 0) continue;
        if (S_ISLNK(info.st_mode)) {
            ssize_t length = readlink(from, target, sizeof target - 1);
            if (length > 0) {
                target[length] = 0;
                if (symlink(target, to) != 0) read_only = read_only && errno == EEXIST;
            }
        } else if (S_ISDIR(info.st_mode) && strcmp(to, OUTSIDE) != 0) {
            mkdir(to, 0755);
            /* What cannot be shown is left out: an empty directory harms nobody. */
            if (mount(from, to, NULL, MS_BIND | MS_REC, NULL) == 0) read_only &= make_read_only(to, AT_RECURSIVE);
        }
    }
    closedir(root);
    mkdir("/run", 0755);
    return read_only;
}

/* Settings of our own namespaces; a kernel that has no such setting needs none. */
static void set_kernel(const char *path, const char *value) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (write(fd, value, strlen(value)) < 0) errno = 0;
    close(fd);
}

static bool make_read_only(const char *path, unsigned recursive) {
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
    if (syscall(SYS_mount_setattr, AT_FDCWD, path, recursive, &attributes, sizeof attributes) == 0) return true;
    /* Older kernels change one mount at a time, so mounts below stay as they are. */
    mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL);
    return false;
}

static bool make_devices(const struct cage *cage) {
    static const char *const devices[] = {"null", "zero", "full"};
    static const char *const links[][2] = {{"/proc/self/fd", "/dev/fd"},
                                           {"/proc/self/fd/0", "/dev/stdin"},
                                           {"/proc/self/fd/1", "/dev/stdout"},
                                           {"/proc/self/fd/2", "/dev/stderr"}};
    mkdir("/dev", 0755);
    mkdir("/dev/shm", 0755);
    /* A favourite place for build directories; otherwise empty. */
    if (strncmp(cage->binary, "/dev/shm/", 9) == 0 && mount(OUTSIDE "/dev/shm", "/dev/shm", NULL, MS_BIND | MS_REC, NULL) == 0)
        make_read_only("/dev/shm", AT_RECURSIVE);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        char from[64], to[64];
        snprintf(from, sizeof from, "%s/dev/%s", OUTSIDE, devices[i]);
        snprintf(to, sizeof to, "/dev/%s", devices[i]);
        close(open(to, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
        if (mount(from, to, NULL, MS_BIND, NULL) != 0) return false;
    }
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (symlink(links[i][0], links[i][1]) != 0) return false;
    return make_random("/dev/urandom") && make_random("/dev/random");
}

/* Ordinary files with the same bytes for everyone: also programs that make system calls themselves get no entropy. */
static bool make_random(const char *path) {
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0444);
    if (fd < 0) return false;
    uint64_t state = 0x9e3779b97f4a7c15u, block[512];
    bool written = true;
    for (size_t done = 0; written && done < RANDOM_BYTES; done += sizeof block) {
        for (size_t i = 0; i < 512; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            block[i] = state * 0x2545f4914f6cdd1du;
        }
        written = write(fd, block, sizeof block) == (ssize_t)sizeof block;
    }
    close(fd);
    return written;
}

static bool copy_shim(void) {
    mkdir(CAGE_DIRECTORY, 0755);
    struct stat info;
    if (fstat(FD_SHIM, &info) != 0) return true;
    int fd = open(CAGE_SHIM, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
    if (fd < 0) return false;
    char block[16384];
    off_t done = 0;
    for (ssize_t n; (n = pread(FD_SHIM, block, sizeof block, done)) > 0; done += n)
        if (write(fd, block, (size_t)n) != n) break;
    close(fd);
    return done == info.st_size;
}

static bool make_work(struct cage *cage) {
    char options[96];
    snprintf(options, sizeof options, "mode=0755,size=%llu,nr_inodes=16384", (unsigned long long)cage->disk_bytes);
    mkdir(CAGE_WORK, 0755);
    if (mount("tmpfs", CAGE_WORK, "tmpfs", MS_NOSUID | MS_NODEV, options) != 0) return false;
    if (chown(CAGE_WORK, cage->program_uid, cage->program_gid) != 0) return false;
    cage->work = CAGE_WORK;
    return true;
}
