//! Checks on a binary before it is run, so that the user hears what is wrong with it in words.

use crate::ExecError;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Whether the shim can be preloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Linkage {
    Dynamic { loader: PathBuf },
    Static,
}

/// A native program of this machine.
#[derive(Clone, Debug)]
pub struct Binary {
    /// Absolute.
    pub path: PathBuf,
    pub linkage: Linkage,
}

const MACHINE_X86_64: u16 = 62;
const TYPE_EXECUTABLE: u16 = 2;
const TYPE_SHARED: u16 = 3;
const SEGMENT_INTERPRETER: u32 = 3;
const HEADER_BYTES: usize = 64;
const SEGMENT_BYTES: usize = 56;

impl Binary {
    pub fn check(path: &Path) -> Result<Binary, ExecError> {
        let unreadable = |source| ExecError::Unreadable {
            path: path.to_path_buf(),
            source,
        };
        let absolute = path.canonicalize().map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => ExecError::Missing {
                path: path.to_path_buf(),
            },
            _ => unreadable(source),
        })?;
        let metadata = absolute.metadata().map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(ExecError::NotAFile { path: absolute });
        }
        let mut file = File::open(&absolute).map_err(unreadable)?;
        let header = read_at(&mut file, 0, HEADER_BYTES).map_err(unreadable)?;
        check_header(&absolute, &header)?;
        if metadata.permissions().mode() & 0o111 == 0 {
            return Err(ExecError::NotExecutable { path: absolute });
        }
        let linkage = match interpreter(&mut file, &header).map_err(unreadable)? {
            None => Linkage::Static,
            Some(loader) if loader.exists() => Linkage::Dynamic { loader },
            Some(loader) => {
                return Err(ExecError::LoaderMissing {
                    path: absolute,
                    loader,
                });
            }
        };
        Ok(Binary {
            path: absolute,
            linkage,
        })
    }
}

fn check_header(path: &Path, header: &[u8]) -> Result<(), ExecError> {
    let not_a_program = |found: &str| ExecError::NotAProgram {
        path: path.to_path_buf(),
        found: found.to_string(),
    };
    if !header.starts_with(b"\x7fELF") {
        return Err(not_a_program(match header {
            [] => "the file is empty",
            [b'#', b'!', ..] => "it is a script",
            [b'B', b'C', 0xc0, 0xde, ..] => "it is LLVM bitcode",
            [b'!', b'<', b'a', b'r', b'c', b'h', b'>', ..] => "it is a static archive",
            _ => "no ELF header",
        }));
    }
    if header.len() < HEADER_BYTES {
        return Err(not_a_program("the ELF header is cut off"));
    }
    let machine = word16(header, 18);
    if header[4] != 2 || header[5] != 1 || machine != MACHINE_X86_64 {
        let found = describe_machine(machine, header[4]);
        return Err(ExecError::WrongArchitecture {
            path: path.to_path_buf(),
            found,
            expected: "64-bit x86",
        });
    }
    match word16(header, 16) {
        TYPE_EXECUTABLE | TYPE_SHARED => Ok(()),
        1 => Err(not_a_program("it is an object file, not linked yet")),
        4 => Err(not_a_program("it is a core dump")),
        _ => Err(not_a_program("an unknown kind of ELF file")),
    }
}

fn describe_machine(machine: u16, class: u8) -> String {
    let bits = if class == 1 { "32-bit" } else { "64-bit" };
    match machine {
        3 => "32-bit x86".to_string(),
        MACHINE_X86_64 => format!("x86-64 with {bits} pointers or another byte order"),
        8 => format!("{bits} MIPS"),
        20 | 21 => format!("{bits} PowerPC"),
        22 => "s390".to_string(),
        40 => "32-bit ARM".to_string(),
        183 => "64-bit ARM".to_string(),
        243 => format!("{bits} RISC-V"),
        247 => "BPF".to_string(),
        258 => "LoongArch".to_string(),
        other => format!("ELF machine {other}"),
    }
}

fn interpreter(file: &mut File, header: &[u8]) -> io::Result<Option<PathBuf>> {
    let table = word64(header, 32);
    let (size, count) = (word16(header, 54) as usize, word16(header, 56) as u64);
    if size < SEGMENT_BYTES {
        return Ok(None);
    }
    for index in 0..count {
        let Some(at) = table.checked_add(index * size as u64) else {
            break;
        };
        let segment = read_at(file, at, SEGMENT_BYTES)?;
        if segment.len() < SEGMENT_BYTES {
            break;
        }
        if word32(&segment, 0) != SEGMENT_INTERPRETER {
            continue;
        }
        let length = word64(&segment, 32).min(libc::PATH_MAX as u64) as usize;
        let mut name = read_at(file, word64(&segment, 8), length)?;
        name.truncate(
            name.iter()
                .position(|&byte| byte == 0)
                .unwrap_or(name.len()),
        );
        return Ok(Some(PathBuf::from(std::ffi::OsString::from_vec(name))));
    }
    Ok(None)
}

/// As many bytes as there are, up to `length`.
fn read_at(file: &mut File, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::with_capacity(length);
    file.take(length as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn word16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn word32(bytes: &[u8], at: usize) -> u32 {
    u32::from(word16(bytes, at)) | u32::from(word16(bytes, at + 2)) << 16
}

fn word64(bytes: &[u8], at: usize) -> u64 {
    u64::from(word32(bytes, at)) | u64::from(word32(bytes, at + 4)) << 32
}
