//! What of a change really does something, and where.

use crate::runner::Side;
use changeling_analysis::names::{known_functions, known_variables};
use changeling_changes::{Change, ChangeSet, Subject, referred};
use changeling_program::{
    BlockId, Constant, FunctionId, GlobalId, Linkage, Operation, Program, Site, Value, stable_name,
};
use std::collections::{BTreeMap, BTreeSet};

/// Both programs and what changed between them.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    pub programs: [&'a Program; 2],
    pub changes: &'a ChangeSet,
}

impl Pair<'_> {
    pub fn modified<'c>(&self, change: &'c Change, side: Side) -> &'c [Site] {
        match side {
            Side::Base => &change.base.modified,
            Side::Head => &change.head.modified,
        }
    }

    /// Of all changes.
    pub fn all_modified(&self, side: Side) -> Vec<Site> {
        let changes = self.changes.changes.iter();
        let modified = changes.flat_map(|change| self.modified(change, side));
        modified.copied().collect()
    }

    /// Whether the changes are all there is, and every one is tied to instructions. One of what runs before
    /// `main`, or of contents that nothing refers to, is not; nor is one of contents that other variables lead to,
    /// because who follows their pointers does not name it. Nor is what was changed in assembler outside of functions,
    /// or what code outside of the program knows by name in one version only.
    pub fn is_complete(&self) -> bool {
        let led_to = self.programs.map(referred);
        let mut changes = self.changes.changes.iter();
        let tied = changes.all(|change| {
            let tied = !change.base.modified.is_empty() || !change.head.modified.is_empty();
            let hidden = match &change.subject {
                Subject::Code => false,
                Subject::Global { name, base, head } => {
                    name.starts_with("llvm.")
                        || led_to[0].contains(base)
                        || led_to[1].contains(head)
                }
            };
            tied && !hidden
        });
        let [base, head] = self.programs.map(|program| &program.assembler);
        let mut unreferred = self.changes.unreferred.iter();
        tied && unreferred.all(Vec::is_empty)
            && self.is_known_alike()
            && self.changes.assumed.is_empty()
            && base == head
    }

    /// Whether what code outside of the program calls, and looks at, by name is the same in both versions. What a variable
    /// starts with counts: nobody in the program needs to have read it.
    fn is_known_alike(&self) -> bool {
        let [base, head] = self.programs.map(known_functions);
        let mut matched = self.changes.functions.iter();
        let name = |side: Side, id: FunctionId| {
            let function = self.programs[side.index()].function(id);
            stable_name(&function.symbol, function.linkage == Linkage::Internal)
        };
        let alike = matched.all(|pair| {
            let known = base.contains(&pair.base);
            let same = !known || name(Side::Base, pair.base) == name(Side::Head, pair.head);
            known == head.contains(&pair.head) && same
        });
        let lone = |known: &BTreeSet<FunctionId>, lone: &[FunctionId]| {
            let mut lone = lone.iter();
            lone.any(|id| known.contains(id))
        };
        let lone = lone(&base, &self.changes.deleted) || lone(&head, &self.changes.added);
        let [base, head] = [0, 1].map(|at| {
            let program = self.programs[at];
            let known = known_variables(program).into_iter();
            let named = known.map(|id| (program.global(id).symbol.as_str(), id));
            named.collect::<BTreeMap<&str, GlobalId>>()
        });
        let mut variables = base.iter().zip(&head);
        let same = base.len() == head.len()
            && variables.all(|((symbol, &base), (other, &head))| {
                symbol == other && self.changes.variables.are_same(base, head)
            });
        alike && !lone && same
    }

    /// What the other version has in place of a site of `side`.
    pub fn partner(&self, side: Side, site: Site) -> Option<Site> {
        match side {
            Side::Base => self.changes.sites.head(site),
            Side::Head => self.changes.sites.base(site),
        }
    }

    /// Sites of a version such that, as long as none of them runs in either version, both do
    /// the same. A phi that was modified is as before where it is entered by an edge that brings
    /// what it brought; one without a partner is seen only through what uses it.
    pub fn effective(&self, change: &Change, side: Side) -> Vec<Site> {
        let program = self.programs[side.index()];
        let mut sites = Vec::new();
        for &site in self.modified(change, side) {
            let instruction = program.instruction(site);
            let Operation::Phi { incoming } = &instruction.operation else {
                sites.push(site);
                continue;
            };
            let Some(partner) = self.partner(side, site) else {
                continue;
            };
            for (&value, &from) in instruction.operands.iter().zip(incoming) {
                let end = program.terminator(from);
                if !self.same_edge(change, side, (value, end), partner) {
                    sites.push(end);
                }
            }
        }
        sites.sort_unstable();
        sites.dedup();
        sites
    }

    /// Whether the other version's phi gets the same by the same edge.
    fn same_edge(&self, change: &Change, side: Side, edge: (Value, Site), partner: Site) -> bool {
        let (value, end) = edge;
        let other = self.programs[side.other().index()];
        let Operation::Phi { incoming } = &other.instruction(partner).operation else {
            return false;
        };
        let Some(other_end) = self.partner(side, end) else {
            return false;
        };
        let modified = |side: Side, site: Site| self.modified(change, side).contains(&site);
        if modified(side, end) || modified(side.other(), other_end) {
            return false;
        }
        let edges = other.instruction(partner).operands.iter().zip(incoming);
        let mut same = edges.filter(|(_, from)| other.terminator(**from) == other_end);
        same.any(|(other_value, _)| self.same_value(side, value, *other_value))
    }

    /// Whether a value of a version is the same as one of the other.
    pub fn same_value(&self, side: Side, own: Value, other: Value) -> bool {
        let [program, other_program] = [side, side.other()].map(|s| self.programs[s.index()]);
        match (own, other) {
            (Value::Result(own), Value::Result(other)) => self.partner(side, own) == Some(other),
            (Value::Argument(own), Value::Argument(other)) => own == other,
            (Value::Constant(own), Value::Constant(other)) => {
                let both = [program.constant(own), other_program.constant(other)];
                match both.map(plain) {
                    [Some(own), Some(other)] => own == other,
                    _ => false,
                }
            }
            (Value::Global(own), Value::Global(other)) => {
                let (base, head) = in_order(side, own, other);
                self.changes.variables.are_same(base, head)
            }
            (Value::Function(own), Value::Function(other)) => {
                let (base, head) = in_order(side, own, other);
                self.changes.are_one(base, head)
            }
            _ => false,
        }
    }

    /// Blocks that have to run for the change to do something, in the version.
    pub fn doing_blocks(&self, change: &Change, side: Side) -> Vec<BlockId> {
        let program = self.programs[side.index()];
        let sites = self.effective(change, side);
        let mut blocks: Vec<BlockId> = sites
            .iter()
            .map(|site| program.instruction(*site).block)
            .collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }
}

/// What is a version's own and the other's, base's first.
fn in_order<T>(side: Side, own: T, other: T) -> (T, T) {
    match side {
        Side::Base => (own, other),
        Side::Head => (other, own),
    }
}

/// Constants that can be compared without their program.
fn plain(constant: &Constant) -> Option<(u128, bool)> {
    match constant {
        Constant::Integer { bits, .. } => Some((*bits, false)),
        Constant::Null { .. } | Constant::Zero { .. } => Some((0, false)),
        Constant::Undefined { .. } => Some((0, true)),
        _ => None,
    }
}
