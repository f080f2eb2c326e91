//! C and C++ files, and files for the linker, as a program.

use crate::assets;
use crate::cache::{Cache, ENTRY, Read, Work};
use crate::digest::Key;
use crate::error::{BuildError, READ, WRITE};
use crate::parallel;
use crate::prepare::{BITCODE, Entry, PREPARATION, is_huge, prepare};
use crate::process::{Finished, run};
use crate::stand_in::arguments::{Invocation, bitcode_flags, flags_for};
use crate::tools::{Tool, clang_version};
use crate::translation::{Kind, Translation, dependencies, relative_flags};
use crate::version::{BuildOptions, Built, Language, MissingObject, Variant, VariantBinary};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Flags of plain binaries before those of the user: undefined behaviour shows
/// itself as in most programs, and crashes can be looked at.
const PLAIN_FLAGS: [&str; 2] = ["-O1", "-g"];
/// Leaves the blocks of machine code in the order of the source: the compiler needs minutes to find a
/// better one for thousands of blocks in a loop, and it changes nothing else.
const UNORDERED: &[&str] = &["-mllvm", "-disable-block-placement"];

pub fn build_files(
    files: &[PathBuf],
    options: &BuildOptions,
    cache: &Cache,
) -> Result<Built, BuildError> {
    let mut paths = Vec::new();
    for file in files {
        paths.push(
            file.canonicalize()
                .map_err(|e| BuildError::io(READ, file, e))?,
        );
    }
    let mut request = Key::new("files")
        .with(PREPARATION)
        .with(clang_version()?)
        .with(assets::digest_text());
    paths.iter().for_each(|path| request.add_path(path));
    request.add("flags");
    options.flags.iter().for_each(|flag| request.add(flag));
    let directory = std::env::current_dir().map_err(|e| BuildError::io(READ, Path::new("."), e))?;
    request.add_path(&directory);
    if options.library {
        request.add("library");
    }
    options
        .bitcode_flags()
        .iter()
        .for_each(|flag| request.add(flag));
    let request = request.finish();
    if let Some(built) = known(&request, options, cache) {
        return Ok(built);
    }
    let root = common_directory(&paths);
    let flags: Vec<OsString> = options.flags.iter().map(OsString::from).collect();
    let include = assets::include_directory(cache)?;
    let common = Common {
        flags: &flags,
        directory: &directory,
        include: &include,
        limit: options.time_limit,
    };
    let mut units = units(&paths, &root, &common)?;
    if options.library {
        let entry = assets::write_once(&include, "entry.c", assets::ENTRY)?;
        let common = Common {
            flags: &[],
            ..common
        };
        units.extend(self::units(&[entry], &include, &common)?);
    }
    let program = Program {
        units,
        root,
        link_flags: Invocation::parse(&flags, false).link,
        directory,
    };
    program.build(options, cache, &request)
}

/// A program that was built before, with all variants that are wanted.
pub fn known(request: &str, options: &BuildOptions, cache: &Cache) -> Option<Built> {
    let version = cache.look_up(request)?;
    match options.variants.is_empty() {
        true => Some(version),
        false => cache.look_up(&variants_request(&version, &options.variants)),
    }
}

fn variants_request(version: &Built, variants: &[Variant]) -> String {
    let mut request = Key::new("variants").with(&version.key);
    variants
        .iter()
        .for_each(|variant| request.add(variant.name()));
    request.finish()
}

/// Sources with their flags, and what else is linked: a program to be.
pub struct Program {
    pub units: Vec<Unit>,
    pub root: PathBuf,
    pub link_flags: Vec<OsString>,
    /// Relative names in the link flags are relative to this directory.
    pub directory: PathBuf,
}

/// One file of a program with the flags for its object; those for its bitcode follow from them.
pub struct Unit {
    pub translation: Translation,
}

impl Program {
    pub fn build(
        &self,
        options: &BuildOptions,
        cache: &Cache,
        request: &str,
    ) -> Result<Built, BuildError> {
        let version = match cache.look_up(request) {
            Some(version) => version,
            None if options.code_only => {
                let request = Key::new("code").with(request).finish();
                return match cache.look_up(&request) {
                    Some(version) => Ok(version),
                    None => self.version(options, cache, &request),
                };
            }
            None => self.version(options, cache, request)?,
        };
        match options.variants.is_empty() {
            true => Ok(version),
            false => self.with_variants(version, &options.variants, cache),
        }
    }

    fn version(
        &self,
        options: &BuildOptions,
        cache: &Cache,
        request: &str,
    ) -> Result<Built, BuildError> {
        let work = cache.work()?;
        let compiled = self.compile(&work, options.bitcode_flags())?;
        let facts = prepare(&compiled.modules, &work, &self.name(), options)?;
        let harness = facts.entry == Entry::Harness;
        let (plain, link) = match options.code_only {
            true => (BITCODE.into(), Vec::new()),
            false => {
                let plain = self.plain(&work, None, facts.huge, harness)?;
                (plain, self.traced_link(&work)?)
            }
        };
        let built = Built {
            format: 0,
            key: String::new(),
            plain,
            bitcode: BITCODE.into(),
            harness,
            languages: facts.languages,
            missing: compiled.missing,
            link,
            source_root: self.root.clone(),
            variants: Vec::new(),
            unavailable: Vec::new(),
        };
        let reads = compiled.reads.into_iter().map(Read::File).collect();
        cache.store(request, reads, work, built)
    }

    /// The same version with further binaries, which alone are compiled: a search waits for them.
    fn with_variants(
        &self,
        version: Built,
        variants: &[Variant],
        cache: &Cache,
    ) -> Result<Built, BuildError> {
        let work = cache.work()?;
        let huge = is_huge(&version.bitcode);
        let paths = parallel::map(variants, |_, &variant| {
            self.plain(&work, Some(variant), huge, version.harness)
        });
        let request = variants_request(&version, variants);
        let reads = vec![Read::File(version.bitcode.clone())];
        let mut built = version;
        for (&variant, path) in variants.iter().zip(paths) {
            let path = path?;
            built.variants.push(VariantBinary { variant, path });
        }
        cache.store(&request, reads, work, built)
    }

    /// How messages call the program.
    fn name(&self) -> String {
        let names: Vec<String> = self
            .units
            .iter()
            .map(|unit| unit.translation.source.display().to_string())
            .collect();
        names.join(" ")
    }

    /// Compiles every source to bitcode.
    fn compile(&self, work: &Work, extra: &[&str]) -> Result<Compiled, BuildError> {
        let results = parallel::map(&self.units, |index, unit| {
            unit.bitcode(
                &work.path().join(format!("{index}.bc")),
                &work.path().join(format!("{index}.d")),
                extra,
            )
        });
        let mut compiled = Compiled::default();
        for (unit, result) in self.units.iter().zip(results) {
            let source = &unit.translation.source;
            compiled.reads.push(source.clone());
            match result? {
                Part::Bitcode { module, reads } => {
                    compiled.modules.push(module);
                    compiled.reads.extend(reads);
                }
                Part::Missing(reason) => compiled.missing.push(MissingObject {
                    object: source
                        .strip_prefix(&self.root)
                        .unwrap_or(source)
                        .display()
                        .to_string(),
                    reason: reason.into(),
                }),
            }
        }
        compiled.reads.sort();
        compiled.reads.dedup();
        if compiled.modules.is_empty() {
            return Err(BuildError::NoEntry { place: self.name() });
        }
        Ok(compiled)
    }

    /// Compiles and links a native binary; gives its name in the entry.
    fn plain(
        &self,
        work: &Work,
        variant: Option<Variant>,
        huge: bool,
        harness: bool,
    ) -> Result<PathBuf, BuildError> {
        let name = variant.map_or("program".to_string(), |v| format!("program-{}", v.name()));
        let own: &[&str] = variant.map_or(&[], Variant::flags);
        let extra = [own, if huge { UNORDERED } else { &[] }].concat();
        let objects = parallel::map(&self.units, |index, unit| {
            unit.object(&work.path().join(format!("{name}-{index}.o")), &extra)
        });
        let mut command = self.driver().command()?;
        for object in objects {
            command.arg(object?);
        }
        if harness {
            let source = assets::write_once(work.path(), "harness.c", assets::HARNESS)?;
            command.args(["-x", "c"]).arg(source).args(["-x", "none"]);
        }
        command
            .args(PLAIN_FLAGS)
            .args(&extra)
            .arg("-Qunused-arguments")
            .args(&self.link_flags)
            .arg("-lm");
        command
            .arg("-o")
            .arg(work.entry().join(&name))
            .current_dir(&self.directory);
        let finished = run(&mut command)?;
        if !finished.succeeded() {
            let error = BuildError::Link {
                place: self.name(),
                output: finished.output,
            };
            return Err(error.or_disk_full(work.path()));
        }
        Ok(name.into())
    }

    fn driver(&self) -> Tool {
        if self.languages().any(|language| language == Language::Cpp) {
            Tool::ClangPlusPlus
        } else {
            Tool::Clang
        }
    }

    fn languages(&self) -> impl Iterator<Item = Language> {
        self.units
            .iter()
            .filter_map(|unit| unit.translation.kind.language())
    }

    /// What the traced binary is linked with: the user's libraries, and native
    /// objects, which are kept in the entry.
    fn traced_link(&self, work: &Work) -> Result<Vec<String>, BuildError> {
        let mut link = Vec::new();
        for (index, unit) in self.units.iter().enumerate() {
            match unit.translation.kind {
                Kind::Linkable => link.push(unit.translation.source.display().to_string()),
                Kind::Assembler => {
                    let name = format!("native-{index}.o");
                    let from = work.path().join(format!("program-{index}.o"));
                    let to = work.entry().join(&name);
                    std::fs::rename(&from, &to).map_err(|e| BuildError::io(WRITE, &to, e))?;
                    link.push(format!("{ENTRY}/{name}"));
                }
                _ => {}
            }
        }
        link.extend(
            self.link_flags
                .iter()
                .map(|flag| flag.to_string_lossy().into_owned()),
        );
        if self.driver() == Tool::ClangPlusPlus {
            link.push("-lstdc++".into());
        }
        link.push("-lm".into());
        Ok(link)
    }
}

#[derive(Default)]
struct Compiled {
    modules: Vec<PathBuf>,
    missing: Vec<MissingObject>,
    reads: Vec<PathBuf>,
}

enum Part {
    Bitcode {
        module: PathBuf,
        reads: Vec<PathBuf>,
    },
    Missing(&'static str),
}

impl Unit {
    fn bitcode(&self, module: &Path, list: &Path, extra: &[&str]) -> Result<Part, BuildError> {
        match self.translation.kind {
            Kind::Assembler => return Ok(Part::Missing("assembler source")),
            Kind::Linkable | Kind::Other => return Ok(Part::Missing("given as a native object")),
            Kind::Source(_) | Kind::Preprocessed(_) | Kind::Bitcode => {}
        }
        let mut flags = bitcode_flags(&self.translation.flags);
        flags.extend(extra.iter().map(OsString::from));
        let translation = Translation {
            flags,
            ..self.translation.clone()
        };
        let list = (self.translation.kind != Kind::Bitcode).then_some(list);
        let finished = translation.bitcode(module, list, None)?;
        self.check(finished, module)?;
        let text = list
            .and_then(|list| std::fs::read_to_string(list).ok())
            .unwrap_or_default();
        let directory = &self.translation.directory;
        let reads = dependencies(&text)
            .into_iter()
            .map(|read| directory.join(read))
            .collect();
        Ok(Part::Bitcode {
            module: module.to_path_buf(),
            reads,
        })
    }

    /// Compiles to bitcode if there is any to be had.
    pub fn module(&self, module: &Path) -> Result<Option<PathBuf>, BuildError> {
        Ok(
            match self.bitcode(module, &module.with_extension("d"), &[])? {
                Part::Bitcode { module, .. } => Some(module),
                Part::Missing(_) => None,
            },
        )
    }

    fn object(&self, object: &Path, extra: &[&str]) -> Result<PathBuf, BuildError> {
        if self.translation.kind == Kind::Linkable {
            return Ok(self.translation.source.clone());
        }
        let mut translation = self.translation.clone();
        translation.flags.extend(extra.iter().map(OsString::from));
        let finished = translation.object(object)?;
        self.check(finished, object)?;
        Ok(object.to_path_buf())
    }

    fn check(&self, finished: Finished, output: &Path) -> Result<(), BuildError> {
        if finished.succeeded() {
            return Ok(());
        }
        let file = self.translation.source.clone();
        Err(BuildError::Compile {
            file,
            output: finished.output,
        }
        .or_disk_full(output))
    }
}

/// What the files of a program have in common.
struct Common<'a> {
    flags: &'a [OsString],
    directory: &'a Path,
    /// Where `changeling.h` is.
    include: &'a Path,
    limit: Option<Duration>,
}

fn units(paths: &[PathBuf], root: &Path, common: &Common) -> Result<Vec<Unit>, BuildError> {
    let mut units = Vec::new();
    for path in paths {
        let kind = Kind::of(path);
        crate::inspect::check_input(path, kind)?;
        let mut all: Vec<OsString> = PLAIN_FLAGS.iter().map(OsString::from).collect();
        all.extend([OsString::from("-idirafter"), common.include.into()]);
        all.extend(relative_flags(root));
        all.extend(flags_for(common.flags, kind.language()));
        units.push(Unit {
            translation: Translation {
                source: path.clone(),
                kind,
                flags: all,
                directory: common.directory.to_path_buf(),
                limit: common.limit,
            },
        });
    }
    Ok(units)
}

/// The deepest directory that holds all files.
fn common_directory(paths: &[PathBuf]) -> PathBuf {
    let mut directories = paths.iter().filter_map(|path| path.parent());
    let mut common = directories.next().unwrap_or(Path::new("/"));
    for directory in directories {
        while !directory.starts_with(common) {
            common = common.parent().unwrap_or(Path::new("/"));
        }
    }
    common.to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_directory_holds_all() {
        let common =
            |paths: &[&str]| common_directory(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(common(&["/a/b/c.c"]), Path::new("/a/b"));
        assert_eq!(common(&["/a/b/c.c", "/a/d/e.c"]), Path::new("/a"));
        assert_eq!(common(&["/a/b.c", "/ab/c.c"]), Path::new("/"));
    }
}
