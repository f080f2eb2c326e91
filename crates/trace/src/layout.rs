//! Where things are in the shared mapping, and in the traced program's address space.
//!
//! ```text
//! offset 0        Header
//! header.input    InputHeader, StreamHeader[count], stream bytes and names
//! header.nodes    Node[node_capacity]
//! header.events   Event[event_capacity]
//! header.tables   TableHeader + contents, one after the other
//! header.strings  NUL-terminated strings (formats, names)
//! header.coverage one byte per block: EXECUTED; where the parent asks for it WATCHED and COUNTED
//! ```
//! All offsets are in bytes from the start of the mapping; all regions start on
//! a page. The parent creates the mapping as a sparse file and fills in the
//! header and the input region before each run; the traced program only
//! appends. What is beyond a counter is stale and must not be read.

pub const MAGIC: u64 = u64::from_le_bytes(*b"CHANGLNG");
pub const VERSION: u32 = 2;

/// The traced program maps the shared file here.
pub const SHARED_ADDRESS: u64 = 0x2000_0000_0000;
/// Start of the shadow: the cell of byte `x` is the u32 at
/// `SHADOW_ADDRESS + 4 * (x & SHADOW_MASK)`.
pub const SHADOW_ADDRESS: u64 = 0x1000_0000_0000;
pub const SHADOW_MASK: u64 = (1 << 37) - 1;
pub const SHADOW_SIZE: u64 = 4 << 37;

/// Behind the shadow, and the code in line that looks a little further: one byte for each page of it, not 0 if the
/// page may hold labels. Most pages never do, and need not be looked at.
pub const MARKS_ADDRESS: u64 = SHADOW_ADDRESS + SHADOW_SIZE + (1 << 20);
pub const MARKS_SIZE: u64 = SHADOW_SIZE / PAGE;

/// A frame tells the runtime of so many arrays and structures at once, at most.
pub const STACK_BATCH: usize = 256;

/// The coverage region is mapped a second time here: below 2 GiB, so that traced
/// code can mark a block with one instruction.
pub const COVERAGE_ADDRESS: u64 = 0x7000_0000;
pub const COVERAGE_SIZE: u64 = 16 << 20;

/// Bit of a coverage byte: the block was executed.
pub const EXECUTED: u8 = 1;
/// Bit of a coverage byte, set by the parent: each time the block begins is an
/// event ([`crate::EventKind::Mark`]).
pub const WATCHED: u8 = 2;
/// Bit of a coverage byte, set by the parent: the times the block begins are
/// counted ([`Header::counted`]).
pub const COUNTED: u8 = 4;

/// A shadow cell is `label | byte_index << CELL_BYTE_SHIFT`: the cell's byte is
/// byte `byte_index` (little-endian) of the labelled value, which is at most 64
/// bits wide. 0 is concrete.
pub const CELL_BYTE_SHIFT: u32 = 29;

/// Environment variable that tells a traced program it is being traced: the
/// decimal descriptor number of the shared file. Without it the program runs
/// untraced, as a plain one would.
pub const SHARED_FD_VARIABLE: &str = "CHANGELING_SHARED_FD";

/// Fork-server protocol, on two pipes inherited at these descriptors.
///
/// The server (the traced program, just before `main`) writes [`HELLO`] once it
/// is ready. For each run the parent writes [`COMMAND_RUN`]; the server forks
/// and writes the child's pid (i32, as the server sees it), waits for it and
/// writes its wait status (i32). End of file on the command pipe ends the server.
/// If `HELLO` does not come, the program died before `main`.
/// All words are 4 bytes, little-endian.
pub const COMMAND_FD: i32 = 198;
pub const REPLY_FD: i32 = 199;
pub const HELLO: u32 = u32::from_le_bytes(*b"CHG1");
pub const COMMAND_RUN: u32 = u32::from_le_bytes(*b"RUN1");

pub const PAGE: u64 = 4096;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Header {
    pub magic: u64,
    pub version: u32,
    /// Bits of [`RunFlags`] set by the traced program.
    pub run_flags: u32,
    /// Size of the whole mapping.
    pub size: u64,
    pub input: u64,
    pub nodes: u64,
    pub node_capacity: u64,
    pub events: u64,
    pub event_capacity: u64,
    pub tables: u64,
    pub table_capacity: u64,
    pub strings: u64,
    pub string_capacity: u64,
    pub coverage: u64,
    pub coverage_capacity: u64,
    /// Number of nodes written, counting the unused node 0.
    pub node_count: u64,
    pub event_count: u64,
    /// Bytes used in the table and string regions. The strings begin with one
    /// NUL, so that offset 0 is the empty string.
    pub table_bytes: u64,
    pub string_bytes: u64,
    /// Number of blocks of the program, written at start.
    pub block_count: u64,
    /// Times an attempt to append failed, by region.
    pub nodes_refused: u64,
    pub events_refused: u64,
    /// Nodes asked for, including those found in the table (hash-consing).
    pub nodes_requested: u64,
    /// Bytes that the traced program is known to have written to descriptors
    /// 0..8. If it differs from what was captured, output escaped the labels.
    pub output_totals: [u64; 8],
    /// How often blocks marked as [`COUNTED`] have begun.
    pub counted: u64,
}

/// Bits of [`Header::run_flags`].
pub mod run_flags {
    /// `main` was entered.
    pub const STARTED: u32 = 1;
    /// The run ended through `exit` or a return from `main`, so totals were written.
    pub const FINISHED: u32 = 2;
    /// A second thread was started.
    pub const THREADS: u32 = 4;
    /// The program forked.
    pub const FORKED: u32 = 8;
    /// Not all marks found room in the log.
    pub const MARKS_CUT: u32 = 16;
    /// The program can write to a file through memory.
    pub const MAPPED: u32 = 32;
}

/// Start of the input region.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct InputHeader {
    pub stream_count: u32,
    /// Number of arguments in all (`argv[0]` not counted).
    pub argument_count: u32,
    /// Offset (in the mapping) of `argument_count` [`ArgumentHeader`]s.
    pub arguments: u64,
    /// Offset of the NUL-terminated program name used as `argv[0]`.
    pub program_name: u64,
    /// Offset of the NUL-terminated name of the working directory, entered
    /// before `main`; 0 for none.
    pub directory: u64,
}

/// One argument of the program: fixed text or a symbolic stream.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ArgumentHeader {
    /// Stream number, or `u32::MAX` for fixed text.
    pub stream: u32,
    pub reserved: u32,
    /// Offset of the NUL-terminated text, if fixed.
    pub text: u64,
}

/// One symbolic stream of input bytes; an array of these follows [`InputHeader`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamHeader {
    /// [`StreamKind`].
    pub kind: u32,
    pub reserved: u32,
    /// Current number of bytes, at most `capacity`. For arguments and
    /// environment variables the bytes are padded with NULs up to `capacity`,
    /// all of which are symbolic.
    pub length: u64,
    pub capacity: u64,
    /// Offset of the bytes; `capacity + 1` of them, the last a NUL.
    pub data: u64,
    /// Offset of the NUL-terminated file or variable name.
    pub name: u64,
}

/// What code that is not traced may take of the input: bits of a number that a traced program carries.
pub mod unseen {
    pub const FILES: u32 = 1;
    pub const STDIN: u32 = 1 << 1;
    pub const ARGUMENTS: u32 = 1 << 2;
    /// All variables: programs that are started inherit them.
    pub const ENVIRONMENT: u32 = 1 << 3;
    /// Those that libraries ask for.
    pub const HOME: u32 = 1 << 4;
    pub const LOCALE: u32 = 1 << 5;
    pub const TEMPORARY: u32 = 1 << 6;
    pub const TIME_ZONE: u32 = 1 << 7;
    /// What a harness is given.
    pub const HARNESS: u32 = 1 << 8;
}

#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "std", serde(rename_all = "lowercase"))]
pub enum StreamKind {
    /// Descriptor 0. Length is symbolic.
    Stdin = 1,
    /// A file in the working directory. Length is symbolic.
    File = 2,
    /// A C string: length is where the first NUL is.
    Argument = 3,
    /// The value of an environment variable, likewise a C string.
    Environment = 4,
    /// The buffer given to `LLVMFuzzerTestOneInput`. Length is symbolic.
    Harness = 5,
}

impl StreamKind {
    pub const fn from_u32(n: u32) -> Option<StreamKind> {
        Some(match n {
            1 => StreamKind::Stdin,
            2 => StreamKind::File,
            3 => StreamKind::Argument,
            4 => StreamKind::Environment,
            5 => StreamKind::Harness,
            _ => return None,
        })
    }

    /// Whether `Op::Length` of such a stream is a variable.
    pub const fn has_length(self) -> bool {
        !matches!(self, StreamKind::Argument | StreamKind::Environment)
    }
}

/// Contents of an object that was read through a symbolic index. A table's
/// number is the byte offset of its header in the table region. Behind the
/// header: `size` bytes of contents, padded to a multiple of 4; then, if
/// `labelled` is 1, `size` shadow cells (u32).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableHeader {
    pub size: u32,
    pub labelled: u32,
}
