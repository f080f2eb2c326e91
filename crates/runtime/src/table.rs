//! The node table: append-only, hash-consed.

use crate::{libc, lock, state};
use trace::node::{A_CONST, B_CONST, Label, MAX_LABEL, Node, Op};

/// Open-addressing index from node contents to label. Private to the run: after
/// `fork` each child starts without one.
struct Index {
    slots: *mut u32,
    /// Number of slots less one; the number is a power of two.
    mask: usize,
    used: usize,
}

static mut INDEX: Index = Index {
    slots: core::ptr::null_mut(),
    mask: 0,
    used: 0,
};

const FIRST_SLOTS: usize = 1 << 14;

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
    let index = unsafe { &mut *(&raw mut INDEX) };
    if index.used * 2 >= index.mask && !grow(index) {
        header.nodes_refused += 1;
        return 0;
    }
    let mut slot = hash(&new) as usize & index.mask;
    loop {
        let label = unsafe { *index.slots.add(slot) };
        if label == 0 {
            break;
        }
        if same(node(label), &new) {
            return label;
        }
        slot = (slot + 1) & index.mask;
    }
    let count = header.node_count;
    if count >= header.node_capacity || count > MAX_LABEL as u64 {
        header.nodes_refused += 1;
        return 0;
    }
    unsafe {
        state::at::<Node>(header.nodes)
            .add(count as usize)
            .write(new);
        *index.slots.add(slot) = count as u32;
    }
    header.node_count = count + 1;
    index.used += 1;
    count as Label
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
    (mixed ^ (mixed >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}

#[cold]
fn grow(index: &mut Index) -> bool {
    let slots = if index.slots.is_null() {
        FIRST_SLOTS
    } else {
        (index.mask + 1) * 4
    };
    let fresh = libc::zeroed(slots * 4) as *mut u32;
    if fresh.is_null() {
        return false;
    }
    let mask = slots - 1;
    if !index.slots.is_null() {
        for old in 0..=index.mask {
            let label = unsafe { *index.slots.add(old) };
            if label == 0 {
                continue;
            }
            let mut slot = hash(node(label)) as usize & mask;
            while unsafe { *fresh.add(slot) } != 0 {
                slot = (slot + 1) & mask;
            }
            unsafe { *fresh.add(slot) = label };
        }
        unsafe { libc::munmap(index.slots.cast(), (index.mask + 1) * 4) };
    }
    index.slots = fresh;
    index.mask = mask;
    true
}
