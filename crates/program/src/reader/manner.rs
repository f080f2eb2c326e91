//! What else than operation and operands has a say in what code does: alignments, leave that the compiler was given,
//! the processor that a function is for. Words that are compared and nothing else.

use super::Reader;
use super::llvm::{self, AttributePlace, Opcode, TypeKind};
use crate::Value;

/// Attributes of functions with a say in the code that is made of the body.
const FLAGS: [&str; 7] = [
    "naked",
    "null_pointer_is_valid",
    "optnone",
    "ssp",
    "sspreq",
    "sspstrong",
    "strictfp",
];
/// The same with values. `build` keeps the first in place of `optnone`.
const WORDS: [&str; 5] = [
    "changeling-optnone",
    "target-cpu",
    "target-features",
    "denormal-fp-math",
    "denormal-fp-math-f32",
];
/// Calls by these may be left out together with the memory that they ask for.
const CALLS: [&str; 2] = ["builtin", "nobuiltin"];
/// Functions begin at multiples of so many bytes anyway.
const USUAL: u32 = 16;
/// Vectors of fewer bytes are read and written alike wherever they are.
const SMALLEST: u64 = 16;

/// Of a function with a body.
pub fn attributes(function: llvm::Value<'_>) -> String {
    if function.blocks().next().is_none() {
        return String::new();
    }
    let has = |name: &&str| function.has_attribute(AttributePlace::Function, name);
    let flags = FLAGS.into_iter().filter(has).map(str::to_owned);
    let words = WORDS.into_iter().filter_map(|name| {
        let value = function.word(name)?;
        Some(format!("{name}={value}"))
    });
    flags.chain(words).collect::<Vec<_>>().join(" ")
}

/// Of a function, if it is more than usual.
pub fn alignment(function: llvm::Value<'_>) -> u32 {
    Some(function.alignment())
        .filter(|&bytes| bytes > USUAL)
        .unwrap_or(0)
}

impl<'m> Reader<'m> {
    pub(super) fn manner(&self, instruction: llvm::Value<'m>) -> Option<Box<str>> {
        let mut words = Vec::new();
        match instruction.opcode() {
            Opcode::LLVMAlloca => words.push(format!("align {}", instruction.alignment())),
            Opcode::LLVMLoad => self.note_vector(instruction, instruction.ty(), &mut words),
            Opcode::LLVMStore => {
                self.note_vector(instruction, instruction.operand(0).ty(), &mut words);
            }
            Opcode::LLVMCall | Opcode::LLVMInvoke => {
                let has =
                    |name: &&str| instruction.call_has_attribute(AttributePlace::Function, name);
                words.extend(CALLS.into_iter().filter(has).map(str::to_owned));
                words.extend(instruction.bundles().into_iter().map(|(tag, _)| tag));
            }
            _ => {}
        }
        match instruction.fast_math() {
            0 => {}
            flags => words.push(format!("fast {flags}")),
        }
        (!words.is_empty()).then(|| words.join(" ").into())
    }

    /// Whether a vector may lie anywhere. Where numbers lie is all the same to the processor.
    fn note_vector(
        &self,
        instruction: llvm::Value<'m>,
        ty: llvm::Type<'m>,
        words: &mut Vec<String>,
    ) {
        let is_vector = ty.kind() == TypeKind::LLVMVectorTypeKind;
        let size = self.source.size_of(ty).filter(|_| is_vector);
        if size.is_some_and(|size| size >= SMALLEST && u64::from(instruction.alignment()) < size) {
            words.push("anywhere".into());
        }
    }

    /// What a call tells the compiler beside its arguments.
    pub(super) fn bundled(&mut self, call: llvm::Value<'m>) -> Vec<Value> {
        let bundles = call.bundles().into_iter();
        let values = bundles.flat_map(|(_, values)| values);
        values.map(|value| self.value(value)).collect()
    }
}
