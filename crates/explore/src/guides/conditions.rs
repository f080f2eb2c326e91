//! What a branch demands of the values that it tests.

use changeling_program::{
    BinaryOp, CastOp, Constant, FunctionId, Operation, Predicate, Program, Shape, Site, Value,
};

/// A value must be such.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    pub value: Value,
    pub test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// The comparison with a constant comes out as `outcome`.
    Compare {
        predicate: Predicate,
        constant: u64,
        bits: u32,
        outcome: bool,
    },
    OneOf(Vec<u64>),
    NoneOf(Vec<u64>),
    /// One of these holds.
    Any(Vec<Test>),
    /// All of these hold.
    All(Vec<Test>),
}

impl Test {
    /// A value for which it holds.
    pub fn example(&self) -> Option<u64> {
        self.candidates()
            .into_iter()
            .find(|value| self.holds(*value))
    }

    /// Values for which it may hold.
    fn candidates(&self) -> Vec<u64> {
        match self {
            Test::Compare { constant, .. } => {
                vec![
                    *constant,
                    constant.wrapping_add(1),
                    constant.wrapping_sub(1),
                ]
            }
            Test::OneOf(values) => values.clone(),
            Test::NoneOf(values) => (0..=values.len() as u64).collect(),
            Test::Any(tests) | Test::All(tests) => {
                tests.iter().flat_map(Test::candidates).collect()
            }
        }
    }

    pub fn holds(&self, value: u64) -> bool {
        match self {
            Test::Compare {
                predicate,
                constant,
                bits,
                outcome,
            } => compare(*predicate, value, *constant, *bits) == Some(*outcome),
            Test::OneOf(values) => values.contains(&value),
            Test::NoneOf(values) => !values.contains(&value),
            Test::Any(tests) => tests.iter().any(|test| test.holds(value)),
            Test::All(tests) => tests.iter().all(|test| test.holds(value)),
        }
    }
}

/// What must hold for the branch at the end of a block to take a side. Only what must hold
/// whatever else does; alternatives demand nothing.
pub fn demands(program: &Program, branch: Site, side: usize) -> Vec<Demand> {
    let instruction = program.instruction(branch);
    match &instruction.operation {
        Operation::Branch { then, otherwise } if then != otherwise => {
            let mut found = Vec::new();
            let function = program.function_of(branch);
            truth(
                program,
                function,
                instruction.operands[0],
                side == 0,
                &mut found,
            );
            found
        }
        Operation::Switch { cases, default } => {
            let target = instruction.successors()[side];
            let values = |wanted: bool| -> Vec<u64> {
                let own = cases
                    .iter()
                    .filter(|case| (case.target == target) == wanted);
                own.map(|case| case.value as u64).collect()
            };
            let test = if target == *default {
                Test::NoneOf(values(false))
            } else {
                Test::OneOf(values(true))
            };
            let value = instruction.operands[0];
            vec![Demand { value, test }]
        }
        _ => Vec::new(),
    }
}

/// What must hold for a condition to be `outcome`.
pub fn truth(
    program: &Program,
    function: FunctionId,
    condition: Value,
    outcome: bool,
    found: &mut Vec<Demand>,
) {
    let Value::Result(site) = condition else {
        return;
    };
    let instruction = program.instruction(site);
    let operand = |n: usize| instruction.operands[n];
    let constant = |n: usize| integer(program, operand(n));
    match &instruction.operation {
        Operation::Compare(predicate) => {
            let Some(bits) = bits(program, function, operand(0)) else {
                return;
            };
            let (value, constant, predicate) = match (constant(0), constant(1)) {
                (None, Some(constant)) => (operand(0), constant, *predicate),
                (Some(constant), None) => (operand(1), constant, mirrored(*predicate)),
                _ => return,
            };
            found.push(Demand {
                value,
                test: Test::Compare {
                    predicate,
                    constant,
                    bits,
                    outcome,
                },
            });
        }
        Operation::Binary(BinaryOp::And, _) if outcome => {
            truth(program, function, operand(0), true, found);
            truth(program, function, operand(1), true, found);
        }
        Operation::Binary(BinaryOp::Or, _) if !outcome => {
            truth(program, function, operand(0), false, found);
            truth(program, function, operand(1), false, found);
        }
        Operation::Binary(BinaryOp::Xor, _) if constant(1) == Some(1) => {
            truth(program, function, operand(0), !outcome, found);
        }
        // a && b, and a || b.
        Operation::Select if outcome && constant(2) == Some(0) => {
            truth(program, function, operand(0), true, found);
            truth(program, function, operand(1), true, found);
        }
        Operation::Select if !outcome && constant(1) == Some(1) => {
            truth(program, function, operand(0), false, found);
            truth(program, function, operand(2), false, found);
        }
        _ => found.push(Demand {
            value: condition,
            test: Test::OneOf(vec![outcome.into()]),
        }),
    }
}

/// A constant's value.
pub fn integer(program: &Program, value: Value) -> Option<u64> {
    let Value::Constant(id) = value else {
        return None;
    };
    match program.constant(id) {
        Constant::Integer { bits, .. } => u64::try_from(*bits).ok(),
        Constant::Null { .. } | Constant::Zero { .. } => Some(0),
        _ => None,
    }
}

/// Width of a value of at most 64 bits.
pub fn bits(program: &Program, function: FunctionId, value: Value) -> Option<u32> {
    match program.ty(program.type_of(function, value)?).shape {
        Shape::Integer { bits } if bits <= 64 => Some(bits),
        Shape::Pointer { .. } => Some(64),
        _ => None,
    }
}

/// The result of an instruction one operand of which is known to be `value` and the
/// others are constants.
pub fn apply(program: &Program, site: Site, at: usize, value: u64) -> Option<u64> {
    let instruction = program.instruction(site);
    let function = program.function_of(site);
    let width = bits(program, function, Value::Result(site))?;
    let from = bits(program, function, instruction.operands[at])?;
    let other = || integer(program, *instruction.operands.get(1 - at)?);
    let result = match &instruction.operation {
        Operation::Cast(CastOp::Trunc | CastOp::ZExt | CastOp::BitCast) | Operation::Freeze => {
            value
        }
        Operation::Cast(CastOp::SExt) => signed(value, from) as u64,
        Operation::Compare(predicate) => {
            let (a, b) = if at == 0 {
                (value, other()?)
            } else {
                (other()?, value)
            };
            compare(*predicate, a, b, from)?.into()
        }
        Operation::Binary(operation, _) => {
            let (a, b) = if at == 0 {
                (value, other()?)
            } else {
                (other()?, value)
            };
            match operation {
                BinaryOp::Add => a.wrapping_add(b),
                BinaryOp::Sub => a.wrapping_sub(b),
                BinaryOp::Mul => a.wrapping_mul(b),
                BinaryOp::And => a & b,
                BinaryOp::Or => a | b,
                BinaryOp::Xor => a ^ b,
                BinaryOp::Shl if b < u64::from(width) => a << b,
                BinaryOp::LShr if b < u64::from(width) => a >> b,
                BinaryOp::UDiv if b != 0 => a / b,
                BinaryOp::URem if b != 0 => a % b,
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(result & mask(width))
}

pub fn compare(predicate: Predicate, a: u64, b: u64, bits: u32) -> Option<bool> {
    let (a, b) = (a & mask(bits), b & mask(bits));
    let (x, y) = (signed(a, bits), signed(b, bits));
    Some(match predicate {
        Predicate::Eq => a == b,
        Predicate::Ne => a != b,
        Predicate::Ugt => a > b,
        Predicate::Uge => a >= b,
        Predicate::Ult => a < b,
        Predicate::Ule => a <= b,
        Predicate::Sgt => x > y,
        Predicate::Sge => x >= y,
        Predicate::Slt => x < y,
        Predicate::Sle => x <= y,
        Predicate::Float(_) => return None,
    })
}

pub fn mirrored(predicate: Predicate) -> Predicate {
    match predicate {
        Predicate::Ugt => Predicate::Ult,
        Predicate::Uge => Predicate::Ule,
        Predicate::Ult => Predicate::Ugt,
        Predicate::Ule => Predicate::Uge,
        Predicate::Sgt => Predicate::Slt,
        Predicate::Sge => Predicate::Sle,
        Predicate::Slt => Predicate::Sgt,
        Predicate::Sle => Predicate::Sge,
        same => same,
    }
}

pub fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits.clamp(1, 64))
}

pub fn signed(value: u64, bits: u32) -> i64 {
    let shift = 64 - bits.clamp(1, 64);
    ((value << shift) as i64) >> shift
}
