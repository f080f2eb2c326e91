//! One source file to an object, and to bitcode.

use crate::error::BuildError;
use crate::process::{Finished, run_within};
use crate::tools::Tool;
use crate::version::Language;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a compiler does with an input file, by its suffix (or by `-x`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Source(Language),
    /// Already preprocessed: `.i`, `.ii`.
    Preprocessed(Language),
    Assembler,
    Bitcode,
    /// Objects, archives, shared libraries, linker scripts.
    Linkable,
    /// Headers, Objective-C and others that are passed through as they are.
    Other,
}

impl Kind {
    pub fn of(path: &Path) -> Kind {
        match path.extension().and_then(OsStr::to_str) {
            Some("c") => Kind::Source(Language::C),
            Some("cc" | "cp" | "cxx" | "cpp" | "CPP" | "c++" | "C") => Kind::Source(Language::Cpp),
            Some("i") => Kind::Preprocessed(Language::C),
            Some("ii") => Kind::Preprocessed(Language::Cpp),
            Some("s" | "S" | "sx") => Kind::Assembler,
            Some("bc" | "ll") => Kind::Bitcode,
            Some("h" | "hh" | "hpp" | "hxx" | "m" | "mm" | "cl" | "cu" | "f" | "f90") => {
                Kind::Other
            }
            _ => Kind::Linkable,
        }
    }

    /// The argument of `-x` for it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Source(Language::Cpp) => "c++",
            Kind::Source(_) => "c",
            Kind::Preprocessed(Language::Cpp) => "c++-cpp-output",
            Kind::Preprocessed(_) => "cpp-output",
            Kind::Assembler => "assembler-with-cpp",
            Kind::Bitcode => "ir",
            Kind::Linkable | Kind::Other => "none",
        }
    }

    pub fn from_name(name: &str) -> Option<Kind> {
        Some(match name {
            "c" => Kind::Source(Language::C),
            "c++" => Kind::Source(Language::Cpp),
            "cpp-output" => Kind::Preprocessed(Language::C),
            "c++-cpp-output" => Kind::Preprocessed(Language::Cpp),
            "assembler" | "assembler-with-cpp" => Kind::Assembler,
            "ir" => Kind::Bitcode,
            "none" => return None,
            _ => Kind::Other,
        })
    }

    pub fn language(self) -> Option<Language> {
        match self {
            Kind::Source(language) | Kind::Preprocessed(language) => Some(language),
            _ => None,
        }
    }
}

/// Flags that make bitcode worth tracing, after those of the user:
/// - code is generated as for -O1 but left as the front end made it;
/// - library calls stay calls of the function named in the source, which can then be
///   modelled: no macro over the tables of <ctype.h>, no inline bodies of glibc's
///   headers, no checking twins (`_FORTIFY_SOURCE`).
const BITCODE_FLAGS: &[&str] = &[
    "-w",
    "-O1",
    "-Xclang",
    "-disable-llvm-passes",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-g",
    "-gno-split-dwarf",
    "-D__NO_INLINE__=1",
    "-D__NO_CTYPE=1",
    "-U_FORTIFY_SOURCE",
    "-fno-lto",
    "-Qunused-arguments",
    "-emit-llvm",
    "-c",
];

/// A source file with the flags it is compiled with.
#[derive(Clone, Debug)]
pub struct Translation {
    pub source: PathBuf,
    pub kind: Kind,
    pub flags: Vec<OsString>,
    /// Relative names in the flags are relative to this directory.
    pub directory: PathBuf,
    /// The compiler may take this long.
    pub limit: Option<Duration>,
}

impl Translation {
    pub fn driver(&self) -> Tool {
        match self.kind.language() {
            Some(Language::Cpp) => Tool::ClangPlusPlus,
            _ => Tool::Clang,
        }
    }

    /// Compiles to an ordinary object with the user's flags.
    pub fn object(&self, output: &Path) -> Result<Finished, BuildError> {
        let mut command = self.driver().command()?;
        command
            .args(&self.flags)
            .args(["-Qunused-arguments", "-c", "-x", self.kind.name()]);
        command
            .arg(&self.source)
            .arg("-o")
            .arg(output)
            .current_dir(&self.directory);
        run_within(&mut command, self.limit, &self.source)
    }

    /// Compiles to bitcode. `flags` must already be [`bitcode_flags`]. If `dependencies` is
    /// given, the names of all files read are written there in make's format.
    pub fn bitcode(
        &self,
        output: &Path,
        dependencies: Option<&Path>,
        input: Option<&[u8]>,
    ) -> Result<Finished, BuildError> {
        let mut command = self.driver().command()?;
        command.args(&self.flags).args(BITCODE_FLAGS);
        if let Some(file) = dependencies {
            command.args(["-MD", "-MF"]).arg(file);
        }
        command
            .args(["-x", self.kind.name()])
            .arg(&self.source)
            .arg("-o")
            .arg(output);
        command.current_dir(&self.directory);
        match input {
            None => run_within(&mut command, self.limit, &self.source),
            Some(input) => run_fed(&mut command, input),
        }
    }
}

fn run_fed(command: &mut std::process::Command, input: &[u8]) -> Result<Finished, BuildError> {
    let mut file = tempfile::tempfile()
        .map_err(|e| BuildError::io(crate::error::WRITE, Path::new("/tmp"), e))?;
    use std::io::{Seek, Write};
    file.write_all(input)
        .and_then(|()| file.rewind())
        .map_err(|e| BuildError::io(crate::error::WRITE, Path::new("/tmp"), e))?;
    let output = command
        .stdin(file)
        .output()
        .map_err(|e| BuildError::io("cannot run", Path::new(command.get_program()), e))?;
    Ok(Finished {
        status: output.status,
        stdout: output.stdout,
        output: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Names of sources in the debug information of trees begin with this, instead
/// of the place where the tree was built. It is absolute because a compiler may be run
/// in any directory of the tree.
pub const SOURCE_PREFIX: &str = "/source";

/// Flags that let names in debug information, `__FILE__` and `assert` begin at
/// the root of the source, so that two versions in two places print the same.
pub fn prefix_flags(root: &Path) -> Vec<OsString> {
    map_flags(root, SOURCE_PREFIX)
}

/// The same for files that are compiled by absolute names: names are plainly relative.
pub fn relative_flags(root: &Path) -> Vec<OsString> {
    let mut flags = map_flags(root, "");
    flags.push("-fdebug-compilation-dir=.".into());
    flags
}

fn map_flags(root: &Path, to: &str) -> Vec<OsString> {
    let Some(root) = root
        .to_str()
        .filter(|root| !root.contains('=') && *root != "/")
    else {
        return Vec::new();
    };
    let debug = match to {
        "" => format!("-fdebug-prefix-map={root}/="),
        _ => format!("-fdebug-prefix-map={root}={to}"),
    };
    vec![format!("-fmacro-prefix-map={root}/=").into(), debug.into()]
}

/// The names in a dependency file as compilers write it for make.
pub fn dependencies(text: &str) -> Vec<PathBuf> {
    let text = text.replace("\\\n", " ");
    let Some((_, list)) = text.split_once(": ") else {
        return Vec::new();
    };
    let mut names = Vec::new();
    let mut name = String::new();
    let mut characters = list.lines().next().unwrap_or_default().chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('\\', Some(&next @ (' ' | '#' | '\\'))) => {
                name.push(next);
                characters.next();
            }
            ('$', Some('$')) => {
                name.push('$');
                characters.next();
            }
            (' ' | '\t', _) => {
                if !name.is_empty() {
                    names.push(PathBuf::from(std::mem::take(&mut name)));
                }
            }
            _ => name.push(character),
        }
    }
    if !name.is_empty() {
        names.push(PathBuf::from(name));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependency_files_are_read() {
        let text = "x.o: /a/b\\ c.c /usr/include/stdio.h \\\n  /d$$e.h\n\nother: y\n";
        assert_eq!(
            dependencies(text),
            ["/a/b c.c", "/usr/include/stdio.h", "/d$e.h"].map(PathBuf::from)
        );
    }

    #[test]
    fn kinds_follow_suffixes() {
        assert_eq!(Kind::of(Path::new("a.C")), Kind::Source(Language::Cpp));
        assert_eq!(Kind::of(Path::new("a.S")), Kind::Assembler);
        assert_eq!(Kind::of(Path::new("liba.so.1")), Kind::Linkable);
        assert_eq!(Kind::of(Path::new("a.h")), Kind::Other);
    }
}
