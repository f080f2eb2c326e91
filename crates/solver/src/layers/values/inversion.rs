//! Working backwards: which input values make an expression have a value, if
//! everything else stays as it is.

use crate::arena::{Arena, Expr};
use crate::machine::{mask, signed};
use crate::trial::Trial;
use crate::variables::VarId;
use changeling_trace::Op;

/// How far down a goal is followed.
const MAX_DEPTH: u32 = 400;

pub(crate) struct Inversion<'a> {
    arena: &'a Arena,
    trial: &'a mut Trial,
    /// Different rounds take different ways where there is a choice.
    round: u64,
    changes: Vec<(VarId, u64)>,
}

impl<'a> Inversion<'a> {
    pub fn new(arena: &'a Arena, trial: &'a mut Trial, round: u64) -> Inversion<'a> {
        Inversion {
            arena,
            trial,
            round,
            changes: Vec::new(),
        }
    }

    /// Changes of input variables that should make `condition` true. They are a
    /// proposal: whoever asks must try it.
    pub fn make_true(
        &mut self,
        condition: Expr,
        allowed: &dyn Fn(VarId, u64) -> bool,
    ) -> Option<Vec<(VarId, u64)>> {
        let done = self.set(condition, 1, allowed, 0);
        done.then(|| std::mem::take(&mut self.changes))
    }

    fn value(&mut self, e: Expr) -> u64 {
        self.trial.value(self.arena, e)
    }

    /// Tries to give `e` the value `target`.
    fn set(
        &mut self,
        e: Expr,
        target: u64,
        allowed: &dyn Fn(VarId, u64) -> bool,
        depth: u32,
    ) -> bool {
        let term = *self.arena.term(e);
        let width = u32::from(term.width);
        if depth > MAX_DEPTH || width > 64 {
            return false;
        }
        if self.value(e) == target {
            return true;
        }
        let facts = self.arena.facts(e);
        if target < facts.low || target > facts.high || target & facts.zeros != 0 {
            return false;
        }
        let constant = |e: Expr| self.arena.small(e);
        let depth = depth + 1;
        match term.op {
            Op::Const => false,
            Op::Input | Op::Length => {
                let var = self
                    .arena
                    .set(e)
                    .iter()
                    .next()
                    .expect("an input is its own variable");
                if !allowed(var, target)
                    || self
                        .changes
                        .iter()
                        .any(|&(other, value)| other == var && value != target)
                {
                    return false;
                }
                self.changes.push((var, target));
                true
            }
            Op::ZExt => {
                target <= mask(self.arena.width(term.a)) && self.set(term.a, target, allowed, depth)
            }
            Op::SExt => {
                let inner = self.arena.width(term.a);
                let part = target & mask(inner);
                signed(inner, part) as u64 & mask(width) == target
                    && self.set(term.a, part, allowed, depth)
            }
            Op::Extract => {
                if self.arena.width(term.a) > 64 {
                    return false;
                }
                let old = self.value(term.a);
                let hole = mask(width) << term.imm;
                self.set(term.a, old & !hole | target << term.imm, allowed, depth)
            }
            Op::Concat => {
                let low = self.arena.width(term.b);
                self.set(term.b, target & mask(low), allowed, depth)
                    && self.set(term.a, target >> low, allowed, depth)
            }
            Op::Xor => self.either(term.a, term.b, allowed, depth, |other| Some(target ^ other)),
            Op::Add => self.either(term.a, term.b, allowed, depth, |other| {
                Some(target.wrapping_sub(other) & mask(width))
            }),
            Op::Sub => {
                let (x, y) = (self.value(term.a), self.value(term.b));
                let first = target.wrapping_add(y) & mask(width);
                let second = x.wrapping_sub(target) & mask(width);
                self.set(term.a, first, allowed, depth) || self.set(term.b, second, allowed, depth)
            }
            Op::Mul => {
                let factor = constant(term.b).filter(|&factor| factor != 0);
                let Some(factor) = factor else { return false };
                target.is_multiple_of(factor) && self.set(term.a, target / factor, allowed, depth)
            }
            Op::UDiv => {
                let divisor = constant(term.b).filter(|&divisor| divisor != 0);
                let product = divisor.and_then(|divisor| target.checked_mul(divisor));
                product.is_some_and(|product| {
                    product <= mask(width) && self.set(term.a, product, allowed, depth)
                })
            }
            Op::URem => {
                let Some(divisor) = constant(term.b).filter(|&divisor| target < divisor) else {
                    return false;
                };
                let old = self.value(term.a);
                let near = old - old % divisor;
                near.checked_add(target).is_some_and(|goal| {
                    goal <= mask(width) && self.set(term.a, goal, allowed, depth)
                })
            }
            Op::And if width > 1 => {
                // Bits that the other side lets through.
                let way =
                    |old: u64, other: u64| (target & !other == 0).then_some(old & !other | target);
                self.merge(term.a, term.b, allowed, depth, way)
            }
            Op::Or if width > 1 => {
                let way = |old: u64, other: u64| {
                    (other & !target == 0).then_some(old & other | target & !other)
                };
                self.merge(term.a, term.b, allowed, depth, way)
            }
            Op::And => match target {
                1 => self.set(term.a, 1, allowed, depth) && self.set(term.b, 1, allowed, depth),
                _ => self.one_of(term.a, term.b, 0, allowed, depth),
            },
            Op::Or => match target {
                0 => self.set(term.a, 0, allowed, depth) && self.set(term.b, 0, allowed, depth),
                _ => self.one_of(term.a, term.b, 1, allowed, depth),
            },
            Op::Ite => {
                let branch = if self.value(term.a) != 0 {
                    term.b
                } else {
                    term.c
                };
                let other = if branch == term.b { term.c } else { term.b };
                if self.set(branch, target, allowed, depth) {
                    return true;
                }
                let other_value = self.value(other);
                other_value == target
                    && self.set(term.a, u64::from(branch == term.c), allowed, depth)
            }
            Op::Read => self.set_read(term.a, term.b, width, target, allowed, depth),
            Op::Eq | Op::Ult | Op::Slt => self.compare(&term, target == 1, allowed, depth),
            _ => false,
        }
    }

    /// One operand stays, the other becomes what the first leaves for it.
    fn either(
        &mut self,
        a: Expr,
        b: Expr,
        allowed: &dyn Fn(VarId, u64) -> bool,
        depth: u32,
        rest: impl Fn(u64) -> Option<u64>,
    ) -> bool {
        self.merge(a, b, allowed, depth, |_, other| rest(other))
    }

    fn merge(
        &mut self,
        a: Expr,
        b: Expr,
        allowed: &dyn Fn(VarId, u64) -> bool,
        depth: u32,
        way: impl Fn(u64, u64) -> Option<u64>,
    ) -> bool {
        let (x, y) = (self.value(a), self.value(b));
        let mut ways = [(a, way(x, y)), (b, way(y, x))];
        if self.turn(depth) {
            ways.swap(0, 1);
        }
        ways.into_iter().any(|(e, goal)| {
            let before = self.changes.len();
            let done = goal.is_some_and(|goal| self.set(e, goal, allowed, depth));
            if !done {
                self.changes.truncate(before);
            }
            done
        })
    }

    fn one_of(
        &mut self,
        a: Expr,
        b: Expr,
        target: u64,
        allowed: &dyn Fn(VarId, u64) -> bool,
        depth: u32,
    ) -> bool {
        self.merge(a, b, allowed, depth, |_, _| Some(target))
    }

    /// Whether this round takes the second way first at this depth.
    fn turn(&self, depth: u32) -> bool {
        self.round >> (depth % 4) & 1 == 1
    }

    fn set_read(
        &mut self,
        index: Expr,
        table: Expr,
        width: u32,
        target: u64,
        allowed: &dyn Fn(VarId, u64) -> bool,
        depth: u32,
    ) -> bool {
        let arena = self.arena;
        let table = &arena.tables[table.index()];
        let size = (width / 8) as usize;
        if table.cells.is_some() || table.bytes.len() > 1 << 16 {
            return false;
        }
        let facts = arena.facts(index);
        let last = table.bytes.len().saturating_sub(size) as u64;
        let mut tries = 0;
        for at in facts.low..=facts.high.min(last) {
            if at & facts.zeros != 0
                || crate::facts::entry(&table.bytes, at as usize, size) != target
            {
                continue;
            }
            let before = self.changes.len();
            if self.set(index, at, allowed, depth) {
                return true;
            }
            self.changes.truncate(before);
            tries += 1;
            if tries > 32 {
                break;
            }
        }
        false
    }

    fn compare(
        &mut self,
        term: &crate::arena::Term,
        truth: bool,
        allowed: &dyn Fn(VarId, u64) -> bool,
        depth: u32,
    ) -> bool {
        let width = self.arena.width(term.a);
        if width > 64 {
            return false;
        }
        let (x, y) = (self.value(term.a), self.value(term.b));
        let top = mask(width);
        // Boundary values for one side with the other fixed.
        let (for_a, for_b) = match (term.op, truth) {
            (Op::Eq, true) => (vec![y], vec![x]),
            (Op::Eq, false) => {
                let near = |n: u64| {
                    vec![
                        n.wrapping_add(1) & top,
                        n.wrapping_sub(1) & top,
                        n ^ 1 << (width - 1),
                    ]
                };
                (near(y), near(x))
            }
            (Op::Ult, true) => (
                vec![y.wrapping_sub(1) & top, 0],
                vec![x.wrapping_add(1) & top, top],
            ),
            (Op::Ult, false) => (vec![y, top], vec![x, 0]),
            (Op::Slt, true) => {
                let least = 1 << (width - 1);
                (
                    vec![y.wrapping_sub(1) & top, least],
                    vec![x.wrapping_add(1) & top, top >> 1],
                )
            }
            (_, _) => (vec![y, top >> 1], vec![x, 1 << (width - 1)]),
        };
        let mut sides = [(term.a, for_a), (term.b, for_b)];
        if self.turn(depth) {
            sides.swap(0, 1);
        }
        for (side, goals) in sides {
            for goal in goals {
                let before = self.changes.len();
                if self.set(side, goal, allowed, depth) {
                    return true;
                }
                self.changes.truncate(before);
            }
        }
        false
    }
}
