//! Comparisons near a change whose operands are worth knowing.
//!
//! A branch such as `patience >= 4` that no input byte shows up in cannot be flipped, and says no more than that it went
//! the same way once more. How far its operands are from the other outcome, or from one on which the versions do not
//! agree, tells which of two inputs is the better one to go on with. So comparisons in the functions that changed, and
//! those that test what was computed there, get a probe for each operand.

use super::conditions::{bits, integer, mask, signed};
use super::modified::Pair;
use super::users::Users;
use crate::runner::Side;
use crate::terms::{self, TermError};
use changeling_changes::ChangeSet;
use changeling_program::{
    BinaryOp, FunctionId, Instruction, Operation, Predicate, Program, Shape, Site,
};
use changeling_solver::{Arena, Expr, Op};
use changeling_trace::event::probe;
use std::collections::{BTreeSet, HashSet, VecDeque};

/// A comparison of integers, in one or both versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gauge {
    pub compared: [Option<Compared>; 2],
}

/// One that decides where control goes, or which of two values is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compared {
    pub site: Site,
    pub predicate: Predicate,
    pub bits: u32,
    /// Operands that are always the same.
    pub constants: [Option<u64>; 2],
}

/// More would fill the log.
const MOST_GAUGES: usize = 48;
/// Values are followed to where they are tested for so many steps.
const MOST_STEPS: usize = 512;

impl Compared {
    fn at(program: &Program, site: Site) -> Option<Compared> {
        let instruction = program.instruction(site);
        let Operation::Compare(predicate) = instruction.operation else {
            return None;
        };
        if let Predicate::Float(_) = predicate {
            return None;
        }
        let ty = program.type_of(program.function_of(site), instruction.operands[0])?;
        // Addresses are nearer or further by chance.
        let Shape::Integer {
            bits: bits @ 2..=64,
        } = program.ty(ty).shape
        else {
            return None;
        };
        Some(Compared {
            site,
            predicate,
            bits,
            constants: [0, 1].map(|at| integer(program, instruction.operands[at])),
        })
    }

    /// What an outcome takes.
    fn demand(&self, outcome: bool) -> Demand {
        use Predicate::{Eq, Float, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
        match (self.predicate, outcome) {
            (Eq, true) | (Ne, false) => Demand::Equal,
            (Eq, false) | (Ne, true) | (Float(_), _) => Demand::Unequal,
            (Sgt | Ugt, true) | (Sle | Ule, false) => Demand::Above(1),
            (Sge | Uge, true) | (Slt | Ult, false) => Demand::Above(0),
            (Slt | Ult, true) | (Sge | Uge, false) => Demand::Below(1),
            (Sle | Ule, true) | (Sgt | Ugt, false) => Demand::Below(0),
        }
    }

    fn is_signed(&self) -> bool {
        use Predicate::{Uge, Ugt, Ule, Ult};
        !matches!(self.predicate, Uge | Ugt | Ule | Ult)
    }

    /// Whether the first operand, as a signed number, is less than zero.
    pub fn is_negative(&self, operands: [u64; 2]) -> bool {
        signed(operands[0], self.bits) < 0
    }

    /// How far two operands are from an outcome; 0 if that is theirs.
    pub fn distance(&self, operands: [u64; 2], outcome: bool) -> u64 {
        let [a, b] = operands.map(|value| match self.is_signed() {
            true => i128::from(signed(value, self.bits)),
            false => i128::from(value & mask(self.bits)),
        });
        let distance = match self.demand(outcome) {
            Demand::Equal => (a - b).abs(),
            Demand::Unequal => i128::from(a == b),
            Demand::Above(least) => (least - (a - b)).max(0),
            Demand::Below(least) => (least - (b - a)).max(0),
        };
        u64::try_from(distance).unwrap_or(u64::MAX)
    }

    /// Whether two operands are no further than so much from an outcome.
    pub fn within(
        &self,
        arena: &mut Arena,
        operands: [Expr; 2],
        outcome: bool,
        distance: u64,
    ) -> Result<Expr, TermError> {
        // So wide that nothing wraps around.
        let width = self.bits + 2;
        let mut number = |value| terms::number(arena, value, self.is_signed(), self.bits, width);
        let [a, b] = [number(operands[0])?, number(operands[1])?];
        let (larger, smaller, least) = match self.demand(outcome) {
            Demand::Unequal => return terms::differ(arena, a, b),
            Demand::Equal => {
                let more = arena.binary(Op::Sub, a, b)?;
                let allowed = arena.constant(width, distance)?;
                let from = arena.binary(Op::Add, more, allowed)?;
                let all = arena.constant(width, distance.saturating_mul(2))?;
                return Ok(arena.binary(Op::Ule, from, all)?);
            }
            Demand::Above(least) => (a, b, least),
            Demand::Below(least) => (b, a, least),
        };
        let more = arena.binary(Op::Sub, larger, smaller)?;
        let allowed = arena.constant(width, distance)?;
        let more = arena.binary(Op::Add, more, allowed)?;
        let least = arena.constant(width, least as u64)?;
        Ok(arena.binary(Op::Sle, least, more)?)
    }
}

/// What two operands must be.
enum Demand {
    Equal,
    Unequal,
    /// The first is larger by so much at least.
    Above(i128),
    /// The second is.
    Below(i128),
}

impl Gauge {
    /// (site, operand, what events say of it) of gauges, for one version.
    pub fn probes(gauges: &[Gauge], side: Side) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        (0u32..).zip(gauges).flat_map(move |(number, gauge)| {
            let compared = gauge.compared[side.index()];
            let operands = compared.into_iter().flat_map(|compared| {
                let known = (0u32..).zip(compared.constants);
                let open = known.filter(|(_, constant)| constant.is_none());
                open.map(move |(operand, _)| (compared.site.0, operand))
            });
            operands.map(move |(site, operand)| (site, operand, probe::gauge(number, operand)))
        })
    }

    /// The comparisons that are worth it, the nearest to what was changed first.
    pub fn find(programs: [&Program; 2], changes: &ChangeSet) -> Vec<Gauge> {
        let pair = Pair { programs, changes };
        let [base, head] = Side::BOTH.map(|side| conditions(&pair, side));
        let mut gauges: Vec<Gauge> = Vec::new();
        let mut known: [HashSet<Site>; 2] = Default::default();
        let both = base.into_iter().map(|site| (Side::Base, site));
        let mut lists = [both.collect::<Vec<_>>(), Vec::new()];
        lists[1].extend(head.into_iter().map(|site| (Side::Head, site)));
        let longest = lists[0].len().max(lists[1].len());
        let turns = (0..longest).flat_map(|at| lists.iter().filter_map(move |list| list.get(at)));
        for &(side, condition) in turns {
            for sites in compared_at(&pair, side, condition) {
                let seen = (0..2).any(|at| sites[at].is_some_and(|site| known[at].contains(&site)));
                if seen || gauges.len() == MOST_GAUGES {
                    continue;
                }
                let compared =
                    [0, 1].map(|at| sites[at].and_then(|site| Compared::at(programs[at], site)));
                if compared == [None, None] {
                    continue;
                }
                for at in 0..2 {
                    known[at].extend(sites[at]);
                }
                gauges.push(Gauge { compared });
            }
        }
        gauges
    }
}

/// Branches, choices and comparisons that test what was changed, the nearest first, then all others of the functions around it.
fn conditions(pair: &Pair<'_>, side: Side) -> Vec<Site> {
    let program = pair.programs[side.index()];
    let modified = pair.all_modified(side);
    let users = Users::new(program);
    let mut seen: HashSet<Site> = HashSet::new();
    let mut work: VecDeque<Site> = modified.iter().copied().collect();
    let mut found = Vec::new();
    while let Some(site) = work.pop_front() {
        if seen.len() >= MOST_STEPS || !seen.insert(site) {
            continue;
        }
        if chooses(program.instruction(site)) {
            found.push(site);
        }
        let calls = |function| users.calls(function).iter().copied();
        work.extend(users.next(program, site, calls));
    }
    let functions: BTreeSet<FunctionId> = modified
        .iter()
        .map(|site| program.function_of(*site))
        .collect();
    for function in functions {
        let blocks = program.function(function).blocks();
        let sites = blocks.flat_map(|block| program.block(block).sites());
        let own = sites.filter(|site| chooses(program.instruction(*site)) && !seen.contains(site));
        found.extend(own);
    }
    // By what they decide about, comparisons find their partners even if they were changed. The others, whose outcome is
    // a value like any other, come last.
    let is_value =
        |site: &Site| matches!(program.instruction(*site).operation, Operation::Compare(_));
    found.sort_by_key(is_value);
    found
}

fn chooses(instruction: &Instruction) -> bool {
    matches!(
        instruction.operation,
        Operation::Branch { .. } | Operation::Select | Operation::Compare(_)
    )
}

/// The comparisons that a condition is made of, each with the one of the other version that stands in its place.
fn compared_at(pair: &Pair<'_>, side: Side, condition: Site) -> Vec<[Option<Site>; 2]> {
    let mut own = Vec::new();
    comparisons(pair.programs[side.index()], condition, &mut own);
    let mut others = Vec::new();
    if let Some(other) = pair.partner(side, condition) {
        comparisons(pair.programs[side.other().index()], other, &mut others);
    }
    let alike = own.len() == others.len();
    (0..own.len())
        .map(|at| {
            let partner = pair.partner(side, own[at]);
            let beside = alike.then(|| others[at]);
            let other = partner.filter(|site| others.contains(site)).or(beside);
            match side {
                Side::Base => [Some(own[at]), other],
                Side::Head => [other, Some(own[at])],
            }
        })
        .collect()
}

fn comparisons(program: &Program, site: Site, found: &mut Vec<Site>) {
    let instruction = program.instruction(site);
    let tested = match instruction.operation {
        Operation::Compare(_) => {
            if !found.contains(&site) {
                found.push(site);
            }
            return;
        }
        Operation::Branch { .. } => &instruction.operands[..1],
        Operation::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, _)
        | Operation::Select
        | Operation::Freeze => &instruction.operands[..],
        _ => return,
    };
    // Choices between numbers are not made of comparisons, but for what they choose by.
    let function = program.function_of(site);
    let tested = tested
        .iter()
        .filter(|value| bits(program, function, **value) == Some(1));
    for value in tested.filter_map(|value| value.site()) {
        comparisons(program, value, found);
    }
}

#[cfg(test)]
mod tests;
