//! A single Rust file as a program.

use super::harness::Harness;
use super::{UNOPTIMISED, checked_rustc, link_of};
use crate::cache::{Cache, Read};
use crate::digest::Key;
use crate::error::{BuildError, READ};
use crate::prepare::{BITCODE, Entry, PREPARATION, prepare};
use crate::process::run_within;
use crate::tools::Tool;
use crate::translation::dependencies;
use crate::version::{BuildOptions, Built};
use std::path::Path;

const EDITION: &str = "--edition=2024";

pub fn build_file(file: &Path, options: &BuildOptions, cache: &Cache) -> Result<Built, BuildError> {
    let path = file
        .canonicalize()
        .map_err(|e| BuildError::io(READ, file, e))?;
    let root = path.parent().unwrap_or(Path::new("/")).to_path_buf();
    let version = checked_rustc(&root)?;
    let mut request = Key::new("rust file")
        .with(PREPARATION)
        .with(crate::assets::HARNESS)
        .with(version.text)
        .with(&options.profile);
    request.add_path(&path);
    options.flags.iter().for_each(|flag| request.add(flag));
    let request = request.finish();
    if let Some(built) = cache.look_up(&request) {
        return Ok(built);
    }
    let work = cache.work()?;
    let plain = work.entry().join("program");
    let dependency_file = work.path().join("program.d");
    let harness = Harness::prepare(work.path())?;
    let debug = options.profile == "dev";
    let (optimisation, checks) = if debug { ("0", "on") } else { ("2", "off") };
    let common = || -> Result<_, BuildError> {
        let mut command = Tool::Rustc.command()?;
        command
            .arg(&path)
            .args([EDITION, "--crate-name=program", "--crate-type=bin"]);
        command.arg(format!("--remap-path-prefix={}=.", root.display()));
        command.args([
            format!("-Cdebug-assertions={checks}"),
            format!("-Coverflow-checks={checks}"),
        ]);
        // Intermediate files are named after the crate: beside the source they would be those of
        // another file that is built at the same time.
        command.arg("--out-dir").arg(work.path());
        command.arg(harness.link_argument());
        command.args(&options.flags).current_dir(&root);
        Ok(command)
    };
    let check = |finished: crate::process::Finished| {
        if finished.succeeded() {
            return Ok(());
        }
        let error = BuildError::Compile {
            file: path.clone(),
            output: finished.output,
        };
        Err(error.or_disk_full(work.path()))
    };
    let mut command = common()?;
    command.args([
        format!("-Copt-level={optimisation}"),
        "-Cdebuginfo=1".into(),
    ]);
    command.arg(format!(
        "--emit=link={},dep-info={}",
        plain.display(),
        dependency_file.display()
    ));
    check(run_within(&mut command, options.time_limit, &path)?)?;

    let module = work.path().join("program.bc");
    let arguments = work.path().join("link");
    let mut command = common()?;
    command.args([
        UNOPTIMISED,
        "-Copt-level=0",
        "-Clto=fat",
        "-Ccodegen-units=1",
        "-Cdebuginfo=2",
    ]);
    command.arg(format!(
        "--emit=llvm-bc={},link={}",
        module.display(),
        work.path().join("unused").display()
    ));
    command.arg(format!("--print=link-args={}", arguments.display()));
    check(run_within(&mut command, options.time_limit, &path)?)?;

    let name = file.display().to_string();
    let facts = prepare(std::slice::from_ref(&module), &work, &name, options)?;
    let (link, missing) = link_of(&arguments, work.path(), &work)?;
    let mut reads: Vec<Read> = vec![Read::File(path.clone())];
    let list = std::fs::read_to_string(&dependency_file).unwrap_or_default();
    reads.extend(
        dependencies(&list)
            .into_iter()
            .map(|name| Read::File(root.join(name))),
    );
    let built = Built {
        format: 0,
        key: String::new(),
        plain: "program".into(),
        bitcode: BITCODE.into(),
        harness: facts.entry == Entry::Harness,
        languages: facts.languages,
        missing,
        link,
        source_root: root.clone(),
        variants: Vec::new(),
        unavailable: Vec::new(),
    };
    cache.store(&request, reads, work, built)
}
