//! What memory holds at the start, and after calls that fill it.

use super::conditions::{integer, mask};
use super::facts::Facts;
use changeling_analysis::{Cell, Origin};
use changeling_program::{Callee, Constant, Program, Shape, Site, TypeId, Value};

/// Whether a call that copies or fills memory is meant to do so with a cell. A piece of an array in a
/// structure could lie anywhere in it, as far as the addresses are known, but hardly does.
pub fn may_fill(facts: &Facts<'_>, writer: Site, cell: Cell) -> bool {
    let program = facts.program;
    let Some(symbol) = called(program, writer) else {
        return true;
    };
    let plain = symbol.strip_prefix("llvm.").unwrap_or(symbol);
    let fills = ["memcpy", "memmove", "memset"];
    if !fills.iter().any(|name| plain.starts_with(name)) {
        return true;
    }
    let operands = &program.instruction(writer).operands;
    let [target, _, length, ..] = operands[..] else {
        return true;
    };
    let size = integer(program, length).unwrap_or(1);
    let function = program.function_of(writer);
    let cells = facts.graphs.pointers.cells(function, target, size);
    cells.contains(&cell)
}

/// The name of the function that a call names.
fn called(program: &Program, call: Site) -> Option<&str> {
    match program.instruction(call).call()?.callee {
        Callee::Direct(callee) => Some(program.function(callee).symbol.as_str()),
        _ => None,
    }
}

/// What a load finds in a cell after a call has filled memory, if it is a constant.
pub fn filled(facts: &Facts<'_>, writer: Site, cell: Cell, load: Site) -> Option<u64> {
    let program = facts.program;
    let instruction = program.instruction(writer);
    let symbol = called(program, writer)?;
    let size = program.ty(program.instruction(load).ty).size?;
    if symbol == "memset" || symbol.starts_with("llvm.memset") {
        let byte = integer(program, *instruction.operands.get(1)?)?;
        return (size <= 8)
            .then(|| (byte & 0xff).wrapping_mul(0x0101_0101_0101_0101) & mask(8 * size as u32));
    }
    if symbol != "memcpy" && !symbol.starts_with("llvm.memcpy") {
        return None;
    }
    // As in `struct thing t = {1, 2, 3};`.
    let (Origin::Stack(object), offset) = facts.graphs.pointers.describe(cell) else {
        return None;
    };
    let (&Value::Result(target), &Value::Global(source)) =
        (instruction.operands.first()?, instruction.operands.get(1)?)
    else {
        return None;
    };
    let source = program.global(source);
    if target != object || !source.constant {
        return None;
    }
    at_offset(program, source.initialiser?, source.ty, offset, size)
}

/// What a global variable's cell holds before anything is written.
pub fn initial(facts: &Facts<'_>, cell: Cell, load: Site) -> Option<u64> {
    let program = facts.program;
    let (Origin::Global(id), offset) = facts.graphs.pointers.describe(cell) else {
        return None;
    };
    let value = program.global(id).initialiser?;
    let size = program.ty(program.instruction(load).ty).size?;
    at_offset(program, value, program.global(id).ty, offset, size)
}

fn at_offset(program: &Program, value: Value, ty: TypeId, offset: u64, size: u64) -> Option<u64> {
    if let (0, Some(value)) = (offset, integer(program, value)) {
        return Some(value);
    }
    let Value::Constant(id) = value else {
        return None;
    };
    match program.constant(id) {
        Constant::Zero { .. } | Constant::Null { .. } => Some(0),
        Constant::Bytes { bytes, .. } if size <= 8 => {
            let (from, to) = (offset as usize, (offset + size) as usize);
            let bytes = bytes.get(from..to)?;
            let number = bytes.iter().rev();
            Some(number.fold(0, |number, byte| number << 8 | u64::from(*byte)))
        }
        Constant::Aggregate { elements, .. } => {
            let (at, within, ty) = match &program.ty(ty).shape {
                Shape::Struct {
                    fields, offsets, ..
                } => {
                    let at = offsets
                        .partition_point(|start| *start <= offset)
                        .checked_sub(1)?;
                    (at, offset - offsets[at], fields[at])
                }
                Shape::Array { element, .. } => {
                    let stride = program.ty(*element).size.filter(|size| *size > 0)?;
                    ((offset / stride) as usize, offset % stride, *element)
                }
                _ => return None,
            };
            at_offset(program, *elements.get(at)?, ty, within, size)
        }
        _ => None,
    }
}
