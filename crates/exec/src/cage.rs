//! The cage: a supervisor process with its namespaces, and the descriptors that reach into it.

use crate::environment::{Options, Strings};
use crate::observation::{End, Observation, parse_observed};
use crate::protocol::{
    self as wire, Born, Command, CommandPacket, Hello, Layers, Message, Reply, outcome, stage_name,
};
use crate::scratch::{self, Scratch};
use crate::system::{self, Process};
use crate::workdir::Workdir;
use crate::{Binary, ExecError, Limits};
use changeling_trace::input::Input;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

static SUPERVISOR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/supervisor"));
static SHIM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shim.so"));

const CAGE_WORK: &str = "/changeling/work";
const CAGE_SHIM: &str = "/changeling/shim.so";
/// Building the cage takes milliseconds; this is for a machine that is very busy.
const START_TIME: Duration = Duration::from_secs(20);
/// What the supervisor may need beyond the time limit to end everybody.
const GRACE: Duration = Duration::from_secs(15);
const FAREWELL: Duration = Duration::from_secs(5);
/// Most programs write less.
const PIECE: usize = 4096;

#[derive(Debug)]
pub struct Cage {
    binary: PathBuf,
    /// The outer process, our child, and the supervisor below it.
    outer: Process,
    supervisor: Process,
    /// Closing it ends everything.
    control: Option<OwnedFd>,
    hello: Hello,
    workdir: Workdir,
    request: File,
    captures: Captures,
    scratch: Option<Scratch>,
}

/// The supervisor ended or stopped answering. The cage is of no more use.
#[derive(Debug)]
pub struct Lost;

impl Cage {
    pub fn start(
        binary: Option<&Binary>,
        limits: &Limits,
        options: &Options,
        shared: Option<&File>,
    ) -> Result<Cage, ExecError> {
        scratch::sweep();
        match Cage::start_with(binary, limits, options, shared, None)? {
            Ok(cage) => Ok(cage),
            // No file system of its own: a directory on disk must do.
            Err(_) => {
                let scratch = Scratch::create(SHIM)?;
                Cage::start_with(binary, limits, options, shared, Some(scratch))?.map_err(|hello| {
                    ExecError::sandbox(
                        stage_name(hello.stage),
                        io::Error::from_raw_os_error(hello.error),
                    )
                })
            }
        }
    }

    fn start_with(
        binary: Option<&Binary>,
        limits: &Limits,
        options: &Options,
        shared: Option<&File>,
        scratch: Option<Scratch>,
    ) -> Result<Result<Cage, Hello>, ExecError> {
        let failed = |source| ExecError::sandbox("starting the supervisor", source);
        let (control, theirs) = system::connection().map_err(failed)?;
        let request = system::memory_file(c"request", false).map_err(failed)?;
        let shim = shim_file().map_err(failed)?;
        let captures = Captures::create().map_err(failed)?;
        let path = binary.map_or_else(PathBuf::new, |binary| binary.path.clone());
        let work = scratch.as_ref().map_or_else(PathBuf::new, Scratch::work);
        let text = |bytes: &[u8]| CString::new(bytes).map_err(|error| failed(error.into()));
        let arguments = [
            text(b"changeling-supervisor")?,
            text(options.layers.0.to_string().as_bytes())?,
            text(limits.disk.to_string().as_bytes())?,
            text(path.as_os_str().as_bytes())?,
            text(work.as_os_str().as_bytes())?,
        ];
        let mut inherited = vec![
            (theirs.as_fd(), wire::FD_CONTROL),
            (request.as_fd(), wire::FD_REQUEST),
            (shim.as_fd(), wire::FD_SHIM),
            (captures.stdin_reader.as_fd(), wire::FD_STDIN),
            (captures.stdout.as_fd(), wire::FD_STDOUT),
            (captures.stderr.as_fd(), wire::FD_STDERR),
            (captures.observe.as_fd(), wire::FD_OBSERVE),
        ];
        if let Some(shared) = shared {
            inherited.push((shared.as_fd(), wire::FD_SHARED));
        }
        let arguments: Vec<_> = arguments.iter().map(CString::as_c_str).collect();
        let outer = system::spawn(supervisor_file().map_err(failed)?, &arguments, &inherited)
            .map_err(failed)?;
        drop(theirs);

        let deadline = Instant::now() + START_TIME;
        let (supervisor, hello, directory) = match introduce(control.as_fd(), deadline) {
            Ok(met) => met,
            Err(source) => {
                outer.kill();
                outer.reap(Instant::now() + FAREWELL);
                return Err(failed(source));
            }
        };
        let Some(directory) = directory.filter(|_| hello.stage == 0) else {
            drop(control);
            outer.reap(deadline);
            let error = io::Error::from_raw_os_error(hello.error);
            return match hello.stage {
                4 if scratch.is_none() => Ok(Err(hello)),
                5 => Err(ExecError::NotStarted {
                    path,
                    step: stage_name(hello.stage),
                    source: error,
                }),
                _ => Err(ExecError::sandbox(stage_name(hello.stage), error)),
            };
        };
        let workdir = Workdir::new(directory, hello.program_uid, hello.program_gid);
        let cage = Cage {
            binary: path,
            outer,
            supervisor,
            control: Some(control),
            hello,
            workdir,
            request,
            captures,
            scratch,
        };
        cage.workdir.adopt().map_err(failed)?;
        Ok(Ok(cage))
    }

    pub fn in_force(&self) -> Layers {
        Layers(self.hello.in_force)
    }

    pub fn landlock_version(&self) -> i32 {
        self.hello.landlock_abi
    }

    /// The working directory as programs see it.
    pub fn work_path(&self) -> PathBuf {
        self.scratch
            .as_ref()
            .map_or_else(|| PathBuf::from(CAGE_WORK), Scratch::work)
    }

    pub fn shim_path(&self) -> PathBuf {
        self.scratch
            .as_ref()
            .map_or_else(|| PathBuf::from(CAGE_SHIM), Scratch::shim)
    }

    /// Everything as it must be before a run: empty captures, fresh working directory, standard input.
    pub fn prepare(&mut self, input: &Input) -> Result<Result<(), Lost>, ExecError> {
        // A directory that cannot be emptied goes away with the cage.
        if self.workdir.clear().is_err() {
            return Ok(Err(Lost));
        }
        self.workdir.fill(input)?;
        let stdin = input
            .stdin()
            .or_else(|| input.harness())
            .unwrap_or_default();
        self.captures
            .reset(stdin)
            .map_err(|source| ExecError::sandbox("the standard streams", source))?;
        Ok(Ok(()))
    }

    /// Leaves the strings and limits of the next start for the supervisor.
    pub fn write_request(
        &mut self,
        strings: &Strings,
        address_space: u64,
        limits: &Limits,
        more_processes: u64,
    ) -> Result<(), ExecError> {
        let mut text = Vec::new();
        for string in strings.arguments.iter().chain(&strings.variables) {
            text.extend_from_slice(string);
            text.push(0);
        }
        let request = wire::Request {
            argument_count: strings.arguments.len() as u32,
            variable_count: strings.variables.len() as u32,
            address_space,
            file_size: limits.file_size,
            processes: limits.processes.saturating_add(more_processes),
            string_bytes: text.len() as u64,
        };
        let bytes = [request.bytes(), &text].concat();
        self.request
            .write_all_at(&bytes, 0)
            .map_err(|source| ExecError::sandbox("passing arguments", source))
    }

    pub fn command(&mut self, command: Command, time: Duration) -> Result<Reply, Lost> {
        let deadline = self.send(command, time)?;
        self.reply(deadline)
    }

    /// Gives a command. Until when its reply must have come.
    pub fn send(&mut self, command: Command, time: Duration) -> Result<Instant, Lost> {
        let time_ns = u64::try_from(time.as_nanos())
            .unwrap_or(u64::MAX / 64)
            .min(u64::MAX / 64);
        let packet = CommandPacket {
            kind: command as u32,
            reserved: 0,
            time_ns,
        };
        let control = self.control.as_ref().ok_or(Lost)?;
        system::send(control.as_fd(), packet.bytes()).map_err(|_| Lost)?;
        // Time that is spent waiting for a processor is not counted, but bounded.
        let longest = Duration::from_nanos(time_ns).saturating_mul(wire::CLOCK_PATIENCE);
        Ok(Instant::now() + longest + GRACE)
    }

    /// The reply to the command that was given last.
    pub fn reply(&mut self, deadline: Instant) -> Result<Reply, Lost> {
        let control = self.control.as_ref().ok_or(Lost)?;
        match system::receive(control.as_fd(), deadline) {
            Ok(Some((bytes, _))) => Reply::from_bytes(&bytes).ok_or(Lost),
            _ => Err(Lost),
        }
    }

    /// The observation that belongs to a reply about a run.
    pub fn observe(
        &mut self,
        reply: &Reply,
        input: &Input,
        limits: &Limits,
    ) -> Result<Observation, ExecError> {
        let failed = |source| ExecError::sandbox("reading what the program wrote", source);
        let end = match reply.outcome {
            outcome::EXIT => End::Exit(reply.value),
            outcome::SIGNAL => End::Signal(reply.value),
            outcome::TIMED_OUT => End::TimedOut,
            _ => return Err(self.not_started(reply)),
        };
        let (stdout, more_stdout) = self
            .captures
            .read(&self.captures.stdout, limits.capture)
            .map_err(failed)?;
        let (stderr, more_stderr) = self
            .captures
            .read(&self.captures.stderr, limits.capture)
            .map_err(failed)?;
        let (observed, more_observed) = self
            .captures
            .read(&self.captures.observe, limits.capture)
            .map_err(failed)?;
        let contents = self.workdir.observe(input, limits).map_err(failed)?;
        Ok(Observation {
            stdout,
            stderr,
            end,
            files: contents.files,
            removed: contents.removed,
            observed: parse_observed(&observed),
            truncated: more_stdout || more_stderr || more_observed || contents.truncated,
        })
    }

    /// The last line that was written to standard error.
    pub fn complaint(&self) -> String {
        let (bytes, _) = self
            .captures
            .read(&self.captures.stderr, 4096)
            .unwrap_or_default();
        String::from_utf8_lossy(&bytes)
            .lines()
            .last()
            .unwrap_or_default()
            .trim()
            .to_string()
    }

    pub fn not_started(&self, reply: &Reply) -> ExecError {
        let source = io::Error::from_raw_os_error(reply.error);
        ExecError::NotStarted {
            path: self.binary.clone(),
            step: stage_name(reply.stage),
            source,
        }
    }
}

impl Drop for Cage {
    fn drop(&mut self) {
        self.control = None;
        if self.outer.reap(Instant::now() + FAREWELL) {
            return;
        }
        self.supervisor.kill();
        if !self.outer.reap(Instant::now() + FAREWELL) {
            self.outer.kill();
            self.outer.reap(Instant::now() + FAREWELL);
        }
    }
}

/// The first two messages: who the supervisor is, and what it could set up.
fn introduce(
    control: BorrowedFd<'_>,
    deadline: Instant,
) -> io::Result<(Process, Hello, Option<OwnedFd>)> {
    let gone = || io::Error::other("the supervisor ended or did not answer");
    let (bytes, _) = system::receive(control, deadline)?.ok_or_else(gone)?;
    let Some(born) = Born::from_bytes(&bytes).filter(|born| born.magic == wire::MAGIC) else {
        let hello = Hello::from_bytes(&bytes).ok_or_else(gone)?;
        return Err(io::Error::from_raw_os_error(hello.error));
    };
    let supervisor = Process::new(born.pid);
    let (bytes, directory) = system::receive(control, deadline)?.ok_or_else(gone)?;
    let hello = Hello::from_bytes(&bytes)
        .filter(|hello| hello.magic == wire::MAGIC)
        .ok_or_else(gone)?;
    Ok((supervisor, hello, directory))
}

fn shim_file() -> io::Result<File> {
    let mut file = system::memory_file(c"shim", false)?;
    file.write_all(SHIM)?;
    Ok(file)
}

/// The supervisor's program, made once.
fn supervisor_file() -> io::Result<&'static File> {
    static FILE: OnceLock<Result<File, i32>> = OnceLock::new();
    FILE.get_or_init(|| {
        in_memory()
            .or_else(|_| on_disk())
            .map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))
    })
    .as_ref()
    .map_err(|&code| io::Error::from_raw_os_error(code))
}

fn in_memory() -> io::Result<File> {
    use std::os::fd::AsRawFd;
    let mut file = system::executable_memory_file(c"changeling-supervisor")?;
    file.write_all(SUPERVISOR)?;
    // A program that is open for writing cannot be executed.
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// For systems on which memory cannot be executed. The name is gone as soon as the file is open.
fn on_disk() -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("changeling-supervisor-{}", std::process::id()));
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o700)
        .open(&path)?;
    let opened = file.write_all(SUPERVISOR).and_then(|()| File::open(&path));
    drop(file);
    std::fs::remove_file(Path::new(&path))?;
    opened
}

/// Memory files behind the program's descriptors.
#[derive(Debug)]
struct Captures {
    stdin: File,
    stdin_reader: File,
    stdout: File,
    stderr: File,
    observe: File,
}

impl Captures {
    fn create() -> io::Result<Captures> {
        use std::os::fd::AsRawFd;
        let stdin = system::memory_file(c"stdin", false)?;
        let stdin_reader = File::open(format!("/proc/self/fd/{}", stdin.as_raw_fd()))?;
        Ok(Captures {
            stdin,
            stdin_reader,
            stdout: system::memory_file(c"stdout", false)?,
            stderr: system::memory_file(c"stderr", false)?,
            observe: system::memory_file(c"observe", false)?,
        })
    }

    fn reset(&mut self, stdin: &[u8]) -> io::Result<()> {
        self.stdin.write_all_at(stdin, 0)?;
        self.stdin.set_len(stdin.len() as u64)?;
        self.stdin_reader.seek(SeekFrom::Start(0))?;
        for file in [&mut self.stdout, &mut self.stderr, &mut self.observe] {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
        }
        Ok(())
    }

    /// The beginning of a stream, and whether there was more.
    fn read(&self, file: &File, capture: usize) -> io::Result<(Vec<u8>, bool)> {
        let wanted = capture.saturating_add(1);
        let mut bytes = vec![0; wanted.min(PIECE)];
        let mut filled = 0;
        // Memory gives all that is asked for, unless it is the end.
        loop {
            filled += file.read_at(&mut bytes[filled..], filled as u64)?;
            if filled < bytes.len() || filled == wanted {
                break;
            }
            bytes.resize(wanted.min(filled.saturating_mul(2)), 0);
        }
        bytes.truncate(filled.min(capture));
        Ok((bytes, filled > capture))
    }
}
