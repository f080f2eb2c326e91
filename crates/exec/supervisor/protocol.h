/* What the parent and the supervisor say to each other. `src/protocol.rs` is the other half. */
#ifndef CHANGELING_PROTOCOL_H
#define CHANGELING_PROTOCOL_H
#include <stdint.h>

/* Descriptors the supervisor inherits. */
enum {
    FD_CONTROL = 100, /* SOCK_SEQPACKET to the parent */
    FD_REQUEST = 101, /* memfd: struct request, then its strings */
    FD_SHIM = 102,    /* the shim library, to be copied into the cage; may be absent */
    FD_STDIN = 103,
    FD_STDOUT = 104,
    FD_STDERR = 105,
    FD_OBSERVE = 106,
    FD_SHARED = 107, /* memfd of a traced program; may be absent */
};

/* Descriptors the program sees besides 0, 1 and 2. */
enum {
    PROGRAM_OBSERVE = 197,
    PROGRAM_COMMAND = 198,
    PROGRAM_REPLY = 199,
    PROGRAM_SHARED = 200,
};

#define PROTOCOL_MAGIC 0x43484731u
#define HELLO_WORD 0x31474843u   /* "CHG1" */
#define COMMAND_RUN 0x314e5552u  /* "RUN1" */

enum command { COMMAND_PLAIN = 1, COMMAND_SERVE = 2, COMMAND_TRACED = 3 };

struct command_packet {
    uint32_t kind;
    uint32_t reserved;
    uint64_t time_ns; /* without time spent waiting for a processor */
};

/* However busy the machine is, no run takes longer than so many times its limit. */
#define CLOCK_PATIENCE 8

struct request {
    uint32_t argument_count;
    uint32_t variable_count;
    uint64_t address_space;
    uint64_t file_size;
    uint64_t processes;
    uint64_t string_bytes;
};

enum outcome {
    OUTCOME_EXIT = 1,
    OUTCOME_SIGNAL = 2,
    OUTCOME_TIMED_OUT = 3,
    OUTCOME_NOT_STARTED = 4, /* `stage` failed with `error` */
    OUTCOME_NO_SERVER = 5,   /* the fork server is gone; ask for COMMAND_SERVE */
    OUTCOME_READY = 6,       /* the fork server said hello */
};

struct reply {
    uint32_t outcome;
    int32_t value;
    int32_t error;
    uint32_t stage;
    uint32_t unclean; /* processes are left that could not be ended: throw the cage away */
    uint32_t reserved;
    uint64_t elapsed_ns;
};

/* Sent by the outer process: who the supervisor is, in the parent's numbering. */
struct born {
    uint32_t magic;
    int32_t pid;
};

/* Sent by the supervisor with the working directory's descriptor attached. */
struct hello {
    uint32_t magic;
    uint32_t in_force;
    int32_t landlock_abi;
    uint32_t stage; /* 0, or what failed with `error` so that there is no cage */
    int32_t error;
    uint32_t program_uid;
    uint32_t program_gid;
    uint32_t reserved;
};

/* Layers of protection, as bits of `in_force` and of what the parent asks for. */
enum layer {
    LAYER_USER = 1 << 0,
    LAYER_PID = 1 << 1,
    LAYER_MOUNT = 1 << 2,
    LAYER_NETWORK = 1 << 3,
    LAYER_IPC = 1 << 4,
    LAYER_HOST_NAME = 1 << 5,
    LAYER_PROC = 1 << 6,          /* a /proc of its own */
    LAYER_READ_ONLY = 1 << 7,     /* everything mounted read-only, recursively */
    LAYER_LANDLOCK = 1 << 8,
    LAYER_PID_RESET = 1 << 9,     /* every run starts with the same process ids */
    LAYER_PROCESS_LIMIT = 1 << 10, /* the kernel counts processes; else we do */
    LAYER_FIXED_ADDRESSES = 1 << 11,
    LAYER_SECCOMP = 1 << 12,
};

enum stage {
    STAGE_NONE = 0,
    STAGE_NAMESPACE = 1,
    STAGE_IDENTITY = 2,
    STAGE_ROOT = 3,
    STAGE_WORK = 4,
    STAGE_BINARY = 5,
    STAGE_LIMITS = 6,
    STAGE_CONFINE = 7,
    STAGE_DESCRIPTORS = 8,
    STAGE_DIRECTORY = 9,
    STAGE_EXEC = 10,
    STAGE_FORK = 11,
    STAGE_REQUEST = 12,
    STAGE_HELLO = 13,
};

#endif
