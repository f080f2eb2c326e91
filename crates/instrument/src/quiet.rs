//! External functions that take nothing from the analysis.

/// Calls that do nothing with the values they are given that the world could see
/// or the program get back.
const QUIET: &[&str] = &[
    "abort",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "__errno_location",
    "__assert_fail",
    "__cxa_allocate_exception",
    "__cxa_free_exception",
    "__cxa_throw",
    "__cxa_rethrow",
    "__cxa_begin_catch",
    "__cxa_end_catch",
    "__cxa_get_exception_ptr",
    "__cxa_guard_acquire",
    "__cxa_guard_release",
    "__cxa_guard_abort",
    "__cxa_pure_virtual",
    "__gxx_personality_v0",
    "__dso_handle",
    "_ZNSt6localeC1Ev",
    "_ZNSt6localeC1ERKS_",
    "_ZNSt6localeaSERKS_",
    "_ZNSt6localeD1Ev",
    "_ZNSt8ios_baseC2Ev",
    "_ZNSt8ios_baseD2Ev",
    "_ZNSt8ios_base4InitC1Ev",
    "_ZNSt8ios_base4InitD1Ev",
    "_Unwind_Resume",
    "_Unwind_RaiseException",
    "_Unwind_DeleteException",
    "_Unwind_GetIP",
    "_Unwind_GetIPInfo",
    "_Unwind_GetLanguageSpecificData",
    "_Unwind_GetRegionStart",
    "_Unwind_GetTextRelBase",
    "_Unwind_GetDataRelBase",
    "_Unwind_SetGR",
    "_Unwind_SetIP",
    "_Unwind_Backtrace",
    "_Unwind_GetCFA",
    "_Unwind_FindEnclosingFunction",
    "free",
    "fflush",
    "fclose",
    "pthread_self",
    "sched_yield",
    "setjmp",
    "_setjmp",
    "__sigsetjmp",
    "sigsetjmp",
    "getpid",
    "gettid",
    "getpagesize",
    "clock",
    "dl_iterate_phdr",
    "gnu_get_libc_version",
    "__tls_get_addr",
    "tzset",
];

/// Calls to which it matters what they are given, although not what memory holds: which lock is taken, how much is
/// unmapped. Branches decide what that is, so nothing is lost.
const DECIDED: &[&str] = &[
    "atexit",
    "__cxa_atexit",
    "__cxa_thread_atexit",
    "__cxa_thread_atexit_impl",
    "__dynamic_cast",
    "_ZNSt8__detail15_List_node_base7_M_hookEPS0_",
    "_ZNSt8__detail15_List_node_base9_M_unhookEv",
    "_ZNSt8__detail15_List_node_base10_M_reverseEv",
    "_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_",
    "_ZNSt8__detail15_List_node_base4swapERS0_S1_",
    "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base",
    "_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base",
    "_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base",
    "_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base",
    "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_",
    "pthread_mutex_lock",
    "pthread_mutex_unlock",
    "pthread_mutex_init",
    "pthread_mutex_destroy",
    "pthread_mutex_trylock",
    "pthread_cond_wait",
    "pthread_cond_signal",
    "pthread_cond_broadcast",
    "pthread_join",
    "pthread_detach",
    "pthread_key_create",
    "pthread_key_delete",
    "pthread_getspecific",
    "pthread_attr_init",
    "pthread_attr_destroy",
    "pthread_attr_setstacksize",
    "pthread_getattr_np",
    "pthread_attr_getstack",
    "pthread_attr_getguardsize",
    "sigaltstack",
    "sigemptyset",
    "uselocale",
    "__uselocale",
    "munmap",
    "mprotect",
    "madvise",
    "gettimeofday",
    "time",
    "getauxval",
    "getrandom",
    "getcwd",
    "setbuf",
    "signal",
];

/// Calls whose pointer arguments do not lead to memory that they read.
const NO_MEMORY: &[&str] = &[
    "fstat",
    "stat",
    "lstat",
    "fstat64",
    "stat64",
    "fseek",
    "ftell",
    "rewind",
    "feof",
    "ferror",
    "fileno",
    "fputc",
    "putc",
    "fgetc",
    "getc",
    "pthread_setspecific",
    "waitpid",
    "pipe",
    "getrusage",
    "times",
    "uname",
    // What they are told in numbers counts: which descriptor is closed.
    "close",
    "isatty",
    "setvbuf",
    "sysconf",
    "clock_gettime",
    // What `setjmp` returns then is counted as lost.
    "longjmp",
    "siglongjmp",
    "__longjmp_chk",
];

pub fn is_quiet(name: &str) -> bool {
    QUIET.contains(&name)
}

pub fn is_decided(name: &str) -> bool {
    DECIDED.contains(&name)
}

pub fn ignores_memory(name: &str) -> bool {
    NO_MEMORY.contains(&name) || is_decided(name)
}

/// Functions of the C library that are given structures look at what these point to. Those of the C++ library are given
/// objects of its own, with much in them that the function is not about: what it is to read is given to it straight.
pub fn follows_pointers(name: &str) -> bool {
    !name.starts_with("_Z")
}
