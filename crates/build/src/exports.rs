//! Which functions of a program code outside of it can call by their names.

use crate::version::Built;
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{Dyn, ElfFile64, FileHeader};
use object::{Object, ObjectSymbol};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// Functions that a program lets others see, as far as there are others that may call them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exports {
    /// All that are not limited to their own source.
    All,
    Named(BTreeSet<String>),
    /// All, if the program looks for functions by name; none if it does not. Of what was not linked no more is known.
    ByName,
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
pub const BY_NAME: [&str; 4] = ["dlopen", "dlmopen", "dlsym", "dlvsym"];

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
        exports_of(&self.plain).unwrap_or(Exports::All)
    }

    /// What of the program the libraries can see that it is linked with: they know the name themselves, or the program is
    /// linked so that they see everything. What they use by these names is the program's. `None` if it cannot be told.
    pub fn shown(&self) -> Option<BTreeSet<String>> {
        let bytes = std::fs::read(&self.plain).ok()?;
        let file = File::parse(&*bytes).ok()?;
        Some(names(&file, true).into_iter().collect())
    }
}

/// `None` if it cannot be told.
fn exports_of(program: &Path) -> Option<Exports> {
    let bytes = std::fs::read(program).ok()?;
    let file = File::parse(&bytes).ok()?;
    let own: BTreeSet<String> = names(&file, true).into_iter().collect();
    let imported = names(&file, false);
    if own.is_empty() || imported.iter().any(|name| BY_NAME.contains(&name.as_str())) {
        return Some(Exports::Named(own));
    }
    let kept = program.parent()?.join("lib");
    let mut work = needed(&bytes)?;
    let mut seen: HashSet<String> = HashSet::new();
    let mut called = BTreeSet::new();
    while let Some(name) = work.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let places = [kept.clone()].into_iter().chain(PLACES.map(PathBuf::from));
        let mut files = places.map(|place| place.join(&name));
        let bytes = files.find_map(|path| std::fs::read(path).ok())?;
        work.extend(needed(&bytes)?);
        let undefined = names(&File::parse(&bytes).ok()?, false);
        called.extend(undefined.into_iter().filter(|name| own.contains(name)));
    }
    Some(Exports::Named(called))
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

    /// Compiles a text in a room, and names what it exports.
    fn exported(room: &Path, name: &str, text: &str, flags: &[&str]) -> Vec<String> {
        std::fs::write(room.join("text.c"), text).unwrap();
        let mut command = Tool::Clang.command().unwrap();
        let command = command.current_dir(room).args(["text.c", "-o", name]);
        assert!(command.args(flags).status().unwrap().success());
        match exports_of(&room.join(name)).expect("a program") {
            Exports::Named(names) => names.into_iter().collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn functions_count_whose_names_somebody_has() {
        let room = tempfile::tempdir().unwrap();
        let room = room.path();
        std::fs::create_dir(room.join("lib")).unwrap();
        let library = "int callback(int); int work(int x) { return callback(x); }";
        exported(room, "lib/libwork.so", library, &["-shared", "-fPIC"]);
        let text = "int work(int);\nint callback(int x) { return x; }\nint spare(int x) { return -x; }\n\
            int main(int n, char **v) { return work(n); }\n";
        let linked = ["-rdynamic", "-Llib", "-lwork"];
        assert_eq!(exported(room, "linked", text, &linked[1..]), ["callback"]);
        assert_eq!(exported(room, "all", text, &linked), ["callback"]);
        let text = "int alpha(void) { return 1; }\nint main(void) { return 0; }\n";
        assert!(exported(room, "alone", text, &["-rdynamic"]).is_empty());
        let text = "#include <dlfcn.h>\nint alpha(void) { return 1; }\n\
            int main(void) { return dlsym(0, \"alpha\") == 0; }\n";
        assert!(exported(room, "hidden", text, &[]).is_empty());
        let shown = exported(room, "asking", text, &["-rdynamic"]);
        assert!(shown.contains(&"alpha".to_owned()), "{shown:?}");
    }
}
