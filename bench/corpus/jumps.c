/* Counts the conditional jumps that a program executes, one instruction after the other, from the very first, by where their code is:
 *
 *     jumps [--loading] COUNTS PROGRAM [ARGUMENT...]
 *
 * writes "executable N libraries N loader N loading N" to the file COUNTS. Loading is all that runs before the program's own first instruction; the others
 * count from there, and with --loading they are not counted. x86-64 only. */
#define _GNU_SOURCE
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum place { EXECUTABLE, LIBRARIES, LOADER, LOADING, PLACES };

/* What is known of an instruction, by its address: code does not change. */
enum { SLOTS = 1 << 20, UNKNOWN = 0, OTHER = 1, JUMP = 2 };
static struct { uint64_t address; int what; } known[SLOTS];

static void fail(const char *what)
{
    perror(what);
    exit(125);
}

/* Jcc, LOOP and JRCXZ, behind prefixes that a compiler may put there. */
static int is_conditional(const uint8_t *code, size_t length)
{
    size_t i = 0;

    while (i < length && (code[i] == 0x2e || code[i] == 0x3e || code[i] == 0xf2 || code[i] == 0x66 || code[i] == 0x67 || (code[i] & 0xf0) == 0x40))
        i++;
    if (i >= length)
        return 0;
    return (code[i] & 0xf0) == 0x70 || (code[i] & 0xfc) == 0xe0 || (code[i] == 0x0f && i + 1 < length && (code[i + 1] & 0xf0) == 0x80);
}

static int kind_of(pid_t child, uint64_t address)
{
    size_t slot = (address * 0x9e3779b97f4a7c15u) >> 44;
    uint8_t code[16];

    if (known[slot].what != UNKNOWN && known[slot].address == address)
        return known[slot].what;
    struct iovec ours = { code, sizeof code }, theirs = { (void *)address, sizeof code };
    ssize_t length = process_vm_readv(child, &ours, 1, &theirs, 1, 0);
    if (length < (ssize_t)sizeof code) {
        /* At the end of a page: only what is left of it. */
        theirs.iov_len = ours.iov_len = 4096 - address % 4096 < sizeof code ? 4096 - address % 4096 : 1;
        length = process_vm_readv(child, &ours, 1, &theirs, 1, 0);
    }
    known[slot].address = address;
    known[slot].what = length > 0 && is_conditional(code, (size_t)length) ? JUMP : OTHER;
    return known[slot].what;
}

/* Which mapped file an address is in; the kernel's own pages count as libraries. */
static enum place place_of(pid_t child, uint64_t address)
{
    static uint64_t start, end;
    static enum place place;
    char name[64], line[4096], executable[4096] = "";

    if (address >= start && address < end)
        return place;
    snprintf(name, sizeof name, "/proc/%d/exe", child);
    ssize_t length = readlink(name, executable, sizeof executable - 1);
    executable[length > 0 ? length : 0] = 0;
    snprintf(name, sizeof name, "/proc/%d/maps", child);
    FILE *maps = fopen(name, "r");
    if (maps == NULL)
        fail(name);
    place = LIBRARIES;
    start = end = 0;
    while (fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        int path = 0;
        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &from, &to, &path) < 2 || address < from || address >= to)
            continue;
        line[strcspn(line, "\n")] = 0;
        start = from;
        end = to;
        if (path > 0 && strcmp(line + path, executable) == 0)
            place = EXECUTABLE;
        else if (path > 0 && strstr(line + path, "/ld-linux") != NULL)
            place = LOADER;
    }
    fclose(maps);
    return place;
}

static void wait_for(pid_t child, int *status)
{
    if (waitpid(child, status, 0) < 0)
        fail("waitpid");
}

/* Where the executable begins, which the kernel has told the loader. */
static uint64_t entry_of(pid_t child)
{
    struct { uint64_t kind, value; } entry;
    char name[64];

    snprintf(name, sizeof name, "/proc/%d/auxv", child);
    FILE *file = fopen(name, "r");
    if (file == NULL)
        fail(name);
    do {
        if (fread(&entry, sizeof entry, 1, file) != 1)
            fail(name);
    } while (entry.kind != AT_ENTRY);
    fclose(file);
    return entry.value;
}

int main(int argc, char **argv)
{
    uint64_t counts[PLACES] = { 0 };
    uint64_t entry = 0;
    bool is_loaded = false, only_loading = false;
    int status, signal = 0;

    if (argc > 1 && strcmp(argv[1], "--loading") == 0) {
        only_loading = true;
        argv++;
        argc--;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: jumps [--loading] COUNTS PROGRAM [ARGUMENT...]\n");
        return 125;
    }
    pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0) {
        personality(ADDR_NO_RANDOMIZE);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
            execv(argv[2], argv + 2);
        perror(argv[2]);
        _exit(125);
    }
    wait_for(child, &status);
    if (WIFSTOPPED(status))
        entry = entry_of(child);
    for (; WIFSTOPPED(status); wait_for(child, &status)) {
        signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        struct user_regs_struct registers;
        if (ptrace(PTRACE_GETREGS, child, NULL, &registers) < 0)
            fail("reading registers");
        is_loaded = is_loaded || registers.rip == entry;
        if (is_loaded && only_loading) {
            ptrace(PTRACE_DETACH, child, NULL, NULL);
            wait_for(child, &status);
            break;
        }
        /* About to run; a signal that stops it here shows the same instruction again. */
        if (signal == 0 && kind_of(child, registers.rip) == JUMP)
            counts[is_loaded ? place_of(child, registers.rip) : LOADING]++;
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, (void *)(long)signal) < 0)
            fail("single step");
    }
    static const char *const names[PLACES] = { "executable", "libraries", "loader", "loading" };
    FILE *out = fopen(argv[1], "w");
    if (out == NULL)
        fail(argv[1]);
    for (int i = 0; i < PLACES; i++)
        fprintf(out, "%s %lu\n", names[i], counts[i]);
    if (ferror(out) || fclose(out) != 0)
        fail(argv[1]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
