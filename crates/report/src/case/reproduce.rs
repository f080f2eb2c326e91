//! `reproduce.sh`: both versions on one input, without Changeling.

use super::Case;
use crate::{escape, streams};
use changeling_trace::input::{Argument, Input, StreamKind};

const START: &str = r#"set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 2
BASE=${BASE:-$base_binary}
HEAD=${HEAD:-$head_binary}
for binary in "$BASE" "$HEAD"; do
    if [ ! -x "$binary" ]; then
        echo "cannot run '$binary': set BASE= and HEAD= to the two binaries" >&2
        exit 2
    fi
done
scratch=$(mktemp -d) || exit 2
# A program may leave directories that nothing can be removed from.
trap 'chmod -R u+rwx "$scratch" 2>/dev/null; rm -rf "$scratch"' EXIT
trap 'exit 2' HUP INT TERM

# Without randomised addresses two runs of one version print the same ones.
# Both by their paths: the input may have another PATH.
fixed=
if setarch -R true >/dev/null 2>&1; then fixed="$(command -v setarch) -R"; fi
limit=
if command -v timeout >/dev/null 2>&1; then limit="$(command -v timeout) -k 1 ${TIMEOUT:-10}"; fi
# A version that prints without end must not fill the disk: 64 MiB, in blocks of 512 bytes.
flood_limit() { ulimit -f 131072 2>/dev/null || true; }

"#;

const END: &str = r#"
# What a program prints must not reach the terminal unescaped.
show() { head -n 100 "$1" | cat -v | sed "s/^/    /"; }
outcome() {
    echo "$1: exit code $(cat "$scratch/$1/exit")"
    for stream in stdout stderr observed; do
        if [ -s "$scratch/$1/$stream" ]; then
            echo "  $stream:"
            show "$scratch/$1/$stream"
        fi
    done
}

run base "$BASE"
run head "$HEAD"
outcome base
outcome head
differs=
for part in exit stdout stderr observed; do
    cmp -s "$scratch/base/$part" "$scratch/head/$part" || differs="$differs $part"
done
diff -r "$scratch/base/files" "$scratch/head/files" >/dev/null 2>&1 || differs="$differs files"
if [ -n "$differs" ]; then
    echo "different:$differs"
    exit 1
fi
echo "no difference"
"#;

/// The script's bytes: fixed arguments may be any bytes.
pub(super) fn script(case: &Case) -> Vec<u8> {
    let mut out = format!(
        "#!/bin/sh\n\
         # {}\n\
         # Runs both versions on the input in this folder and compares what they do.\n\
         #   BASE=path HEAD=path TIMEOUT=seconds sh reproduce.sh\n\
         # Exit code: 1 if they differ, 0 if not, 2 if a version could not be run.\n",
        escape::printable_str(&case.title)
    )
    .into_bytes();
    for (name, binary) in [
        ("base", &case.versions.base.binary),
        ("head", &case.versions.head.binary),
    ] {
        out.extend_from_slice(format!("{name}_binary=").as_bytes());
        out.extend(escape::shell(binary.as_bytes()));
        out.push(b'\n');
    }
    out.extend_from_slice(START.as_bytes());
    out.extend_from_slice(&run_function(&case.input));
    out.extend_from_slice(END.as_bytes());
    out
}

fn run_function(input: &Input) -> Vec<u8> {
    let mut out = Vec::new();
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut files = Vec::new();
    for (number, stream) in input.streams.iter().enumerate() {
        let file = streams::file_name(input, number);
        match stream.kind {
            StreamKind::Argument | StreamKind::Environment => {
                // The x keeps line breaks at the end, which $(…) would drop.
                out.extend_from_slice(
                    format!("value{number}=$(cat \"$here/{file}\"; printf x)\n").as_bytes(),
                );
                out.extend_from_slice(format!("value{number}=${{value{number}%x}}\n").as_bytes());
            }
            StreamKind::File => {
                let name = escape::shell(stream.name.as_bytes());
                files.extend_from_slice(b"    mkdir -p \"$(dirname \"$scratch/work/\"");
                files.extend_from_slice(&name);
                files.extend_from_slice(
                    format!(")\" && cp \"$here/{file}\" \"$scratch/work/\"").as_bytes(),
                );
                files.extend_from_slice(&name);
                files.extend_from_slice(b" || exit 2\n");
            }
            StreamKind::Stdin | StreamKind::Harness => {}
        }
        if stream.kind == StreamKind::Environment {
            let mut word = escape::shell(stream.name.as_bytes());
            word.extend_from_slice(format!("=\"$value{number}\"").as_bytes());
            words.push(word);
        }
    }
    words.push(b"$limit $fixed ../program".to_vec());
    for argument in &input.arguments {
        words.push(match argument {
            Argument::Fixed(text) => escape::shell(text),
            Argument::Symbolic(number) => format!("\"$value{number}\"").into_bytes(),
        });
    }
    let stdin = match (input.stdin(), input.harness()) {
        (None, None) => "/dev/null",
        _ => "\"$here/stdin.bin\"",
    };
    out.extend_from_slice(
        b"run() {\n    case $2 in /*) program=$2 ;; *) program=$PWD/$2 ;; esac\n    \
          ln -sfn \"$program\" \"$scratch/program\" || exit 2\n    \
          mkdir \"$scratch/$1\" \"$scratch/work\" || exit 2\n",
    );
    out.extend_from_slice(&files);
    out.extend_from_slice(
        b"    (cd \"$scratch/work\" && flood_limit && exec env -i PATH=\"$PATH\" HOME=\"$scratch/work\" LC_ALL=C TZ=UTC CHANGELING_OBSERVE_FD=9 \\\n        ",
    );
    out.extend_from_slice(&words.join(&b' '));
    out.extend_from_slice(
        format!(
            " \\\n        <{stdin} >\"$scratch/$1/stdout\" 2>\"$scratch/$1/stderr\" 9>\"$scratch/$1/observed\")\n    \
             echo \"$?\" >\"$scratch/$1/exit\"\n    \
             mv \"$scratch/work\" \"$scratch/$1/files\" || exit 2\n}}\n"
        )
        .as_bytes(),
    );
    out
}
