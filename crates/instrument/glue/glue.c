// Linked into every traced program as bitcode, not traced itself: the slots in
// which labels travel between functions, what library models call, and
// functions of the C library that must tell the runtime something.

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define SLOT __attribute__((tls_model("local-exec"), visibility("hidden")))

// Labels of arguments and results. The pass stores and loads them in line.
SLOT _Thread_local uint32_t __chg_args[64];
SLOT _Thread_local uint32_t __chg_rets[16];
// Whom the argument labels are for, and whom the result labels are from. Code
// that is not traced sets neither, so its calls cannot inherit stale labels.
SLOT _Thread_local const void *__chg_callee;
SLOT _Thread_local const void *__chg_returned;
// Where structures passed by value were copied from.
SLOT _Thread_local uint64_t __chg_byval[16];

extern uint32_t __chg_call_site;

enum reason { EXTERNAL_CALL = 1, SIZE = 7 };

void __chg_rt_clear(uint64_t, uint64_t);
void __chg_rt_copy(uint64_t, uint64_t, uint64_t);
uint32_t __chg_rt_any(uint64_t, uint64_t);
void __chg_rt_store(uint64_t, uint32_t, uint32_t);
void __chg_rt_concretize(uint32_t, uint32_t, uint64_t, uint32_t);
void __chg_rt_lost_memory(uint64_t, uint64_t, uint32_t, uint32_t);
void __chg_rt_reads_file(void);
void __chg_rt_reads_system_file(const char *path);
void __chg_rt_maps_file(void);
void __chg_rt_heap_add(uint64_t, uint64_t);
void __chg_rt_heap_remove(uint64_t);
uint64_t __chg_rt_heap_size(uint64_t);
int __chg_rt_fd_stream(int);
void __chg_rt_fd_bind(int, int);
int __chg_rt_path_stream(const char *);
uint64_t __chg_rt_length_value(int);
uint32_t __chg_rt_length_label(int);
void __chg_rt_label_input(uint64_t, uint64_t, int, uint64_t);
int __chg_rt_harness_stream(void);
const uint8_t *__chg_rt_stream_data(int);
uint64_t __chg_rt_stream_capacity(int);
void __chg_rt_output(int, uint64_t, uint64_t);
void __chg_rt_output_value(int, uint32_t, uint64_t, const char *, uint64_t);
uint32_t __chg_rt_text(uint64_t, uint64_t, uint64_t, uint64_t, uint32_t, uint64_t, uint32_t, uint32_t,
                       const char *);
void __chg_rt_text_moved(uint64_t, uint64_t, uint32_t, uint64_t);
uint32_t __chg_rt_text_covers(uint64_t, uint64_t, uint32_t);
void __chg_rt_observe(const char *, uint32_t, uint64_t);
void __chg_rt_probe(uint32_t, uint32_t, uint64_t);
void __chg_rt_threads(void);
void __chg_rt_forked(int);
void __chg_rt_finished(void);
void __chg_rt_start(int *, char ***, uint32_t, uint64_t);
struct object {
  uint64_t base, size, constant;
};
void __chg_rt_globals(struct object *, uint64_t);
void __chg_rt_harmless(const uint64_t *, uint64_t, uint64_t);
void __chg_rt_hand_over(uint64_t, uint32_t, uint32_t);

// Set by the pass.
extern struct object __chg_objects[];
extern const uint64_t __chg_harmless[], __chg_harmless_count, __chg_quiet_count;
extern const uint64_t __chg_object_count, __chg_block_count;
extern const uint32_t __chg_first_model_site, __chg_untraced_input;
void __chg_rt_untraced_input(uint32_t which);

int atexit(void (*)(void));
void *malloc(size_t);
void *calloc(size_t, size_t);
void *realloc(void *, size_t);
void *aligned_alloc(size_t, size_t);
int posix_memalign(void **, size_t, size_t);
void free(void *);
int fork(void);
int pthread_create(void *, const void *, void *(*)(void *), void *);
void *mmap(void *, size_t, int, int, int, long);
long read(int, void *, size_t);
void *_Znwm(size_t) __attribute__((weak));
void *_Znam(size_t) __attribute__((weak));
void *_ZnwmRKSt9nothrow_t(size_t, const void *) __attribute__((weak));
void *_ZnamRKSt9nothrow_t(size_t, const void *) __attribute__((weak));
void *_ZnwmSt11align_val_t(size_t, size_t) __attribute__((weak));
void *_ZnamSt11align_val_t(size_t, size_t) __attribute__((weak));
void _ZdlPv(void *) __attribute__((weak));
void _ZdaPv(void *) __attribute__((weak));
void _ZdlPvm(void *, size_t) __attribute__((weak));
void _ZdaPvm(void *, size_t) __attribute__((weak));
void _ZdlPvSt11align_val_t(void *, size_t) __attribute__((weak));
void _ZdlPvmSt11align_val_t(void *, size_t, size_t) __attribute__((weak));

// ---- coverage ----

void __chg_rt_mark(uint64_t);

// Keeps all registers, so that the code around the test below is as good as without it.
__attribute__((preserve_most, noinline, cold)) static void first_cover(uint8_t *at) {
  if (*at >= 2)
    __chg_rt_mark((uint64_t)at);
  else
    *at = 1;
}

// A block of the program begins. The parent has set a bit beforehand in the bytes
// of those blocks of which it wants to know when, not only whether, they run. A block
// that has run before and is not watched costs one comparison.
__attribute__((always_inline, visibility("hidden"))) void __chg_cover(uint8_t *at) {
  if (__builtin_expect(*at != 1, 0))
    first_cover(at);
}

__attribute__((always_inline, visibility("hidden"))) void __chg_cover_model(uint8_t *at) {
  *at = 1;
}

// ---- what models call ----

uint32_t __chg_label(uint64_t value) {
  (void)value;
  __chg_rets[0] = 0;
  return __chg_args[0];
}

int __chg_symbolic(const void *p, size_t n) {
  __chg_rets[0] = 0;
  return (int)__chg_rt_any((uint64_t)p, n);
}

int __chg_fd_stream(int fd) {
  __chg_rets[0] = 0;
  return __chg_rt_fd_stream(fd);
}

int __chg_path_stream(const char *path) {
  __chg_rets[0] = 0;
  return __chg_rt_path_stream(path);
}

void __chg_fd_bind(int fd, int stream) { __chg_rt_fd_bind(fd, stream); }

uint64_t __chg_stream_length(int stream) {
  __chg_rets[0] = __chg_rt_length_label(stream);
  return __chg_rt_length_value(stream);
}

uint64_t __chg_concrete_length(int stream) {
  __chg_rets[0] = 0;
  return __chg_rt_length_value(stream);
}

void __chg_label_input(void *p, size_t n, int stream, uint64_t offset) {
  __chg_rt_label_input((uint64_t)p, n, stream, offset);
}

void __chg_clear(const void *p, size_t n) { __chg_rt_clear((uint64_t)p, n); }

void __chg_copy(void *to, const void *from, size_t n) {
  __chg_rt_copy((uint64_t)to, (uint64_t)from, n);
}

void __chg_reads_file(void) { __chg_rt_reads_file(); }
void __chg_reads_system_file(const char *path) { __chg_rt_reads_system_file(path); }
void __chg_lose_input(void) {
  static int is_known;
  if (!is_known) __chg_rt_untraced_input(~0u);
  is_known = 1;
}
void __chg_maps_file(void) { __chg_rt_maps_file(); }

void __chg_output(int fd, const void *p, size_t n) { __chg_rt_output(fd, (uint64_t)p, n); }

void __chg_output_value(int fd, uint64_t value, int bits, const char *conversion,
                        const char *text, size_t n) {
  (void)bits, (void)text;
  __chg_rt_output_value(fd, __chg_args[1], value, conversion, n);
}

int __chg_text(const char *p, size_t n, size_t first, size_t digits, uint64_t value, int bits, uint64_t length,
               const char *conversion) {
  (void)length;
  uint32_t kept = __chg_rt_text((uint64_t)p, n, first, digits, __chg_args[4], value, (uint32_t)bits,
                                __chg_args[6], conversion);
  __chg_rets[0] = 0;
  return (int)kept;
}

void __chg_text_moved(const void *p, size_t n, uint64_t position) {
  __chg_rt_text_moved((uint64_t)p, n, __chg_args[2], position);
}

int __chg_text_covers(const void *p, size_t n, uint64_t length) {
  (void)length;
  uint32_t covers = __chg_rt_text_covers((uint64_t)p, n, __chg_args[2]);
  __chg_rets[0] = 0;
  return (int)covers;
}

uint64_t __chg_lost(uint64_t value, int reason) {
  __chg_rt_concretize(__chg_call_site, __chg_args[0], value, (uint32_t)reason);
  __chg_rets[0] = 0;
  return value;
}

void __chg_lost_memory(const void *p, size_t n, int reason) {
  __chg_rt_lost_memory((uint64_t)p, n, (uint32_t)reason, __chg_call_site);
}

void __chg_hand_over(const void *p) { __chg_rt_hand_over((uint64_t)p, 1, __chg_call_site); }

void __chg_object(const void *p, size_t n) { __chg_rt_heap_add((uint64_t)p, n); }

void __chg_observe(const char *name, uint64_t value) {
  __chg_rt_observe(name, __chg_args[1], value);
}

void __chg_probe(uint32_t code, uint64_t value) {
  __chg_rt_probe(code, __chg_args[1], value);
}

// ---- allocation: the bounds of blocks, and no stale labels in fresh ones ----

// A symbolic size is fixed to what this run asked for.
static void size_is(unsigned slot, uint64_t size) {
  if (__chg_args[slot]) __chg_rt_concretize(__chg_call_site, __chg_args[slot], size, SIZE);
}

static void *block(void *p, size_t n) {
  __chg_rt_heap_add((uint64_t)p, n);
  __chg_rets[0] = 0;
  return p;
}

void *__chg_malloc(size_t n) {
  size_is(0, n);
  return block(malloc(n), n);
}

void *__chg_calloc(size_t count, size_t n) {
  size_is(0, count);
  size_is(1, n);
  return block(calloc(count, n), count * n);
}

void *__chg_aligned_alloc(size_t alignment, size_t n) {
  size_is(1, n);
  return block(aligned_alloc(alignment, n), n);
}

int __chg_posix_memalign(void **p, size_t alignment, size_t n) {
  size_is(2, n);
  int error = posix_memalign(p, alignment, n);
  if (!error) block(*p, n);
  __chg_rt_clear((uint64_t)p, sizeof *p);
  __chg_rets[0] = 0;
  return error;
}

void *__chg_realloc(void *old, size_t n) {
  size_is(1, n);
  uint64_t size = old ? __chg_rt_heap_size((uint64_t)old) : 0;
  uint64_t kept = size < n ? size : n;
  void *p = realloc(old, n);
  __chg_rets[0] = 0;
  if (!p) {
    if (n == 0) __chg_rt_heap_remove((uint64_t)old);
    return p;
  }
  if (old && p != old) {
    __chg_rt_heap_remove((uint64_t)old);
    // The old block's cells are still what they were.
    uint32_t labelled = __chg_rt_any((uint64_t)old, kept);
    if (labelled) {
      __chg_rt_heap_add((uint64_t)p, n);
      __chg_rt_copy((uint64_t)p, (uint64_t)old, kept);
      return p;
    }
  }
  if (p == old) {
    // Only the tail is new.
    uint64_t start = (uint64_t)p;
    if (n > kept) __chg_rt_clear(start + kept, n - kept);
    extern void __chg_rt_heap_resize(uint64_t, uint64_t);
    __chg_rt_heap_resize(start, n);
    return p;
  }
  return block(p, n);
}

void __chg_free(void *p) {
  if (p) __chg_rt_heap_remove((uint64_t)p);
  free(p);
}

#define NEW(name)                \
  void *__chg##name(size_t n) {  \
    size_is(0, n);               \
    return block(name(n), n);    \
  }
#define NEW2(name, type)                 \
  void *__chg##name(size_t n, type x) {  \
    size_is(0, n);                       \
    return block(name(n, x), n);         \
  }
NEW(_Znwm)
NEW(_Znam)
NEW2(_ZnwmRKSt9nothrow_t, const void *)
NEW2(_ZnamRKSt9nothrow_t, const void *)
NEW2(_ZnwmSt11align_val_t, size_t)
NEW2(_ZnamSt11align_val_t, size_t)

void __chg_ZdlPv(void *p) {
  __chg_rt_heap_remove((uint64_t)p);
  _ZdlPv(p);
}
void __chg_ZdaPv(void *p) {
  __chg_rt_heap_remove((uint64_t)p);
  _ZdaPv(p);
}
void __chg_ZdlPvm(void *p, size_t n) {
  __chg_rt_heap_remove((uint64_t)p);
  _ZdlPvm(p, n);
}
void __chg_ZdaPvm(void *p, size_t n) {
  __chg_rt_heap_remove((uint64_t)p);
  _ZdaPvm(p, n);
}
void __chg_ZdlPvSt11align_val_t(void *p, size_t a) {
  __chg_rt_heap_remove((uint64_t)p);
  _ZdlPvSt11align_val_t(p, a);
}
void __chg_ZdlPvmSt11align_val_t(void *p, size_t n, size_t a) {
  __chg_rt_heap_remove((uint64_t)p);
  _ZdlPvmSt11align_val_t(p, n, a);
}

// ---- processes and threads ----

void exit(int) __attribute__((noreturn));
void quick_exit(int) __attribute__((noreturn));
void _exit(int) __attribute__((noreturn));
void __chg_rt_exit_status(uint32_t, uint64_t);

__attribute__((noreturn)) void __chg_exit(int status) {
  __chg_rt_exit_status(__chg_args[0], (uint32_t)status);
  exit(status);
}

__attribute__((noreturn)) void __chg_quick_exit(int status) {
  __chg_rt_exit_status(__chg_args[0], (uint32_t)status);
  quick_exit(status);
}

__attribute__((noreturn)) void __chg__exit(int status) {
  __chg_rt_exit_status(__chg_args[0], (uint32_t)status);
  __chg_rt_finished();
  _exit(status);
}

int __chg_fork(void) {
  int pid = fork();
  __chg_rt_forked(pid);
  __chg_rets[0] = 0;
  return pid;
}

int __chg_pthread_create(void *thread, const void *attributes, void *(*start)(void *), void *arg) {
  __chg_rt_threads();
  __chg_rets[0] = 0;
  return pthread_create(thread, attributes, start, arg);
}

// What std::thread and std::async begin with.
void _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(void *, void *, void (*)(void)) __attribute__((weak));

void __chg_start_thread(void *thread, void *state, void (*depend)(void)) {
  __chg_rt_threads();
  _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(thread, state, depend);
}

// ---- variable arguments ----

// Labels of the variable part of a call, in the order of the arguments. The
// offset is in the register save area (below 48) or, less 48, in the overflow
// area, as the x86-64 ABI lays them out.
struct variable_argument {
  uint32_t label, bits;
  uint64_t offset, source;
};
struct variable_arguments {
  uint64_t count, overflow_bytes;
  struct variable_argument list[32];
};
SLOT _Thread_local struct variable_arguments __chg_va;

// One call for each labelled argument, after the count was set to zero. A
// source address means a structure of `bits` bits passed by value.
void __chg_va_add(uint32_t label, uint32_t bits, uint64_t offset, uint64_t source) {
  if (__chg_va.count < 32) {
    struct variable_argument *a = &__chg_va.list[__chg_va.count++];
    a->label = label, a->bits = bits, a->offset = offset, a->source = source;
  }
}

struct va_list_layout {
  uint32_t gp_offset, fp_offset;
  uint64_t overflow, registers;
};

// At entry of a variadic function: keep what the caller said, since other calls follow.
void __chg_va_save(struct variable_arguments *to) {
  to->count = __chg_va.count;
  to->overflow_bytes = __chg_va.overflow_bytes;
  for (uint64_t i = 0; i < to->count; i++) to->list[i] = __chg_va.list[i];
  __chg_va.count = 0;
}

// After `va_start`.
void __chg_va_start(struct va_list_layout *list, const struct variable_arguments *known) {
  __chg_rt_clear((uint64_t)list, sizeof *list);
  __chg_rt_clear(list->registers, 176);
  __chg_rt_clear(list->overflow, known->overflow_bytes);
  for (uint64_t i = 0; i < known->count; i++) {
    const struct variable_argument *a = &known->list[i];
    uint64_t at = a->offset < 48 ? list->registers + a->offset : list->overflow + a->offset - 48;
    if (a->source)
      __chg_rt_copy(at, a->source, a->bits / 8);
    else
      __chg_rt_store(at, a->bits, a->label);
  }
}

// ---- start ----

extern int __chg_user_main(int, char **, char **) __attribute__((weak));
extern int LLVMFuzzerTestOneInput(const uint8_t *, size_t) __attribute__((weak));
extern int LLVMFuzzerInitialize(int *, char ***) __attribute__((weak));
extern char **environ;
// Of programs with C++ streams; see models/cxx.
extern void __model_cxx_start_streams(void) __attribute__((weak));
extern void __model_cxx_start_reader(void) __attribute__((weak));
extern void __model_cxx_start_printer(void) __attribute__((weak));

// The harness gets a block of exactly the input's length, as the plain program does.
static int run_harness(void) {
  int stream = __chg_rt_harness_stream();
  uint64_t length = 0;
  uint8_t *data;
  if (stream >= 0) {
    length = __chg_rt_length_value(stream);
    data = __chg_malloc(length ? length : 1);
    __chg_rt_heap_add((uint64_t)data, length);
    const uint8_t *from = __chg_rt_stream_data(stream);
    for (uint64_t i = 0; i < length; i++) data[i] = from[i];
    __chg_rt_label_input((uint64_t)data, length, stream, 0);
  } else {
    uint64_t room = 1 << 12;
    data = malloc(room);
    long got;
    while ((got = read(0, data + length, room - length)) > 0)
      if ((length += (uint64_t)got) == room) data = realloc(data, room *= 2);
  }
  __chg_args[0] = 0;
  __chg_args[1] = stream >= 0 ? __chg_rt_length_label(stream) : 0;
  __chg_callee = (const void *)LLVMFuzzerTestOneInput;
  LLVMFuzzerTestOneInput(data, length);
  return 0;
}

int main(int argc, char **argv) {
  __chg_rt_globals(__chg_objects, __chg_object_count);
  __chg_rt_harmless(__chg_harmless, __chg_harmless_count, __chg_quiet_count);
  __chg_rt_start(&argc, &argv, __chg_first_model_site, __chg_block_count);
  if (__chg_untraced_input) __chg_rt_untraced_input(__chg_untraced_input);
  atexit(__chg_rt_finished);
  if (__model_cxx_start_streams) __model_cxx_start_streams();
  if (__model_cxx_start_reader) __model_cxx_start_reader();
  if (__model_cxx_start_printer) __model_cxx_start_printer();
  if (__chg_user_main) {
    __chg_rets[0] = 0;
    int status = __chg_user_main(argc, argv, environ);
    __chg_rt_exit_status(__chg_rets[0], (uint32_t)status);
    return status;
  }
  if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&argc, &argv);
  return run_harness();
}
