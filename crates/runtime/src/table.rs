//! The node table: append-only, and equal nodes made close together are one.

use crate::{libc, lock, state, texts};
use trace::node::{A_CONST, B_CONST, Label, Node, Op};

/// Which nodes were made lately, by a hash of their contents. It forgets: a node
/// that was made long ago may be made again, which costs a little room, and the
/// reader of the trace finds the two equal. A table of all nodes would cost each
/// node one or two misses of the processor's cache, most of the time of tracing.
/// Private to the run: after `fork` each child starts with none.
#[repr(align(4096))]
struct Recent {
    /// What the slots in use hold, of a short run.
    few: [Used; FEW],
    /// Null as long as the run is short.
    slots: *mut Slot,
}

#[derive(Clone, Copy)]
struct Slot {
    /// More of the hash, so that the node itself is looked at only if it is likely the same.
    tag: u32,
    label: Label,
}

/// A slot with its number.
#[derive(Clone, Copy)]
struct Used {
    slot: Slot,
    number: u16,
}

const EMPTY: Slot = Slot { tag: 0, label: 0 };

static mut RECENT: Recent = Recent {
    few: [Used {
        slot: EMPTY,
        number: 0,
    }; FEW],
    slots: core::ptr::null_mut(),
};

const SLOTS: usize = 1 << 16;
/// Slots of a short run stand close together: each page of the whole table would cost it
/// a fault or two, more than all of its nodes. At most half of them are used.
const FEW: usize = 1 << 11;
/// A run with this many nodes will use most of the table of recent ones.
const MANY: u64 = FEW as u64 / 2;
/// Room for this many nodes is asked for at once; a multiple of the page size.
const STRETCH: u64 = 1 << 12;

#[inline(always)]
pub fn node(label: Label) -> &'static Node {
    unsafe { &*state::at::<Node>(state::header().nodes).add(label as usize) }
}

#[inline(always)]
pub fn width(label: Label) -> u32 {
    node(label).width as u32
}

/// The label of this node, new or known. 0 if tracing is off or the table full.
pub fn intern(new: Node) -> Label {
    if !state::tracing() {
        return 0;
    }
    let Some(_guard) = lock::acquire() else {
        return 0;
    };
    let header = state::header();
    header.nodes_requested += 1;
    let recent = unsafe { &mut *(&raw mut RECENT) };
    let hash = hash(&new);
    let tag = (hash >> 32) as u32;
    let mut slot = recent.slot(hash);
    if slot.tag == tag && slot.label != 0 && same(node(slot.label), &new) {
        return slot.label;
    }
    let count = header.node_count;
    if count >= header.node_capacity || count >= texts::FIRST as u64 {
        header.nodes_refused += 1;
        return 0;
    }
    // Another process of the program may count as well, so this need not be the very number.
    if count >= MANY && recent.slots.is_null() {
        if !recent.spread() {
            header.nodes_refused += 1;
            return 0;
        }
        slot = recent.slot(hash);
    }
    if count.is_multiple_of(STRETCH) {
        make_room(count);
    }
    unsafe {
        state::at::<Node>(header.nodes)
            .add(count as usize)
            .write(new)
    };
    *slot = Slot {
        tag,
        label: count as Label,
    };
    header.node_count = count + 1;
    count as Label
}

impl Recent {
    #[inline(always)]
    fn slot(&mut self, hash: u64) -> &'static mut Slot {
        let number = hash as usize & (SLOTS - 1);
        if !self.slots.is_null() {
            return unsafe { &mut *self.slots.add(number) };
        }
        let mut at = number & (FEW - 1);
        loop {
            let used = unsafe { &mut *(&raw mut self.few[at]) };
            if used.slot.label == 0 {
                used.number = number as u16;
            }
            if used.number == number as u16 {
                return &mut used.slot;
            }
            at = (at + 1) & (FEW - 1);
        }
    }

    /// The run is not that short. False if there is no memory for the whole table.
    #[cold]
    fn spread(&mut self) -> bool {
        let slots = libc::zeroed(SLOTS * size_of::<Slot>()) as *mut Slot;
        if slots.is_null() {
            return false;
        }
        libc::populate(slots.cast(), SLOTS * size_of::<Slot>());
        for used in self.few.iter().filter(|used| used.slot.label != 0) {
            unsafe { *slots.add(used.number as usize) = used.slot };
        }
        self.slots = slots;
        true
    }
}

#[cold]
fn make_room(count: u64) {
    let header = state::header();
    if count + STRETCH <= header.node_capacity {
        let first = unsafe { state::at::<Node>(header.nodes).add(count as usize) };
        libc::populate(first.cast(), STRETCH as usize * size_of::<Node>());
    }
}

/// A constant node, for the operands that cannot be immediate.
pub fn constant(width: u32, value: u64) -> Label {
    intern(Node {
        op: Op::Const as u8,
        width: width as u16,
        imm: value,
        value,
        ..Node::default()
    })
}

/// A node with two operands; label 0 means the constant beside it.
#[inline]
pub fn binary(op: Op, width: u32, la: Label, lb: Label, a: u64, b: u64, value: u64) -> Label {
    let (flags, imm) = match (la, lb) {
        (0, _) => (A_CONST, a),
        (_, 0) => (B_CONST, b),
        _ => (0, 0),
    };
    intern(Node {
        op: op as u8,
        flags,
        width: width as u16,
        a: la,
        b: lb,
        c: 0,
        imm,
        value,
    })
}

/// A node with one operand and an immediate.
#[inline]
pub fn unary(op: Op, width: u32, a: Label, imm: u64, value: u64) -> Label {
    intern(Node {
        op: op as u8,
        width: width as u16,
        a,
        imm,
        value,
        ..Node::default()
    })
}

#[inline(always)]
fn same(known: &Node, new: &Node) -> bool {
    let (k0, k1, k2) = words(known);
    let (n0, n1, n2) = words(new);
    (k0 ^ n0) | (k1 ^ n1) | (k2 ^ n2) == 0
}

/// All but the value, which the rest determines.
#[inline(always)]
fn words(node: &Node) -> (u64, u64, u64) {
    let head = node.op as u64
        | (node.flags as u64) << 8
        | (node.width as u64) << 16
        | (node.a as u64) << 32;
    (head, node.b as u64 | (node.c as u64) << 32, node.imm)
}

#[inline(always)]
fn hash(node: &Node) -> u64 {
    let (x, y, z) = words(node);
    let mixed = x.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ y.wrapping_mul(0xc2b2_ae3d_27d4_eb4f).rotate_left(29)
        ^ z.wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(41);
    (mixed ^ (mixed >> 32))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(32)
}
