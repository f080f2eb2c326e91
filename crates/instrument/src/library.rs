//! The C++ library: templates of strings and streams, made once more so that
//! they can be traced, and models of what the templates rest on. A module of its
//! own, linked into programs that use it and into no others.

use crate::ir::{Ir, Value};
use crate::redirect;
use changeling_trace::layout::unseen;
use std::collections::HashSet;

/// Inside the library a call of `f` is a call of its model; this is the real one.
const REAL: &str = "__real_";

/// Tables of virtual functions, of which objects made by traced code get the library's.
const TABLES: &[&str] = &["_ZTV", "_ZTT", "_ZTC"];
/// What types are called is the same everywhere.
const TYPES: &[&str] = &["_ZTI", "_ZTS"];

/// What the glue calls before `main`, and the parts of names that tell whether
/// a program needs it.
const STARTS: &[(&str, &[&str])] = &[
    (
        "__model_cxx_start_streams",
        &["_ZSt3cin", "_ZSt4c", "ios_base", "basic_ios", "5ctype"],
    ),
    (
        "__model_cxx_start_reader",
        &["_ZNSirsERi", "_ZNSirsERs", "_ZNSi10_M_extract", "num_get"],
    ),
    (
        "__model_cxx_start_printer",
        &["_ZNSolsEi", "_ZNSolsEs", "_ZNSo9_M_insert", "num_put"],
    ),
];

/// Parts of the names of functions that take input; those that are left when
/// the library is there read it unseen.
const INPUT: &[&str] = &[
    "NSi",
    "RSi",
    "basic_istream",
    "basic_filebuf",
    "basic_ifstream",
    "basic_fstream",
    "istreambuf_iterator",
];
const WIDE_INPUT: &str = "_ZSt4wcin";

/// Functions of the system that hand on what is in descriptors without showing it, and those of libraries that read
/// descriptors or streams on their own. These have no model, and what comes of them is read again under another name.
const UNSEEN: &[&str] = &[
    "aio_read",
    "aio_read64",
    "copy_file_range",
    "fgetgrent",
    "fgetgrent_r",
    "fgetpwent",
    "fgetpwent_r",
    "fgetspent",
    "fgetspent_r",
    "fgetwc",
    "fgetwc_unlocked",
    "fgetws",
    "fgetws_unlocked",
    "fwscanf",
    "getmntent",
    "getmntent_r",
    "getw",
    "getwc",
    "getwc_unlocked",
    "getwchar",
    "getwchar_unlocked",
    "__isoc23_fwscanf",
    "__isoc23_vfwscanf",
    "__isoc23_vwscanf",
    "__isoc23_wscanf",
    "__isoc99_fwscanf",
    "__isoc99_vfwscanf",
    "__isoc99_vwscanf",
    "__isoc99_wscanf",
    "lio_listio",
    "sendfile",
    "sendfile64",
    "splice",
    "tee",
    "vfwscanf",
    "vwscanf",
    "wscanf",
];
/// Those that start programs, which read on their own and inherit the environment.
const STARTING: &[&str] = &[
    "execl",
    "execle",
    "execlp",
    "execv",
    "execve",
    "execvp",
    "execvpe",
    "fexecve",
    "popen",
    "posix_spawn",
    "posix_spawnp",
    "system",
];
/// Numbers of calls of the system that read, open, map or start: `syscall` goes past the models.
const READING_CALLS: &[u64] = &[
    0, 2, 8, 9, 17, 19, 32, 33, 40, 59, 72, 257, 275, 276, 292, 295, 322, 326, 327, 425, 426, 437,
];
/// Functions that look at variables of the environment.
const VARIABLES: &[(u32, &[&str])] = &[
    (unseen::HOME, &["glob", "glob64"]),
    (
        unseen::ENVIRONMENT,
        &[
            "argp_help",
            "argp_parse",
            "fmtmsg",
            "getdate",
            "getdate_r",
            "wordexp",
        ],
    ),
    (
        unseen::LOCALE,
        &[
            "bindtextdomain",
            "catopen",
            "dcgettext",
            "dcngettext",
            "dgettext",
            "dngettext",
            "gettext",
            "newlocale",
            "ngettext",
            "setlocale",
            "_ZNSt6localeC1EPKc",
            "_ZNSt6localeC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
            "_ZNSt6localeC1ERKS_PKci",
        ],
    ),
    (
        unseen::TEMPORARY,
        &[
            "tempnam",
            "_ZNSt10filesystem19temp_directory_pathERSt10error_code",
            "_ZNSt10filesystem19temp_directory_pathEv",
            "_ZNSt10filesystem7__cxx1119temp_directory_pathB5cxx11ERSt10error_code",
            "_ZNSt10filesystem7__cxx1119temp_directory_pathB5cxx11Ev",
        ],
    ),
    (
        unseen::TIME_ZONE,
        &[
            "ctime",
            "ctime_r",
            "localtime",
            "localtime_r",
            "mktime",
            "strftime",
            "strftime_l",
            "timelocal",
            "tzset",
            "wcsftime",
            "wcsftime_l",
        ],
    ),
];
/// Those after which a file has another name, or another one has its name, and those that tell its size out of sight.
const UNSEEN_FILES: &[&str] = &[
    "chdir",
    "chroot",
    "fchdir",
    "fts_open",
    "fts64_open",
    "ftw",
    "ftw64",
    "link",
    "linkat",
    "nftw",
    "nftw64",
    "rename",
    "renameat",
    "renameat2",
];
/// The same in `std::filesystem`, by parts of names.
const FILESYSTEM: &str = "_ZNSt10filesystem";
const FILESYSTEM_UNSEEN: &[&str] = &[
    "copy",
    "current_path",
    "file_size",
    "is_empty",
    "last_write_time",
    "link",
    "rename",
    "resize_file",
];

/// How names of the C++ library begin.
const NAMESPACE: &[&str] = &["_ZS", "_ZNS", "_ZNKS", "_ZTVS", "_ZTVNS"];

/// What the library's module defines, under the names it is linked by.
pub struct Names {
    /// All functions.
    pub functions: HashSet<String>,
    /// Those that were written as models: they give account of what they do with labels.
    pub models: HashSet<String>,
    /// Tables of virtual functions.
    pub tables: HashSet<String>,
}

/// Does the program lack anything that the library may have?
pub fn is_wanted(program: Ir) -> bool {
    let is_theirs = |value: &Value| {
        let name = value.name();
        value.is_declaration() && NAMESPACE.iter().any(|start| name.starts_with(start))
    };
    program.functions().iter().any(is_theirs) || program.globals().iter().any(is_theirs)
}

/// Makes the module fit to be linked: its functions are nobody else's and call
/// models where they call the C library.
pub fn prepare(library: Ir, c_models: &HashSet<String>) -> Names {
    // They would construct facets once more.
    for name in ["llvm.global_ctors", "llvm.used"] {
        if let Some(list) = library.global(name) {
            list.delete_global();
        }
    }
    let mut names = Names {
        functions: HashSet::new(),
        models: HashSet::new(),
        tables: HashSet::new(),
    };
    for function in redirect::defined(library) {
        let mut name = function.name();
        if name.starts_with("__model_") {
            names.models.insert(name.clone());
        } else {
            let visible = !function.is_internal();
            name = format!("{}{name}", if visible { "__model_" } else { "__mdl_" });
            function.set_name(&name);
        }
        function.set_external();
        names.functions.insert(name);
    }
    for global in library.globals() {
        let name = global.name();
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        if global.is_declaration() || global.is_internal() || starts(TYPES) {
            continue;
        }
        if starts(TABLES) {
            let name = format!("__model_{name}");
            global.set_name(&name);
            global.set_external();
            names.tables.insert(name);
        } else if global.is_constant_global() {
            global.set_internal();
        } else {
            global.forget_initialiser();
            global.set_external();
        }
    }
    redirect::to_models(library, c_models);
    redirect::to_models(library, &names.functions);
    call_real_ones(library);
    names
}

fn call_real_ones(library: Ir) {
    for function in library.functions() {
        if let Some(name) = function.name().strip_prefix(REAL) {
            function.replace_uses(library.declare_like(name, function));
        }
    }
    for global in library.globals() {
        if let Some(name) = global.name().strip_prefix(REAL) {
            global.set_name(name);
        }
    }
}

/// Sends the program's uses of tables to those of the library.
pub fn give_tables(program: Ir, tables: &HashSet<String>) {
    for global in program.globals() {
        let table = format!("__model_{}", global.name());
        if global.is_declaration() && tables.contains(&table) {
            global.replace_uses(program.add_global(&table, global.value_type()));
        }
    }
}

/// Which of the functions that the glue calls before `main` this program needs.
pub fn starts(program: Ir) -> HashSet<&'static str> {
    let names: Vec<String> = program
        .functions()
        .iter()
        .chain(&program.globals())
        .map(|value| value.name())
        .filter(|name| name.starts_with("_Z"))
        .collect();
    STARTS
        .iter()
        .filter(|(_, parts)| {
            names
                .iter()
                .any(|name| parts.iter().any(|part| name.contains(part)))
        })
        .map(|(start, _)| *start)
        .collect()
}

/// Which input the program, which has got the library, may read in code that is not traced: bits of [`unseen`].
pub fn unseen(program: Ir) -> u32 {
    let used = |value: &Value| value.is_declaration() && !value.users().is_empty();
    let functions = program.functions();
    // A function that may be missing is a variable to Rust.
    let names: Vec<String> = functions
        .iter()
        .chain(&program.globals())
        .filter(|value| used(value))
        .map(|value| value.name())
        .collect();
    let any = |test: &dyn Fn(&str) -> bool| names.iter().any(|name| test(name));
    let mut which = 0;
    if any(&|name| UNSEEN_FILES.contains(&name) || is_unseen_file(name)) {
        which |= unseen::FILES;
    }
    if any(&|name| is_unseen_stream(name) || UNSEEN.contains(&name)) {
        which |= unseen::FILES | unseen::STDIN;
    }
    if any(&|name| STARTING.contains(&name)) || calls_system(&functions) {
        which |= unseen::FILES | unseen::STDIN | unseen::ENVIRONMENT;
    }
    for (variables, readers) in VARIABLES {
        if any(&|name| readers.contains(&name)) {
            which |= variables;
        }
    }
    which
}

/// Is the system called past the C library, to get at input or for nobody knows what?
fn calls_system(functions: &[Value]) -> bool {
    functions
        .iter()
        .flat_map(|function| function.blocks())
        .flat_map(|block| block.instructions())
        .filter(|i| i.is_call())
        .any(|call| {
            let callee = call.callee();
            if callee.is_inline_asm() {
                return callee.asm_contains("syscall");
            }
            callee.is_function()
                && callee.name() == "syscall"
                && call
                    .operand(0)
                    .constant_value()
                    .is_none_or(|number| READING_CALLS.contains(&number))
        })
}

/// Streams that are left: wide ones, or ones of another library.
fn is_unseen_stream(name: &str) -> bool {
    name == WIDE_INPUT
        || name.starts_with("_Z")
            && !name.starts_with("_ZT")
            && !name.starts_with("_ZSt9use_facetISt7num_get")
            && !name.starts_with("_ZSt9has_facetISt7num_get")
            && INPUT.iter().any(|part| name.contains(part))
}

fn is_unseen_file(name: &str) -> bool {
    name.starts_with(FILESYSTEM) && FILESYSTEM_UNSEEN.iter().any(|part| name.contains(part))
}
