//! What a comparison finds.

use changeling_program::{BlockId, FileId, FunctionId, GlobalId, Program, Site};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChangeId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HunkId(pub u32);

/// Everything that differs between base and head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSet {
    pub format: u32,
    /// `changes[n]` has id n.
    pub changes: Vec<Change>,
    /// The textual differences, if the sources were given.
    pub hunks: Vec<Hunk>,
    pub sites: SiteMap,
    /// Variables that are the same.
    #[serde(default)]
    pub variables: VariableMap,
    /// Variables of base and of head that the other version does not have and that nothing in the program refers to: if they
    /// matter, then to the loader, which runs what is in its lists, or to a library that knows them by name.
    #[serde(default)]
    pub unreferred: [Vec<GlobalId>; 2],
    /// Functions that correspond, by base's.
    pub functions: Vec<FunctionMatch>,
    /// The versions have no function of their own in common: these are two programs, and what is said of
    /// changes here means nothing.
    #[serde(default)]
    pub foreign: bool,
    /// Functions defined in head only. Not changes by themselves: what uses
    /// them is.
    pub added: Vec<FunctionId>,
    /// Functions defined in base only.
    pub deleted: Vec<FunctionId>,
    /// Those of base and of head among them whose text both versions have, but only one uses: static and
    /// inline functions, instances of generic ones.
    #[serde(default)]
    pub demanded: [Vec<FunctionId>; 2],
    /// Hunks in functions that only one version has, ascending.
    #[serde(default)]
    pub lone: Vec<HunkId>,
    /// Functions of a library in base that are taken for the same although their code differs. Nothing may be
    /// given up on their account: other flags of the compiler would show there and nowhere else.
    #[serde(default)]
    pub assumed: Vec<FunctionId>,
    /// Functions of base and of head that belong to libraries which both versions are built with.
    #[serde(default)]
    pub library: [Vec<FunctionId>; 2],
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub id: ChangeId,
    pub kind: ChangeKind,
    pub subject: Subject,
    /// The textual difference it comes from.
    pub hunk: Option<HunkId>,
    pub base: Side,
    pub head: Side,
    /// Edges into base's region, each with where it leads in head: (from, to,
    /// to in head). Sites; `None` stands for the function's entry.
    pub incoming: Vec<(Option<Site>, Site, Site)>,
    /// Edges out of base's region, each with where it starts in head, if head
    /// has such an edge: (from, to, from in head). `None` as `to` is the exit.
    pub outgoing: Vec<(Site, Option<Site>, Option<Site>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    Added,
    Deleted,
    Modified,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// Instructions of a function.
    Code,
    /// The initial contents of a variable; the modified sites are those that
    /// refer to it.
    Global {
        base: GlobalId,
        head: GlobalId,
        name: String,
    },
}

/// One version's part of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    pub function: Option<FunctionId>,
    /// Truly modified instructions, ascending. Slices and coverage of the change
    /// start from these.
    pub modified: Vec<Site>,
    /// Sites that run when a statement of the change runs, ascending: where runs
    /// are seen to come by it. Not all are modified, since an assignment may
    /// leave no instruction of its own.
    #[serde(default)]
    pub points: Vec<Site>,
    /// Where the region is entered.
    pub entry: Option<Site>,
    /// The single-entry region, anchors included, ascending.
    pub region: Vec<Span>,
    pub lines: Option<Lines>,
}

impl Side {
    /// Where runs are seen to come by the change; the anchor if this version has
    /// nothing of it.
    pub fn marked(&self) -> Vec<Site> {
        match (self.modified.is_empty(), self.points.is_empty()) {
            (true, _) => self.entry.into_iter().collect(),
            (false, false) => self.points.clone(),
            (false, true) => self.modified.clone(),
        }
    }
}

/// Sites `first ..= last`, within one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    pub first: Site,
    pub last: Site,
}

/// `count` lines of a file from line `first`. With a count of 0: the place
/// before line `first`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Lines {
    pub file: FileId,
    pub first: u32,
    pub count: u32,
}

/// A textual difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    pub base: Lines,
    pub head: Lines,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionMatch {
    pub base: FunctionId,
    pub head: FunctionId,
    pub reason: Reason,
    /// No instruction differs.
    pub unchanged: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// Same name and signature.
    Name,
    /// Same name, other signature.
    NameOnly,
    /// The same name but for a type or namespace that has another one now.
    Renamed,
    /// Another name, a similar body.
    Similarity,
}

/// Partial one-to-one map between the sites of base and head. Modified
/// instructions are in it too if they take the same place in both versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteMap {
    to_head: Vec<u32>,
    to_base: Vec<u32>,
}

impl SiteMap {
    pub(crate) fn new(base: &Program, head: &Program) -> SiteMap {
        SiteMap {
            to_head: vec![0; base.instructions.len() + 1],
            to_base: vec![0; head.instructions.len() + 1],
        }
    }

    pub(crate) fn insert(&mut self, base: Site, head: Site) {
        self.to_head[base.0 as usize] = head.0;
        self.to_base[head.0 as usize] = base.0;
    }

    pub fn head(&self, base: Site) -> Option<Site> {
        self.to_head
            .get(base.0 as usize)
            .filter(|&&site| site != 0)
            .map(|&site| Site(site))
    }

    pub fn base(&self, head: Site) -> Option<Site> {
        self.to_base
            .get(head.0 as usize)
            .filter(|&&site| site != 0)
            .map(|&site| Site(site))
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.to_head.iter().filter(|&&site| site != 0).count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Variables of base and of head that are one and the same: they correspond, and start with the same. Static variables
/// of one name are told apart, whatever number the linker gave them; literals are the same by what is in them,
/// however often and under whichever name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariableMap {
    /// By version and variable; variables with equal numbers are the same.
    numbers: [Vec<u64>; 2],
}

impl VariableMap {
    pub(crate) fn new(numbers: [Vec<u64>; 2]) -> VariableMap {
        VariableMap { numbers }
    }

    pub fn are_same(&self, base: GlobalId, head: GlobalId) -> bool {
        let [left, right] = &self.numbers;
        let both = left.get(base.index()).zip(right.get(head.index()));
        both.is_some_and(|(left, right)| left == right)
    }
}

impl ChangeSet {
    pub const FORMAT: u32 = 1;

    /// Whether functions of base and of head correspond.
    pub fn are_one(&self, base: FunctionId, head: FunctionId) -> bool {
        let found = self.functions.binary_search_by_key(&base, |pair| pair.base);
        found.is_ok_and(|at| self.functions[at].head == head)
    }

    pub fn change(&self, id: ChangeId) -> &Change {
        &self.changes[id.0 as usize]
    }

    pub fn hunk(&self, id: HunkId) -> &Hunk {
        &self.hunks[id.0 as usize]
    }

    /// Textual differences without effect on the code.
    pub fn quiet_hunks(&self) -> impl Iterator<Item = &Hunk> {
        let mut heard = vec![false; self.hunks.len()];
        let changed = self.changes.iter().filter_map(|change| change.hunk);
        for hunk in changed.chain(self.lone.iter().copied()) {
            heard[hunk.0 as usize] = true;
        }
        self.hunks
            .iter()
            .zip(heard)
            .filter(|(_, heard)| !heard)
            .map(|(hunk, _)| hunk)
    }
}

impl Side {
    /// Blocks with a modified instruction, ascending.
    pub fn blocks(&self, program: &Program) -> Vec<BlockId> {
        let mut blocks: Vec<_> = self
            .modified
            .iter()
            .map(|&site| program.instruction(site).block)
            .collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }

    pub fn region_contains(&self, site: Site) -> bool {
        self.region
            .iter()
            .any(|span| span.first <= site && site <= span.last)
    }

    pub fn region_sites(&self) -> impl Iterator<Item = Site> + '_ {
        self.region
            .iter()
            .flat_map(|span| (span.first.0..=span.last.0).map(Site))
    }
}

impl Lines {
    /// Number of the last line; before `first` if there are none.
    pub fn last(&self) -> u32 {
        (self.first + self.count).saturating_sub(1)
    }

    pub fn contains(&self, line: u32) -> bool {
        line >= self.first && line < self.first + self.count
    }

    /// Whether they have a line in common.
    pub fn meets(&self, other: Lines) -> bool {
        let ends = (self.first + self.count, other.first + other.count);
        self.file == other.file && self.first < ends.1 && other.first < ends.0
    }

    /// 0 inside, else the number of lines between.
    pub fn distance(&self, line: u32) -> u32 {
        if self.contains(line) {
            0
        } else if line < self.first {
            self.first - line
        } else {
            line - self.last().min(line)
        }
    }
}
