//! What of two versions runs in step, and what has to be compared for that.
//!
//! What was changed computes values, and so does what uses them: as long as nothing but values comes of it, it is
//! *silent*. A value leaves the silent code where it is stored, handed to a call, returned, or tested. If both versions
//! come by the same of these places in the same order, and each time with equal values, then they have done the same
//! there, and are in the same state: everything else is the same code. So each of these places gets a *probe*, by which
//! the trace of a run tells the value and what it depends on. Whether the values can differ for any input that takes
//! this pair of paths is a question for the solver.
//!
//! Whatever is not of this form makes the blocks around it *blind*: once one of them has run, nothing is known. All of
//! it is checked here, block by block and edge by edge; the comparison of the programs only says what corresponds.

use super::modified::Pair;
use super::users::of_results;
use crate::runner::Side;
use changeling_changes::{ChangeSet, FunctionMatch, Subject};
use changeling_program::{
    BlockId, Call, Callee, Function, FunctionId, Instruction, Operation, Program, Shape, Site,
    TypeId, Value,
};
use changeling_trace::event::probe;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// With more of either nothing is compared: the log would be full of it.
const MOST_PROBES: usize = 256;
const MOST_BLIND: usize = 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lockstep {
    /// Each with its number as its place.
    pub probes: Vec<Probe>,
    /// By version: blocks behind which nothing is known.
    pub blind: [BTreeSet<BlockId>; 2],
    /// By version: all that changes can make a difference to before it is compared.
    pub resting: [BTreeSet<Site>; 2],
}

/// A value that leaves what was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The instructions of base and head that use it.
    pub sites: [Site; 2],
    pub operand: u32,
    /// It decides where control goes: which way that is, the path condition says.
    pub decides: bool,
}

impl Lockstep {
    /// None if there is too much to compare.
    pub fn new(programs: [&Program; 2], changes: &ChangeSet) -> Option<Lockstep> {
        let pair = Pair { programs, changes };
        let mut work = Work::new(pair);
        work.find_silent();
        let functions: Vec<FunctionMatch> = work.changed_functions();
        for function in &functions {
            work.compare(function);
        }
        work.found();
        let Work { mut lockstep, .. } = work;
        let blind = lockstep.blind.iter().map(BTreeSet::len).sum::<usize>();
        if lockstep.probes.len() > MOST_PROBES || blind > MOST_BLIND {
            return None;
        }
        lockstep
            .probes
            .sort_unstable_by_key(|p| (p.sites, p.operand));
        Some(lockstep)
    }

    /// (site, operand, what events say of it), for one version.
    pub fn probes_of(&self, side: Side) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        (0u32..).zip(&self.probes).map(move |(number, probed)| {
            let code = probe::code(number, probed.decides);
            (probed.sites[side.index()].0, probed.operand, code)
        })
    }
}

struct Work<'a> {
    pair: Pair<'a>,
    modified: [HashSet<Site>; 2],
    /// Those that refer to a variable whose contents were changed.
    referring: [HashSet<Site>; 2],
    silent: [HashSet<Site>; 2],
    lockstep: Lockstep,
}

impl<'a> Work<'a> {
    fn new(pair: Pair<'a>) -> Work<'a> {
        let modified = Side::BOTH.map(|side| pair.all_modified(side).into_iter().collect());
        let referring = Side::BOTH.map(|side| {
            let changes = pair.changes.changes.iter();
            let globals = changes.filter(|change| change.subject != Subject::Code);
            let sites = globals.flat_map(|change| pair.modified(change, side));
            sites.copied().collect()
        });
        Work {
            pair,
            modified,
            referring,
            silent: Default::default(),
            lockstep: Lockstep::default(),
        }
    }

    fn program(&self, side: Side) -> &'a Program {
        self.pair.programs[side.index()]
    }

    /// What was changed and only makes values, what makes values of these, and what corresponds to either.
    fn find_silent(&mut self) {
        let users = Side::BOTH.map(|side| of_results(self.program(side)));
        let mut work: Vec<(Side, Site)> = Vec::new();
        for side in Side::BOTH {
            let modified = self.modified[side.index()].iter();
            work.extend(modified.map(|site| (side, *site)));
        }
        while let Some((side, site)) = work.pop() {
            let at = side.index();
            let program = self.program(side);
            if !is_silent(program, program.instruction(site)) || !self.silent[at].insert(site) {
                continue;
            }
            let users = users[at].get(&site).into_iter().flatten();
            work.extend(users.map(|user| (side, *user)));
            let partner = self.pair.partner(side, site);
            work.extend(partner.map(|partner| (side.other(), partner)));
        }
    }

    /// Functions of both versions in which something is not the same. What has no partner is blind.
    fn changed_functions(&mut self) -> Vec<FunctionMatch> {
        let touched = Side::BOTH.map(|side| {
            let at = side.index();
            let sites = self.modified[at].iter().chain(&self.silent[at]);
            let functions = sites.map(|site| self.program(side).function_of(*site));
            functions.collect::<BTreeSet<FunctionId>>()
        });
        let changes = self.pair.changes;
        let matched: Vec<FunctionMatch> = changes
            .functions
            .iter()
            .filter(|pair| {
                let touched = touched[0].contains(&pair.base) || touched[1].contains(&pair.head);
                touched || !pair.unchanged
            })
            .copied()
            .collect();
        let lone = [&changes.deleted, &changes.added];
        for side in Side::BOTH {
            let at = side.index();
            let known = |id: &FunctionId| {
                let own = |pair: &FunctionMatch| [pair.base, pair.head][at] == *id;
                matched.iter().any(own)
            };
            let unknown = touched[at].iter().filter(|id| !known(id));
            for id in unknown.chain(lone[at]) {
                let entry = self.program(side).function(*id).entry();
                self.lockstep.blind[at].extend(entry);
            }
        }
        matched
    }

    fn compare(&mut self, function: &FunctionMatch) {
        let functions = [
            self.program(Side::Base).function(function.base),
            self.program(Side::Head).function(function.head),
        ];
        let [base, head] = functions;
        let (Some(base_entry), Some(head_entry)) = (base.entry(), head.entry()) else {
            for (at, own) in functions.into_iter().enumerate() {
                self.lockstep.blind[at].extend(own.entry());
            }
            return;
        };
        let mut partners: BTreeMap<BlockId, BlockId> = BTreeMap::new();
        for block in base.blocks() {
            let end = self.program(Side::Base).terminator(block);
            let Some(other) = self.pair.partner(Side::Base, end) else {
                continue;
            };
            let other = self.program(Side::Head).instruction(other).block;
            let belongs = self.program(Side::Head).block(other).function == function.head;
            if belongs && self.is_alike([block, other]) {
                partners.insert(block, other);
            }
        }
        let matched: HashSet<BlockId> = partners.values().copied().collect();
        let lone = base.blocks().filter(|block| !partners.contains_key(block));
        self.lockstep.blind[0].extend(lone);
        let lone = head.blocks().filter(|block| !matched.contains(block));
        self.lockstep.blind[1].extend(lone);
        let same = self.same_parameters(functions) && base.attributes == head.attributes;
        if partners.get(&base_entry) != Some(&head_entry) || !same {
            self.blind([base_entry, head_entry]);
        }
        for (&block, &other) in &partners {
            if !self.lead_alike([block, other], &partners) {
                self.blind([block, other]);
            }
        }
    }

    fn blind(&mut self, blocks: [BlockId; 2]) {
        for (blind, block) in self.lockstep.blind.iter_mut().zip(blocks) {
            blind.insert(block);
        }
    }

    fn same_parameters(&self, functions: [&Function; 2]) -> bool {
        let [base, head] = functions.map(|function| &function.parameters);
        base.len() == head.len()
            && base.iter().zip(head).all(|(base, head)| {
                let passing = [base, head].map(|own| (own.by_value, own.no_alias));
                passing[0] == passing[1] && self.same_type(base.ty, head.ty)
            })
    }

    fn same_type(&self, base: TypeId, head: TypeId) -> bool {
        let types = [
            self.pair.programs[0].ty(base),
            self.pair.programs[1].ty(head),
        ];
        match types.map(|ty| &ty.shape) {
            [Shape::Integer { bits: base }, Shape::Integer { bits: head }] => base == head,
            [Shape::Float(base), Shape::Float(head)] => base == head,
            [Shape::Pointer { .. }, Shape::Pointer { .. }] => true,
            _ => false,
        }
    }

    /// What of a block is not silent.
    fn heard(&self, side: Side, block: BlockId) -> Vec<Site> {
        let sites = self.program(side).block(block).sites();
        let silent = &self.silent[side.index()];
        sites.filter(|site| !silent.contains(site)).collect()
    }

    /// Whether two blocks do the same, given equal values where they are probed. Notes the probes.
    fn is_alike(&mut self, blocks: [BlockId; 2]) -> bool {
        let [base, head] = Side::BOTH.map(|side| self.heard(side, blocks[side.index()]));
        if base.len() != head.len() {
            return false;
        }
        let mut probes = Vec::new();
        for (&base, &head) in base.iter().zip(&head) {
            if self.pair.partner(Side::Base, base) != Some(head) {
                return false;
            }
            match self.probes_at([base, head]) {
                Some(found) => probes.extend(found),
                None => return false,
            }
        }
        self.lockstep.probes.extend(probes);
        true
    }

    /// What has to be equal for two instructions to do the same. None if that cannot be compared.
    fn probes_at(&self, sites: [Site; 2]) -> Option<Vec<Probe>> {
        let [base, head] = [0, 1].map(|at| self.pair.programs[at].instruction(sites[at]));
        let modified = [0, 1].map(|at| self.modified[at].contains(&sites[at]));
        let is_modified = modified.contains(&true);
        let refers = (0..2).any(|at| self.referring[at].contains(&sites[at]));
        if base.operands.len() != head.operands.len() || refers {
            return None;
        }
        if is_modified && !self.same_operation(base, head) {
            return None;
        }
        if let (Some(base), Some(head)) = (base.call(), head.call())
            && let (Callee::Indirect(base), Callee::Indirect(head)) = (&base.callee, &head.callee)
            && (self.is_silent(0, *base) || self.is_silent(1, *head))
        {
            return None;
        }
        let mut probes = Vec::new();
        for (operand, (&own, &other)) in (0u32..).zip(base.operands.iter().zip(&head.operands)) {
            let is_silent = self.is_silent(0, own) || self.is_silent(1, other);
            let same = !is_modified || self.pair.same_value(Side::Base, own, other);
            if !is_silent && same {
                continue;
            }
            let decides = match &base.operation {
                Operation::Branch { .. } | Operation::Switch { .. } => true,
                Operation::Store(access) => {
                    if operand != 0 || access.volatile || access.atomic {
                        return None;
                    }
                    false
                }
                Operation::Call(_) | Operation::Return => false,
                _ => return None,
            };
            for (at, value) in [(0, own), (1, other)] {
                let program = self.pair.programs[at];
                let function = program.function_of(sites[at]);
                let ty = program.type_of(function, value)?;
                match program.ty(ty).shape {
                    Shape::Integer { bits: 1..=64 } => {}
                    _ => return None,
                }
            }
            probes.push(Probe {
                sites,
                operand,
                decides,
            });
        }
        Some(probes)
    }

    fn is_silent(&self, at: usize, value: Value) -> bool {
        value
            .site()
            .is_some_and(|site| self.silent[at].contains(&site))
    }

    /// Of instructions one of which was modified: whether they do the same with equal operands.
    fn same_operation(&self, base: &Instruction, head: &Instruction) -> bool {
        if base.manner != head.manner {
            return false;
        }
        match (&base.operation, &head.operation) {
            (Operation::Store(base), Operation::Store(head)) => base == head,
            (Operation::Return, Operation::Return) => true,
            (Operation::Jump { .. }, Operation::Jump { .. }) => true,
            (Operation::Branch { .. }, Operation::Branch { .. }) => true,
            (Operation::Switch { cases: base, .. }, Operation::Switch { cases: head, .. }) => {
                let values = base.iter().map(|case| case.value);
                values.eq(head.iter().map(|case| case.value))
            }
            (Operation::Call(base), Operation::Call(head)) => {
                self.same_callee(base, head) && base.invoke.is_some() == head.invoke.is_some()
            }
            _ => false,
        }
    }

    fn same_callee(&self, base: &Call, head: &Call) -> bool {
        let (Callee::Direct(base), Callee::Direct(head)) = (&base.callee, &head.callee) else {
            return false;
        };
        self.pair.changes.are_one(*base, *head)
    }

    /// Whether control that leaves two blocks by the same side goes to blocks that do the same, or to blind ones.
    fn lead_alike(&self, blocks: [BlockId; 2], partners: &BTreeMap<BlockId, BlockId>) -> bool {
        let [base, head] = [0, 1].map(|at| self.pair.programs[at].successors(blocks[at]));
        base.len() == head.len()
            && base.iter().zip(&head).all(|(&base, &head)| {
                if partners.get(&base) == Some(&head) {
                    return self.brings_alike(blocks, [base, head]);
                }
                let [blind_base, blind_head] = &self.lockstep.blind;
                blind_base.contains(&base) && blind_head.contains(&head)
            })
    }

    /// Whether all phis that are not silent get the same by an edge.
    fn brings_alike(&self, from: [BlockId; 2], to: [BlockId; 2]) -> bool {
        let brought = |at: usize, site: Site| {
            let instruction = self.pair.programs[at].instruction(site);
            let Operation::Phi { incoming } = &instruction.operation else {
                return None;
            };
            let mut edges = incoming.iter().zip(&instruction.operands);
            let edge = edges.find(|(block, _)| **block == from[at]);
            Some(edge.map(|(_, value)| *value))
        };
        let [base, head] = Side::BOTH.map(|side| self.heard(side, to[side.index()]));
        base.iter().zip(&head).all(
            |(&base, &head)| match (brought(0, base), brought(1, head)) {
                (None, None) => true,
                (Some(Some(base)), Some(Some(head))) => {
                    self.pair.same_value(Side::Base, base, head)
                }
                _ => false,
            },
        )
    }

    /// All that changes make a difference to until it is compared.
    fn found(&mut self) {
        for side in Side::BOTH {
            let at = side.index();
            let program = self.program(side);
            let Lockstep {
                probes,
                blind,
                resting,
            } = &mut self.lockstep;
            let blocks = blind[at].iter();
            resting[at].extend(blocks.flat_map(|block| program.block(*block).sites()));
            resting[at].extend(probes.iter().map(|probe| probe.sites[at]));
            resting[at].extend(self.silent[at].iter().chain(&self.modified[at]));
        }
    }
}

/// Whether an instruction does nothing but make a value: what it finds in memory, too, as long as that is the same, and
/// what can fail, because a run that got past it has not failed.
fn is_silent(program: &Program, instruction: &Instruction) -> bool {
    match &instruction.operation {
        operation if operation.computes() => true,
        Operation::Binary(..)
        | Operation::Address(_)
        | Operation::ExtractValue { .. }
        | Operation::InsertValue { .. } => true,
        // What may lie anywhere does not fail where another does.
        Operation::Load(access) => {
            !access.volatile && !access.atomic && instruction.manner.is_none()
        }
        Operation::Call(call) => match call.callee {
            Callee::Direct(callee) => is_arithmetic(&program.function(callee).symbol),
            _ => false,
        },
        _ => false,
    }
}

/// Functions of the compiler that only compute.
fn is_arithmetic(symbol: &str) -> bool {
    let Some(name) = symbol.strip_prefix("llvm.") else {
        return false;
    };
    const NAMES: &[&str] = &[
        "abs.",
        "smax.",
        "smin.",
        "umax.",
        "umin.",
        "sadd.",
        "uadd.",
        "ssub.",
        "usub.",
        "smul.",
        "umul.",
        "ctpop.",
        "ctlz.",
        "cttz.",
        "bswap.",
        "bitreverse.",
        "fshl.",
        "fshr.",
    ];
    NAMES.iter().any(|known| name.starts_with(known))
}

#[cfg(test)]
mod tests;
