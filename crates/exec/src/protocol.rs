//! What the parent and the supervisor say to each other; `supervisor/protocol.h` is the other half.

use serde::{Deserialize, Serialize};

pub const FD_CONTROL: i32 = 100;
pub const FD_REQUEST: i32 = 101;
pub const FD_SHIM: i32 = 102;
pub const FD_STDIN: i32 = 103;
pub const FD_STDOUT: i32 = 104;
pub const FD_STDERR: i32 = 105;
pub const FD_OBSERVE: i32 = 106;
pub const FD_SHARED: i32 = 107;

/// Descriptors as the program sees them.
pub const PROGRAM_OBSERVE: i32 = 197;
pub const PROGRAM_SHARED: i32 = 200;

pub const MAGIC: u32 = 0x4348_4731;

/// However busy the machine is, no run takes longer than so many times its limit.
pub const CLOCK_PATIENCE: u32 = 8;

#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Plain = 1,
    Serve = 2,
    Traced = 3,
}

/// A message that is plain memory: any bytes are a valid value.
///
/// # Safety
/// Implementors are `repr(C)` without padding and have only integer fields.
pub unsafe trait Message: Copy + Default {
    fn bytes(&self) -> &[u8] {
        // SAFETY: no padding by contract, so every byte is initialised.
        unsafe { std::slice::from_raw_parts((self as *const Self).cast(), size_of::<Self>()) }
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        // SAFETY: the length is checked, any bytes are valid, and the read is unaligned.
        (bytes.len() == size_of::<Self>())
            .then(|| unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CommandPacket {
    pub kind: u32,
    pub reserved: u32,
    pub time_ns: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    pub argument_count: u32,
    pub variable_count: u32,
    pub address_space: u64,
    pub file_size: u64,
    pub processes: u64,
    pub string_bytes: u64,
}

pub mod outcome {
    pub const EXIT: u32 = 1;
    pub const SIGNAL: u32 = 2;
    pub const TIMED_OUT: u32 = 3;
    pub const NO_SERVER: u32 = 5;
    pub const READY: u32 = 6;
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Reply {
    pub outcome: u32,
    pub value: i32,
    pub error: i32,
    pub stage: u32,
    pub unclean: u32,
    pub reserved: u32,
    pub elapsed_ns: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Born {
    pub magic: u32,
    pub pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Hello {
    pub magic: u32,
    pub in_force: u32,
    pub landlock_abi: i32,
    pub stage: u32,
    pub error: i32,
    pub program_uid: u32,
    pub program_gid: u32,
    pub reserved: u32,
}

// SAFETY: repr(C), integers only, and the sizes asserted below leave no room for padding.
unsafe impl Message for CommandPacket {}
// SAFETY: as above.
unsafe impl Message for Request {}
// SAFETY: as above.
unsafe impl Message for Reply {}
// SAFETY: as above.
unsafe impl Message for Born {}
// SAFETY: as above.
unsafe impl Message for Hello {}

const _: () = assert!(size_of::<CommandPacket>() == 16);
const _: () = assert!(size_of::<Request>() == 40);
const _: () = assert!(size_of::<Reply>() == 32);
const _: () = assert!(size_of::<Born>() == 8);
const _: () = assert!(size_of::<Hello>() == 32);

/// Layers of protection, as a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Layers(pub u32);

impl Layers {
    pub const USER: Layers = Layers(1 << 0);
    pub const PID: Layers = Layers(1 << 1);
    pub const MOUNT: Layers = Layers(1 << 2);
    pub const NETWORK: Layers = Layers(1 << 3);
    pub const IPC: Layers = Layers(1 << 4);
    pub const HOST_NAME: Layers = Layers(1 << 5);
    pub const PROC: Layers = Layers(1 << 6);
    pub const READ_ONLY: Layers = Layers(1 << 7);
    pub const LANDLOCK: Layers = Layers(1 << 8);
    pub const PID_RESET: Layers = Layers(1 << 9);
    pub const PROCESS_LIMIT: Layers = Layers(1 << 10);
    pub const FIXED_ADDRESSES: Layers = Layers(1 << 11);
    pub const SECCOMP: Layers = Layers(1 << 12);
    pub const ALL: Layers = Layers((1 << 13) - 1);

    pub fn contains(self, other: Layers) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn without(self, other: Layers) -> Layers {
        Layers(self.0 & !other.0)
    }
}

/// What a stage number of the supervisor means.
pub fn stage_name(stage: u32) -> &'static str {
    match stage {
        1 => "creating namespaces",
        2 => "choosing an identity",
        3 => "building the file system view",
        4 => "opening the working directory",
        5 => "opening the program",
        6 => "setting limits",
        7 => "giving up privileges",
        8 => "passing descriptors",
        9 => "entering the working directory",
        10 => "executing it",
        11 => "creating a process",
        12 => "reading the request",
        13 => "waiting for the fork server",
        _ => "starting the supervisor",
    }
}
