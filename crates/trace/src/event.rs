//! The event log: what happened, in order, wherever something symbolic was involved.

/// One entry of the log. The meaning of the fields depends on `kind`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Event {
    pub kind: u8,
    pub flags: u8,
    /// Small number of the thread that wrote the event; 0 is the main thread.
    pub thread: u16,
    /// Static program point (see `sites`), 0 if none is known.
    pub site: u32,
    pub label: u32,
    pub aux: u32,
    pub value: u64,
}

const _: () = assert!(core::mem::size_of::<Event>() == 24);

#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A conditional branch on symbolic `label` (width 1); `flags` bit 0: taken.
    /// `aux`, here and for switches: inside a library model, the site in the
    /// user's code that called it, else 0. `value` of a branch: in a function that was
    /// put in place of a call, the site of that call, else 0.
    Branch = 1,
    /// A switch on symbolic `label`; `value` is the concrete selector. The cases
    /// are listed with the site.
    Switch = 2,
    /// `label` (width 1) had to be true for the run to go on as it did; not a
    /// branch of the source. `aux`: [`GuardReason`].
    Guard = 3,
    /// From here on the run treats `label` as the constant `value`.
    /// `aux`: [`LossReason`]. The name of the call, if one is to blame, is the
    /// callee in the site table.
    Concretize = 4,
    /// Bytes written to descriptor `flags` starting at offset `value` of that
    /// descriptor's stream; the byte carries `label` (width 8).
    OutputByte = 5,
    /// A number printed to descriptor `flags` at offset `value`: `label` is the
    /// number, `aux` its format: the string-table offset of the conversion, as
    /// in C (`%5d`, `%llx`). The printed length is in the event that follows.
    OutputValue = 6,
    /// Second half of [`EventKind::OutputValue`]: `value` is the concrete
    /// number, `aux` how many bytes it took.
    OutputExtent = 7,
    /// `observe(name, value)`: `aux` is the string-table offset of the name,
    /// `flags` bit 0: there is a label; `value` the concrete value.
    Observe = 8,
    /// A call of an external function that has no model was given symbolic
    /// memory or wrote memory that the shadow does not know; `aux` is
    /// [`LossReason`], `label` one of the labels.
    Loss = 9,
    /// A watched block begins; `aux` is its number. Of many in a row only the last
    /// of each block is kept.
    Mark = 10,
    /// Branches on single bits of `label`, from the highest down: those numbered from
    /// [`bits::low`] up to but not including [`bits::end`] of `value`. Which way each went
    /// the node's value tells. `aux` is as for branches.
    Bits = 11,
    /// A value that rests on a change is about to be used: `aux` is the number of the probe
    /// ([`probe`]), `label` and `value` are those of the value, extended to 64 bits with zeros.
    Probe = 12,
}

/// What `aux` of an [`EventKind::Probe`] event says.
pub mod probe {
    /// From here on probes are left out.
    pub const CUT: u32 = u32::MAX;

    /// The number of a probe, and whether the value decides where control goes.
    pub const fn code(number: u32, decides: bool) -> u32 {
        number << 1 | decides as u32
    }

    /// The value decides where control goes.
    pub const fn decides(code: u32) -> bool {
        code & 1 == 1
    }

    const GAUGE: u32 = 1 << 30;

    /// An operand, 0 or 1, of a comparison with a number. These probes say nothing about changes.
    pub const fn gauge(number: u32, operand: u32) -> u32 {
        GAUGE | number << 1 | operand
    }

    /// Which comparison and which operand a probe is about, if it is of that kind.
    pub const fn gauged(code: u32) -> Option<(u32, u32)> {
        match code != CUT && code & GAUGE != 0 {
            true => Some(((code & !GAUGE) >> 1, code & 1)),
            false => None,
        }
    }
}

/// The range of bits of an [`EventKind::Bits`] event.
pub mod bits {
    pub const fn range(low: u32, end: u32) -> u64 {
        low as u64 | (end as u64) << 32
    }

    pub const fn low(value: u64) -> u32 {
        value as u32
    }

    pub const fn end(value: u64) -> u32 {
        (value >> 32) as u32
    }
}

impl EventKind {
    pub const fn from_u8(n: u8) -> Option<EventKind> {
        use EventKind::*;
        Some(match n {
            1 => Branch,
            2 => Switch,
            3 => Guard,
            4 => Concretize,
            5 => OutputByte,
            6 => OutputValue,
            7 => OutputExtent,
            8 => Observe,
            9 => Loss,
            10 => Mark,
            11 => Bits,
            12 => Probe,
            _ => return None,
        })
    }
}

/// Descriptor number under which the low byte of a run's exit status is an output.
pub const EXIT_STATUS: u8 = 255;

/// Bit 0 of a branch event's flags.
pub const TAKEN: u8 = 1;

#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GuardReason {
    /// A symbolic divisor was not zero.
    Divisor = 1,
    /// A symbolic index stayed inside its object.
    Bounds = 2,
    /// A shift amount was less than the width.
    Shift = 3,
    /// A signed division did not overflow.
    DivisionOverflow = 4,
}

impl GuardReason {
    pub const fn from_u32(n: u32) -> Option<GuardReason> {
        use GuardReason::*;
        Some(match n {
            1 => Divisor,
            2 => Bounds,
            3 => Shift,
            4 => DivisionOverflow,
            _ => return None,
        })
    }

    pub const fn text(self) -> &'static str {
        match self {
            GuardReason::Divisor => "divisor is not zero",
            GuardReason::Bounds => "index is inside its object",
            GuardReason::Shift => "shift amount is less than the width",
            GuardReason::DivisionOverflow => "division does not overflow",
        }
    }
}

/// Why a symbolic value was given up.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LossReason {
    /// Argument of an external function without a model.
    ExternalCall = 1,
    /// Memory reachable from an argument of such a function.
    ExternalMemory = 2,
    /// Address of a load whose object is unknown or too large.
    LoadAddress = 3,
    /// Address of a store whose object is unknown or too large.
    StoreAddress = 4,
    /// Operand of a floating-point operation.
    Float = 5,
    /// An operation that is not traced (inline assembler, some vector code).
    Unsupported = 6,
    /// Size of an allocation or of a block copy.
    Size = 7,
    /// Target of an indirect call or jump.
    Target = 8,
    /// Code that is not traced overwrote labelled memory.
    Overwritten = 9,
    /// The node or event table was full.
    TableFull = 10,
    /// Behaviour undefined on this run (shift by the width or more).
    Undefined = 11,
    /// A printed value whose text, not its value, was used again.
    Formatted = 12,
}

impl LossReason {
    pub const fn from_u32(n: u32) -> Option<LossReason> {
        use LossReason::*;
        Some(match n {
            1 => ExternalCall,
            2 => ExternalMemory,
            3 => LoadAddress,
            4 => StoreAddress,
            5 => Float,
            6 => Unsupported,
            7 => Size,
            8 => Target,
            9 => Overwritten,
            10 => TableFull,
            11 => Undefined,
            12 => Formatted,
            _ => return None,
        })
    }

    pub const fn text(self) -> &'static str {
        match self {
            LossReason::ExternalCall => "argument of a call without a model",
            LossReason::ExternalMemory => "memory passed to a call without a model",
            LossReason::LoadAddress => "address of a load from an unknown or large object",
            LossReason::StoreAddress => "address of a store to an unknown or large object",
            LossReason::Float => "floating-point operand",
            LossReason::Unsupported => "operation that is not traced",
            LossReason::Size => "size of an allocation or copy",
            LossReason::Target => "target of an indirect call or jump",
            LossReason::Overwritten => "overwritten by code that is not traced",
            LossReason::TableFull => "trace table full",
            LossReason::Undefined => "undefined behaviour in this run",
            LossReason::Formatted => "text of a formatted number",
        }
    }
}
