//! Stands in for the compiler inside a user's build.
//!
//! The user's command runs as it is; what we want beside is made afterwards and
//! is allowed to fail. So a build under the stand-in ends as it would have
//! ended without it, and the worst that can happen is an object without bitcode.

pub mod arguments;
mod link;
pub(crate) mod link_map;
pub(crate) mod record;
pub(crate) mod settings;

pub(crate) use link::{LINK_SECTION, LinkResult};

use crate::process::run_through;
use crate::tools::Tool;
use crate::translation::{Kind, Translation};
use arguments::{InputFile, Invocation, Mode};
use record::{Content, Record};
use settings::Settings;
use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Names under which a build finds the stand-ins on its `PATH`, so that build files
/// that name a compiler get them too.
pub const C_NAMES: [&str; 6] = ["changeling-cc", "cc", "gcc", "clang", "c99", "c11"];
pub const CPP_NAMES: [&str; 4] = ["changeling-c++", "c++", "g++", "clang++"];

/// Runs as the compiler if this process was called as one: `PROGRAM cc …`, `PROGRAM c++ …`,
/// or by a link with a compiler's name. Gives the exit code.
pub fn run(arguments: &[OsString]) -> Option<u8> {
    let own = Path::new(arguments.first()?).file_name()?.to_str()?;
    if C_NAMES.contains(&own) {
        return Some(compile(&arguments[1..], false));
    }
    if CPP_NAMES.contains(&own) {
        return Some(compile(&arguments[1..], true));
    }
    match arguments.get(1)?.to_str()? {
        "cc" => Some(compile(&arguments[2..], false)),
        "c++" => Some(compile(&arguments[2..], true)),
        _ => None,
    }
}

/// Compiles or links like clang, and keeps bitcode beside. Gives the exit code.
pub fn compile(arguments: &[OsString], cpp: bool) -> u8 {
    let settings = Settings::from_environment();
    let call = Call {
        invocation: Invocation::parse(arguments, cpp),
        arguments,
        cpp,
        settings,
    };
    let result = match call.invocation.mode {
        Mode::Other => call.run_user(&[], None),
        _ if call.settings.plain_only || call.is_feature_test() => {
            call.run_user(&[], call.stdin().as_deref())
        }
        Mode::Compile => call.compile_objects(),
        Mode::Link => call.link_executable(),
        Mode::LinkPart => call.link_part(),
    };
    match result {
        Ok(status) => exit_code(status),
        Err(error) => {
            eprintln!("error: {error}\n  help: {}", error.help());
            error.code()
        }
    }
}

type Outcome = Result<ExitStatus, crate::error::BuildError>;

/// One call of the compiler.
pub(crate) struct Call<'a> {
    pub invocation: Invocation,
    arguments: &'a [OsString],
    cpp: bool,
    settings: Settings,
}

impl Call<'_> {
    /// The user's own command, with `extra` at its end.
    fn user_command(&self, extra: &[OsString]) -> Result<Command, crate::error::BuildError> {
        let tool = if self.cpp {
            Tool::ClangPlusPlus
        } else {
            Tool::Clang
        };
        let mut command = tool.command()?;
        let mut ours = self.settings.compile_flags();
        ours.extend(self.settings.extra.iter().map(OsString::from));
        if !ours.is_empty() {
            command
                .arg("--start-no-unused-arguments")
                .args(ours)
                .arg("--end-no-unused-arguments");
        }
        command.args(self.user_arguments()).args(extra);
        Ok(command)
    }

    /// The user's arguments. Some are taken out: link-time optimisation, because its objects have no sections; and in builds
    /// of ours a fuzzing engine, whose `main` we replace, and sanitizers, which bitcode is made without too: in the sandbox
    /// there is no room for their memory.
    fn user_arguments(&self) -> Vec<OsString> {
        let is_lto = |text: &str| text.starts_with("-flto") || text.starts_with("-ffat-lto");
        let harness = self.settings.harness.as_ref();
        let is_sanitizer = |text: &str| harness.is_some() && text.starts_with("-fsanitize");
        let opened = &self.invocation.arguments;
        let concerns = |a: &OsString| {
            let text = a.to_string_lossy();
            is_lto(&text) || is_sanitizer(&text)
        };
        if !opened.iter().any(concerns) {
            return self.arguments.to_vec();
        }
        let mut arguments = Vec::new();
        for argument in opened {
            let text = argument.to_string_lossy();
            if !concerns(argument) {
                arguments.push(argument.clone());
            } else if self.invocation.mode == Mode::Link && names_engine(&text) {
                arguments.extend(harness.map(OsString::from));
            }
        }
        arguments
    }

    fn run_user(&self, extra: &[OsString], input: Option<&[u8]>) -> Outcome {
        run_through(&mut self.user_command(extra)?, input)
    }

    fn compile_objects(&self) -> Outcome {
        let input = self.stdin();
        let status = self.run_user(&[], input.as_deref())?;
        if status.success() {
            for file in &self.invocation.inputs {
                let object = self.invocation.object_of(&file.path);
                if is_regular(&object) {
                    // An object that cannot be changed stays as it is: it will be named as one without bitcode.
                    let _ = record::append(&object, &[self.record(file, input.as_deref())]);
                }
            }
        }
        Ok(status)
    }

    fn link_part(&self) -> Outcome {
        let input = self.stdin();
        let status = self.run_user(&[], input.as_deref())?;
        let output = self.invocation.executable();
        let records = self.source_records(input.as_deref());
        if status.success() && !records.is_empty() && is_regular(&output) {
            let _ = record::append(&output, &records);
        }
        Ok(status)
    }

    /// Records of the sources that a link compiles on its way.
    fn source_records(&self, input: Option<&[u8]>) -> Vec<Record> {
        let sources = self
            .invocation
            .inputs
            .iter()
            .filter(|file| file.kind != Kind::Linkable);
        sources.map(|file| self.record(file, input)).collect()
    }

    fn record(&self, file: &InputFile, input: Option<&[u8]>) -> Record {
        let content = match file.kind {
            Kind::Source(_) | Kind::Preprocessed(_) | Kind::Bitcode => self.bitcode(file, input),
            Kind::Assembler => Err("assembler source".to_string()),
            Kind::Linkable | Kind::Other => Err("a language without bitcode".to_string()),
        };
        Record {
            source: file.path.display().to_string(),
            content: match content {
                Ok(bytes) => Content::Bitcode(bytes),
                Err(reason) => Content::Missing(reason),
            },
        }
    }

    fn bitcode(&self, file: &InputFile, input: Option<&[u8]>) -> Result<Vec<u8>, String> {
        let output = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
        let mut flags = self.settings.compile_flags();
        flags.extend(self.invocation.flags.iter().cloned());
        flags.extend(self.settings.bitcode_extra.iter().map(OsString::from));
        let directory = std::env::current_dir().map_err(|e| e.to_string())?;
        let translation = Translation {
            source: file.path.clone(),
            kind: file.kind,
            flags,
            directory,
            // The build command as a whole has one.
            limit: None,
        };
        let input = if file.path == Path::new("-") {
            input
        } else {
            None
        };
        let finished = translation
            .bitcode(output.path(), None, input)
            .map_err(|e| e.to_string())?;
        if !finished.succeeded() {
            let first = finished
                .output
                .lines()
                .find(|line| line.contains("error"))
                .unwrap_or("unknown error");
            return Err(format!("clang made no bitcode: {first}"));
        }
        std::fs::read(output.path()).map_err(|e| e.to_string())
    }

    /// Standard input, if it is a source: two compilers want to read it.
    fn stdin(&self) -> Option<Vec<u8>> {
        let wanted = self
            .invocation
            .inputs
            .iter()
            .any(|file| file.path == Path::new("-"));
        let mut bytes = Vec::new();
        (wanted && std::io::stdin().read_to_end(&mut bytes).is_ok()).then_some(bytes)
    }

    /// Programs that configure scripts compile to learn about the system: many,
    /// soon deleted, and some scripts look at which files appear beside them.
    fn is_feature_test(&self) -> bool {
        let output = self.invocation.output.iter().map(|path| path.as_path());
        let inputs = self
            .invocation
            .inputs
            .iter()
            .map(|file| file.path.as_path());
        let directory = std::env::current_dir().unwrap_or_default();
        output
            .chain(inputs)
            .filter_map(|path| path.file_name()?.to_str())
            .any(|name| {
                name.starts_with("conftest")
                    || name.starts_with("cmTC_")
                    || name.contains("CompilerId")
            })
            || directory.to_string_lossy().contains("/CMakeScratch/")
    }
}

/// Outputs such as /dev/null are not to be touched.
fn is_regular(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Whether a list of sanitizers has the fuzzing engine with its `main`.
fn names_engine(text: &str) -> bool {
    let list = text.strip_prefix("-fsanitize=").unwrap_or_default();
    list.split(',').any(|name| name == "fuzzer")
}

fn exit_code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => u8::try_from(code).unwrap_or(1),
        (None, Some(signal)) => u8::try_from(128 + signal).unwrap_or(1),
        _ => 1,
    }
}
