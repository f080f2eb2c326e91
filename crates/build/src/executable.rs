//! Executables that `changeling cc` linked.

use crate::cache::{Cache, ENTRY, Read, Work};
use crate::digest::Key;
use crate::error::{BuildError, READ, WRITE};
use crate::inspect::{Contents, check_architecture, contents};
use crate::prepare::{BITCODE, Entry, PREPARATION, prepare};
use crate::stand_in::record::section;
use crate::stand_in::{LINK_SECTION, LinkResult};
use crate::version::{BuildOptions, Built};
use std::path::{Path, PathBuf};

/// Takes an executable as a version: itself as the plain binary, and the bitcode it was linked with.
pub fn build_executable(
    path: &Path,
    options: &BuildOptions,
    cache: &Cache,
) -> Result<Built, BuildError> {
    let path = path
        .canonicalize()
        .map_err(|e| BuildError::io(READ, path, e))?;
    let mut request = Key::new("executable").with(PREPARATION);
    request.add_path(&path);
    options
        .variants
        .iter()
        .for_each(|variant| request.add(variant.name()));
    let request = request.finish();
    if let Some(built) = cache.look_up(&request) {
        return Ok(built);
    }
    let result = link_result(&path)?;
    let bitcode = result.bitcode.clone();
    let work = cache.work()?;
    let root = path.parent().unwrap_or(Path::new("/")).to_path_buf();
    let mut built = take(&path, result, (&work, options), root)?;
    built.unavailable = options
        .variants
        .iter()
        .map(|&variant| {
            (
                variant,
                "an executable is taken as it is; give its sources".to_string(),
            )
        })
        .collect();
    let reads = [Some(path), bitcode]
        .into_iter()
        .flatten()
        .map(Read::File)
        .collect();
    cache.store(&request, reads, work, built)
}

/// Whether a file is an executable or shared library.
pub fn is_executable(path: &Path) -> bool {
    use std::io::Read;
    let mut start = [0; 4];
    let elf = std::fs::File::open(path)
        .and_then(|mut file| file.read_exact(&mut start))
        .is_ok_and(|()| start == *b"\x7fELF");
    elf && std::fs::read(path).is_ok_and(|bytes| contents(&bytes) == Contents::Executable)
}

/// What the stand-in has left in an executable.
pub fn link_result(path: &Path) -> Result<LinkResult, BuildError> {
    let bytes = std::fs::read(path).map_err(|e| BuildError::io(READ, path, e))?;
    check_architecture(path, &bytes)?;
    find_link_result(&bytes).ok_or_else(|| BuildError::NotAProgram {
        path: path.to_path_buf(),
        reason: "it is an executable that was not linked with `changeling cc`".into(),
    })
}

pub fn find_link_result(bytes: &[u8]) -> Option<LinkResult> {
    serde_json::from_slice(&section(bytes, LINK_SECTION)?).ok()
}

/// Puts an executable, its shared libraries, native objects and prepared bitcode into the entry.
pub fn take(
    executable: &Path,
    result: LinkResult,
    (work, options): (&Work, &BuildOptions),
    source_root: PathBuf,
) -> Result<Built, BuildError> {
    let no_program = |reason: String| BuildError::NoProgram {
        place: executable.to_path_buf(),
        reason,
    };
    let bitcode = match (&result.bitcode, result.failure) {
        (Some(bitcode), _) => bitcode,
        (None, failure) => return Err(no_program(failure.unwrap_or_default())),
    };
    if !bitcode.is_file() {
        return Err(no_program(format!(
            "{} is gone; build the program again",
            bitcode.display()
        )));
    }
    let name = executable.display().to_string();
    let facts = prepare(std::slice::from_ref(bitcode), work, &name, options)?;
    copy(executable, &work.entry().join("program"))?;
    keep_libraries(&result.libraries, &work.entry().join("lib"))?;
    let mut link = Vec::new();
    for (index, word) in result.link.into_iter().enumerate() {
        link.push(match Path::new(&word) {
            path if path.is_absolute() && path.is_file() => {
                let name = format!(
                    "native-{index}-{}",
                    path.file_name().unwrap_or_default().to_string_lossy()
                );
                copy(path, &work.entry().join(&name))?;
                format!("{ENTRY}/{name}")
            }
            _ => word,
        });
    }
    Ok(Built {
        format: 0,
        key: String::new(),
        plain: "program".into(),
        bitcode: BITCODE.into(),
        harness: facts.entry == Entry::Harness,
        languages: facts.languages,
        missing: result.missing,
        link,
        source_root,
        variants: Vec::new(),
        unavailable: Vec::new(),
    })
}

/// Shared libraries are found at run time by the name they have themselves, which may be
/// longer than that of the file that was linked: both are kept.
fn keep_libraries(libraries: &[PathBuf], to: &Path) -> Result<(), BuildError> {
    if libraries.is_empty() {
        return Ok(());
    }
    std::fs::create_dir_all(to).map_err(|e| BuildError::io(WRITE, to, e))?;
    for library in libraries {
        let real = library
            .canonicalize()
            .map_err(|e| BuildError::io(READ, library, e))?;
        let bytes = std::fs::read(&real).map_err(|e| BuildError::io(READ, &real, e))?;
        let own = so_name(&bytes).map(PathBuf::from);
        let name = library.file_name().map(PathBuf::from);
        for name in [own, name].into_iter().flatten() {
            copy(&real, &to.join(name))?;
        }
    }
    Ok(())
}

fn so_name(bytes: &[u8]) -> Option<String> {
    use object::elf::{DT_SONAME, FileHeader64};
    use object::read::elf::{Dyn, ElfFile, FileHeader};
    let file = ElfFile::<FileHeader64<object::Endianness>>::parse(bytes).ok()?;
    let endian = file.endian();
    let sections = file.elf_header().sections(endian, bytes).ok()?;
    let (entries, index) = sections.dynamic(endian, bytes).ok()??;
    let strings = sections.strings(endian, bytes, index).ok()?;
    let entry = entries
        .iter()
        .find(|entry| entry.tag32(endian) == Some(DT_SONAME))?;
    let name = entry.string(endian, strings).ok()?;
    Some(String::from_utf8_lossy(name).into_owned())
}

pub fn copy(from: &Path, to: &Path) -> Result<(), BuildError> {
    std::fs::copy(from, to)
        .map(|_| ())
        .map_err(|e| BuildError::io(WRITE, to, e))
}
