//! A source tree with a build command.

use crate::assets;
use crate::cache::{Cache, Read, Work};
use crate::command::{Build, Plan, plan};
use crate::digest::Key;
use crate::error::{BuildError, READ};
use crate::executable::{copy, find_link_result, take};
use crate::prepare::PREPARATION;
use crate::rust;
use crate::stand_in::LinkResult;
use crate::tools::clang_version;
use crate::tree::copy_sources;
use crate::version::{BuildOptions, Built, Variant, VariantBinary};
use std::path::{Path, PathBuf};

pub fn build_directory(
    path: &Path,
    command: Option<&str>,
    program: Option<&Path>,
    options: &BuildOptions,
    cache: &Cache,
) -> Result<Built, BuildError> {
    let root = path
        .canonicalize()
        .map_err(|e| BuildError::io(READ, path, e))?;
    if !root.is_dir() {
        let reason = "it is not a directory".into();
        return Err(BuildError::NotAProgram {
            path: path.to_path_buf(),
            reason,
        });
    }
    let command = match plan(&root, command)? {
        Plan::Command(command) => command,
        Plan::Cargo => {
            let target = program.map(|program| program.to_string_lossy().into_owned());
            return rust::build_package(&root, target.as_deref(), options, cache);
        }
        Plan::CompileCommands(database) => {
            let program = program.map(|program| program.to_string_lossy().into_owned());
            return crate::compile_commands::build_database(
                &database,
                program.as_deref(),
                options,
                cache,
            );
        }
    };
    let mut request = Key::new("directory");
    request.add_path(&root);
    let request = tree_request(request, &command, program, options)?;
    if let Some(built) = cache.look_up(&request) {
        return Ok(built);
    }
    let work = cache.work()?;
    let tree = Tree {
        root: &root,
        shown: path,
        command: &command,
        program,
        source_root: root.clone(),
    };
    let built = tree.build(&work, options, cache)?;
    cache.store(&request, vec![Read::Tree(root.clone())], work, built)
}

/// Completes the key of a build in a tree.
pub fn tree_request(
    mut request: Key,
    command: &str,
    program: Option<&Path>,
    options: &BuildOptions,
) -> Result<String, BuildError> {
    request.add(PREPARATION);
    request.add(clang_version()?);
    request.add(assets::digest_text());
    request.add(command);
    request.add(
        program
            .unwrap_or(Path::new(""))
            .to_string_lossy()
            .as_bytes(),
    );
    options.flags.iter().for_each(|flag| request.add(flag));
    request.add("variants");
    options
        .variants
        .iter()
        .for_each(|variant| request.add(variant.name()));
    let extra = options.bitcode_flags();
    extra.iter().for_each(|flag| request.add(flag));
    Ok(request.finish())
}

/// A tree to be built in a copy.
pub struct Tree<'a> {
    pub root: &'a Path,
    /// How messages call it.
    pub shown: &'a Path,
    pub command: &'a str,
    pub program: Option<&'a Path>,
    pub source_root: PathBuf,
}

impl Tree<'_> {
    pub fn build(
        &self,
        work: &Work,
        options: &BuildOptions,
        cache: &Cache,
    ) -> Result<Built, BuildError> {
        crate::harness::refuse_rust(options)?;
        let copy_of_tree = self.run(work, "tree", &[], options, cache)?;
        let (executable, result) = self.choose(&copy_of_tree)?;
        let relative = executable
            .strip_prefix(&copy_of_tree)
            .unwrap_or(&executable)
            .to_path_buf();
        let mut built = take(
            &executable,
            result,
            (work, options),
            self.source_root.clone(),
        )?;
        for missing in &mut built.missing {
            missing.object = crate::inspect::relative(Path::new(&missing.object), &copy_of_tree);
        }
        // Libraries found there were put into the entry; the directories vanish.
        let gone = format!("-L{}", copy_of_tree.display());
        built.link.retain(|word| !word.starts_with(&gone));
        for &variant in &options.variants {
            let path = self.variant(work, variant, &relative, options, cache)?;
            built.variants.push(VariantBinary { variant, path });
        }
        Ok(built)
    }

    /// Builds everything again with other flags, for one more binary.
    fn variant(
        &self,
        work: &Work,
        variant: Variant,
        program: &Path,
        options: &BuildOptions,
        cache: &Cache,
    ) -> Result<PathBuf, BuildError> {
        let place = self.run(work, variant.name(), variant.flags(), options, cache)?;
        let name = format!("program-{}", variant.name());
        copy(&place.join(program), &work.entry().join(&name))?;
        Ok(name.into())
    }

    /// Copies the tree and runs the command in it; gives the place of the copy.
    fn run(
        &self,
        work: &Work,
        name: &str,
        extra: &[&str],
        options: &BuildOptions,
        cache: &Cache,
    ) -> Result<PathBuf, BuildError> {
        let place = work.path().join(name);
        copy_sources(self.root, &place, cache.root())?;
        let build = Build {
            place: &place,
            shown: self.shown,
            command: self.command,
            extra,
            plain_only: name != "tree",
        };
        build.run(work, options, cache)?;
        Ok(place)
    }

    /// The program that was meant, among the executables that the build made.
    fn choose(&self, place: &Path) -> Result<(PathBuf, LinkResult), BuildError> {
        if let Some(program) = self.program {
            return self.named(place, program);
        }
        let mut found = Vec::new();
        executables(place, &mut found)?;
        // Copies of one executable (`install`) count once.
        let mut seen = Vec::new();
        found.retain(|(_, result)| {
            let new = !seen.contains(&result.bitcode) || result.bitcode.is_none();
            seen.push(result.bitcode.clone());
            new
        });
        match found.len() {
            0 => Err(self.no_program(place)),
            1 => Ok(found.remove(0)),
            _ => Err(BuildError::SeveralPrograms {
                place: self.shown.to_path_buf(),
                programs: found
                    .iter()
                    .map(|(path, _)| crate::inspect::relative(path, place))
                    .collect(),
            }),
        }
    }

    fn named(&self, place: &Path, program: &Path) -> Result<(PathBuf, LinkResult), BuildError> {
        let direct = place.join(program);
        // libtool puts a script where the program should be.
        let hidden = direct
            .with_file_name(".libs")
            .join(program.file_name().unwrap_or_default());
        for path in [direct, hidden] {
            self.refuse_shared(place, &path)?;
            let result = std::fs::read(&path)
                .ok()
                .and_then(|bytes| find_link_result(&bytes));
            if let Some(result) = result {
                return Ok((path, result));
            }
        }
        let reason = match place.join(program).exists() {
            true => format!(
                "{} was made by the build, but not linked by a stand-in: the build must use $CC and $CXX",
                program.display()
            ),
            false => format!(
                "the build ended well, but there is no {}",
                program.display()
            ),
        };
        Err(BuildError::NoProgram {
            place: self.shown.to_path_buf(),
            reason,
        })
    }

    /// What lies outside of the place of this build is the same file for both versions: whichever
    /// is built last would be compared with itself.
    fn refuse_shared(&self, place: &Path, program: &Path) -> Result<(), BuildError> {
        let own = place.parent().and_then(|own| own.canonicalize().ok());
        let (Some(own), Ok(real)) = (own, program.canonicalize()) else {
            return Ok(());
        };
        if real.starts_with(own) {
            return Ok(());
        }
        Err(BuildError::NoProgram {
            place: self.shown.to_path_buf(),
            reason: format!(
                "{} is outside of the copy of the tree in which the build runs, so both versions would have the same; \
                 let the build write below its current directory, and name the program as seen from there",
                real.display()
            ),
        })
    }

    fn no_program(&self, place: &Path) -> BuildError {
        let any = any_elf(place);
        let reason = match any {
            Some(path) => format!(
                "{} was made without the stand-ins: the build must use $CC and $CXX, or `cc`, `gcc`, `clang`, `c++`, `g++` or `clang++` from PATH",
                crate::inspect::relative(&path, place)
            ),
            None => {
                "the build command ended well but linked no executable; give another with --build"
                    .into()
            }
        };
        BuildError::NoProgram {
            place: self.shown.to_path_buf(),
            reason,
        }
    }
}

fn executables(directory: &Path, found: &mut Vec<(PathBuf, LinkResult)>) -> Result<(), BuildError> {
    for path in sorted(directory)? {
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            executables(&path, found)?;
        } else if crate::executable::is_executable(&path) {
            let bytes = std::fs::read(&path).map_err(|e| BuildError::io(READ, &path, e))?;
            found.extend(find_link_result(&bytes).map(|result| (path, result)));
        }
    }
    Ok(())
}

fn any_elf(directory: &Path) -> Option<PathBuf> {
    let paths = sorted(directory).ok()?;
    let (directories, files): (Vec<_>, Vec<_>) = paths
        .into_iter()
        .filter(|path| !path.is_symlink())
        .partition(|path| path.is_dir());
    files
        .into_iter()
        .find(|path| crate::executable::is_executable(path))
        .or_else(|| directories.iter().find_map(|directory| any_elf(directory)))
}

fn sorted(directory: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let failed = |e| BuildError::io(READ, directory, e);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}
