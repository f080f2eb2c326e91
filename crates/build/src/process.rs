//! Running a tool and keeping what it said.

use crate::error::BuildError;
use crate::running::Group;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Lines of a failed command's output that are shown.
const SHOWN_LINES: usize = 60;

#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    /// Standard error; for [`run_joined`] both streams in the order written.
    pub output: String,
}

impl Finished {
    pub fn succeeded(&self) -> bool {
        self.status.success()
    }

    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// Runs to the end with both streams captured apart.
pub fn run(command: &mut Command) -> Result<Finished, BuildError> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|source| cannot_start(command, source))?;
    Ok(Finished {
        status: output.status,
        stdout: output.stdout,
        output: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Like [`run`], within a time limit if there is one. `what` is being made, for the message.
pub fn run_within(
    command: &mut Command,
    limit: Option<Duration>,
    what: &Path,
) -> Result<Finished, BuildError> {
    let Some(limit) = limit else {
        return run(command);
    };
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = Group::start(command).map_err(|source| cannot_start(command, source))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        let stdout = scope.spawn(|| read_all(stdout));
        let stderr = scope.spawn(|| read_all(stderr));
        let ended = wait_until(&mut child, Instant::now() + limit, what);
        if !matches!(ended, Ok(Some(_))) {
            child.end();
        }
        let [stdout, stderr] = [stdout, stderr].map(|reader| reader.join().unwrap_or_default());
        let status = ended?.ok_or_else(|| BuildError::Slow {
            what: what.to_path_buf(),
            seconds: limit.as_secs(),
        })?;
        Ok(Finished {
            status,
            stdout,
            output: String::from_utf8_lossy(&stderr).into_owned(),
        })
    })
}

fn read_all(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

/// Runs with both streams in one file, within a time limit if there is one.
/// An error within is what was said until the limit was reached; then the whole process group is killed.
pub fn run_joined(
    command: &mut Command,
    log: &Path,
    limit: Option<Duration>,
) -> Result<Result<Finished, String>, BuildError> {
    let said = || {
        let mut text = Vec::new();
        std::fs::File::open(log)
            .and_then(|mut file| file.read_to_end(&mut text))
            .map_err(|e| BuildError::io(crate::error::READ, log, e))?;
        Ok(tail(&String::from_utf8_lossy(&text)))
    };
    let file =
        std::fs::File::create(log).map_err(|e| BuildError::io(crate::error::WRITE, log, e))?;
    let twin = file
        .try_clone()
        .map_err(|e| BuildError::io(crate::error::WRITE, log, e))?;
    command.stdin(Stdio::null()).stdout(file).stderr(twin);
    let mut child = Group::start(command).map_err(|source| cannot_start(command, source))?;
    let status = match limit {
        None => child
            .wait()
            .map_err(|e| BuildError::io("cannot wait for", log, e))?,
        Some(limit) => match wait_until(&mut child, Instant::now() + limit, log)? {
            Some(status) => status,
            None => {
                child.end();
                return Ok(Err(said()?));
            }
        },
    };
    Ok(Ok(Finished {
        status,
        stdout: Vec::new(),
        output: said()?,
    }))
}

/// Runs with the streams of this process, feeding `input` if it is given.
pub fn run_through(command: &mut Command, input: Option<&[u8]>) -> Result<ExitStatus, BuildError> {
    let Some(input) = input else {
        return command
            .status()
            .map_err(|source| cannot_start(command, source));
    };
    let mut child = command
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|source| cannot_start(command, source))?;
    if let Some(mut pipe) = child.stdin.take() {
        // A compiler that stops reading early is no error of ours.
        let _ = pipe.write_all(input);
    }
    child.wait().map_err(|source| cannot_start(command, source))
}

/// How a status reads in a message.
pub fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => "unknown status".into(),
    }
}

fn wait_until(
    child: &mut Child,
    deadline: Instant,
    log: &Path,
) -> Result<Option<ExitStatus>, BuildError> {
    loop {
        let status = child
            .try_wait()
            .map_err(|e| BuildError::io("cannot wait for", log, e))?;
        if status.is_some() || Instant::now() >= deadline {
            return Ok(status);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= SHOWN_LINES {
        return text.trim_end().to_string();
    }
    let left_out = lines.len() - SHOWN_LINES;
    format!(
        "[{left_out} earlier lines left out]\n{}",
        lines[left_out..].join("\n")
    )
}

fn cannot_start(command: &Command, source: std::io::Error) -> BuildError {
    let program = command.get_program();
    if source.kind() == std::io::ErrorKind::NotFound {
        // The same error as for a program that is missing.
        if let Some(directory) = command.get_current_dir().filter(|place| !place.exists()) {
            return BuildError::NotFound(directory.to_path_buf());
        }
        let name = program.to_string_lossy().into_owned();
        return BuildError::ToolMissing {
            package: name.clone(),
            tool: name,
        };
    }
    BuildError::io("cannot run", Path::new(program), source)
}
