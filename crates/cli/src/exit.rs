//! Exit codes; `docs/exit-codes.md` is the page for users.

/// The exit code of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub u8);

impl Code {
    /// All went well; no difference was found.
    pub const OK: Code = Code(0);
    /// The command line makes no sense.
    pub const USAGE: Code = Code(2);
    /// A program could not be run.
    pub const CANNOT_RUN: Code = Code(4);
    /// No revision, nor anything else, has the name.
    pub const UNKNOWN_REVISION: Code = Code(16);
    /// No harness can be written for a function.
    pub const NO_HARNESS: Code = Code(29);
    /// The two versions have no function of their own in common.
    pub const NOTHING_IN_COMMON: Code = Code(30);
    /// The output directory cannot be written.
    pub const UNWRITTEN: Code = Code(31);
    /// A trace does not agree with the plain run or with itself.
    pub const UNTRUE: Code = Code(71);
    /// Something that is needed is not installed.
    pub const LACKING: Code = Code(22);
    /// A mistake in this program.
    pub const INTERNAL: Code = Code(70);
    /// Nobody reads what is printed any more; what a shell says of a program that SIGPIPE ended.
    pub const NO_READER: Code = Code(141);
    /// `git bisect run` gives up.
    const END_OF_BISECTION: Code = Code(255);

    /// `git bisect run` takes any other code below 128 for a bad revision; a mistake must end it instead.
    pub fn of_a_bisection(self) -> Code {
        match self.0 {
            0 | 1 | 125 => self,
            _ => Code::END_OF_BISECTION,
        }
    }
}

impl From<Code> for std::process::ExitCode {
    fn from(code: Code) -> std::process::ExitCode {
        std::process::ExitCode::from(code.0)
    }
}
