//! What only helps the optimiser: `__builtin_expect` says which way a branch goes mostly, and leaves
//! conversions of the condition to a long number and back in the code. Nothing of it is a change.

use changeling_program::{
    Call, Callee, CastOp, Constant, Instruction, Operation, Predicate, Program, Shape, Value,
};

/// Chains are short; code that is never reached may hold circles.
const LONGEST: usize = 16;

/// The value itself: of `expect(x)` it is `x`, of `x != 0` where `x` is a single bit, and of a long `x` that was made
/// short again, too.
pub fn behind(program: &Program, value: Value) -> Value {
    let mut found = value;
    for _ in 0..LONGEST {
        let inner = value_site(program, found).and_then(|instruction| {
            let bit = || {
                let bit = tested(program, instruction)?;
                let truth = matches!(instruction.operation, Operation::Compare(Predicate::Ne));
                (truth && is_bit(program, instruction, bit)).then_some(bit)
            };
            let own = expected(program, instruction).or_else(bit);
            own.or_else(|| shortened(program, instruction))
        });
        match inner {
            Some(inner) => found = inner,
            None => return found,
        }
    }
    value
}

/// What a comparison tests for being zero, before it was made longer for that.
pub fn tested(program: &Program, instruction: &Instruction) -> Option<Value> {
    let Operation::Compare(Predicate::Eq | Predicate::Ne) = instruction.operation else {
        return None;
    };
    let &[mut value, Value::Constant(right)] = instruction.operands.as_slice() else {
        return None;
    };
    let Constant::Integer { bits, .. } = program.constant(right) else {
        return None;
    };
    if *bits != 0 {
        return None;
    }
    for _ in 0..LONGEST {
        let Some(instruction) = value_site(program, value) else {
            break;
        };
        value = match instruction.operation {
            Operation::Cast(CastOp::ZExt | CastOp::SExt) => instruction.operands[0],
            _ => match expected(program, instruction) {
                Some(inner) => inner,
                None => break,
            },
        };
    }
    Some(value)
}

/// What was made longer, and here gets the length back that it had.
fn shortened(program: &Program, instruction: &Instruction) -> Option<Value> {
    let Operation::Cast(CastOp::Trunc) = instruction.operation else {
        return None;
    };
    let mut long = value_site(program, instruction.operands[0])?;
    for _ in 0..LONGEST {
        match expected(program, long) {
            Some(inner) => long = value_site(program, inner)?,
            None => break,
        }
    }
    let Operation::Cast(CastOp::ZExt | CastOp::SExt) = long.operation else {
        return None;
    };
    let short = long.operands[0];
    let function = program.block(instruction.block).function;
    (program.type_of(function, short) == Some(instruction.ty)).then_some(short)
}

/// Whether an instruction computes nothing but its result, and may be left over if nobody looks at that.
pub fn may_be_left(program: &Program, instruction: &Instruction) -> bool {
    instruction.operation.computes() || expected(program, instruction).is_some()
}

/// What `__builtin_expect` is told something about.
fn expected(program: &Program, instruction: &Instruction) -> Option<Value> {
    let Some(Call {
        callee: Callee::Direct(callee),
        ..
    }) = instruction.call()
    else {
        return None;
    };
    let symbol = &program.function(*callee).symbol;
    let hint = symbol.starts_with("llvm.expect.");
    hint.then(|| instruction.operands.first().copied())
        .flatten()
}

fn value_site(program: &Program, value: Value) -> Option<&Instruction> {
    value.site().map(|site| program.instruction(site))
}

pub fn is_bit(program: &Program, near: &Instruction, value: Value) -> bool {
    let function = program.block(near.block).function;
    let ty = program.type_of(function, value);
    ty.is_some_and(|ty| matches!(program.ty(ty).shape, Shape::Integer { bits: 1 }))
}
