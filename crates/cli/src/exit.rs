//! Exit codes; `docs/exit-codes.md` is the page for users.

/// The exit code of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub u8);

impl Code {
    /// All went well; no difference was found.
    pub const OK: Code = Code(0);
    /// Something that is needed is not installed.
    pub const LACKING: Code = Code(22);
    /// A mistake in this program.
    pub const INTERNAL: Code = Code(70);
}

impl From<Code> for std::process::ExitCode {
    fn from(code: Code) -> std::process::ExitCode {
        std::process::ExitCode::from(code.0)
    }
}
