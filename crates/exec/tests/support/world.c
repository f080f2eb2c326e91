/* Prints everything about its surroundings that differs from run to run on an ordinary system. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void bytes(const char *name, const void *data, size_t count) {
    printf("%s", name);
    for (size_t i = 0; i < count; i++) printf(" %02x", ((const unsigned char *)data)[i]);
    puts("");
}

static void device(const char *path) {
    unsigned char data[16] = {0}, again[16] = {0};
    int fd = open(path, O_RDONLY);
    FILE *stream = fopen(path, "r");
    printf("read %zd, ", read(fd, data, sizeof data));
    printf("fread %zu\n", fread(again, 1, sizeof again, stream));
    bytes(path, data, sizeof data);
    bytes(path, again, sizeof again);
    close(fd);
    fclose(stream);
}

static void clocks(void) {
    struct timespec now;
    struct timeval day;
    struct tms spent;
    struct rusage usage;
    printf("time %ld\n", (long)time(NULL));
    gettimeofday(&day, NULL);
    printf("day %ld %ld\n", (long)day.tv_sec, (long)day.tv_usec);
    for (int id = 0; id < 8; id++) {
        clock_gettime(id, &now);
        printf("clock %d %ld %ld\n", id, (long)now.tv_sec, now.tv_nsec);
    }
    timespec_get(&now, TIME_UTC);
    printf("utc %ld %ld\n", (long)now.tv_sec, now.tv_nsec);
    printf("cpu %ld\n", (long)clock());
    printf("times %ld", (long)times(&spent));
    printf(" %ld %ld\n", (long)spent.tms_utime, (long)spent.tms_stime);
    getrusage(RUSAGE_SELF, &usage);
    printf("usage %ld %ld %ld\n", (long)usage.ru_utime.tv_usec, usage.ru_maxrss, usage.ru_minflt);
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    printf("call %ld %ld\n", (long)now.tv_sec, now.tv_nsec);
    time_t stamp = time(NULL);
    printf("local %s", asctime(localtime(&stamp)));
}

static void waits(void) {
    time_t start = time(NULL);
    while (time(NULL) < start + 2) {
    }
    puts("time passes");
    start = time(NULL);
    printf("slept %u", sleep(1000));
    usleep(5000000);
    nanosleep(&(struct timespec){10, 0}, NULL);
    poll(NULL, 0, 3000);
    select(0, NULL, NULL, NULL, &(struct timeval){2, 0});
    printf(" %ld\n", (long)(time(NULL) - start));

    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec = (limit.tv_nsec + 20000000) % 1000000000;
    pthread_mutex_lock(&mutex);
    printf("condition %s\n", strerrorname_np(pthread_cond_timedwait(&condition, &mutex, &limit)));
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&condition, &monotonic);
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_nsec = (limit.tv_nsec + 20000000) % 1000000000;
    printf("condition %s\n", strerrorname_np(pthread_cond_timedwait(&condition, &mutex, &limit)));
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    clock_gettime(CLOCK_REALTIME, &limit);
    printf("semaphore %d\n", sem_timedwait(&semaphore, &limit));
}

static void processes(void) {
    printf("pid %d %d %d, %ld, group %d session %d\n", getpid(), getppid(), gettid(), syscall(SYS_getpid), getpgrp(), getsid(0));
    fflush(stdout);
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            printf("child %d of %d\n", getpid(), getppid());
            fflush(stdout);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
        printf("forked %d\n", pid);
        fflush(stdout);
    }
}

static void temporary_names(void) {
    char file[] = "temporary-XXXXXX", suffixed[] = "XXXXXX.txt", directory[] = "d-XXXXXX", wrong[] = "XXXXX";
    printf("opened %d", mkstemp(file) >= 0);
    printf(" %d", mkstemps(suffixed, 4) >= 0);
    printf(" %s\n", mkdtemp(directory) ? "made" : "not made");
    printf("names %s %s %s\n", file, suffixed, directory);
    printf("wrong %d %s\n", mkstemp(wrong), strerrorname_np(errno));
    FILE *nameless = tmpfile();
    char back[8] = "nothing";
    if (nameless && fputs("kept", nameless) >= 0) {
        rewind(nameless);
        if (!fgets(back, sizeof back, nameless)) back[0] = 0;
    }
    printf("nameless %s\n", back);
    if (nameless) fclose(nameless);
    unlink(file);
    unlink(suffixed);
    rmdir(directory);
}

int main(int count, char **arguments) {
    (void)count;
    unsigned char data[16];
    struct utsname names;
    struct sysinfo info;
    struct stat given;
    char host[64];
    clocks();
    waits();
    processes();
    temporary_names();
    printf("getrandom %zd", getrandom(data, sizeof data, 0));
    bytes("", data, sizeof data);
    printf("getentropy %d", getentropy(data, sizeof data));
    bytes("", data, sizeof data);
    printf("call %ld", syscall(SYS_getrandom, data, sizeof data, 0));
    bytes("", data, sizeof data);
    printf("arc4 %u %u\n", arc4random(), arc4random_uniform(10));
    srand((unsigned)time(NULL));
    printf("rand %d\n", rand());
    device("/dev/urandom");
    device("/dev/random");
    bytes("auxiliary", (void *)getauxval(AT_RANDOM), 16);
    gethostname(host, sizeof host);
    uname(&names);
    printf("host %s %s %ld\n", host, names.nodename, gethostid());
    sysinfo(&info);
    printf("machine %d %ld %d %lu %ld %ld\n", sched_getcpu(), sysconf(_SC_NPROCESSORS_ONLN), get_nprocs(), info.freeram,
           info.uptime, sysconf(_SC_AVPHYS_PAGES));
    printf("addresses %p %p %p %p %p\n", (void *)main, (void *)printf, malloc(10), (void *)&count, (void *)arguments[0]);
    printf("file %d %ld\n", stat("given", &given), (long)given.st_mtime);
    return 0;
}
