//! A Rust `#[test]`.

use super::{Expectation, checks_stderr, test_name};
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
        "let folder = std::env::temp_dir().join(format!(\"{}-{{}}\", std::process::id()));",
        test_name(case)
    ));
    line("std::fs::create_dir_all(&folder).unwrap();".into());
    line("let mut command = Command::new(program);".into());
    line(
        "command.current_dir(&folder).env_clear().env(\"LC_ALL\", \"C\").env(\"TZ\", \"UTC\");"
            .into(),
    );
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
                line(format!(
                    "command.env({:?}, OsStr::from_bytes({bytes}));",
                    stream.name
                ));
            }
            StreamKind::Argument => {}
        }
    }
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
    line("let output = command.output().unwrap();".into());
    let check = |actual: &str, bytes: &[u8]| {
        format!(
            "assert_eq!({actual}, {}.escape_ascii().to_string());",
            rust_literal(bytes)
        )
    };
    line(check(
        "output.stdout.escape_ascii().to_string()",
        &expected.stdout,
    ));
    if checks_stderr(case) {
        line(check(
            "output.stderr.escape_ascii().to_string()",
            &expected.stderr,
        ));
    }
    match expected.end {
        End::Exit(code) => line(format!("assert_eq!(output.status.code(), Some({code}));")),
        End::Signal(number) => line(format!(
            "assert_eq!(output.status.signal(), Some({number}));"
        )),
        End::TimedOut => line("panic!(\"the expected behaviour is not to end\");".into()),
    }
    for file in &expected.files {
        line(format!(
            "let written = std::fs::read(folder.join({:?})).unwrap();",
            file.name
        ));
        line(check("written.escape_ascii().to_string()", &file.bytes));
    }
    line("std::fs::remove_dir_all(folder).unwrap();".into());
    format!(
        "//! {}\n#![allow(unused_imports)]\n\n\
         use std::ffi::OsStr;\nuse std::os::unix::ffi::OsStrExt;\n\
         use std::os::unix::process::ExitStatusExt;\nuse std::process::Command;\n\n\
         #[test]\nfn {}() {{\n{body}}}\n",
        escape::printable_str(&case.title),
        test_name(case)
    )
}
