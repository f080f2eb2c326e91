//! What of a program code outside of it can call, or look at, by its name.

use crate::version::Built;
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{Dyn, ElfFile64, FileHeader};
use object::{Object, ObjectSymbol};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// What a program lets others see, as far as there are others that may use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exports {
    /// All that is not limited to its own source.
    All,
    Named(Names),
    /// All, if the program looks for functions by name; none if it does not. Of what was not linked no more is known.
    ByName,
}

/// Names that a program defines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Libraries have nothing of their own by these, or those are not known that may.
    pub wanted: BTreeSet<String>,
    /// Libraries have the same, and use the program's in its place.
    pub replaced: BTreeSet<String>,
}

impl Exports {
    /// Whether it was found out what others use.
    pub fn are_certain(&self) -> bool {
        matches!(self, Exports::Named(_))
    }
}

/// Where shared libraries are looked for if they are not kept beside the program.
const PLACES: [&str; 6] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/lib",
];
/// Whoever calls these can come by any name.
pub const BY_NAME: [&str; 8] = [
    "dlopen",
    "dlmopen",
    "dlsym",
    "dlvsym",
    // The other way round: these tell the name of an address.
    "dladdr",
    "dladdr1",
    "backtrace_symbols",
    "backtrace_symbols_fd",
];

impl Built {
    /// Objects without bitcode may call what they like, shared libraries what they have a name of.
    pub fn exports(&self) -> Exports {
        let is_linked = self.plain != self.bitcode;
        let mut words = self.link.iter().map(Path::new);
        let is_library = |word: &Path| word.extension().is_some_and(|end| end == "so");
        if !self.missing.is_empty() || (!is_linked && words.any(is_library)) {
            return Exports::All;
        }
        if !is_linked {
            return Exports::ByName;
        }
        let names = used_of(&self.plain);
        names.map_or(Exports::All, Exports::Named)
    }
}

/// `None` if it cannot be told.
fn used_of(program: &Path) -> Option<Names> {
    let bytes = std::fs::read(program).ok()?;
    let file = File::parse(&bytes).ok()?;
    // What is linked statically uses the program's functions, and nothing tells which.
    let libraries = needed(&bytes)?;
    if libraries.is_empty() {
        return None;
    }
    let own: BTreeSet<String> = names(&file, true).into_iter().collect();
    let used = match asks_by_name(&file) || own.is_empty() {
        true => None,
        false => used_by(libraries, &program.parent()?.join("lib"), &own),
    };
    Some(used.unwrap_or(Names {
        wanted: own,
        replaced: BTreeSet::new(),
    }))
}

/// What the libraries, and those that they need, use of these names. `None` if it may be any.
fn used_by(libraries: Vec<String>, kept: &Path, own: &BTreeSet<String>) -> Option<Names> {
    let mut work = libraries;
    let mut seen: HashSet<String> = HashSet::new();
    let mut used = Names::default();
    while let Some(name) = work.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let places = [kept.to_path_buf()].into_iter();
        let places = places.chain(PLACES.map(PathBuf::from));
        let mut files = places.map(|place| place.join(&name));
        let bytes = files.find_map(|path| std::fs::read(path).ok())?;
        work.extend(needed(&bytes)?);
        let file = File::parse(&*bytes).ok()?;
        if asks_by_name(&file) {
            return None;
        }
        for (into, defined) in [(&mut used.wanted, false), (&mut used.replaced, true)] {
            let names = names(&file, defined).into_iter();
            into.extend(names.filter(|name| own.contains(name)));
        }
    }
    Some(used)
}

fn asks_by_name(file: &File<'_>) -> bool {
    let mut wanted = names(file, false).into_iter();
    wanted.any(|name| BY_NAME.contains(&name.as_str()))
}

type File<'d> = ElfFile64<'d, object::Endianness>;

/// Dynamic symbols, those that a file defines or those that it wants.
fn names(file: &File<'_>, defined: bool) -> Vec<String> {
    let symbols = file.dynamic_symbols();
    let wanted = symbols.filter(|symbol| symbol.is_undefined() != defined);
    let names = wanted.filter_map(|symbol| symbol.name().ok().map(str::to_owned));
    names.filter(|name| !name.is_empty()).collect()
}

/// Names of the shared libraries that a file is linked with.
fn needed(bytes: &[u8]) -> Option<Vec<String>> {
    let header = FileHeader64::<object::Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, bytes).ok()?;
    let Some((entries, index)) = sections.dynamic(endian, bytes).ok()? else {
        return Some(Vec::new());
    };
    let strings = sections.strings(endian, bytes, index).ok()?;
    let entries = entries
        .iter()
        .filter(|entry| entry.tag32(endian) == Some(DT_NEEDED));
    let names = entries.map(|entry| entry.string(endian, strings).ok());
    let names = names.map(|name| Some(String::from_utf8_lossy(name?).into_owned()));
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Tool;

    /// Compiles a text in a room, and tells what of it others use.
    fn used(room: &Path, name: &str, text: &str, flags: &[&str]) -> Option<Names> {
        std::fs::write(room.join("text.c"), text).unwrap();
        let mut command = Tool::Clang.command().unwrap();
        let command = command.current_dir(room).args(["text.c", "-o", name]);
        assert!(command.args(flags).status().unwrap().success());
        used_of(&room.join(name))
    }

    fn wanted(room: &Path, name: &str, text: &str, flags: &[&str]) -> Vec<String> {
        let used = used(room, name, text, flags).expect("a program");
        assert!(used.replaced.is_empty(), "{used:?}");
        used.wanted.into_iter().collect()
    }

    #[test]
    fn functions_count_whose_names_somebody_has() {
        let room = tempfile::tempdir().unwrap();
        let room = room.path();
        std::fs::create_dir(room.join("lib")).unwrap();
        let library = "int callback(int); int work(int x) { return callback(x); }";
        wanted(room, "lib/libwork.so", library, &["-shared", "-fPIC"]);
        let text = "int work(int);\nint callback(int x) { return x; }\nint spare(int x) { return -x; }\n\
            int main(int n, char **v) { return work(n); }\n";
        let linked = ["-rdynamic", "-Llib", "-lwork"];
        assert_eq!(wanted(room, "linked", text, &linked[1..]), ["callback"]);
        assert_eq!(wanted(room, "all", text, &linked), ["callback"]);
        let text = "int alpha(void) { return 1; }\nint main(void) { return 0; }\n";
        assert!(wanted(room, "alone", text, &["-rdynamic"]).is_empty());
        let asks = "#include <dlfcn.h>\nint alpha(void) { return 1; }\n\
            int main(void) { return dlsym(0, \"alpha\") == 0; }\n";
        assert!(wanted(room, "hidden", asks, &[]).is_empty());
        let shown = wanted(room, "asking", asks, &["-rdynamic"]);
        assert!(shown.contains(&"alpha".to_owned()), "{shown:?}");
        // A library may ask as well.
        let library = "#include <dlfcn.h>\nint work(int x) { return dlsym(0, \"alpha\") != 0; }";
        wanted(room, "lib/libwork.so", library, &["-shared", "-fPIC"]);
        let shown = wanted(
            room,
            "asked",
            &format!("int work(int);\n{text}"),
            &linked_all(),
        );
        assert!(shown.contains(&"alpha".to_owned()), "{shown:?}");
    }

    /// Linked with the library though nothing of it is called.
    fn linked_all() -> [&'static str; 4] {
        ["-rdynamic", "-Wl,--no-as-needed", "-Llib", "-lwork"]
    }

    #[test]
    fn what_replaces_something_of_a_library_is_used_by_it() {
        let room = tempfile::tempdir().unwrap();
        let text = "int opterr = 0;\nint toupper(int c) { return c; }\nint spare(int c) { return -c; }\n\
            int main(void) { return 0; }\n";
        for (name, flags) in [("few", &[][..]), ("all", &["-rdynamic"][..])] {
            let used = used(room.path(), name, text, flags).expect("a program");
            let replaced: Vec<String> = used.replaced.into_iter().collect();
            assert_eq!(replaced, ["opterr", "toupper"]);
            assert!(used.wanted.is_empty(), "{:?}", used.wanted);
        }
        // Nothing tells what archives use.
        assert_eq!(used(room.path(), "whole", text, &["-static"]), None);
    }
}
