//! The C++ library: templates of strings and streams, made once more so that
//! they can be traced, and models of what the templates rest on. A module of its
//! own, linked into programs that use it and into no others.

use crate::ir::{Ir, Value};
use crate::redirect;
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

/// Functions of the system that hand on what is in descriptors without showing it, or start programs that read on their
/// own. These have no model, and what comes of them is read again under another name.
const UNSEEN: &[&str] = &[
    "aio_read",
    "aio_read64",
    "copy_file_range",
    "execl",
    "execle",
    "execlp",
    "execv",
    "execve",
    "execvp",
    "execvpe",
    "fexecve",
    "lio_listio",
    "popen",
    "posix_spawn",
    "posix_spawnp",
    "sendfile",
    "sendfile64",
    "splice",
    "system",
    "tee",
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

/// Which input the program, which has got the library, may read in code that is not traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unseen {
    #[default]
    Nothing = 0,
    Files = 1,
    Everything = 2,
}

pub fn unseen(program: Ir) -> Unseen {
    let used = |value: &Value| value.is_declaration() && !value.users().is_empty();
    // A function that may be missing is a variable to Rust.
    let names: Vec<String> = program
        .functions()
        .iter()
        .chain(&program.globals())
        .filter(|value| used(value))
        .map(|value| value.name())
        .collect();
    let any = |test: &dyn Fn(&str) -> bool| names.iter().any(|name| test(name));
    if any(&|name| is_unseen_stream(name) || UNSEEN.contains(&name)) {
        Unseen::Everything
    } else if any(&|name| UNSEEN_FILES.contains(&name) || is_unseen_file(name)) {
        Unseen::Files
    } else {
        Unseen::Nothing
    }
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
