//! `changeling export`: cases as tests and seeds for other tools.

use super::accept::read_case;
use crate::config::after_a_run;
use crate::exit::Code;
use crate::failure::Failure;
use crate::source::SourceOptions;
use changeling_report::case::Case;
use changeling_report::export::rust::Program;
use changeling_report::export::{Expectation, c, corpus, ktest, rust, shell};
use changeling_report::files::{make_directory, write_fresh};
use changeling_report::results::Side;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// Folders of cases, or their numbers in the output directory
    #[arg(required = true, value_name = "CASE")]
    cases: Vec<PathBuf>,
    /// What to make of them
    #[arg(long = "as", value_enum)]
    format: Format,
    /// Where to write the files
    #[arg(long, default_value = ".", value_name = "DIR")]
    to: PathBuf,
    /// Overwrite files of the same names
    #[arg(long)]
    force: bool,
    /// The version whose behaviour the test asks for
    #[arg(long, value_enum, default_value = "base")]
    expect: Expected,
    /// The program that the test runs [default: that of the newer version]
    #[arg(long)]
    program: Option<String>,
    /// For Rust: the binary of the package that the test runs
    #[arg(long, value_name = "NAME")]
    cargo_bin: Option<String>,
    /// The output directory that numbers refer to [default: .changeling/out]
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Bats,
    Sh,
    C,
    Rust,
    Corpus,
    Ktest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Expected {
    Base,
    Head,
}

pub fn run(arguments: &Arguments) -> Result<Code, Failure> {
    let (out, _) = after_a_run(arguments.out.as_deref(), &mut SourceOptions::default())?;
    let cases: Result<Vec<Case>, Failure> = arguments
        .cases
        .iter()
        .map(|case| read_case(case, &out))
        .collect();
    let cases = cases?;
    let written = match arguments.format {
        Format::Corpus => {
            let names: Vec<String> = cases.iter().map(Case::folder_name).collect();
            let inputs = names
                .iter()
                .map(String::as_str)
                .zip(cases.iter().map(|case| &case.input));
            corpus::write(&arguments.to, inputs, arguments.force).map_err(cannot_write)?
        }
        _ => {
            make_directory(&arguments.to).map_err(cannot_write)?;
            let write = |case: &Case| {
                let (suffix, contents) = file(case, arguments);
                let path = arguments
                    .to
                    .join(format!("{}.{suffix}", case.folder_name()));
                write_fresh(&path, &contents, arguments.force).map_err(cannot_write)?;
                if arguments.format == Format::Sh {
                    make_executable(&path);
                }
                Ok(path)
            };
            cases
                .iter()
                .map(write)
                .collect::<Result<Vec<PathBuf>, Failure>>()?
        }
    };
    for path in written {
        println!("{}", path.display());
    }
    Ok(Code::OK)
}

fn file(case: &Case, arguments: &Arguments) -> (&'static str, Vec<u8>) {
    let side = match arguments.expect {
        Expected::Base => Side::Base,
        Expected::Head => Side::Head,
    };
    let expectation = Expectation { side };
    // The test is for the newer version, whichever behaviour is right.
    let program = arguments
        .program
        .as_deref()
        .unwrap_or(&case.versions.head.binary);
    match arguments.format {
        Format::Bats => ("bats", shell::bats(case, expectation, program)),
        Format::Sh => ("sh", shell::script(case, expectation, program)),
        Format::C => ("c", c::test(case, expectation, program).into_bytes()),
        Format::Rust => {
            let program = match &arguments.cargo_bin {
                Some(name) => Program::CargoBinary(name),
                None => Program::Path(program),
            };
            ("rs", rust::test(case, expectation, program).into_bytes())
        }
        Format::Ktest | Format::Corpus => ("ktest", ktest::KTest::of(&case.input, program).write()),
    }
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    // Without the bit the script can still be given to `sh`.
    let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755));
}

fn cannot_write(error: impl std::fmt::Display) -> Failure {
    Failure {
        code: Code::UNWRITTEN,
        what: error.to_string(),
        place: None,
        help: Some("choose another directory with --to, or --force to overwrite files".into()),
        output: None,
    }
}
