//! Streams of `<stdio.h>` that the program looks into by itself. The library puts bytes there that have no labels, and
//! what models read is never there at all.

use crate::ir::{Cursor, Ir, Opcode, Value};

/// Part of the tracer: all input counts as lost from here on.
const SEES: &str = "__chg_lose_input";
/// A model: the same, if the stream is written to.
const SEES_BUFFER: &str = "__model_sees_buffer";
/// Functions that take a buffer of the program's.
const BUFFERING: &[&str] = &["__model_setvbuf", "__model_setbuf", "__model_setbuffer"];
/// The slow ways of `getc_unlocked` and `putc_unlocked` as macros, and which fields the fast ones look at.
const SLOW_READ: (&str, [u64; 2]) = ("__model___uflow", [1, 2]);
const SLOW_WRITE: (&str, [u64; 2]) = ("__model___overflow", [5, 6]);
/// The last of the fields that say where bytes are; before them are flags.
const LAST_PLACE: u64 = 11;

/// Finds where functions of the program, which call models already, look into streams or at their buffers.
pub fn account(ir: Ir, functions: &[Value]) {
    let cursor = Cursor::new(ir);
    for &function in functions {
        let blocks = function.blocks().into_iter();
        let instructions: Vec<Value> = blocks.flat_map(|block| block.instructions()).collect();
        let callees = instructions.iter().filter(|i| i.is_call());
        let callees: Vec<String> = callees.map(|call| call.callee().name()).collect();
        let has = |slow: &str| callees.iter().any(|name| name == slow);
        let (reads, writes) = (has(SLOW_READ.0), has(SLOW_WRITE.0));
        for &i in &instructions {
            if let Some(field) = field(i) {
                let is_known = reads && SLOW_READ.1.contains(&field)
                    || writes && SLOW_WRITE.1.contains(&field);
                if writes && field == SLOW_WRITE.1[1] {
                    choose_slow_write(ir, i);
                } else if (1..=LAST_PLACE).contains(&field) && !is_known {
                    tell_of_sight(ir, &cursor, i);
                }
            } else if is_buffering(i) && !is_for_streams_only(i.operand(1)) {
                let sees = declared(ir, SEES_BUFFER, &[ir.ptr(), ir.ptr()]);
                cursor.before(i);
                cursor.call(sees, &[i.operand(0), i.operand(1)]);
            }
        }
    }
}

/// Which field of a stream this is the address of.
pub fn field(i: Value) -> Option<u64> {
    if !i.is_instruction() || i.opcode() != Opcode::LLVMGetElementPtr || i.operand_count() < 3 {
        return None;
    }
    let name = i.gep_source_type().struct_name()?;
    let is_stream = name == "struct._IO_FILE" || name.starts_with("struct._IO_FILE.");
    is_stream.then(|| i.operand(2).constant_value())?
}

/// The fast way would put a byte where nobody sees it: to it, the buffer is always full.
fn choose_slow_write(ir: Ir, end: Value) {
    for load in end.users() {
        let is_compared = |user: &Value| user.is_instruction() && user.opcode() == Opcode::LLVMICmp;
        if load.opcode() == Opcode::LLVMLoad && load.users().iter().all(is_compared) {
            load.replace_uses(ir.ptr().zero());
        }
    }
}

fn tell_of_sight(ir: Ir, cursor: &Cursor, field: Value) {
    let sees = declared(ir, SEES, &[]);
    for user in field.users() {
        let only_writes = user.opcode() == Opcode::LLVMStore && user.operand(0) != field;
        if !only_writes {
            cursor.before(user);
            cursor.call(sees, &[]);
        }
    }
}

fn declared(ir: Ir, name: &str, parameters: &[crate::ir::Type]) -> Value {
    ir.function(name)
        .unwrap_or_else(|| ir.add_function(name, ir.void(), parameters))
}

fn is_buffering(i: Value) -> bool {
    i.is_instruction()
        && i.is_call()
        && BUFFERING.contains(&i.callee().name().as_str())
        && i.argument_count() > 1
}

/// Whether nothing else is ever done with a buffer.
fn is_for_streams_only(buffer: Value) -> bool {
    let is_intrinsic =
        |user: &Value| user.is_call() && user.callee().name().starts_with("llvm.lifetime");
    let is_one = buffer.is_instruction()
        && (buffer.opcode() == Opcode::LLVMAlloca || buffer.is_call())
        || buffer.is_constant() && !buffer.name().is_empty();
    let is_null = buffer.is_constant() && buffer.name().is_empty() && buffer.operand_count() == 0;
    is_null
        || is_one
            && buffer
                .users()
                .iter()
                .all(|user| user.is_instruction() && (is_buffering(*user) || is_intrinsic(user)))
}
