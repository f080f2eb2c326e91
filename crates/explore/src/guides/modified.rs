//! What of a change really does something, and where.

use crate::runner::Side;
use changeling_changes::{Change, ChangeSet, Subject, is_nameless};
use changeling_program::{
    BlockId, Constant, FunctionId, GlobalId, Operation, Program, Site, TypeId, Value,
};

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
    /// because who follows their pointers does not name it. Nor is what was changed in assembler outside of functions.
    pub fn is_complete(&self) -> bool {
        let mut changes = self.changes.changes.iter();
        let tied = changes.all(|change| {
            let tied = !change.base.modified.is_empty() || !change.head.modified.is_empty();
            let hidden = match &change.subject {
                Subject::Code => false,
                Subject::Global { name, base, head } => {
                    name.starts_with("llvm.")
                        || is_led_to(self.programs[0], *base)
                        || is_led_to(self.programs[1], *head)
                }
            };
            tied && !hidden
        });
        let [base, head] = self.programs.map(|program| &program.assembler);
        tied && self.changes.assumed.is_empty() && base == head
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
            // Where the contents of a variable were changed, it is the same one that comes by the edge.
            let is_changed = |value: Value| {
                change.subject != Subject::Code
                    && !matches!(value, Value::Result(_) | Value::Argument(_))
            };
            for (&value, &from) in instruction.operands.iter().zip(incoming) {
                let end = program.terminator(from);
                if is_changed(value) || !self.same_edge(change, side, (value, end), partner) {
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
                self.same_global(side, own, other, LONGEST_CHAIN)
            }
            (Value::Function(own), Value::Function(other)) => self.same_function(side, own, other),
            _ => false,
        }
    }

    /// Symbols tell nothing: static functions and variables of one name get theirs by their order.
    fn same_function(&self, side: Side, own: FunctionId, other: FunctionId) -> bool {
        let [base, head] = in_order(side, own, other);
        let functions = &self.changes.functions;
        let at = functions.binary_search_by_key(&base, |pair| pair.base);
        at.is_ok_and(|at| functions[at].head == head)
    }

    /// Names of literals are given by their order as well, so that what is in them counts: `.str.2` may be `"w"` here and
    /// `"a"` there. Where variables that have names of their own were changed, it is known who refers to them.
    fn same_global(&self, side: Side, own: GlobalId, other: GlobalId, chain: u32) -> bool {
        let [program, other_program] = [side, side.other()].map(|s| self.programs[s.index()]);
        let contents = [program.global(own), other_program.global(other)];
        match contents.map(is_nameless) {
            [true, true] => match contents.map(|global| global.initialiser) {
                [Some(own), Some(other)] => {
                    chain > 0 && self.same_content(side, own, other, chain - 1)
                }
                _ => false,
            },
            [false, false] => {
                let [base, head] = in_order(side, own, other);
                let globals = &self.changes.globals;
                let at = globals.binary_search_by_key(&base, |pair| pair.0);
                at.is_ok_and(|at| globals[at].1 == head)
            }
            _ => false,
        }
    }

    /// Whether the same is in two literals. What is not known to be the same is not.
    fn same_content(&self, side: Side, own: Value, other: Value, chain: u32) -> bool {
        let [program, other_program] = [side, side.other()].map(|s| self.programs[s.index()]);
        let same_size = |own: &TypeId, other: &TypeId| {
            let size = program.ty(*own).size;
            size.is_some() && size == other_program.ty(*other).size
        };
        match (own, other) {
            (Value::Global(own), Value::Global(other)) => self.same_global(side, own, other, chain),
            (Value::Function(own), Value::Function(other)) => self.same_function(side, own, other),
            (Value::Constant(own), Value::Constant(other)) => {
                match (program.constant(own), other_program.constant(other)) {
                    (
                        Constant::Bytes { ty: a, bytes: own },
                        Constant::Bytes {
                            ty: b,
                            bytes: other,
                        },
                    ) => same_size(a, b) && own == other,
                    (
                        Constant::Aggregate {
                            ty: a,
                            elements: own,
                        },
                        Constant::Aggregate {
                            ty: b,
                            elements: other,
                        },
                    ) => {
                        let mut elements = own.iter().zip(other);
                        same_size(a, b)
                            && own.len() == other.len()
                            && elements
                                .all(|(&own, &other)| self.same_content(side, own, other, chain))
                    }
                    (
                        Constant::Integer { ty: a, bits: own },
                        Constant::Integer { ty: b, bits: other },
                    ) => same_size(a, b) && own == other,
                    (Constant::Zero { ty: a }, Constant::Zero { ty: b })
                    | (Constant::Null { ty: a }, Constant::Null { ty: b }) => same_size(a, b),
                    _ => false,
                }
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

/// Constants that can be compared without their program.
fn plain(constant: &Constant) -> Option<(u128, bool)> {
    match constant {
        Constant::Integer { bits, .. } => Some((*bits, false)),
        Constant::Null { .. } | Constant::Zero { .. } => Some((0, false)),
        Constant::Undefined { .. } => Some((0, true)),
        _ => None,
    }
}

/// Whether the contents of another variable have the address of this one. Lists for the linker do not count.
fn is_led_to(program: &Program, global: GlobalId) -> bool {
    let others = program.globals.iter().enumerate();
    let mut initialisers = others
        .filter(|(at, other)| *at != global.index() && !other.symbol.starts_with("llvm."))
        .filter_map(|(_, other)| other.initialiser);
    initialisers.any(|value| mentions(program, value, global))
}

fn mentions(program: &Program, value: Value, global: GlobalId) -> bool {
    match value {
        Value::Global(own) => own == global,
        Value::Constant(constant) => match program.constant(constant) {
            Constant::Aggregate { elements, .. } => {
                let mut elements = elements.iter();
                elements.any(|&element| mentions(program, element, global))
            }
            Constant::Expression { operands, .. } => {
                let mut operands = operands.iter();
                operands.any(|&operand| mentions(program, operand, global))
            }
            Constant::Offset { base, .. } => mentions(program, *base, global),
            _ => false,
        },
        _ => false,
    }
}

/// How long a chain of literals that lead to each other is followed.
const LONGEST_CHAIN: u32 = 8;

/// Base's first.
fn in_order<T>(side: Side, own: T, other: T) -> [T; 2] {
    match side {
        Side::Base => [own, other],
        Side::Head => [other, own],
    }
}
