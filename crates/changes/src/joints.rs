//! What a branch really turns on. A condition that was made a value first (`expect(a && b)`, `!!(a || b)`) is joined in
//! a block of its own and looked at there; the same condition without that is one branch after the other. Seen through
//! the joint, both are the same code.

use std::collections::HashMap;

use changeling_program::{
    BinaryOp, BlockId, Constant, Function, Instruction, Operation, Predicate, Program, Shape, Site,
    Value,
};

use crate::hints;

/// Chains are short; code that is never reached may hold circles.
const LONGEST: usize = 16;

/// The blocks of a program that only look at a condition which blocks before them have decided.
#[derive(Default)]
pub struct Joints(HashMap<BlockId, Joint>);

struct Joint {
    /// The block from which a value comes that is not known, and that value without `!`.
    open: (BlockId, Value),
    /// The value that comes is the opposite of it.
    reversed: bool,
    /// Where the others lead.
    known: HashMap<BlockId, BlockId>,
}

/// What a branch turns on, and where it leads if that holds and if not.
struct Turn {
    condition: Value,
    targets: [BlockId; 2],
}

impl Joints {
    pub fn new(program: &Program) -> Joints {
        let mut joints = HashMap::new();
        for id in program.definitions() {
            let function = program.function(id);
            let uses = uses(program, function);
            let blocks = function.blocks();
            joints.extend(blocks.filter_map(|block| Some((block, joint(program, block, &uses)?))));
        }
        Joints(joints)
    }

    /// What the branch turns on.
    pub fn condition(&self, program: &Program, branch: &Instruction) -> Option<Value> {
        let turn = turn(program, branch)?;
        let open = self.0.get(&branch.block).map(|joint| joint.open.1);
        Some(open.unwrap_or(turn.condition))
    }

    /// Where control really goes next.
    pub fn targets(&self, program: &Program, instruction: &Instruction) -> Vec<BlockId> {
        let mut targets = match turn(program, instruction) {
            Some(turn) => turn.targets.to_vec(),
            None => instruction.successors(),
        };
        let joint = self.0.get(&instruction.block);
        if joint.is_some_and(|joint| joint.reversed) && is_branch(instruction) {
            targets.reverse();
        }
        let through = |target: BlockId| self.through(instruction.block, target);
        targets.into_iter().map(through).collect()
    }

    /// Whether all that comes after an instruction is the branch that a joint makes of its block's condition.
    pub fn leads_to_branch(&self, instruction: &Instruction) -> bool {
        let Operation::Jump { target } = instruction.operation else {
            return false;
        };
        let joint = self.0.get(&target);
        joint.is_some_and(|joint| joint.open.0 == instruction.block)
    }

    fn through(&self, mut from: BlockId, mut to: BlockId) -> BlockId {
        for _ in 0..LONGEST {
            let next = self.0.get(&to).and_then(|joint| joint.known.get(&from));
            match next {
                Some(&next) => (from, to) = (to, next),
                None => break,
            }
        }
        to
    }
}

/// How often each result is used in the function.
fn uses(program: &Program, function: &Function) -> HashMap<Site, usize> {
    let mut uses = HashMap::new();
    for site in function.sites() {
        for used in program.instruction(site).used_sites() {
            *uses.entry(used).or_default() += 1;
        }
    }
    uses
}

fn joint(program: &Program, block: BlockId, uses: &HashMap<Site, usize>) -> Option<Joint> {
    let branch = program.instruction(program.terminator(block));
    let turn = turn(program, branch)?;
    let phi = turn.condition.site()?;
    let instruction = program.instruction(phi);
    let Operation::Phi { incoming } = &instruction.operation else {
        return None;
    };
    // Nothing but the branch may look at what is computed here.
    let own = |site: Site| program.instruction(site);
    let sites = || program.block(block).sites();
    let looked_at: Vec<Site> = sites().flat_map(|site| own(site).used_sites()).collect();
    let is_hidden = |site: Site| {
        let count = looked_at.iter().filter(|&&used| used == site).count();
        hints::may_be_left(program, own(site)) && uses.get(&site).copied().unwrap_or(0) == count
    };
    let hidden = |site: Site| own(site).is_terminator() || is_hidden(site);
    if instruction.block != block || !sites().all(hidden) {
        return None;
    }
    let mut open = None;
    let mut known = HashMap::new();
    for (&from, &value) in incoming.iter().zip(&instruction.operands) {
        match truth(program, value) {
            Some(truth) => {
                known.insert(from, turn.targets[usize::from(!truth)]);
            }
            None if open.is_none() => open = Some((from, value)),
            None => return None,
        }
    }
    let (from, value) = open?;
    let (value, reversed) = plain(program, value)?;
    (!known.is_empty()).then_some(Joint {
        open: (from, value),
        reversed,
        known,
    })
}

fn is_branch(instruction: &Instruction) -> bool {
    matches!(instruction.operation, Operation::Branch { .. })
}

/// A branch on a bit, without hints and without `!`.
fn turn(program: &Program, branch: &Instruction) -> Option<Turn> {
    let Operation::Branch { then, otherwise } = branch.operation else {
        return None;
    };
    let (condition, reversed) = plain(program, *branch.operands.first()?)?;
    let targets = match reversed {
        true => [otherwise, then],
        false => [then, otherwise],
    };
    Some(Turn { condition, targets })
}

/// A condition without hints and without `!`, and whether it is the opposite of the one given.
fn plain(program: &Program, mut condition: Value) -> Option<(Value, bool)> {
    let mut reversed = false;
    for _ in 0..LONGEST {
        condition = hints::behind(program, condition);
        match negated(program, condition) {
            Some(inner) => {
                condition = inner;
                reversed = !reversed;
            }
            None => return Some((condition, reversed)),
        }
    }
    None
}

/// What `!x` is the opposite of.
fn negated(program: &Program, value: Value) -> Option<Value> {
    let instruction = program.instruction(value.site()?);
    let inner = match instruction.operation {
        Operation::Binary(BinaryOp::Xor, _) => match instruction.operands[..] {
            [inner, one] if truth(program, one) == Some(true) => Some(inner),
            _ => None,
        },
        Operation::Compare(Predicate::Eq) => hints::tested(program, instruction),
        _ => None,
    };
    inner.filter(|&inner| hints::is_bit(program, instruction, inner))
}

fn truth(program: &Program, value: Value) -> Option<bool> {
    let Value::Constant(id) = value else {
        return None;
    };
    match program.constant(id) {
        Constant::Integer { ty, bits }
            if matches!(program.ty(*ty).shape, Shape::Integer { bits: 1 }) =>
        {
            Some(bits & 1 == 1)
        }
        _ => None,
    }
}
