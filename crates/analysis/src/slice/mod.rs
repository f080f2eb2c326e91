//! Static slices: what a set of instructions can influence, and what can
//! influence it, through values, memory and decisions, across calls.
//!
//! Values and decisions are followed one by one. What lies in memory goes
//! through the blocks as sets of cells, all at once.

mod backward;
mod forward;

use std::collections::{BTreeSet, HashMap};

use changeling_program::{BlockId, FunctionId, Operation, Program, Site, Value};

use crate::bits::Bits;
use crate::graphs::Graphs;
use crate::memory::Memory;
use backward::Backward;
use forward::Forward;

/// A program's dependences, ready for slicing.
pub struct Slicer<'p> {
    program: &'p Program,
    graphs: &'p Graphs,
    memory: &'p Memory,
    users: Vec<Vec<Site>>,
    argument_users: HashMap<(FunctionId, u32), Vec<Site>>,
    /// Phi nodes by the block a value comes from.
    phis_from: HashMap<BlockId, Vec<Site>>,
    /// By function: the blocks at which it ends.
    ends: Vec<Vec<BlockId>>,
    /// By function: calls by which it may unwind.
    unwinding: Vec<Vec<Site>>,
    /// Calls that may go on behind a `setjmp`.
    jumping: Vec<Site>,
}

/// A forward slice, with more about how it came about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Ascending; those it started from included.
    pub sites: Vec<Site>,
    /// Those that depend on some site of the slice directly. All but the ones it
    /// started from are, and of those the ones that depend on others or on
    /// themselves.
    pub dependent: Vec<Site>,
    /// Stores that replace something of the slice in memory.
    pub kills: Vec<Site>,
}

impl<'p> Slicer<'p> {
    pub fn new(program: &'p Program, graphs: &'p Graphs, memory: &'p Memory) -> Slicer<'p> {
        let mut slicer = Slicer {
            program,
            graphs,
            memory,
            users: vec![Vec::new(); program.instructions.len()],
            argument_users: HashMap::new(),
            phis_from: HashMap::new(),
            ends: vec![Vec::new(); program.functions.len()],
            unwinding: vec![Vec::new(); program.functions.len()],
            jumping: Vec::new(),
        };
        for function in program.definitions() {
            let last = |block: &BlockId| program.instruction(program.terminator(*block));
            let blocks = program.function(function).blocks();
            let ends = blocks.filter(|block| last(block).successors().is_empty());
            slicer.ends[function.index()] = ends.collect();
        }
        for site in program.sites() {
            let function = program.function_of(site);
            let instruction = program.instruction(site);
            if graphs.calls.may_unwind(program, site) {
                slicer.unwinding[function.index()].push(site);
            }
            if graphs.calls.call_exits(program, site).jumps {
                slicer.jumping.push(site);
            }
            for value in instruction.uses() {
                match value {
                    Value::Result(used) => slicer.users[used.index()].push(site),
                    Value::Argument(n) => {
                        slicer
                            .argument_users
                            .entry((function, n))
                            .or_default()
                            .push(site);
                    }
                    _ => {}
                }
            }
            if let Operation::Phi { incoming } = &instruction.operation {
                for &block in incoming {
                    slicer.phis_from.entry(block).or_default().push(site);
                }
            }
        }
        slicer
    }

    /// Everything the sites can influence, themselves included.
    pub fn forward(&self, sites: &[Site]) -> BTreeSet<Site> {
        self.slice(sites).sites.into_iter().collect()
    }

    /// The same, given up after so many steps: then the rest is missing.
    pub fn forward_within(&self, sites: &[Site], most: usize) -> BTreeSet<Site> {
        let slice = Forward::new(self).run(sites, most);
        slice.sites.into_iter().collect()
    }

    /// Everything the sites can influence, with more about it.
    pub fn slice(&self, sites: &[Site]) -> Slice {
        Forward::new(self).run(sites, usize::MAX)
    }

    /// Everything that can influence the sites, themselves included.
    pub fn backward(&self, sites: &[Site]) -> BTreeSet<Site> {
        let slice = Backward::new(self).run(sites, usize::MAX);
        slice.expect("nothing is too much")
    }

    /// The same; `None` if it takes more than so many steps.
    pub fn backward_within(&self, sites: &[Site], most: usize) -> Option<BTreeSet<Site>> {
        Backward::new(self).run(sites, most)
    }

    fn defined_callees(&self, site: Site) -> impl Iterator<Item = FunctionId> + '_ {
        let callees = self.graphs.calls.callees(site);
        callees.filter(|&callee| self.program.function(callee).is_defined())
    }

    pub(crate) fn calls_defined(&self, site: Site) -> bool {
        self.program.instruction(site).call().is_some()
            && self.defined_callees(site).next().is_some()
    }
}

/// Cells that matter at the borders of blocks, and the blocks where some are new.
struct Tide {
    blocks: Vec<Bits>,
    /// At calls: what crosses the border of the called function.
    calls: HashMap<Site, Bits>,
    /// What has already gone over the border of each function.
    crossed: Vec<Bits>,
    queued: Vec<bool>,
    work: Vec<BlockId>,
}

impl Tide {
    fn new(program: &Program) -> Tide {
        Tide {
            blocks: vec![Bits::default(); program.blocks.len()],
            calls: HashMap::new(),
            crossed: vec![Bits::default(); program.functions.len()],
            queued: vec![false; program.blocks.len()],
            work: Vec::new(),
        }
    }

    fn rise(&mut self, block: BlockId, cells: &Bits) {
        if self.blocks[block.index()].join(cells) {
            self.again(block);
        }
    }

    fn rise_at(&mut self, call: Site, block: BlockId, cells: &Bits) {
        if self.calls.entry(call).or_default().join(cells) {
            self.again(block);
        }
    }

    fn again(&mut self, block: BlockId) {
        if !std::mem::replace(&mut self.queued[block.index()], true) {
            self.work.push(block);
        }
    }

    fn next(&mut self) -> Option<BlockId> {
        let block = self.work.pop()?;
        self.queued[block.index()] = false;
        Some(block)
    }

    /// What of the cells has not gone over the function's border before.
    fn cross(&mut self, function: FunctionId, cells: &Bits) -> Option<Bits> {
        let crossed = &mut self.crossed[function.index()];
        let fresh = cells.without(crossed);
        crossed.join(cells).then_some(fresh)
    }
}
