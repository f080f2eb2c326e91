//! What a program finds around it: name, arguments and variables, equal for plain and traced runs.

use crate::ExecError;
use crate::cage::Cage;
use crate::protocol::{Layers, PROGRAM_OBSERVE, PROGRAM_SHARED};
use changeling_trace::input::Input;
use changeling_trace::layout::SHARED_FD_VARIABLE;

/// Fixed for all programs, so that where tools are does not depend on who runs them.
const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const OBSERVE_VARIABLE: &str = "CHANGELING_OBSERVE_FD";
const SHIM_VARIABLE: &str = "CHANGELING_SHIM";

/// Choices about runs that are not limits.
#[derive(Clone, Debug)]
pub struct Options {
    /// `argv[0]`. The same for both versions, or every usage message would be a difference.
    pub name: String,
    /// More variables of the environment, for instance a sanitizer's options.
    pub variables: Vec<(String, String)>,
    /// Layers of protection to ask for. Fewer than all are for tests of the rest.
    pub layers: Layers,
    /// Fix time, process ids and randomness.
    pub shim: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            name: "program".to_string(),
            variables: Vec::new(),
            layers: Layers::ALL,
            shim: true,
        }
    }
}

/// Argument and variable texts, ready for the supervisor.
#[derive(Debug, Default)]
pub struct Strings {
    pub arguments: Vec<Vec<u8>>,
    pub variables: Vec<Vec<u8>>,
}

impl Strings {
    /// For a plain run: the input's arguments and variables are in it.
    pub fn plain(options: &Options, cage: &Cage, input: &Input) -> Result<Strings, ExecError> {
        let mut strings = Strings::common(options, cage);
        strings
            .arguments
            .extend(input.argument_texts().into_iter().map(<[u8]>::to_vec));
        for (name, value) in input.variables() {
            check_name(name)?;
            let assignment = [name.as_bytes(), b"=", value].concat();
            let start = [name.as_bytes(), b"="].concat();
            strings
                .variables
                .retain(|variable| !variable.starts_with(&start));
            strings.variables.push(assignment);
        }
        Ok(strings)
    }

    /// For a fork server: arguments and the input's variables come through shared memory at every run.
    pub fn server(options: &Options, cage: &Cage) -> Strings {
        let mut strings = Strings::common(options, cage);
        strings
            .variables
            .push(format!("{SHARED_FD_VARIABLE}={PROGRAM_SHARED}").into_bytes());
        strings
    }

    fn common(options: &Options, cage: &Cage) -> Strings {
        let mut variables = vec![
            format!("PATH={SEARCH_PATH}"),
            format!("HOME={}", cage.work_path().display()),
            "LC_ALL=C".to_string(),
            "TZ=UTC".to_string(),
            format!("{OBSERVE_VARIABLE}={PROGRAM_OBSERVE}"),
        ];
        if options.shim {
            variables.push(format!("LD_PRELOAD={}", cage.shim_path().display()));
            variables.push(format!("{SHIM_VARIABLE}={}", shim_duties(cage.in_force())));
        }
        variables.extend(
            options
                .variables
                .iter()
                .map(|(name, value)| format!("{name}={value}")),
        );
        Strings {
            arguments: vec![options.name.clone().into_bytes()],
            variables: variables.into_iter().map(String::into_bytes).collect(),
        }
    }
}

/// What the shim must do because the kernel does not: `p` fix process ids, `r` stand in for the random devices.
fn shim_duties(in_force: Layers) -> String {
    let mut duties = String::from("t");
    if !in_force.contains(Layers::PID_RESET) {
        duties.push('p');
    }
    if !in_force.contains(Layers::MOUNT) {
        duties.push('r');
    }
    duties
}

/// An environment variable has a name without `=` and NUL.
pub fn check_name(name: &str) -> Result<(), ExecError> {
    if name.is_empty() || name.contains(['=', '\0']) {
        let name = name.escape_default();
        return Err(ExecError::Input {
            what: format!("`{name}` cannot be the name of an environment variable"),
        });
    }
    Ok(())
}
