//! How an error reaches the user: what, where, what to do.

use crate::exit::Code;
use changeling_build::BuildError;
use changeling_report::escape::visible;
use std::io::Write;

/// An error that ends the command.
#[derive(Debug)]
pub struct Failure {
    pub code: Code,
    pub what: String,
    pub place: Option<String>,
    pub help: Option<String>,
    /// What a compiler or another tool said.
    pub output: Option<String>,
}

/// Codes of their own for what keeps a program from being built.
const REASONS: std::ops::RangeInclusive<u8> = 10..=29;

impl Failure {
    /// Scripts that run a search know one code for all that keeps it from beginning; why is said in words.
    pub fn of_a_search(mut self) -> Failure {
        if REASONS.contains(&self.code.0) {
            self.code = Code::CANNOT_RUN;
        }
        self
    }

    pub fn print(&self) {
        // Names of files, and what compilers say about them, may hold anything.
        let visible = |text: &str| -> String {
            let lines: Vec<String> = text.lines().map(visible).collect();
            lines.join("\n")
        };
        let mut text = String::new();
        if let Some(output) = &self.output {
            text += &visible(output.trim_end());
            text += "\n";
        }
        text += &format!("error: {}\n", visible(&self.what));
        if let Some(place) = &self.place {
            text += &format!("  where: {}\n", visible(place));
        }
        if let Some(help) = &self.help {
            text += &format!("  help: {}\n", visible(help));
        }
        // Nobody is left to tell if this fails.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Failure {
        Failure {
            code: Code(error.code()),
            what: error.to_string(),
            place: error.place(),
            help: Some(error.help()),
            output: error.output().map(String::from),
        }
    }
}

/// An internal error is a few lines, not a backtrace.
pub fn install_panic_hook() {
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let message = payload
            .downcast_ref::<&str>()
            .map(|text| text.to_string())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "unknown".into());
        // The reader of our output has gone, as in `changeling … | head`.
        if message.contains("Broken pipe") {
            std::process::exit(Code::NO_READER.0.into());
        }
        let place = panic
            .location()
            .map(|location| format!("{}:{}", location.file(), location.line()));
        Failure {
            code: Code::INTERNAL,
            what: format!("internal error: {message}"),
            place,
            help: Some(
                "this is a mistake in changeling; please report it with the command that was run"
                    .into(),
            ),
            output: None,
        }
        .print();
    }));
}
