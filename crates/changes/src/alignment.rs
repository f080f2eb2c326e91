//! Which instructions of two matched functions correspond, and which of those
//! still do the same.

use std::collections::{HashMap, HashSet};

use changeling_program::{
    BlockId, FunctionId, Instruction, Operation, Place, Program, Site, Value,
};

use crate::bonds::{Bond, bond};
use crate::keys::{Body, Keys, hash};
use crate::libraries::Apart;
use crate::sequence::matching;
use crate::source::{Text, Which};

/// A difference between matched functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    Deleted(Site),
    Inserted(Site),
    Modified(Site, Site),
}

impl Edit {
    pub fn base(self) -> Option<Site> {
        match self {
            Edit::Deleted(site) | Edit::Modified(site, _) => Some(site),
            Edit::Inserted(_) => None,
        }
    }

    pub fn head(self) -> Option<Site> {
        match self {
            Edit::Inserted(site) | Edit::Modified(_, site) => Some(site),
            Edit::Deleted(_) => None,
        }
    }
}

pub struct Alignment {
    /// Ascending in base.
    pub pairs: Vec<(Site, Site)>,
    /// In the order of head's code; deletions stand where they were. The number
    /// is the same for neighbours without an unchanged instruction between them.
    pub edits: Vec<(Edit, u32)>,
}

pub fn align(
    base: &Keys<'_>,
    head: &Keys<'_>,
    functions: (FunctionId, FunctionId),
    apart: &Apart,
    text: &Text,
) -> Alignment {
    let (aligner, edits) = aligned((base, head), functions, apart, text);
    let mut pairs: Vec<(Site, Site)> = aligner.pairs().collect();
    pairs.sort_unstable();
    Alignment { edits, pairs }
}

/// By the code alone, or by the lines first if less has changed then. In another place there may be code that looks
/// more alike (where a field moved in its structure, another one is in its place), but then what uses it differs; and
/// lines may be the same by chance.
fn aligned<'a, 'p>(
    (base, head): (&'a Keys<'p>, &'a Keys<'p>),
    functions: (FunctionId, FunctionId),
    apart: &'a Apart,
    text: &Text,
) -> (Aligner<'a, 'p>, Vec<(Edit, u32)>) {
    let mut plain = Aligner::new(base, head, functions, apart);
    plain.pair_sequences();
    plain.pair_operands();
    let edits = plain.edits(&plain.block_map());
    if edits.is_empty() {
        return (plain, edits);
    }
    let mut by_line = Aligner::new(base, head, functions, apart);
    by_line.pair_lines(text);
    by_line.pair_sequences();
    by_line.pair_operands();
    let fewer = by_line.edits(&by_line.block_map());
    match fewer.len() < edits.len() {
        true => (by_line, fewer),
        false => (plain, edits),
    }
}

/// Which blocks of two functions correspond, one to one. The `candidates` do so, too, if a jump to one and one to the
/// other were no change.
pub fn align_blocks(
    (base, head): (&Keys<'_>, &Keys<'_>),
    functions: (FunctionId, FunctionId),
    candidates: &[(BlockId, BlockId)],
    text: &Text,
) -> Vec<(BlockId, BlockId)> {
    let apart = Apart::default();
    let (aligner, _) = aligned((base, head), functions, &apart, text);
    let blocks = aligner.block_map();
    let sure = blocks.to_head.iter().map(|(&base, &head)| (base, head));
    let further = candidates.iter().copied();
    let further = further.filter(|&(base, head)| aligner.same_target(base, head, &blocks));
    sure.chain(further).collect()
}

/// What instructions are compared by, the most telling first.
const DEPTHS: [fn(&Body) -> &Vec<u64>; 3] =
    [|body| &body.deep, |body| &body.shape, |body| &body.kind];

struct Aligner<'a, 'p> {
    base: Version<'a, 'p>,
    head: Version<'a, 'p>,
    functions: (FunctionId, FunctionId),
    apart: &'a Apart,
    /// Parameters that moved: base's number to head's.
    parameters: HashMap<u32, u32>,
    to_head: Vec<Option<usize>>,
    to_base: Vec<Option<usize>>,
    /// Of base: paired for what uses it, not for where it stands.
    by_use: Vec<bool>,
}

struct Version<'a, 'p> {
    keys: &'a Keys<'p>,
    first: u32,
    body: Body,
}

impl<'p> Version<'_, 'p> {
    fn site(&self, index: usize) -> Site {
        Site(self.first + index as u32)
    }

    fn index(&self, site: Site) -> usize {
        (site.0 - self.first) as usize
    }

    fn instruction(&self, index: usize) -> &'p Instruction {
        self.keys.program.instruction(self.site(index))
    }

    fn len(&self) -> usize {
        self.body.kind.len()
    }

    /// The first instruction of a block that is more than a sign of ways which join.
    fn start(&self, block: BlockId) -> usize {
        let sites = self.keys.program.block(block).sites();
        let last = self.keys.program.terminator(block);
        let mut own = sites.map(|site| self.index(site));
        let start = own.find(|&at| {
            let is_phi = matches!(self.instruction(at).operation, Operation::Phi { .. });
            !is_phi && !self.body.idle[at]
        });
        start.unwrap_or(self.index(last))
    }
}

impl<'a, 'p> Aligner<'a, 'p> {
    fn new(
        base: &'a Keys<'p>,
        head: &'a Keys<'p>,
        functions: (FunctionId, FunctionId),
        apart: &'a Apart,
    ) -> Self {
        let version = |keys: &'a Keys<'p>, function| Version {
            keys,
            first: keys.program.function(function).first_site.0,
            body: keys.body(function),
        };
        let base_version = version(base, functions.0);
        let head_version = version(head, functions.1);
        Aligner {
            functions,
            apart,
            parameters: match_parameters(base, head, functions),
            to_head: vec![None; base_version.len()],
            to_base: vec![None; head_version.len()],
            by_use: vec![false; base_version.len()],
            base: base_version,
            head: head_version,
        }
    }

    fn pairs(&self) -> impl Iterator<Item = (Site, Site)> + '_ {
        self.to_head
            .iter()
            .enumerate()
            .filter_map(|(i, j)| Some((self.base.site(i), self.head.site((*j)?))))
    }

    fn link(&mut self, i: usize, j: usize) {
        // What has an effect corresponds to nothing that has none.
        if self.base.body.idle[i] == self.head.body.idle[j] {
            self.to_head[i] = Some(j);
            self.to_base[j] = Some(i);
        }
    }

    /// What stands at lines that both versions have.
    fn pair_lines(&mut self, text: &Text) {
        let of = |version: &Version<'_, '_>, which: Which| -> Vec<Option<Place>> {
            let program = version.keys.program;
            let places = (0..version.len()).map(|at| program.place(version.site(at)));
            let common = places.map(|place| match which {
                Which::Base => text.unchanged(place?),
                Which::Head => Some(text.canonical(which, place?)),
            });
            common.collect()
        };
        let left = of(&self.base, Which::Base);
        let right = of(&self.head, Which::Head);
        let known: HashSet<Place> = left.iter().flatten().copied().collect();
        if known.is_empty() {
            return;
        }
        let keys = |own: &[u64], lines: &[Option<Place>], which: &str| -> Vec<u64> {
            let lines = lines
                .iter()
                .map(|line| line.filter(|line| known.contains(line)));
            let keys = own.iter().zip(lines).enumerate();
            let keys = keys.map(|(at, (key, line))| match line {
                Some(line) => hash(&(key, line)),
                // Alike to nothing.
                None => hash(&(which, at)),
            });
            keys.collect()
        };
        for depth in DEPTHS {
            let base = keys(depth(&self.base.body), &left, "base");
            let head = keys(depth(&self.head.body), &right, "head");
            for (i, j) in self.gaps(&base, &head) {
                self.link(i, j);
            }
        }
    }

    /// Whole expressions first, then single instructions between them, then
    /// mere kinds between those.
    fn pair_sequences(&mut self) {
        for depth in DEPTHS {
            let pairs = self.gaps(depth(&self.base.body), depth(&self.head.body));
            for (i, j) in pairs {
                self.link(i, j);
            }
        }
    }

    /// Matches of the unmatched stretches between neighbouring pairs.
    fn gaps(&self, base: &[u64], head: &[u64]) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let (mut i, mut j) = (0, 0);
        let ends = self
            .to_head
            .iter()
            .enumerate()
            .filter_map(|(i, j)| Some((i, (*j)?)));
        let ends: Vec<_> = ends.chain([(self.base.len(), self.head.len())]).collect();
        for (next_i, next_j) in ends {
            if next_i > i && next_j > j {
                let (a, b) = (&base[i..next_i], &head[j..next_j]);
                found.extend(matching(a, b).into_iter().map(|(x, y)| (i + x, j + y)));
            }
            (i, j) = (next_i + 1, next_j + 1);
        }
        found
    }

    /// Where corresponding instructions use something that has no partner on
    /// either side, one was put in the other's place.
    fn pair_operands(&mut self) {
        let mut work: Vec<(usize, usize)> = self
            .to_head
            .iter()
            .enumerate()
            .filter_map(|(i, j)| Some((i, (*j)?)))
            .collect();
        while let Some((i, j)) = work.pop() {
            let (a, b) = (self.base.instruction(i), self.head.instruction(j));
            if a.operands.len() != b.operands.len() || matches!(a.operation, Operation::Phi { .. })
            {
                continue;
            }
            let used = |version: &Version<'_, '_>, instruction| -> Vec<Site> {
                let operands = version.keys.operands(instruction).into_iter();
                operands.filter_map(Value::site).collect()
            };
            for (x, y) in used(&self.base, a).into_iter().zip(used(&self.head, b)) {
                let (x, y) = (self.base.index(x), self.head.index(y));
                let free = self.to_head[x].is_none() && self.to_base[y].is_none();
                let (a, b) = (self.base.instruction(x), self.head.instruction(y));
                let same_type = self.base.keys.ty(a.ty) == self.head.keys.ty(b.ty);
                if free && same_type {
                    self.link(x, y);
                    self.by_use[x] = true;
                    work.extend(self.to_head[x].map(|y| (x, y)));
                }
            }
        }
    }

    fn edits(&self, blocks: &BlockMap) -> Vec<(Edit, u32)> {
        let mut edits = Vec::new();
        let mut unchanged = 0;
        let mut deleted_from = 0;
        for j in 0..self.head.len() {
            match self.to_base[j] {
                Some(i) => {
                    if i >= deleted_from {
                        self.push_deleted(deleted_from..i, unchanged, &mut edits);
                        deleted_from = i + 1;
                    }
                    let same = self.is_same(i, j, blocks) && !self.has_moved(i, j);
                    if self.head.body.idle[j] || same {
                        unchanged += 1;
                    } else {
                        let edit = Edit::Modified(self.base.site(i), self.head.site(j));
                        edits.push((edit, unchanged));
                    }
                }
                None if !self.head.body.idle[j] => {
                    edits.push((Edit::Inserted(self.head.site(j)), unchanged));
                }
                None => {}
            }
        }
        self.push_deleted(deleted_from..self.base.len(), unchanged, &mut edits);
        edits
    }

    /// Whether something that was paired for its use alone stands on the other side of what it must not change places
    /// with: a load on that of something that may write, a call on that of anything that reads or writes.
    fn has_moved(&self, i: usize, j: usize) -> bool {
        let bond = |at: usize| bond(self.base.keys.program, self.base.instruction(at));
        let own = bond(i);
        if !self.by_use[i] || own == Bond::None {
            return false;
        }
        let mut pairs = self.to_head.iter().enumerate();
        pairs.any(|(x, y)| {
            let Some(y) = *y else { return false };
            let crossed = (x < i) != (y < j) && x != i && !self.base.body.idle[x];
            crossed && own.binds(bond(x))
        })
    }

    fn push_deleted(&self, range: std::ops::Range<usize>, run: u32, edits: &mut Vec<(Edit, u32)>) {
        let gone = range.filter(|&i| self.to_head[i].is_none() && !self.base.body.idle[i]);
        edits.extend(gone.map(|i| (Edit::Deleted(self.base.site(i)), run)));
    }

    /// Blocks correspond if the first paired instruction of each leads to the other.
    fn block_map(&self) -> BlockMap {
        let first = |version: &Version<'_, '_>, partner: &[Option<usize>]| {
            let mut first: HashMap<BlockId, (usize, usize)> = HashMap::new();
            for (i, j) in partner.iter().enumerate() {
                if let Some(j) = j {
                    first.entry(version.instruction(i).block).or_insert((i, *j));
                }
            }
            first
        };
        let from_base = first(&self.base, &self.to_head);
        let from_head = first(&self.head, &self.to_base);
        let mut map = BlockMap::default();
        for (&block, &(_, j)) in &from_base {
            let target = self.head.instruction(j).block;
            let back = from_head
                .get(&target)
                .map(|&(_, i)| self.base.instruction(i).block);
            if back == Some(block) {
                map.to_head.insert(block, target);
                map.in_head.insert(target);
            }
        }
        map
    }

    fn is_same(&self, i: usize, j: usize, blocks: &BlockMap) -> bool {
        let (a, b) = (self.base.instruction(i), self.head.instruction(j));
        if self.base.keys.detail(a) != self.head.keys.detail(b)
            || self.apart.is_used_by(self.base.keys.program, a)
        {
            return false;
        }
        if let (Operation::Phi { incoming: left }, Operation::Phi { incoming: right }) =
            (&a.operation, &b.operation)
        {
            return self.same_phi((a, left), (b, right), blocks);
        }
        let (left, right) = (self.base.keys.operands(a), self.head.keys.operands(b));
        left.len() == right.len()
            && left
                .iter()
                .zip(&right)
                .all(|(&x, &y)| self.same_value(x, y))
            && self.same_targets(a, b, blocks)
    }

    fn same_value(&self, x: Value, y: Value) -> bool {
        self.same_value_within(x, y, DEEPEST)
    }

    fn same_value_within(&self, x: Value, y: Value, depth: u32) -> bool {
        match (x, y) {
            (Value::Result(x), Value::Result(y)) => {
                let (x, y) = (self.base.index(x), self.head.index(y));
                // An equal expression computed elsewhere is the same value too:
                // the compiler keeps one of several equal computations.
                self.to_head[x] == Some(y) || self.same_expression(x, y, depth)
            }
            (Value::Argument(x), Value::Argument(y)) => {
                self.parameters.get(&x).copied().unwrap_or(x) == y && self.same_passing(x, y)
            }
            _ => {
                let (x, y) = (self.base.keys.fixed(x), self.head.keys.fixed(y));
                x.is_some() && x == y
            }
        }
    }

    /// Whether parameters are passed alike: of one that is passed by value the function has a copy of its own, and
    /// apart from that it looks like a pointer; and one that is promised to be the only way to something makes other
    /// code of what goes through it.
    fn same_passing(&self, x: u32, y: u32) -> bool {
        let passing = |version: &Version<'_, '_>, function: FunctionId, at: u32| {
            let parameters = &version.keys.program.function(function).parameters;
            let parameter = parameters.get(at as usize);
            parameter.map(|parameter| (parameter.by_value, parameter.no_alias))
        };
        let (left, right) = self.functions;
        passing(&self.base, left, x) == passing(&self.head, right, y)
    }

    /// A jump to a new block, or one away from a vanished block, is not itself
    /// modified: the block is what was inserted or deleted. But a block that begins with code which
    /// the other version has elsewhere was only split off.
    fn same_targets(&self, a: &Instruction, b: &Instruction, blocks: &BlockMap) -> bool {
        let (left, right) = (self.base.keys.targets(a), self.head.keys.targets(b));
        let same = |(&x, &y): (&BlockId, &BlockId)| self.same_target(x, y, blocks);
        left.len() == right.len() && left.iter().zip(&right).all(same)
    }

    fn same_target(&self, x: BlockId, y: BlockId, blocks: &BlockMap) -> bool {
        if !self.begin_alike(x, y) {
            return false;
        }
        match blocks.to_head.get(&x) {
            Some(&partner) if partner == y => true,
            Some(_) if blocks.in_head.contains(&y) => false,
            Some(_) => self.to_base[self.head.start(y)].is_none(),
            None if blocks.in_head.contains(&y) => {
                let partner = self.to_head[self.base.start(x)];
                partner.is_none_or(|partner| partner == self.head.start(y))
            }
            None => true,
        }
    }

    /// Whether two blocks begin with the same, or one of them with something that only its version has. What stood behind a
    /// branch and stands before it now, or where its ways join, has a partner, but on another way.
    fn begin_alike(&self, x: BlockId, y: BlockId) -> bool {
        let first = |version: &Version<'_, '_>, partner: &[Option<usize>], block: BlockId| {
            let sites = version.keys.program.block(block).sites();
            let mut own = sites.map(|site| version.index(site));
            own.find(|&at| {
                let instruction = version.instruction(at);
                let is_phi = matches!(instruction.operation, Operation::Phi { .. });
                let free = bond(version.keys.program, instruction) == Bond::None;
                let anywhere = is_phi || free && partner[at].is_some();
                !anywhere && !version.body.idle[at]
            })
        };
        let left = first(&self.base, &self.to_head, x);
        let right = first(&self.head, &self.to_base, y);
        let (Some(left), Some(right)) = (left, right) else {
            return true;
        };
        let (Some(j), Some(i)) = (self.to_head[left], self.to_base[right]) else {
            return true;
        };
        // What has moved is a change itself.
        j == right || self.has_moved(left, j) || self.has_moved(i, right)
    }

    /// Only for what does not depend on memory or the way taken, and is made of the same values: what was loaded from
    /// one place at two times looks alike.
    fn same_expression(&self, x: usize, y: usize, depth: u32) -> bool {
        let (a, b) = (self.base.instruction(x), self.head.instruction(y));
        if depth == 0
            || self.base.body.deep[x] != self.head.body.deep[y]
            || !is_pure(a)
            || !is_pure(b)
        {
            return false;
        }
        let (left, right) = (self.base.keys.operands(a), self.head.keys.operands(b));
        let mut both = left.iter().zip(&right);
        left.len() == right.len() && both.all(|(&x, &y)| self.same_value_within(x, y, depth - 1))
    }

    /// What comes from corresponding blocks must be the same; what comes over
    /// new or vanished blocks must be the same values in some order.
    fn same_phi(
        &self,
        (a, left): (&Instruction, &[BlockId]),
        (b, right): (&Instruction, &[BlockId]),
        blocks: &BlockMap,
    ) -> bool {
        let (a_values, b_values) = (self.base.keys.operands(a), self.head.keys.operands(b));
        let mut from: HashMap<BlockId, Value> = HashMap::new();
        let mut new: Vec<Value> = Vec::new();
        for (&block, &value) in right.iter().zip(&b_values) {
            if blocks.in_head.contains(&block) {
                from.insert(block, value);
            } else {
                new.push(value);
            }
        }
        let mut old: Vec<Value> = Vec::new();
        for (block, &value) in left.iter().zip(&a_values) {
            let partner = blocks
                .to_head
                .get(block)
                .and_then(|block| from.remove(block));
            match partner.or_else(|| self.behind_same_end(*block, right, &b_values)) {
                Some(other) if self.same_value(value, other) => {}
                Some(_) => return false,
                None => old.push(value),
            }
        }
        new.extend(from.into_values());
        // A value that also comes along an unchanged edge is nothing new.
        let covered = |x: &Value| b_values.iter().any(|&y| self.same_value(*x, y));
        let known = |y: &Value| a_values.iter().any(|&x| self.same_value(x, *y));
        old.iter().all(covered) && new.iter().all(known)
    }

    /// What head's phi gets from the block that ends as one of base does. Of blocks that were split the ends correspond.
    fn behind_same_end(&self, block: BlockId, from: &[BlockId], values: &[Value]) -> Option<Value> {
        let end = self.base.keys.program.terminator(block);
        let partner = self.to_head[self.base.index(end)]?;
        let partner = self.head.instruction(partner).block;
        let mut edges = from.iter().zip(values);
        edges
            .find(|(from, _)| **from == partner)
            .map(|edge| *edge.1)
    }
}

/// How deep expressions are compared that stand in other places.
const DEEPEST: u32 = 16;

fn is_pure(instruction: &Instruction) -> bool {
    matches!(
        instruction.operation,
        Operation::Binary(..)
            | Operation::Compare(_)
            | Operation::Cast(_)
            | Operation::Address(_)
            | Operation::Select
    )
}

/// Blocks that correspond, one to one.
#[derive(Default)]
struct BlockMap {
    to_head: HashMap<BlockId, BlockId>,
    in_head: HashSet<BlockId>,
}

/// By name where the names are known, else by position.
fn match_parameters(
    base: &Keys<'_>,
    head: &Keys<'_>,
    (left, right): (FunctionId, FunctionId),
) -> HashMap<u32, u32> {
    let (left, right) = (base.program.function(left), head.program.function(right));
    if base.ty(left.signature) == head.ty(right.signature) {
        return HashMap::new();
    }
    let list = |program: &Program, keys: &Keys<'_>, function: &changeling_program::Function| {
        debug_assert!(std::ptr::eq(program, keys.program));
        function
            .parameters
            .iter()
            .map(|parameter| crate::keys::hash(&(&parameter.name, keys.ty(parameter.ty))))
            .collect::<Vec<u64>>()
    };
    let pairs = matching(
        &list(base.program, base, left),
        &list(head.program, head, right),
    );
    let mut map: HashMap<u32, u32> = (0..left.parameters.len() as u32)
        .map(|n| (n, u32::MAX))
        .collect();
    map.extend(pairs.into_iter().map(|(x, y)| (x as u32, y as u32)));
    map
}
