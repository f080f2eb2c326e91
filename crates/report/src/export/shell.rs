//! A POSIX shell script, or a file for bats.

use super::{Expectation, Left, checks_stderr, left_behind, observed, shell_status};
use crate::case::Case;
use crate::escape;
use changeling_trace::input::{Argument, StreamKind};

/// A script that exits 0 if `$PROGRAM` (by default `program`) behaves as expected.
pub fn script(case: &Case, expectation: Expectation, program: &str) -> Vec<u8> {
    let mut out = format!(
        "#!/bin/sh\n# {}\n#   PROGRAM=path sh {}.sh\nset -u\n",
        escape::printable_str(&case.title),
        case.folder_name()
    )
    .into_bytes();
    out.extend(body(case, expectation, program, ""));
    out.extend_from_slice(b"echo ok\n");
    out
}

/// The same as a bats test.
pub fn bats(case: &Case, expectation: Expectation, program: &str) -> Vec<u8> {
    let title: String = escape::printable_str(&case.title)
        .chars()
        .map(|c| {
            if matches!(c, '"' | '\\' | '$' | '`') {
                ' '
            } else {
                c
            }
        })
        .collect();
    let mut out = format!("#!/usr/bin/env bats\n\n@test \"{} {title}\" {{\n", case.id).into_bytes();
    out.extend(body(case, expectation, program, "    "));
    out.extend_from_slice(b"}\n");
    out
}

fn body(case: &Case, expectation: Expectation, program: &str, indent: &str) -> Vec<u8> {
    let expected = expectation.outcome(case);
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut line = |text: String| lines.push(text.into_bytes());
    line(format!("default={}", escape::shell_str(program)));
    line("program=${PROGRAM:-$default}".into());
    line("case $program in */*) program=$(cd \"$(dirname \"$program\")\" && pwd)/${program##*/} ;; esac".into());
    line("scratch=$(mktemp -d) && mkdir \"$scratch/work\" || exit 2".into());
    line("limit=$(command -v timeout) || exit 2".into());
    // A program may leave directories that nothing can be removed from.
    line("clean() { chmod -R u+rwx \"$scratch\" 2>/dev/null; rm -rf \"$scratch\"; }".into());
    if indent.is_empty() {
        // Bats has a use of its own for the end of a test.
        line("trap clean EXIT".into());
        line("trap 'exit 2' HUP INT TERM".into());
    }
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut stdin: &[u8] = b"";
    for (number, stream) in case.input.streams.iter().enumerate() {
        match stream.kind {
            StreamKind::Stdin | StreamKind::Harness => stdin = &stream.bytes,
            StreamKind::File => {
                let name = escape::shell_str(&format!("work/{}", stream.name));
                line(format!("mkdir -p \"$(dirname \"$scratch/\"{name})\""));
                let bytes = escape::printf_format(&stream.bytes);
                line(format!("printf {bytes} >\"$scratch/\"{name}"));
            }
            StreamKind::Argument | StreamKind::Environment => {
                let bytes = escape::printf_format(&stream.bytes);
                line(format!("value{number}=$(printf {bytes}; printf x)"));
                line(format!("value{number}=${{value{number}%x}}"));
            }
        }
        if stream.kind == StreamKind::Environment {
            let name = escape::shell_str(&stream.name);
            words.push(format!("{name}=\"$value{number}\"").into_bytes());
        }
    }
    line(format!(
        "printf {} >\"$scratch/stdin\"",
        escape::printf_format(stdin)
    ));
    line(format!(
        "printf {} >\"$scratch/expected\"",
        escape::printf_format(&expected.stdout)
    ));
    // By its path: the input may have another PATH.
    words.push(b"\"$limit\" -k 1 10 \"$program\"".to_vec());
    for argument in &case.input.arguments {
        words.push(match argument {
            Argument::Fixed(text) => escape::shell(text),
            Argument::Symbolic(number) => format!("\"$value{number}\"").into_bytes(),
        });
    }
    line("status=0".into());
    let mut command =
        b"(cd \"$scratch/work\" && { ulimit -f 131072 || true; } && exec env -i PATH=\"$PATH\" HOME=\"$scratch/work\" LC_ALL=C TZ=UTC CHANGELING_OBSERVE_FD=9 "
            .to_vec();
    command.extend(words.join(&b' '));
    command.extend_from_slice(
        b" <\"$scratch/stdin\" >\"$scratch/stdout\" 2>\"$scratch/stderr\" 9>\"$scratch/observed\") || status=$?",
    );
    lines.push(command);
    let mut line = |text: String| lines.push(text.into_bytes());
    let fail = "{ clean; exit 1; }";
    let code = shell_status(expected.end);
    line(format!(
        "[ \"$status\" -eq {code} ] || {{ echo \"exit code $status, expected {code}\"; clean; exit 1; }}"
    ));
    line(format!(
        "diff \"$scratch/expected\" \"$scratch/stdout\" || {fail}"
    ));
    if checks_stderr(case) {
        let stderr = escape::printf_format(&expected.stderr);
        line(format!("printf {stderr} >\"$scratch/expected\""));
        line(format!(
            "diff \"$scratch/expected\" \"$scratch/stderr\" || {fail}"
        ));
    }
    if let Some(expected) = observed(case, expected) {
        let expected = escape::printf_format(&expected);
        line(format!("printf {expected} >\"$scratch/expected\""));
        line(format!(
            "diff \"$scratch/expected\" \"$scratch/observed\" || {fail}"
        ));
    }
    for left in left_behind(case, expected) {
        let path = escape::shell_str(&format!("work/{}", left.name()));
        let path = format!("\"$scratch/\"{path}");
        let is_right = match left {
            Left::File(_, bytes) => {
                let bytes = escape::printf_format(bytes);
                line(format!("printf {bytes} >\"$scratch/expected\""));
                format!("diff \"$scratch/expected\" {path}")
            }
            Left::Link(_, target) => {
                let target = escape::printf_format(target);
                format!("[ \"$(readlink {path})\" = \"$(printf {target})\" ]")
            }
            Left::Directory(_) => format!("[ -d {path} ]"),
            Left::Other(_) => format!("[ -e {path} ]"),
            Left::Nothing(_) => format!("[ ! -e {path} ] && [ ! -L {path} ]"),
        };
        let told = escape::shell_str(&format!("{} is not as expected", left.name()));
        line(format!(
            "{{ {is_right}; }} || {{ echo {told}; clean; exit 1; }}"
        ));
    }
    line("clean".into());
    let mut out = Vec::new();
    for text in lines {
        out.extend_from_slice(indent.as_bytes());
        out.extend(text);
        out.push(b'\n');
    }
    out
}
