//! The build command of a tree, and running it with the stand-ins in place.

use crate::assets;
use crate::cache::{Cache, Work};
use crate::error::{BuildError, READ, WRITE};
use crate::process::{describe, run, run_joined};
use crate::stand_in::settings::{Settings, VARIABLE};
use crate::stand_in::{C_NAMES, CPP_NAMES};
use crate::tools::{Tool, find_program};
use crate::version::BuildOptions;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How a tree is built.
pub enum Plan {
    Command(String),
    Cargo,
    CompileCommands(PathBuf),
}

/// The user's command, or what the files at the root of the tree suggest.
pub fn plan(root: &Path, command: Option<&str>) -> Result<Plan, BuildError> {
    if let Some(command) = command {
        return Ok(Plan::Command(command.to_string()));
    }
    let has = |name: &str| root.join(name).is_file();
    let jobs = std::thread::available_parallelism().map_or(1, |n| n.get());
    if has("Cargo.toml") {
        return Ok(Plan::Cargo);
    }
    if has("configure") {
        return Ok(Plan::Command(format!(
            "./configure{} && make -j{jobs}",
            static_option(root)
        )));
    }
    if ["GNUmakefile", "makefile", "Makefile"]
        .iter()
        .any(|name| is_written_by_hand(&root.join(name)))
    {
        return Ok(Plan::Command(format!("make -j{jobs}")));
    }
    if has("CMakeLists.txt") {
        let configure = "cmake -S . -B changeling-build -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_SHARED_LIBS=OFF";
        return Ok(Plan::Command(format!(
            "{configure} && cmake --build changeling-build -j{jobs}"
        )));
    }
    if has("configure.ac") || has("configure.in") {
        return Ok(Plan::Command(format!(
            "autoreconf -i && ./configure --disable-shared && make -j{jobs}"
        )));
    }
    if has("meson.build") {
        return Ok(Plan::Command(
            "meson setup --default-library=static changeling-build && ninja -C changeling-build"
                .into(),
        ));
    }
    if has("compile_commands.json") {
        return Ok(Plan::CompileCommands(root.join("compile_commands.json")));
    }
    Err(BuildError::NoBuildCommand(root.to_path_buf()))
}

/// Static libraries make one program of one piece; scripts that know the option say so.
fn static_option(root: &Path) -> &'static str {
    let text = std::fs::read(root.join("configure")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    if text.contains("--disable-shared") || text.contains("--enable-shared") {
        " --disable-shared"
    } else {
        ""
    }
}

/// Makefiles that CMake has written lead back to the user's own tree.
fn is_written_by_hand(makefile: &Path) -> bool {
    std::fs::read(makefile).is_ok_and(|text| !text.starts_with(b"# CMAKE generated file"))
}

/// One run of a build command in a copy of a tree.
pub struct Build<'a> {
    pub place: &'a Path,
    /// How messages call the tree.
    pub shown: &'a Path,
    pub command: &'a str,
    pub extra: &'a [&'a str],
    pub plain_only: bool,
}

impl Build<'_> {
    pub fn run(
        &self,
        work: &Work,
        options: &BuildOptions,
        cache: &Cache,
    ) -> Result<(), BuildError> {
        let names = links(work, options)?;
        let harness = harness_object(work, self.extra)?;
        let mut extra: Vec<String> = self.extra.iter().map(|flag| flag.to_string()).collect();
        extra.extend(options.flags.iter().cloned());
        let settings = Settings {
            root: Some(self.place.to_path_buf()),
            include: Some(assets::include_directory(cache)?),
            harness: Some(harness.clone()),
            extra,
            bitcode_extra: options
                .bitcode_flags()
                .iter()
                .map(|flag| flag.to_string())
                .collect(),
            plain_only: self.plain_only,
        };
        let mut path = OsString::from(&names);
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = Tool::Sh.command()?;
        command.arg("-c").arg(self.command).current_dir(self.place);
        command
            .env("PATH", path)
            .env("CC", C_NAMES[0])
            .env("CXX", CPP_NAMES[0]);
        command
            .env("LIB_FUZZING_ENGINE", harness)
            .env(VARIABLE, settings.to_variable());
        // Left by a `make` or `cargo` around us, they would change the build.
        for name in ["MAKEFLAGS", "MAKELEVEL", "MFLAGS", "DESTDIR"] {
            command.env_remove(name);
        }
        let log = work.path().join("log");
        let place = self.shown.to_path_buf();
        let text = self.command.to_string();
        match run_joined(&mut command, &log, options.time_limit)? {
            Err(output) => {
                let seconds = options.time_limit.unwrap_or_default().as_secs();
                Err(BuildError::Timeout {
                    command: text,
                    place,
                    seconds,
                    output,
                })
            }
            Ok(finished) if finished.succeeded() => Ok(()),
            Ok(finished) => {
                let status = describe(finished.status);
                let error = BuildError::Command {
                    command: text,
                    place,
                    status,
                    output: finished.output,
                };
                Err(error.or_disk_full(work.path()))
            }
        }
    }
}

/// A directory of links by whose names the stand-in is found.
fn links(work: &Work, options: &BuildOptions) -> Result<PathBuf, BuildError> {
    let directory = work.path().join("bin");
    if directory.is_dir() {
        return Ok(directory);
    }
    let stand_in = stand_in(options)?;
    std::fs::create_dir(&directory).map_err(|e| BuildError::io(WRITE, &directory, e))?;
    for name in C_NAMES.iter().chain(&CPP_NAMES) {
        let link = directory.join(name);
        std::os::unix::fs::symlink(&stand_in, &link)
            .map_err(|e| BuildError::io(WRITE, &link, e))?;
    }
    Ok(directory)
}

/// The program that stands in for compilers: this one, if it is `changeling`; or one that
/// lies beside (tests lie one directory deeper); or one on `PATH`.
fn stand_in(options: &BuildOptions) -> Result<PathBuf, BuildError> {
    const NAMES: [&str; 2] = ["changeling", "changeling-stand-in"];
    if let Some(path) = &options.stand_in {
        return path
            .canonicalize()
            .map_err(|e| BuildError::io(READ, path, e));
    }
    let own = std::env::current_exe()
        .map_err(|e| BuildError::io(READ, Path::new("/proc/self/exe"), e))?;
    if own
        .file_name()
        .is_some_and(|name| NAMES.iter().any(|known| name == *known))
    {
        return Ok(own);
    }
    let beside = own
        .ancestors()
        .skip(1)
        .take(2)
        .flat_map(|directory| NAMES.map(|name| directory.join(name)));
    let found = beside.into_iter().find(|path| path.is_file());
    found
        .or_else(|| NAMES.iter().find_map(|name| find_program(name)))
        .ok_or_else(|| BuildError::ToolMissing {
            tool: "changeling".into(),
            package: "put `changeling` on PATH".into(),
        })
}

/// A `main` for programs that have only an `LLVMFuzzerTestOneInput`.
fn harness_object(work: &Work, extra: &[&str]) -> Result<PathBuf, BuildError> {
    let source = assets::write_once(work.path(), "harness.c", assets::HARNESS)?;
    let object = work.path().join(format!(
        "harness{}.o",
        extra.join("").replace(['=', ',', '-'], "")
    ));
    let mut command = Tool::Clang.command()?;
    command
        .args(["-O1", "-g", "-c"])
        .args(extra)
        .arg(&source)
        .arg("-o")
        .arg(&object);
    let finished = run(&mut command)?;
    match finished.succeeded() {
        true => Ok(object),
        false => Err(BuildError::Compile {
            file: source,
            output: finished.output,
        }
        .or_disk_full(work.path())),
    }
}
