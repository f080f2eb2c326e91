//! The command line of a compiler, as far as we must understand it.

use crate::translation::Kind;
use crate::version::Language;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Options whose value is the next argument (some also take it joined).
const SEPARATE: &[&str] = &[
    "-o",
    "-x",
    "-I",
    "-D",
    "-U",
    "-L",
    "-l",
    "-F",
    "-B",
    "-T",
    "-u",
    "-z",
    "-e",
    "-A",
    "-G",
    "-include",
    "-include-pch",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-ivfsoverlay",
    "-cxx-isystem",
    "-internal-isystem",
    "--sysroot",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-Xlinker",
    "-Xclang",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xanalyzer",
    "-Xopenmp-target",
    "-arch",
    "-target",
    "--target",
    "-mllvm",
    "-mthread-model",
    "--param",
    "-framework",
    "-weak_framework",
    "-dumpbase",
    "-dumpdir",
    "-aux-info",
    "-wrapper",
    "-working-directory",
    "-resource-dir",
    "-gcc-toolchain",
    "--serialize-diagnostics",
    "-serialize-diagnostics",
    "-rpath",
    "-soname",
    "-Ttext",
    "-Tdata",
    "-Tbss",
    "-undefined",
    "-specs",
    "--config",
    "-fdebug-compilation-dir",
    "-fmodule-file",
    "-fplugin-arg",
    "-main-file-name",
    "-dependency-file",
];

/// What a call of the compiler ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `-c`: objects.
    Compile,
    /// An executable.
    Link,
    /// `-shared` or `-r`: something that later becomes part of a program.
    LinkPart,
    /// Anything else (-E, -S, -M, --version, …): none of our business.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    pub path: PathBuf,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub struct Invocation {
    pub mode: Mode,
    pub inputs: Vec<InputFile>,
    pub output: Option<PathBuf>,
    /// All arguments with response files opened.
    pub arguments: Vec<OsString>,
    /// Those that matter when a single source of this call is compiled to bitcode.
    pub flags: Vec<OsString>,
    /// All that matters when it is compiled to an object.
    pub plain_flags: Vec<OsString>,
    /// Libraries, library directories and linker options, in order.
    pub link: Vec<OsString>,
    /// A map file that the user asks for.
    pub map: Option<PathBuf>,
}

impl Invocation {
    /// Reads a command line. `cpp` tells whether the driver is the C++ one, for which `.c` means C++.
    pub fn parse(arguments: &[OsString], cpp: bool) -> Invocation {
        let arguments = open_response_files(arguments, 0);
        let mut invocation = Invocation {
            mode: Mode::Link,
            inputs: Vec::new(),
            output: None,
            flags: Vec::new(),
            plain_flags: Vec::new(),
            link: Vec::new(),
            map: None,
            arguments: Vec::new(),
        };
        let mut forced = None;
        let mut position = 0;
        while let Some(argument) = arguments.get(position) {
            position += 1;
            let text = argument.to_string_lossy();
            if text == "-" || !text.starts_with('-') {
                invocation.add_input(Path::new(argument), forced, cpp);
                continue;
            }
            let value = if SEPARATE.contains(&text.as_ref()) {
                arguments.get(position)
            } else {
                None
            };
            position += usize::from(value.is_some());
            match (text.as_ref(), value) {
                ("-o", Some(value)) => invocation.output = Some(value.into()),
                ("-x", Some(value)) => forced = Kind::from_name(&value.to_string_lossy()),
                (option, None) if option.starts_with("-x") => {
                    forced = Kind::from_name(&option[2..])
                }
                (option, None) if option.starts_with("-o") => {
                    invocation.output =
                        Some(OsString::from_vec(argument.as_bytes()[2..].to_vec()).into());
                }
                _ => {
                    invocation.note_mode(&text);
                    invocation.note_map(argument, value);
                    invocation.sort_option(argument, value);
                }
            }
        }
        if invocation.inputs.is_empty() {
            invocation.mode = Mode::Other;
        }
        invocation.arguments = arguments;
        invocation
    }

    /// Where `-c` puts the object of an input.
    pub fn object_of(&self, input: &Path) -> PathBuf {
        match &self.output {
            Some(output) => output.clone(),
            None => PathBuf::from(input.file_stem().unwrap_or_default()).with_added_extension("o"),
        }
    }

    /// Where a link puts its result.
    pub fn executable(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| "a.out".into())
    }

    fn add_input(&mut self, path: &Path, forced: Option<Kind>, cpp: bool) {
        let kind = match forced.unwrap_or_else(|| Kind::of(path)) {
            Kind::Source(Language::C) if cpp && forced.is_none() => Kind::Source(Language::Cpp),
            kind => kind,
        };
        if kind == Kind::Linkable {
            self.link.push(path.into());
        }
        self.inputs.push(InputFile {
            path: path.into(),
            kind,
        });
    }

    fn note_mode(&mut self, option: &str) {
        let stop = matches!(
            option,
            "-E" | "-S"
                | "-M"
                | "-MM"
                | "-fsyntax-only"
                | "-###"
                | "--version"
                | "-v"
                | "-dumpversion"
                | "-dumpmachine"
                | "--help"
                | "-emit-llvm"
                | "-emit-ast"
                | "--analyze"
                | "-P"
        ) || option.starts_with("-print-")
            || option.starts_with("--print-")
            || option.starts_with("--help");
        match option {
            // With inputs, -v only makes the compiler talk; without, the empty input list decides.
            "-v" | "-P" => {}
            _ if stop => self.mode = Mode::Other,
            "-c" if self.mode != Mode::Other => self.mode = Mode::Compile,
            "-shared" | "-r" | "-Wl,-r" | "-Wl,--relocatable" | "-Wl,-shared"
                if self.mode == Mode::Link =>
            {
                self.mode = Mode::LinkPart;
            }
            _ => {}
        }
    }

    fn note_map(&mut self, option: &OsStr, value: Option<&OsString>) {
        let joined = option.to_string_lossy();
        let text = match value {
            Some(value) if joined == "-Xlinker" => value.to_string_lossy(),
            _ => joined,
        };
        let mut parts = text.trim_start_matches("-Wl,").split(',').peekable();
        while let Some(part) = parts.next() {
            let name = part
                .strip_prefix("-Map=")
                .or_else(|| part.strip_prefix("--Map="));
            let name = match part {
                "-Map" | "--Map" => parts.peek().copied(),
                _ => name,
            };
            if let Some(name) = name {
                self.map = Some(name.into());
            }
        }
    }

    /// Puts an option (with its value) where it is needed later.
    fn sort_option(&mut self, option: &OsString, value: Option<&OsString>) {
        let text = option.to_string_lossy();
        if !is_output(&text) {
            self.plain_flags.push(option.clone());
            self.plain_flags.extend(value.cloned());
        }
        let list = match class(&text) {
            Class::Compiler => &mut self.flags,
            Class::Linker => &mut self.link,
            Class::Both => {
                self.link.push(option.clone());
                self.link.extend(value.cloned());
                &mut self.flags
            }
            Class::Dropped => return,
        };
        list.push(option.clone());
        list.extend(value.cloned());
    }
}

/// Of flags given for files: those for compiling one to bitcode.
pub fn bitcode_flags(flags: &[OsString]) -> Vec<OsString> {
    Invocation::parse(flags, false).flags
}

/// Flags given for a set of files, without those of the other language.
pub fn flags_for(flags: &[OsString], language: Option<Language>) -> Vec<OsString> {
    flags
        .iter()
        .filter(|flag| {
            let text = flag.to_string_lossy();
            match text
                .strip_prefix("-std=")
                .or_else(|| text.strip_prefix("--std="))
            {
                Some(standard) => standard.contains("++") == (language == Some(Language::Cpp)),
                None => true,
            }
        })
        .cloned()
        .collect()
}

enum Class {
    Compiler,
    Linker,
    Both,
    /// Of no use or harmful for bitcode: optimisation, warnings, outputs, instrumentation.
    Dropped,
}

fn class(option: &str) -> Class {
    const BOTH: &[&str] = &[
        "-pthread",
        "-fopenmp",
        "-fopenmp-simd",
        "-target",
        "--target",
        "-B",
        "--sysroot",
        "-isysroot",
    ];
    const LINKER: &[&str] = &[
        "-l",
        "-L",
        "-Xlinker",
        "-T",
        "-u",
        "-z",
        "-e",
        "-rpath",
        "-shared",
        "-static",
        "-r",
        "-rdynamic",
        "-pie",
        "-no-pie",
        "-nostartfiles",
        "-nodefaultlibs",
        "-nostdlib",
        "-nolibc",
        "-s",
        "-static-libgcc",
        "-static-libstdc++",
        "-shared-libgcc",
        "-static-pie",
    ];
    const DROPPED: &[&str] = &[
        "-c",
        "-S",
        "-E",
        "-MF",
        "-MT",
        "-MQ",
        "-MJ",
        "-M",
        "-MM",
        "-MD",
        "-MMD",
        "-MG",
        "-MP",
        "-MV",
        "-pg",
        "-p",
        "-v",
        "-w",
        "--coverage",
        "-coverage",
        "-emit-llvm",
        "--serialize-diagnostics",
        "-serialize-diagnostics",
        "-dumpbase",
        "-dumpdir",
        "-aux-info",
        "-Xassembler",
        "-Xanalyzer",
        "-pedantic",
        "-pedantic-errors",
        "-finstrument-functions",
        "-ftest-coverage",
        "-fembed-bitcode",
        "-fvectorize",
        "-ftree-vectorize",
        "-fslp-vectorize",
        "-ftree-slp-vectorize",
        "-ftree-loop-vectorize",
        "-finline",
        "-dependency-file",
    ];
    const DROPPED_PREFIXES: &[&str] = &[
        "-O",
        "-g",
        "-W",
        "-flto",
        "-fno-lto",
        "-ffat-lto",
        "-fsanitize",
        "-fno-sanitize",
        "-fprofile",
        "-fcoverage",
        "-fcs-profile",
        "-fthinlto",
        "-fwhole-program",
        "-save-temps",
        "--save-temps",
        "-ftime-",
        "-fplugin",
        "-fdump",
        "-fstack-usage",
        "-fsplit-dwarf",
        "-fxray",
        "-D_FORTIFY_SOURCE",
        "-funroll",
        "-fdiagnostics",
        "-fsave-optimization",
        "-foptimization-record",
    ];
    let is_linker_prefix =
        |prefix: &&str| option.starts_with(prefix) && option.len() > prefix.len();
    if BOTH.contains(&option)
        || option.starts_with("--target=")
        || option.starts_with("-fopenmp=")
        || option.starts_with("--sysroot=")
        || is_machine(option)
    {
        Class::Both
    } else if LINKER.contains(&option)
        || ["-l", "-L", "-u", "-Wl,", "-fuse-ld="]
            .iter()
            .any(is_linker_prefix)
    {
        Class::Linker
    } else if option.starts_with("-Wp,")
        && !option.contains("-M")
        && !option.contains("_FORTIFY_SOURCE")
    {
        Class::Compiler
    } else if DROPPED.contains(&option)
        || DROPPED_PREFIXES
            .iter()
            .any(|prefix| option.starts_with(prefix))
    {
        Class::Dropped
    } else {
        Class::Compiler
    }
}

/// Options that say what is written and where.
fn is_output(option: &str) -> bool {
    matches!(
        option,
        "-c" | "-S" | "-E" | "--serialize-diagnostics" | "-serialize-diagnostics"
    ) || option.starts_with("-M")
        || option.starts_with("-Wp,-M")
}

fn is_machine(option: &str) -> bool {
    matches!(option, "-m32" | "-m64" | "-mx32" | "-m16")
}

/// Replaces `@file` by the arguments in the file, as compilers do: quotes and
/// backslashes protect, and a file that cannot be read stays as it is.
fn open_response_files(arguments: &[OsString], depth: usize) -> Vec<OsString> {
    const DEEPEST: usize = 16;
    let mut opened = Vec::new();
    for argument in arguments {
        let name = argument
            .as_bytes()
            .strip_prefix(b"@")
            .filter(|_| depth < DEEPEST);
        match name.map(|name| std::fs::read(OsStr::from_bytes(name))) {
            Some(Ok(text)) => opened.extend(open_response_files(&split_words(&text), depth + 1)),
            _ => opened.push(argument.clone()),
        }
    }
    opened
}

/// Splits text the way a response file or a `command` of a compilation database is split.
pub fn split_words(text: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (Some(b'\''), b'\'') | (Some(b'"'), b'"') => quote = None,
            (Some(b'\''), _) => word.get_or_insert_default().push(byte),
            (_, b'\\') => word.get_or_insert_default().extend(bytes.next()),
            (None, b'\'' | b'"') => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (None, _) if byte.is_ascii_whitespace() => {
                words.extend(word.take().map(OsString::from_vec))
            }
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word.map(OsString::from_vec));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Invocation {
        Invocation::parse(&split_words(line.as_bytes()), false)
    }

    #[test]
    fn output_may_be_anywhere() {
        assert_eq!(parse("-o x.o -c a.c").output, Some("x.o".into()));
        assert_eq!(parse("a.c -c -ox.o").output, Some("x.o".into()));
        assert_eq!(
            parse("-c dir/a.c").object_of(Path::new("dir/a.c")),
            Path::new("a.o")
        );
        assert_eq!(
            parse("-c dir/a.b.c").object_of(Path::new("dir/a.b.c")),
            Path::new("a.b.o")
        );
    }

    #[test]
    fn modes_are_told_apart() {
        for (line, mode) in [
            ("-c a.c", Mode::Compile),
            ("a.c b.o -lm", Mode::Link),
            ("-shared a.o -o liba.so", Mode::LinkPart),
            ("-E -c a.c", Mode::Other),
            ("-c -E a.c", Mode::Other),
            ("-MM a.c", Mode::Other),
            ("-MMD -c a.c", Mode::Compile),
            ("--version", Mode::Other),
            ("-v", Mode::Other),
        ] {
            assert_eq!(parse(line).mode, mode, "{line}");
        }
    }

    #[test]
    fn bitcode_flags_keep_what_changes_meaning() {
        let flags = parse("-c -O2 -Wall -Werror -g3 -DX='a b' -I inc -MMD -MF a.d -std=gnu11 -fsanitize=address -fno-strict-aliasing -Wp,-MD,x.d -D_FORTIFY_SOURCE=2 a.c -o a.o").flags;
        assert_eq!(
            flags,
            ["-DX=a b", "-I", "inc", "-std=gnu11", "-fno-strict-aliasing"].map(OsString::from)
        );
    }

    #[test]
    fn language_options_reach_what_follows() {
        let inputs = parse("-x c++ a.c -x none b.c -").inputs;
        assert_eq!(inputs[0].kind, Kind::Source(Language::Cpp));
        assert_eq!(inputs[1].kind, Kind::Source(Language::C));
        assert_eq!(
            Invocation::parse(&["a.c".into()], true).inputs[0].kind,
            Kind::Source(Language::Cpp)
        );
    }

    #[test]
    fn words_are_split_like_a_shell() {
        assert_eq!(
            split_words(br#"a 'b c' "d \"e" f\ g ''"#),
            ["a", "b c", "d \"e", "f g", ""].map(OsString::from)
        );
    }

    #[test]
    fn linker_words_keep_their_order() {
        let link = parse("main.o -L lib -lfoo -Wl,--wrap=malloc x.a -pthread -o p").link;
        assert_eq!(
            link,
            [
                "main.o",
                "-L",
                "lib",
                "-lfoo",
                "-Wl,--wrap=malloc",
                "x.a",
                "-pthread"
            ]
            .map(OsString::from)
        );
        assert_eq!(parse("a.o -Wl,-Map,m.txt").map, Some("m.txt".into()));
    }
}
