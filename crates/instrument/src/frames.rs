//! Arrays and structures on the stack: they get bounds, for accesses through symbolic
//! indices, and lose the labels of whatever was on the stack there before.

use crate::coverage;
use crate::function::{Pass, gep_terms};
use crate::group::Word;
use crate::ir::{Opcode, Value};
use crate::rust;
use changeling_trace::event::LossReason;
use changeling_trace::layout::STACK_BATCH;

/// Bytes of an address and a size, as the runtime lays them out.
const ENTRY: u64 = 16;

impl Pass<'_> {
    /// Those that a function begins with come once per frame: functions with others in place of their calls have hundreds.
    /// The runtime gives room for all of them at once, and clears the labels of the whole frame, in which nothing was
    /// stored yet.
    pub fn tell_of_frame(&mut self, entry: &[Value]) {
        let Some(end) = entry.iter().position(|&i| !is_beginning(i)) else {
            return;
        };
        let is_object = |&i: &Value| i.opcode() == Opcode::LLVMAlloca && self.is_object(i);
        if !entry.iter().any(is_object) {
            return;
        }
        let objects: Vec<Value> = entry[..end]
            .iter()
            .copied()
            .filter(|i| is_object(i) && is_static(*i))
            .collect();
        self.cursor.before(entry[end]);
        if objects.is_empty() {
            self.room(0, true);
        }
        for (number, batch) in objects.chunks(STACK_BATCH).enumerate() {
            let place = self.room(batch.len(), number == 0);
            for (alloca, at) in batch.iter().zip((0..).step_by(ENTRY as usize)) {
                let base = self.cursor.as_int(*alloca, 64);
                self.store_word(base, place, at);
                let size = self.size_of(*alloca);
                self.store_word(size, place, at + ENTRY / 2);
            }
        }
        self.told.extend(objects);
    }

    /// What is used at fixed places only needs no bounds, and nothing but traced code writes there.
    fn is_object(&self, alloca: Value) -> bool {
        !is_static(alloca) || self.escapes(alloca)
    }

    /// Whether an address is used otherwise than to access memory at it, or at a fixed distance.
    fn escapes(&self, address: Value) -> bool {
        address.users().into_iter().any(|user| match user.opcode() {
            Opcode::LLVMLoad => false,
            Opcode::LLVMStore => user.operand(0) == address,
            Opcode::LLVMGetElementPtr => {
                !gep_terms(self.ir, user).1.is_empty() || self.escapes(user)
            }
            Opcode::LLVMCall => !is_of_fixed_size(user),
            _ => true,
        })
    }

    /// The address of room for so many objects of this frame.
    fn room(&mut self, count: usize, is_first: bool) -> Value {
        let word = self.ir.int(64);
        let name = "__chg_rt_stack_room";
        let function = self.ir.function(name).unwrap_or_else(|| {
            let function = self.ir.add_function(name, word, &[word, word, word]);
            self.ir.attribute(function, "nounwind");
            function
        });
        // In place of a call it would have the caller's frame, whose objects it would end.
        self.ir.keep_apart(self.function);
        let frame = self.frame_address();
        let arguments = [
            self.cursor.as_int(frame, 64),
            self.ir.constant(64, count as u64),
            self.ir.constant(64, is_first as u64),
        ];
        self.cursor.call(function, &arguments)
    }

    fn store_word(&self, word: Value, place: Value, offset: u64) {
        let offset = self.ir.constant(64, offset);
        let address = self.cursor.binary(Opcode::LLVMAdd, place, offset);
        let to = self
            .cursor
            .cast(Opcode::LLVMIntToPtr, address, self.ir.ptr());
        self.cursor.store(word, to);
    }

    /// One whose size is found out when it is made, or that may come again in the same frame.
    pub fn alloca(&mut self, i: Value) {
        if self.told.contains(&i) || !self.is_object(i) {
            return;
        }
        let count = i.operand(0);
        let label = self.label(count);
        self.concretize(i, label, Word::User(count), LossReason::Size);
        self.flush(i);
        let Some(after) = i.next() else {
            return;
        };
        self.cursor.before(after);
        let frame = self.frame_address();
        let arguments = [
            self.cursor.as_int(frame, 64),
            self.cursor.as_int(i, 64),
            self.size_of(i),
        ];
        let add = self
            .generator
            .runtime("__chg_rt_stack_object", false, &arguments);
        self.cursor.call(add, &arguments);
    }

    /// Dynamic sizes count elements.
    fn size_of(&self, alloca: Value) -> Value {
        let each = self.ir.abi_size(alloca.allocated_type());
        let count = self.cursor.as_int(alloca.operand(0), 64);
        self.cursor
            .binary(Opcode::LLVMMul, self.ir.constant(64, each), count)
    }

    fn frame_address(&self) -> Value {
        let name = "llvm.frameaddress.p0";
        let function = self.ir.function(name).unwrap_or_else(|| {
            self.ir
                .add_function(name, self.ir.ptr(), &[self.ir.int(32)])
        });
        self.cursor.call(function, &[self.ir.constant(32, 0)])
    }
}

/// What comes before anything is stored in the frame.
fn is_beginning(i: Value) -> bool {
    match i.opcode() {
        Opcode::LLVMAlloca => true,
        Opcode::LLVMCall => coverage::is_mark(i) || rust::is_mark(i),
        _ => false,
    }
}

fn is_static(alloca: Value) -> bool {
    alloca.operand(0).constant_value().is_some()
}

/// Blocks are copied and filled from their address on.
fn is_of_fixed_size(call: Value) -> bool {
    let name = call.callee().name();
    let blocks = ["llvm.memcpy.", "llvm.memmove.", "llvm.memset."];
    name.starts_with("llvm.lifetime.")
        || blocks.iter().any(|block| name.starts_with(block))
            && call.operand(2).constant_value().is_some()
}
