//! External functions that take nothing from the analysis.

/// Calls that do nothing with the values they are given that the world could see
/// or the program get back.
const QUIET: &[&str] = &[
    "abort", "exit", "_exit", "_Exit", "quick_exit", "__errno_location", "__assert_fail",
    "__cxa_allocate_exception", "__cxa_free_exception", "__cxa_throw", "__cxa_rethrow",
    "__cxa_begin_catch", "__cxa_end_catch", "__cxa_get_exception_ptr", "__cxa_guard_acquire",
    "__cxa_guard_release", "__cxa_guard_abort", "__cxa_atexit", "__cxa_pure_virtual",
    "__cxa_thread_atexit", "__cxa_thread_atexit_impl", "__gxx_personality_v0", "__dso_handle",
    "_Unwind_Resume", "_Unwind_RaiseException", "_Unwind_DeleteException", "_Unwind_GetIP",
    "_Unwind_GetIPInfo", "_Unwind_GetLanguageSpecificData", "_Unwind_GetRegionStart",
    "_Unwind_GetTextRelBase", "_Unwind_GetDataRelBase", "_Unwind_SetGR", "_Unwind_SetIP",
    "_Unwind_Backtrace", "_Unwind_GetCFA", "_Unwind_FindEnclosingFunction",
    "atexit", "free", "fflush", "fclose", "close", "isatty", "pthread_self",
    "pthread_mutex_lock", "pthread_mutex_unlock", "pthread_mutex_init", "pthread_mutex_destroy",
    "pthread_mutex_trylock", "pthread_cond_wait", "pthread_cond_signal", "pthread_cond_broadcast",
    "pthread_join", "pthread_detach", "pthread_key_create", "pthread_key_delete",
    "pthread_getspecific", "pthread_setspecific", "pthread_attr_init", "pthread_attr_destroy",
    "pthread_attr_setstacksize", "pthread_getattr_np", "pthread_attr_getstack",
    "pthread_attr_getguardsize", "sched_yield", "sigaction", "signal", "sigaltstack", "sigemptyset",
    "sigaddset", "sigprocmask", "setjmp", "_setjmp", "__sigsetjmp", "sigsetjmp", "longjmp",
    "siglongjmp", "__longjmp_chk", "setlocale", "munmap", "mprotect", "madvise", "sysconf",
    "getpid", "gettid", "getpagesize", "clock_gettime", "gettimeofday", "time", "clock",
    "dl_iterate_phdr", "getauxval", "poll", "syscall", "gnu_get_libc_version", "__tls_get_addr",
    "getrandom", "getcwd", "setvbuf", "setbuf", "tzset",
];

/// Calls whose pointer arguments do not lead to memory that they read.
const NO_MEMORY: &[&str] = &[
    "fstat", "stat", "lstat", "fstat64", "stat64", "fseek", "ftell", "rewind", "feof", "ferror",
    "fileno", "fputc", "putc", "fgetc", "getc", "waitpid", "pipe", "getrusage", "times", "uname",
];

pub fn is_quiet(name: &str) -> bool {
    QUIET.contains(&name)
}

pub fn ignores_memory(name: &str) -> bool {
    NO_MEMORY.contains(&name)
}
