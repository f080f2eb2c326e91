//! A Rust `#[test]`.

use super::{Expectation, Left, checks_stderr, left_behind, observed, test_name};
use crate::case::Case;
use crate::escape::{self, rust_literal};
use crate::results::End;
use changeling_trace::input::{Argument, StreamKind};

/// How the test finds the program.
#[derive(Clone, Copy, Debug)]
pub enum Program<'a> {
    /// A binary of the package that the test is part of.
    CargoBinary(&'a str),
    /// Read from the environment variable `PROGRAM`, else this path.
    Path(&'a str),
}

/// A directory of the test's own, which is gone when the test ends, however it does.
const FOLDER: &str = r#"struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let place = std::env::temp_dir();
        let numbers = 0..1000;
        let mut paths = numbers.map(|n| place.join(format!("{name}-{}-{n}", std::process::id())));
        let path = paths.find(|path| std::fs::create_dir(path).is_ok());
        Folder(path.expect("a directory can be made"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = Command::new("chmod").args(["-R", "u+rwx"]).arg(&self.0).output();
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
"#;

/// A whole file for `tests/`, with one test.
pub fn test(case: &Case, expectation: Expectation, program: Program<'_>) -> String {
    let expected = expectation.outcome(case);
    let mut body = String::new();
    let mut line = |text: String| {
        body.push_str("    ");
        body.push_str(&text);
        body.push('\n');
    };
    line(match program {
        Program::CargoBinary(name) => {
            format!(
                "let program = env!({:?}).to_owned();",
                format!("CARGO_BIN_EXE_{name}")
            )
        }
        Program::Path(path) => {
            format!("let program = std::env::var(\"PROGRAM\").unwrap_or({path:?}.into());")
        }
    });
    line("let program = std::fs::canonicalize(program).unwrap();".into());
    line(format!(
        "let folder = Folder::new(\"{}\");",
        test_name(case)
    ));
    line("let folder = &folder.0;".into());
    // The shell opens what values are observed through, and bounds what can be written. It would
    // drop variables with names that are none to it, and look at others.
    line("let mut command = Command::new(\"/bin/sh\");".into());
    line("command.args([\"-c\", \"ulimit -f 131072; exec \\\"$0\\\" \\\"$@\\\" 9>.observed\", \"/usr/bin/env\", \"-i\"]);".into());
    line("command.current_dir(folder).env_clear();".into());
    line("command.args([\"LC_ALL=C\", \"TZ=UTC\", \"CHANGELING_OBSERVE_FD=9\"]);".into());
    let mut stdin: &[u8] = b"";
    for stream in &case.input.streams {
        let bytes = rust_literal(&stream.bytes);
        match stream.kind {
            StreamKind::Stdin | StreamKind::Harness => stdin = &stream.bytes,
            StreamKind::File => {
                let name = &stream.name;
                line(format!("let path = folder.join({name:?});"));
                line("std::fs::create_dir_all(path.parent().unwrap()).unwrap();".into());
                line(format!("std::fs::write(path, {bytes}).unwrap();"));
            }
            StreamKind::Environment => {
                let mut word = stream.name.clone().into_bytes();
                word.push(b'=');
                word.extend_from_slice(&stream.bytes);
                line(format!(
                    "command.arg(OsStr::from_bytes({}));",
                    rust_literal(&word)
                ));
            }
            StreamKind::Argument => {}
        }
    }
    line("command.arg(program);".into());
    for (argument, text) in case.input.arguments.iter().zip(case.input.argument_texts()) {
        let note = match argument {
            Argument::Fixed(_) => "",
            Argument::Symbolic(_) => " // found",
        };
        line(format!(
            "command.arg(OsStr::from_bytes({}));{note}",
            rust_literal(text)
        ));
    }
    line("let input = folder.join(\".stdin\");".into());
    line(format!(
        "std::fs::write(&input, {}).unwrap();",
        rust_literal(stdin)
    ));
    line("command.stdin(std::fs::File::open(&input).unwrap());".into());
    line("std::fs::remove_file(&input).unwrap();".into());
    for stream in ["stdout", "stderr"] {
        line(format!(
            "command.{stream}(std::fs::File::create(folder.join(\".{stream}\")).unwrap());"
        ));
    }
    line("let mut child = command.spawn().unwrap();".into());
    line("let start = std::time::Instant::now();".into());
    line("let status = loop {".into());
    line("    match child.try_wait().unwrap() {".into());
    line("        Some(status) => break Some(status),".into());
    line("        None if start.elapsed().as_secs() >= 10 => break None,".into());
    line("        None => std::thread::sleep(std::time::Duration::from_millis(5)),".into());
    line("    }".into());
    line("};".into());
    line("if status.is_none() {".into());
    line("    child.kill().unwrap();".into());
    line("    child.wait().unwrap();".into());
    line("}".into());
    line("let read = |name: &str| std::fs::read(folder.join(name)).unwrap().escape_ascii().to_string();".into());
    let check = |name: &str, bytes: &[u8]| {
        format!(
            "assert_eq!(read({name:?}), {}.escape_ascii().to_string());",
            rust_literal(bytes)
        )
    };
    match expected.end {
        End::Exit(code) => line(format!(
            "assert_eq!(status.expect(\"it does not end\").code(), Some({code}));"
        )),
        End::Signal(number) => line(format!(
            "assert_eq!(status.expect(\"it does not end\").signal(), Some({number}));"
        )),
        End::TimedOut => line("assert_eq!(status, None, \"it should not end\");".into()),
    }
    line(check(".stdout", &expected.stdout));
    if checks_stderr(case) {
        line(check(".stderr", &expected.stderr));
    }
    if let Some(expected) = observed(case, expected) {
        line(check(".observed", &expected));
    }
    for left in left_behind(case, expected) {
        let path = format!("folder.join({:?})", left.name());
        line(match left {
            Left::File(name, bytes) => check(name, bytes),
            Left::Link(_, target) => format!(
                "assert_eq!(std::fs::read_link({path}).unwrap().as_os_str().as_bytes(), {});",
                rust_literal(target)
            ),
            Left::Directory(_) => format!("assert!({path}.is_dir());"),
            Left::Other(_) => format!("assert!({path}.symlink_metadata().is_ok());"),
            Left::Nothing(_) => format!("assert!({path}.symlink_metadata().is_err());"),
        });
    }
    format!(
        "//! {}\n#![allow(unused_imports)]\n\n\
         use std::ffi::OsStr;\nuse std::os::unix::ffi::OsStrExt;\n\
         use std::os::unix::process::ExitStatusExt;\nuse std::process::Command;\n\n\
         #[test]\nfn {}() {{\n{body}}}\n\n{FOLDER}",
        escape::printable_str(&case.title),
        test_name(case)
    )
}
