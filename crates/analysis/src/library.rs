//! What functions without a body do, as far as graphs care.

/// What an external function does with pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointers {
    /// Returns memory of its own.
    Allocates,
    /// Returns memory of the library, the same each time.
    Lends,
    /// Returns a pointer into its first argument, stores no pointer.
    ReturnsFirst,
    /// Copies memory from the second to the first argument and returns the first.
    Copies,
    /// Neither returns nor stores a pointer it was given.
    Plain,
    /// Nothing is known: may return, store and call whatever it was given.
    Unknown,
}

/// What of the memory behind its arguments an external function may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    Nothing,
    /// Through the first argument only.
    First,
    Anything,
}

pub fn pointers(symbol: &str) -> Pointers {
    if symbol.starts_with("llvm.memcpy") || symbol.starts_with("llvm.memmove") {
        return Pointers::Copies;
    }
    if symbol.starts_with("llvm.") {
        return Pointers::Plain;
    }
    match bare(symbol) {
        "malloc"
        | "calloc"
        | "aligned_alloc"
        | "memalign"
        | "strdup"
        | "strndup"
        | "fopen"
        | "fdopen"
        | "opendir"
        | "popen"
        | "tmpfile"
        | "_Znwm"
        | "_Znam"
        | "__cxa_allocate_exception"
        | "__rust_alloc"
        | "__rust_alloc_zeroed" => Pointers::Allocates,
        "getenv"
        | "__errno_location"
        | "__ctype_b_loc"
        | "__ctype_tolower_loc"
        | "__ctype_toupper_loc"
        | "strerror"
        | "localtime"
        | "gmtime"
        | "setlocale" => Pointers::Lends,
        "strcpy"
        | "strncpy"
        | "strcat"
        | "strncat"
        | "stpcpy"
        | "memset"
        | "strchr"
        | "strrchr"
        | "strstr"
        | "memchr"
        | "memrchr"
        | "strpbrk"
        | "fgets"
        | "gets"
        | "strtok"
        | "index"
        | "rindex"
        | "strchrnul"
        | "realloc"
        | "reallocarray"
        | "__rust_realloc"
        | "getcwd"
        | "__cxa_begin_catch"
        | "__cxa_get_exception_ptr" => Pointers::ReturnsFirst,
        "memcpy" | "memmove" | "mempcpy" => Pointers::Copies,
        _ if writes(symbol) != Writes::Anything || is_plain_output(symbol) => Pointers::Plain,
        _ => Pointers::Unknown,
    }
}

/// Writes no pointers, but calls what it was given, now or later, or looks at it again.
pub fn keeps(symbol: &str) -> bool {
    matches!(
        bare(symbol),
        "qsort" | "sigaction" | "strtok" | "__cxa_throw"
    )
}

/// Functions that a program may have of its own in place of the library's, which calls them then.
pub fn replaces(symbol: &str) -> bool {
    let allocates = matches!(
        symbol,
        "malloc" | "calloc" | "realloc" | "free" | "memalign" | "aligned_alloc" | "posix_memalign"
    );
    // operator new and delete, in all their forms.
    allocates
        || ["_Znw", "_Zna", "_Zdl", "_Zda"]
            .iter()
            .any(|start| symbol.starts_with(start))
}

pub fn writes(symbol: &str) -> Writes {
    if symbol.starts_with("llvm.mem") || symbol.starts_with("llvm.va_") {
        return Writes::First;
    }
    if symbol.starts_with("llvm.") {
        return Writes::Nothing;
    }
    match bare(symbol) {
        "printf"
        | "fprintf"
        | "vprintf"
        | "vfprintf"
        | "puts"
        | "fputs"
        | "putchar"
        | "putc"
        | "fputc"
        | "fwrite"
        | "write"
        | "perror"
        | "dprintf"
        | "strlen"
        | "strnlen"
        | "strcmp"
        | "strncmp"
        | "strcasecmp"
        | "strncasecmp"
        | "memcmp"
        | "bcmp"
        | "strchr"
        | "strrchr"
        | "strstr"
        | "memchr"
        | "memrchr"
        | "strspn"
        | "strcspn"
        | "strpbrk"
        | "strdup"
        | "strndup"
        | "atoi"
        | "atol"
        | "atoll"
        | "atof"
        | "getenv"
        | "fopen"
        | "fclose"
        | "fflush"
        | "feof"
        | "ferror"
        | "fileno"
        | "getc"
        | "fgetc"
        | "getchar"
        | "ungetc"
        | "malloc"
        | "calloc"
        | "abs"
        | "labs"
        | "isalpha"
        | "isdigit"
        | "isspace"
        | "isalnum"
        | "isupper"
        | "islower"
        | "isprint"
        | "ispunct"
        | "isxdigit"
        | "iscntrl"
        | "isgraph"
        | "toupper"
        | "tolower"
        | "exit"
        | "_exit"
        | "abort"
        | "free"
        | "open"
        | "close"
        | "lseek"
        | "unlink"
        | "remove"
        | "rename"
        | "time"
        | "clock"
        | "rand"
        | "srand"
        | "random"
        | "srandom"
        | "getpid"
        | "isatty"
        | "sqrt"
        | "pow"
        | "exp"
        | "log"
        | "sin"
        | "cos"
        | "floor"
        | "ceil"
        | "fabs"
        | "__ctype_b_loc"
        | "__errno_location"
        | "__ctype_tolower_loc"
        | "__ctype_toupper_loc"
        | "strerror"
        | "__assert_fail"
        | "_Znwm"
        | "_Znam"
        | "_ZdlPv"
        | "_ZdlPvm"
        | "_ZdaPv"
        | "__cxa_begin_catch"
        | "__cxa_end_catch"
        | "__cxa_throw"
        | "__cxa_allocate_exception"
        | "__cxa_free_exception"
        | "__cxa_rethrow"
        | "_Unwind_Resume"
        | "__gxx_personality_v0"
        | "fseek"
        | "ftell"
        | "rewind"
        | "setvbuf"
        | "setbuf"
        | "access"
        | "index"
        | "rindex"
        | "strchrnul" => Writes::Nothing,
        "strcpy" | "strncpy" | "strcat" | "strncat" | "stpcpy" | "memset" | "memcpy"
        | "memmove" | "mempcpy" | "sprintf" | "snprintf" | "vsprintf" | "vsnprintf" | "fgets"
        | "gets" | "fread" | "strtok" | "bzero" | "realloc" | "qsort" | "getcwd"
        | "gettimeofday" | "pipe" => Writes::First,
        _ => Writes::Anything,
    }
}

/// Functions that print or scan: they write, but no pointers.
fn is_plain_output(symbol: &str) -> bool {
    matches!(
        bare(symbol),
        "scanf"
            | "fscanf"
            | "sscanf"
            | "vsscanf"
            | "read"
            | "recv"
            | "stat"
            | "fstat"
            | "lstat"
            | "sigaction"
            | "waitpid"
            | "wait"
            | "poll"
            | "select"
            | "nanosleep"
            | "ioctl"
    )
}

/// Variables of the C library by which one gets to arguments and variables of the environment as well.
const WAYS_TO_ARGUMENTS: &[&str] = &[
    "environ",
    "_environ",
    "__environ",
    "program_invocation_name",
    "program_invocation_short_name",
    "__progname",
    "__progname_full",
];

pub fn is_way_to_arguments(variable: &str) -> bool {
    WAYS_TO_ARGUMENTS.contains(&variable)
}

/// How an external function can fail to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    Returns,
    /// Ends the program.
    Halts,
    /// Unwinds the stack.
    Throws,
    /// Goes on behind some call of `setjmp`.
    Jumps,
}

pub fn leaving(symbol: &str, no_return: bool) -> Leaving {
    match bare(symbol) {
        "longjmp" | "_longjmp" | "siglongjmp" | "__longjmp_chk" => Leaving::Jumps,
        "__cxa_throw"
        | "__cxa_rethrow"
        | "_Unwind_Resume"
        | "_Unwind_RaiseException"
        | "__rust_start_panic"
        | "_Unwind_Resume_or_Rethrow" => Leaving::Throws,
        _ if no_return => Leaving::Halts,
        "exit" | "_exit" | "_Exit" | "abort" | "quick_exit" | "__assert_fail" | "err" | "errx"
        | "verr" | "verrx" | "execv" | "execve" | "execvp" | "execl" | "execlp" => Leaving::Halts,
        _ => Leaving::Returns,
    }
}

pub fn is_setjmp(symbol: &str) -> bool {
    matches!(
        bare(symbol),
        "setjmp" | "_setjmp" | "sigsetjmp" | "__sigsetjmp"
    )
}

/// What the world can see.
pub fn is_output(symbol: &str) -> bool {
    matches!(
        bare(symbol),
        "printf"
            | "fprintf"
            | "vprintf"
            | "vfprintf"
            | "puts"
            | "fputs"
            | "putchar"
            | "putc"
            | "fputc"
            | "fwrite"
            | "write"
            | "perror"
            | "dprintf"
            | "putchar_unlocked"
            | "putc_unlocked"
            | "_IO_putc"
            | "fputs_unlocked"
            | "fwrite_unlocked"
            | "writev"
            | "send"
            | "sendto"
            | "exit"
            | "_exit"
            | "abort"
            | "__assert_fail"
            | "changeling_observe"
            | "__printf_chk"
            | "__fprintf_chk"
    )
}

/// Versioned and redirected names mean the plain function.
fn bare(symbol: &str) -> &str {
    let symbol = symbol.strip_prefix('\u{1}').unwrap_or(symbol);
    let symbol = symbol.strip_prefix("__isoc99_").unwrap_or(symbol);
    symbol.strip_prefix("__isoc23_").unwrap_or(symbol)
}
