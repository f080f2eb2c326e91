//! A compilation database: every source with its flags, but nothing about linking.

use crate::assets;
use crate::cache::Cache;
use crate::digest::Key;
use crate::error::{BuildError, READ};
use crate::files::{Program, Unit, known};
use crate::parallel;
use crate::prepare::{PREPARATION, defines_entry};
use crate::stand_in::arguments::{Invocation, split_words};
use crate::tools::clang_version;
use crate::translation::{Translation, prefix_flags};
use crate::version::{BuildOptions, Built};
use serde::Deserialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Deserialize)]
struct Line {
    directory: PathBuf,
    file: PathBuf,
    command: Option<String>,
    arguments: Option<Vec<String>>,
}

pub fn build_database(
    database: &Path,
    program: Option<&str>,
    options: &BuildOptions,
    cache: &Cache,
) -> Result<Built, BuildError> {
    let path = database
        .canonicalize()
        .map_err(|e| BuildError::io(READ, database, e))?;
    let text = std::fs::read(&path).map_err(|e| BuildError::io(READ, &path, e))?;
    let mut request = Key::new("database")
        .with(PREPARATION)
        .with(clang_version()?)
        .with(assets::digest_text());
    request.add_path(&path);
    request.add(&text);
    request.add(program.unwrap_or_default());
    options.flags.iter().for_each(|flag| request.add(flag));
    let extra = options.bitcode_flags();
    extra.iter().for_each(|flag| request.add(flag));
    let request = request.finish();
    if let Some(built) = known(&request, options, cache) {
        return Ok(built);
    }
    let broken = |reason: String| BuildError::CompileCommands {
        path: path.clone(),
        reason,
    };
    let lines: Vec<Line> = serde_json::from_slice(&text).map_err(|e| broken(e.to_string()))?;
    if lines.is_empty() {
        return Err(broken("it is empty".into()));
    }
    let root = path.parent().unwrap_or(Path::new("/")).to_path_buf();
    let include = assets::include_directory(cache)?;
    let units = lines
        .iter()
        .map(|line| {
            unit(line, &root, &include, options.time_limit)
                .ok_or_else(|| broken(format!("no command for {}", line.file.display())))
        })
        .collect::<Result<Vec<_>, _>>()?;
    for unit in &units {
        crate::inspect::check_file(&unit.translation.source)?;
    }
    let units = one_program(units, program, &path, cache)?;
    let flags: Vec<OsString> = options.flags.iter().map(OsString::from).collect();
    let link_flags = Invocation::parse(&flags, false).link;
    Program {
        units,
        link_flags,
        directory: root.clone(),
        root,
    }
    .build(options, cache, &request)
}

fn unit(line: &Line, root: &Path, include: &Path, limit: Option<Duration>) -> Option<Unit> {
    let words: Vec<OsString> = match (&line.arguments, &line.command) {
        (Some(arguments), _) => arguments.iter().map(OsString::from).collect(),
        (None, Some(command)) => split_words(command.as_bytes()),
        (None, None) => return None,
    };
    let (compiler, arguments) = words.split_first()?;
    let directory = root.join(&line.directory);
    let cpp = compiler.to_string_lossy().ends_with("++");
    let invocation = Invocation::parse(arguments, cpp);
    let source = directory.join(&line.file);
    let kind = invocation
        .inputs
        .iter()
        .find(|input| directory.join(&input.path) == source)?
        .kind;
    let mut flags = invocation.plain_flags;
    flags.extend(prefix_flags(root));
    flags.extend(["-idirafter".into(), include.into()]);
    Some(Unit {
        translation: Translation {
            source,
            kind,
            flags,
            directory,
            limit,
        },
    })
}

/// A database may describe several programs. Of the files that define a `main`, one is kept.
fn one_program(
    units: Vec<Unit>,
    program: Option<&str>,
    database: &Path,
    cache: &Cache,
) -> Result<Vec<Unit>, BuildError> {
    let work = cache.work()?;
    let entries = parallel::map(&units, |index, unit| {
        let module = work.path().join(format!("{index}.bc"));
        Ok::<_, BuildError>(match unit.module(&module)? {
            Some(module) => defines_entry(&module),
            None => false,
        })
    });
    let entries = entries.into_iter().collect::<Result<Vec<bool>, _>>()?;
    let name = |unit: &Unit| {
        unit.translation
            .source
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let mains: Vec<String> = units
        .iter()
        .zip(&entries)
        .filter(|(_, entry)| **entry)
        .map(|(unit, _)| name(unit))
        .collect();
    let chosen = match (program, mains.as_slice()) {
        (None, [] | [_]) => return Ok(units),
        (None, _) => {
            return Err(BuildError::SeveralPrograms {
                place: database.to_path_buf(),
                programs: mains,
            });
        }
        (Some(program), _) => mains
            .iter()
            .find(|main| *main == program || main.split('.').next() == Some(program))
            .ok_or_else(|| BuildError::NoProgram {
                place: database.to_path_buf(),
                reason: format!(
                    "no file named {program} has a `main`; those that have one: {}",
                    mains.join(", ")
                ),
            })?,
    };
    let kept = units
        .into_iter()
        .zip(entries)
        .filter(|(unit, entry)| !entry || name(unit) == *chosen);
    Ok(kept.map(|(unit, _)| unit).collect())
}
