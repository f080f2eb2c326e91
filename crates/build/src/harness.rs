//! A version driven by a harness: a file that the user gives calls functions of
//! the version, in place of its `main`.
//!
//! A C or C++ harness is linked with the whole-program bitcode, so it can call
//! functions that are `static`, and works for every kind of version. A Rust
//! harness is an example of the version's package; `rust` builds it.

use crate::assets;
use crate::bitcode::{Compilation, libraries};
use crate::cache::{Cache, ENTRY, Read, Work};
use crate::digest::Key;
use crate::error::{BuildError, READ, WRITE};
use crate::executable::{copy, is_executable};
use crate::prepare::{BITCODE, Entry, PREPARATION, prepare};
use crate::stand_in::arguments::{bitcode_flags, flags_for};
use crate::tools::clang_version;
use crate::translation::{Kind, Translation, dependencies};
use crate::version::{BuildOptions, Built, Language, Source};
use inkwell::GlobalVisibility;
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The version's own entry points, and what they are called beside a harness.
const ENTRIES: [(&str, &str); 2] = [
    ("main", "changeling_program_main"),
    ("LLVMFuzzerTestOneInput", "changeling_program_harness"),
];

/// Whether a harness is built by cargo.
pub fn is_rust(harness: &Path) -> bool {
    harness.extension().is_some_and(|suffix| suffix == "rs")
}

/// Refuses a Rust harness where there is no package that it could be an example of.
pub fn refuse_rust(options: &BuildOptions) -> Result<(), BuildError> {
    match &options.harness {
        Some(file) if is_rust(file) => Err(BuildError::Harness {
            file: file.clone(),
            reason: "a Rust harness needs a cargo package with a library, and this version is none"
                .into(),
        }),
        _ => Ok(()),
    }
}

/// Why no other variants of a version with a harness can be made: what has no sources is compiled as it is.
pub fn without_variants(source: &Source, built: &Built) -> Option<&'static str> {
    let is_taken = match source {
        Source::Files(files) => files.iter().any(|file| is_executable(file)),
        Source::Bitcode(_) => true,
        _ => false,
    };
    if is_taken {
        return Some("it is taken as it is; give its sources");
    }
    built
        .languages
        .contains(&Language::Rust)
        .then_some("the stable Rust toolchain has none")
}

/// Puts a C or C++ harness in front of a version that is built.
pub fn attach(
    version: &Built,
    file: &Path,
    options: &BuildOptions,
    cache: &Cache,
) -> Result<Built, BuildError> {
    let file = file
        .canonicalize()
        .map_err(|e| BuildError::io(READ, file, e))?;
    let kind = Kind::of(&file);
    if !matches!(kind, Kind::Source(_) | Kind::Preprocessed(_)) {
        return Err(BuildError::Harness {
            file,
            reason: "it must be a C, C++ or Rust file (.c, .cc, .cpp, .rs)".into(),
        });
    }
    let mut request = Key::new("harness")
        .with(PREPARATION)
        .with(clang_version()?)
        .with(assets::digest_text())
        .with(&version.key);
    request.add_path(&file);
    options.flags.iter().for_each(|flag| request.add(flag));
    let extra = options.bitcode_flags();
    extra.iter().for_each(|flag| request.add(flag));
    let request = request.finish();
    if let Some(built) = cache.look_up(&request) {
        return Ok(built);
    }

    let work = cache.work()?;
    let module = work.path().join("harness.bc");
    let mut reads = compile(&file, kind, &module, version, options, cache)?;
    let own = work.path().join("version.bc");
    let absent = open(&version.bitcode, &module, &own, &file)?;
    let name = file.display().to_string();
    let facts = prepare(&[own, module], &work, &name, options)?;

    let mut link = keep_natives(version, &work)?;
    for library in libraries(&facts.languages) {
        if !link.iter().any(|word| word == library) {
            link.push(library.to_string());
        }
    }
    let entry = work.entry().display().to_string();
    let mut here: Vec<String> = link.iter().map(|w| w.replace(ENTRY, &entry)).collect();
    // So that names in messages are those that the harness declares.
    here.push("-Wl,--no-demangle".into());
    let compilation = Compilation {
        linked: &facts.linked,
        harness: facts.entry == Entry::Harness,
        link: &here,
        extra,
        place: &name,
    };
    compilation.run(&work).map_err(|error| match error {
        BuildError::Link { output, .. } => explained(output, &absent, &file),
        other => other,
    })?;
    let built = Built {
        format: 0,
        key: String::new(),
        plain: "program".into(),
        bitcode: BITCODE.into(),
        harness: facts.entry == Entry::Harness,
        languages: facts.languages,
        missing: version.missing.clone(),
        link,
        source_root: version.source_root.clone(),
        variants: Vec::new(),
        unavailable: Vec::new(),
    };
    reads.push(Read::File(version.bitcode.clone()));
    cache.store(&request, reads, work, built)
}

/// Compiles the harness to bitcode; gives the files it was made from.
fn compile(
    file: &Path,
    kind: Kind,
    module: &Path,
    version: &Built,
    options: &BuildOptions,
    cache: &Cache,
) -> Result<Vec<Read>, BuildError> {
    let directory = std::env::current_dir().map_err(|e| BuildError::io(READ, Path::new("."), e))?;
    let given: Vec<OsString> = options.flags.iter().map(OsString::from).collect();
    let mut flags: Vec<OsString> = vec!["-idirafter".into()];
    flags.push(assets::include_directory(cache)?.into());
    flags.extend(flags_for(&given, kind.language()));
    // Headers of the version come from the version itself, so each has its own.
    flags.extend(["-idirafter".into(), version.source_root.clone().into()]);
    let mut flags = bitcode_flags(&flags);
    flags.extend(options.bitcode_flags().iter().map(OsString::from));
    let translation = Translation {
        source: file.to_path_buf(),
        kind,
        flags,
        directory: directory.clone(),
        limit: options.time_limit,
    };
    let list = module.with_extension("d");
    let finished = translation.bitcode(module, Some(&list), None)?;
    if !finished.succeeded() {
        let error = BuildError::Compile {
            file: file.to_path_buf(),
            output: finished.output,
        };
        return Err(error.or_disk_full(module));
    }
    let text = std::fs::read_to_string(&list).unwrap_or_default();
    let mut reads = vec![Read::File(file.to_path_buf())];
    let named = dependencies(&text).into_iter();
    reads.extend(named.map(|name| Read::File(directory.join(name))));
    Ok(reads)
}

/// Makes the version a library: its entry points get other names, and the
/// functions that the harness declares can be called from outside. Gives the
/// names that the harness declares and the version does not define.
fn open(
    version: &Path,
    harness: &Path,
    output: &Path,
    file: &Path,
) -> Result<Vec<String>, BuildError> {
    let context = Context::create();
    let parse = |path: &Path| {
        Module::parse_bitcode_from_path(path, &context).map_err(|message| BuildError::Bitcode {
            path: path.to_path_buf(),
            output: message.to_string(),
        })
    };
    let (program, caller) = (parse(version)?, parse(harness)?);
    for (name, other) in ENTRIES {
        if let Some(function) = program.get_function(name)
            && function.count_basic_blocks() > 0
        {
            function.as_global_value().set_name(other);
            // What only it has used goes, unless the harness calls it.
            function.set_linkage(Linkage::Internal);
        }
    }
    let mut absent = Vec::new();
    let declared = caller
        .get_functions()
        .filter(|f| f.count_basic_blocks() == 0 && f.get_intrinsic_id() == 0);
    for declaration in declared {
        let name = declaration.get_name().to_string_lossy().into_owned();
        let definition = program
            .get_function(&name)
            .filter(|function| function.count_basic_blocks() > 0);
        let Some(definition) = definition else {
            absent.push(name);
            continue;
        };
        let (here, there) = (declaration.get_type(), definition.get_type());
        if here != there {
            return Err(BuildError::Harness {
                file: file.to_path_buf(),
                reason: format!(
                    "it declares `{name}` as {}, but in this version that is {}",
                    here.print_to_string().to_string(),
                    there.print_to_string().to_string()
                ),
            });
        }
        match definition.get_linkage() {
            Linkage::Internal | Linkage::Private => {
                definition.set_linkage(Linkage::External);
                definition
                    .as_global_value()
                    .set_visibility(GlobalVisibility::Hidden);
            }
            // Functions that are dropped where nothing calls them.
            Linkage::LinkOnceAny | Linkage::LinkOnceODR => definition.set_linkage(Linkage::WeakODR),
            _ => {}
        }
    }
    crate::prepare::write(&program, output)?;
    Ok(absent)
}

/// A harness that calls what the version does not have, in words.
fn explained(output: String, absent: &[String], file: &Path) -> BuildError {
    let said = |name: &&String| {
        ["`", "'", " ", ">>> "].iter().any(|before| {
            output
                .match_indices(&format!("{before}{name}"))
                .any(|(at, found)| {
                    let rest = &output[at + found.len()..];
                    !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
                })
        })
    };
    let names: Vec<&str> = absent.iter().filter(said).map(String::as_str).collect();
    match names.is_empty() {
        true => BuildError::Link {
            place: file.display().to_string(),
            output,
        },
        false => BuildError::Harness {
            file: file.to_path_buf(),
            reason: format!(
                "it calls `{}`, which this version does not have",
                names.join("`, `")
            ),
        },
    }
}

/// Copies native objects and shared libraries from the version's entry; gives the
/// words for the linker.
fn keep_natives(version: &Built, work: &Work) -> Result<Vec<String>, BuildError> {
    let from = version.bitcode.parent().unwrap_or(Path::new("/"));
    let mut link = Vec::new();
    for word in &version.link {
        let path = Path::new(word);
        match path.strip_prefix(from) {
            Ok(name) if path.is_file() => {
                copy(path, &work.entry().join(name))?;
                link.push(format!("{ENTRY}/{}", name.display()));
            }
            _ => link.push(word.clone()),
        }
    }
    let libraries = from.join("lib");
    if libraries.is_dir() {
        let to = work.entry().join("lib");
        std::fs::create_dir_all(&to).map_err(|e| BuildError::io(WRITE, &to, e))?;
        let failed = |e| BuildError::io(READ, &libraries, e);
        for library in std::fs::read_dir(&libraries).map_err(failed)? {
            let library: PathBuf = library.map_err(failed)?.path();
            copy(&library, &to.join(library.file_name().unwrap_or_default()))?;
        }
        link.push("-Wl,-rpath,$ORIGIN/lib".into());
    }
    Ok(link)
}
