//! Whole-program bitcode that someone else made.

use crate::cache::{Cache, Read, Work};
use crate::digest::Key;
use crate::error::{BuildError, READ};
use crate::executable::take;
use crate::prepare::{BITCODE, Entry, PREPARATION, prepare};
use crate::process::run;
use crate::stand_in::LinkResult;
use crate::tools::{Tool, clang_version};
use crate::version::{BuildOptions, Built, Language};
use crate::{assets, executable};
use std::path::Path;

pub fn build_bitcode(
    path: &Path,
    options: &BuildOptions,
    cache: &Cache,
) -> Result<Built, BuildError> {
    let path = path
        .canonicalize()
        .map_err(|e| BuildError::io(READ, path, e))?;
    let mut request = Key::new("bitcode")
        .with(PREPARATION)
        .with(clang_version()?)
        .with(assets::HARNESS);
    request.add_path(&path);
    options.flags.iter().for_each(|flag| request.add(flag));
    options
        .variants
        .iter()
        .for_each(|variant| request.add(variant.name()));
    let request = request.finish();
    if let Some(built) = cache.look_up(&request) {
        return Ok(built);
    }
    let work = cache.work()?;
    let root = path.parent().unwrap_or(Path::new("/")).to_path_buf();
    let unavailable = options.variants.iter().map(|&variant| {
        (
            variant,
            "bitcode is compiled as it is; give its sources".to_string(),
        )
    });
    let mut reads = vec![Read::File(path.clone())];

    // Beside bitcode from `changeling cc` is what it was linked with, and the executable.
    let description = path.with_extension("json");
    let executable = path.with_extension("").with_extension("");
    let known = std::fs::read(&description)
        .ok()
        .and_then(|text| serde_json::from_slice::<LinkResult>(&text).ok());
    if let Some(mut result) = known.filter(|_| executable::is_executable(&executable)) {
        result.bitcode = Some(path.clone());
        let mut built = take(&executable, result, (&work, options), root)?;
        built.unavailable = unavailable.collect();
        reads.extend([Read::File(description), Read::File(executable)]);
        return cache.store(&request, reads, work, built);
    }

    // The linker takes nothing at all for a module of nothing, on no machine.
    if std::fs::metadata(&path).is_ok_and(|file| file.len() == 0) {
        return Err(BuildError::Bitcode {
            path,
            output: "the file is empty".into(),
        });
    }
    let name = path.display().to_string();
    let facts = prepare(std::slice::from_ref(&path), &work, &name, options)?;
    let harness = facts.entry == Entry::Harness;
    let mut link: Vec<String> = options.flags.clone();
    link.extend(
        libraries(&facts.languages)
            .iter()
            .map(|library| library.to_string()),
    );
    let compilation = Compilation {
        linked: &facts.linked,
        harness,
        link: &link,
        extra: &[],
        place: &name,
    };
    compilation.run(&work)?;
    let built = Built {
        format: 0,
        key: String::new(),
        plain: "program".into(),
        bitcode: BITCODE.into(),
        harness,
        languages: facts.languages,
        missing: Vec::new(),
        link,
        source_root: root,
        variants: Vec::new(),
        unavailable: unavailable.collect(),
    };
    cache.store(&request, reads, work, built)
}

/// A native binary to be made from whole-program bitcode.
pub struct Compilation<'a> {
    pub linked: &'a Path,
    /// It needs a `main` that calls the harness.
    pub harness: bool,
    pub link: &'a [String],
    /// Further flags of the compiler.
    pub extra: &'a [&'a str],
    /// How messages call it.
    pub place: &'a str,
}

impl Compilation<'_> {
    pub fn run(&self, work: &Work) -> Result<(), BuildError> {
        let mut command = Tool::Clang.command()?;
        command
            .args(["-O1", "-w", "-Qunused-arguments"])
            // For C++ behind a driver for C; others do not use it.
            .arg("-fsanitize-link-c++-runtime")
            .args(self.extra)
            .arg(self.linked);
        if self.harness {
            let source = assets::write_once(work.path(), "harness.c", assets::HARNESS)?;
            command.args(["-x", "c"]).arg(source).args(["-x", "none"]);
        }
        command
            .args(self.link)
            .arg("-o")
            .arg(work.entry().join("program"));
        let finished = run(&mut command)?;
        if finished.succeeded() {
            return Ok(());
        }
        let error = BuildError::Link {
            place: self.place.to_string(),
            output: finished.output,
        };
        Err(error.or_disk_full(work.path()))
    }
}

/// Libraries that programs of a language use without saying so.
pub fn libraries(languages: &[Language]) -> Vec<&'static str> {
    let mut libraries = Vec::new();
    if languages.contains(&Language::Cpp) {
        libraries.push("-lstdc++");
    }
    if languages.contains(&Language::Rust) {
        libraries.extend(["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-ldl"]);
    }
    libraries.push("-lm");
    libraries
}
