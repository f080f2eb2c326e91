/* The traced side of the fork server's protocol, in small: maps the shared file, serves runs, and in each run does what the
   first word of standard input says. Without the shared file it is a plain program that does the same. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHARED_ADDRESS ((void *)0x200000000000)
#define SHADOW_ADDRESS ((void *)0x100000000000)
#define SHADOW_SIZE (4ul << 37)

struct header {
    uint64_t magic;
    uint32_t version, run_flags;
    uint64_t size, input, nodes, node_capacity, events, event_capacity, tables, table_capacity, strings, string_capacity,
        coverage, coverage_capacity;
    uint64_t node_count, event_count, table_bytes, string_bytes, block_count, nodes_refused, events_refused, nodes_requested;
};
struct input {
    uint32_t stream_count, argument_count;
    uint64_t arguments, program_name, directory;
};
struct stream {
    uint32_t kind, reserved;
    uint64_t length, capacity, data, name;
};
struct argument {
    uint32_t stream, reserved;
    uint64_t text;
};
struct node {
    uint8_t op, flags;
    uint16_t width;
    uint32_t a, b, c;
    uint64_t imm, value;
};
struct event {
    uint8_t kind, flags;
    uint16_t thread;
    uint32_t site, label, aux;
    uint64_t value;
};

static char *shared;
static const char *number; /* of the shared file's descriptor */
#define HEADER ((struct header *)shared)
#define BLOCKS 10

static void say(uint32_t word) {
    if (write(199, &word, 4) != 4) _exit(90);
}

static void record(uint64_t value) {
    if (!shared) return;
    struct node *nodes = (struct node *)(shared + HEADER->nodes);
    struct event *events = (struct event *)(shared + HEADER->events);
    nodes[1] = (struct node){.op = 2, .width = 8, .value = value};
    nodes[2] = (struct node){.op = 30, .width = 1, .a = 1, .flags = 2, .imm = 'e', .value = value == 'e'};
    HEADER->node_count = 3;
    events[0] = (struct event){.kind = 1, .flags = value == 'e', .site = 42, .label = 2};
    events[1] = (struct event){.kind = 8, .flags = 1, .label = 1, .aux = 1, .value = value};
    HEADER->event_count = 2;
    memcpy(shared + HEADER->strings + 1, "first", 6);
    HEADER->string_bytes = 7;
    uint32_t table[] = {4, 0, 0x64636261};
    memcpy(shared + HEADER->tables, table, sizeof table);
    HEADER->table_bytes = sizeof table;
    shared[HEADER->coverage + (value % BLOCKS)] = 1;
    HEADER->run_flags = 3;
}

/* The shim answers otherwise. */
static long real_parent(void) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_getppid) : "rcx", "r11", "memory");
    return result;
}

static int act(const char *mode, int count, char **arguments) {
    if (strncmp(mode, "echo", 4) == 0) {
        printf("%s", mode);
        return 0;
    }
    if (strcmp(mode, "world") == 0) {
        char cwd[4096];
        printf("%s in %s, pid %d of %d, group %d\n", arguments[0], getcwd(cwd, sizeof cwd), getpid(), getppid(), getpgrp());
        for (int i = 1; i < count; i++) printf("[%s]", arguments[i]);
        printf(" V=%s time %ld\n", getenv("V"), (long)time(NULL));
        FILE *file = fopen("made", "w");
        fputs("contents", file);
        fclose(file);
        dprintf(197, "seen=%d\n", count);
        return 4;
    }
    if (strcmp(mode, "crash") == 0) raise(SIGSEGV);
    if (strcmp(mode, "loop") == 0)
        for (;;) {
        }
    if (strcmp(mode, "garbage") == 0 && shared) {
        struct header saved = *HEADER;
        memset(shared, 0xff, sizeof saved);
        memset(shared + saved.nodes, 0xff, 4096);
        memset(shared + saved.input, 0xff, 4096);
    }
    if (strcmp(mode, "almost") == 0 && shared) {
        /* In range, but nonsense. */
        HEADER->node_count = HEADER->node_capacity;
        HEADER->event_count = 8;
        memset(shared + HEADER->events, 0xee, 8 * sizeof(struct event));
        HEADER->string_bytes = HEADER->string_capacity;
        HEADER->table_bytes = HEADER->table_capacity;
        memset(shared + HEADER->tables, 0xff, 4096);
    }
    if (strcmp(mode, "shrink") == 0) printf("%s\n", ftruncate(200, 0) == 0 ? "shrunk" : strerrorname_np(errno));
    if (strcmp(mode, "daemon") == 0 && fork() == 0) {
        setsid();
        if (fork() > 0) _exit(0);
        for (;;) {
            if (shared) HEADER->node_count = 777;
            close(open("daemon-was-here", O_CREAT | O_WRONLY, 0644));
        }
    }
    if (strcmp(mode, "fork-bomb") == 0)
        for (;;) fork();
    if (strcmp(mode, "kill-all") == 0) {
        kill(-1, SIGKILL);
        puts("survived");
    }
    if (strcmp(mode, "kill-group") == 0) kill(0, SIGKILL);
    if (strcmp(mode, "kill-server") == 0) {
        for (int i = 0; i < 3; i++) kill(getppid(), SIGKILL);
        kill(2, SIGKILL);
        kill(2, SIGSTOP);
        puts("tried");
        return 9;
    }
    if (strcmp(mode, "wait") == 0) {
        /* Somebody kills the server meanwhile. */
        while (real_parent() == 2) usleep(100);
        puts("alone");
        return 11;
    }
    if (strcmp(mode, "lie") == 0)
        for (uint32_t word = 0x4141; word < 0x4149; word++)
            if (write(199, &word, 4) != 4) break;
    if (strcmp(mode, "linger") == 0)
        for (uint32_t word = 0x4141; word < 0x4145; word++) {
            /* Sleeping takes no time here. */
            for (volatile long i = 0; i < 20000000; i++) {
            }
            if (write(199, &word, 4) != 4) break;
        }
    if (strcmp(mode, "early") == 0) return count;
    if (strcmp(mode, "half") == 0 && write(199, "x", 1) != 1) return 1;
    if (strcmp(mode, "memory") == 0) {
        size_t total = 0;
        for (char *block; (block = malloc(1 << 20)) && total < 4096; total++) *block = 1;
        printf("stopped %s\n", total < 4096 ? "early" : "late");
    }
    return 0;
}

static int run(int count, char **arguments) {
    char mode[64] = "";
    ssize_t length = read(0, mode, sizeof mode - 1);
    if (length > 0) record((unsigned char)mode[0]);
    int code = act(mode, count, arguments);
    fflush(stdout);
    return code;
}

static int run_from_input(void) {
    HEADER->block_count = BLOCKS;
    struct input *input = (struct input *)(shared + HEADER->input);
    struct stream *streams = (struct stream *)(input + 1);
    struct argument *given = (struct argument *)(shared + input->arguments);
    char *arguments[17] = {shared + input->program_name};
    for (uint32_t i = 0; i < input->argument_count && i < 15; i++)
        arguments[i + 1] = shared + (given[i].stream == UINT32_MAX ? given[i].text : streams[given[i].stream].data);
    for (uint32_t i = 0; i < input->stream_count; i++)
        if (streams[i].kind == 4) setenv(shared + streams[i].name, shared + streams[i].data, 1);
    lseek(0, 0, SEEK_SET);
    if (chdir(shared + input->directory) != 0) return 91;
    return run((int)input->argument_count + 1, arguments);
}

int main(int count, char **arguments) {
    number = getenv("CHANGELING_SHARED_FD");
    if (!number) return run(count, arguments);
    if (strstr(arguments[0], "start-exit")) {
        fputs("cannot start\n", stderr);
        return 3;
    }
    if (strstr(arguments[0], "start-crash")) raise(SIGSEGV);
    if (strstr(arguments[0], "start-wrong")) say(0x12345678);
    struct stat info;
    int fd = atoi(number);
    if (fstat(fd, &info) != 0) return 92;
    shared = mmap(SHARED_ADDRESS, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
    void *shadow = mmap(SHADOW_ADDRESS, SHADOW_SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (shared == MAP_FAILED || shadow == MAP_FAILED) return 93;
    say(0x31474843);
    for (uint32_t command; read(198, &command, 4) == 4;) {
        pid_t pid = fork();
        if (pid == 0) {
            exit(run_from_input());
        }
        say((uint32_t)pid);
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        char mode[8] = "";
        if (pread(0, mode, sizeof mode - 1, 0) > 0 && strcmp(mode, "early") == 0) {
            /* To the other side this is a run that tells of its own end, and a server that is slow to tell the true one. */
            say(0);
            for (volatile long i = 0; i < 100000000; i++) {
            }
        }
        say((uint32_t)status);
    }
    return 0;
}
