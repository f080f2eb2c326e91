//! What is known about one version before anything runs.

use super::definitions::Spot;
use changeling_analysis::{Cell, Dominators, Graphs, Memory, Node};
use changeling_program::{BlockId, FunctionId, Operation, Program, Site, Value};
use changeling_trace::sites::SiteTable;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Instant;

/// A version's program with its graphs, and how it is numbered in traces.
pub struct Facts<'p> {
    pub program: &'p Program,
    pub graphs: &'p Graphs,
    pub memory: Memory,
    /// By cell: the instructions that may write it.
    pub writers: HashMap<Cell, Vec<Site>>,
    pub table: &'p SiteTable,
    /// (first site, number) of the blocks that have a coverage byte, by site.
    starts: Vec<(u32, u32)>,
    /// Numbers of the blocks that stand for edges, by branch and side.
    edges: HashMap<(u32, u32), u32>,
    /// By conditions: the branches that test nothing else.
    deciding: HashMap<Site, Vec<Site>>,
    dominators: RefCell<HashMap<FunctionId, Rc<Dominators>>>,
    deadline: Option<Instant>,
}

/// More alternatives say nothing.
const MOST_SIDES: usize = 4;

/// Sides of branches one of which is taken, and where they lead.
pub type Passing = (Vec<(Site, u32)>, Option<Node>);

/// The time for looking at the program is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("looking at the program takes too long")]
pub struct TooLong;

pub fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() > deadline)
}

impl<'p> Facts<'p> {
    pub fn new(
        program: &'p Program,
        graphs: &'p Graphs,
        table: &'p SiteTable,
        deadline: Option<Instant>,
    ) -> Result<Facts<'p>, TooLong> {
        let memory = Memory::new(program, &graphs.pointers, &graphs.calls);
        let mut writers: HashMap<Cell, Vec<Site>> = HashMap::new();
        for site in program.sites() {
            for &cell in memory.access(site).map_or(&[][..], |a| &a.writes) {
                writers.entry(cell).or_default().push(site);
            }
        }
        let numbered = (0u32..).zip(&table.blocks);
        let mut starts: Vec<(u32, u32)> = numbered
            .filter(|(_, block)| block.site != 0)
            .map(|(number, block)| (block.site, number))
            .collect();
        starts.sort_unstable();
        let numbered = (0u32..).zip(&table.blocks);
        let edges = numbered.filter_map(|(number, block)| Some((block.edge?, number)));
        let facts = Facts {
            edges: edges.collect(),
            deciding: deciding(program),
            program,
            graphs,
            memory,
            writers,
            table,
            starts,
            dominators: RefCell::default(),
            deadline,
        };
        facts.check_time()?;
        Ok(facts)
    }

    pub fn check_time(&self) -> Result<(), TooLong> {
        match is_over(self.deadline) {
            true => Err(TooLong),
            false => Ok(()),
        }
    }

    /// Where control goes if a value is true, and if it is false, by the branches on it in
    /// its own function.
    pub fn sides_of(&self, condition: Site) -> impl Iterator<Item = [Spot; 2]> + '_ {
        let branches = self.deciding.get(&condition).into_iter().flatten();
        branches.map(|branch| [0, 1].map(|side| self.side_of(*branch, side)))
    }

    /// Where control goes by a side of a branch. An edge without a number is the only one into
    /// its target.
    pub fn side_of(&self, branch: Site, side: u32) -> Spot {
        let block = self.program.instruction(branch).block;
        match self.edges.contains_key(&(branch.0, side)) {
            true => Spot {
                block,
                side: Some(side),
            },
            false => Spot {
                block: self.program.successors(block)[side as usize],
                side: None,
            },
        }
    }

    /// The coverage byte of the block around a site.
    pub fn covered_by(&self, site: Site) -> Option<u32> {
        let after = self.starts.partition_point(|(start, _)| *start <= site.0);
        let (start, number) = self.starts[after.checked_sub(1)?];
        // Blocks that are never reached have no byte.
        let same =
            self.program.instruction(Site(start)).block == self.program.instruction(site).block;
        same.then_some(number)
    }

    /// Whether a phi hands something on from one round of a loop to the next.
    pub fn is_carried(&self, phi: Site) -> bool {
        let instruction = self.program.instruction(phi);
        let Operation::Phi { incoming } = &instruction.operation else {
            return false;
        };
        let mut incoming = incoming.iter();
        incoming.any(|from| self.end_of_round(phi, *from).is_some())
    }

    /// Where control comes from to a phi, if it has gone around a loop by then.
    pub fn end_of_round(&self, phi: Site, from: BlockId) -> Option<Node> {
        let block = self.program.instruction(phi).block;
        let own = self.node(self.program.block(block).first);
        let end = self.node(self.program.terminator(from));
        let dominators = self.dominators(self.program.function_of(phi));
        dominators.dominates(own, end).then_some(end)
    }

    /// Whether every way through their function to a spot goes by another one.
    pub fn is_on_the_way(&self, spot: Spot, to: Spot) -> bool {
        let [from, end] = [spot, to].map(|spot| self.program.block(spot.block));
        if from.function != end.function {
            return false;
        }
        let dominators = self.dominators(from.function);
        dominators.dominates(self.node(from.first), self.node(end.first))
    }

    /// The node of a site in the graph of its function.
    pub fn node(&self, site: Site) -> Node {
        let flow = &self.graphs.flow;
        flow.function(self.program.function_of(site))
            .node(flow.segment_of(site))
    }

    pub fn is_store(&self, site: Site) -> bool {
        let instruction = self.program.instruction(site);
        matches!(instruction.operation, Operation::Store(_))
    }

    /// Whether a load or store is of a byte of an array.
    pub fn is_text(&self, cell: Cell, access: Site) -> bool {
        let program = self.program;
        let instruction = program.instruction(access);
        let ty = match instruction.operation {
            Operation::Store(_) => {
                program.type_of(program.function_of(access), instruction.operands[0])
            }
            _ => Some(instruction.ty),
        };
        ty.is_some_and(|ty| program.ty(ty).size == Some(1))
            && !self.graphs.pointers.is_single(cell, 1, program)
    }

    pub fn number(&self, block: BlockId) -> Option<u32> {
        self.covered_by(self.program.terminator(block))
    }

    /// The coverage byte that tells whether control came by a spot.
    pub fn number_of(&self, spot: Spot) -> Option<u32> {
        let end = self.program.terminator(spot.block);
        match spot.side {
            None => self.number(spot.block),
            Some(side) => self.edges.get(&(end.0, side)).copied(),
        }
    }

    pub fn dominators(&self, function: FunctionId) -> Rc<Dominators> {
        let mut known = self.dominators.borrow_mut();
        let made = known.entry(function).or_insert_with(|| {
            let graph = &self.graphs.flow.function(function).graph;
            Rc::new(Dominators::new(graph, Node(0)))
        });
        made.clone()
    }

    /// The sides of branches one of which every way through the function to the spot takes, the
    /// nearest first, each with where they lead.
    pub fn guards(&self, spot: Spot) -> Vec<Passing> {
        let program = self.program;
        let end = program.terminator(spot.block);
        let mut guards: Vec<Passing> = spot
            .side
            .map(|side| (vec![(end, side)], None))
            .into_iter()
            .collect();
        let function = program.block(spot.block).function;
        let flow = self.graphs.flow.function(function);
        let dominators = self.dominators(function);
        let mut node = self.node(program.block(spot.block).first);
        if !dominators.is_reachable(node) {
            return guards;
        }
        loop {
            // What comes back around a loop has come in before.
            let before = flow.graph.predecessors(node).iter().copied();
            let before: Vec<_> = before
                .filter(|before| !dominators.dominates(node, *before))
                .collect();
            let sides = before.iter().map(|before| {
                let last = self.graphs.flow.segment(flow.segment(*before)).last;
                let targets = self.graphs.flow.targets(program, last);
                let sides = (0u32..).zip(&targets);
                let mut leads = sides.filter(|(_, id)| **id == flow.segment(node));
                match (leads.next(), leads.next()) {
                    (Some((side, _)), None) if program.instruction(last).decides() => {
                        Some((last, side))
                    }
                    _ => None,
                }
            });
            let sides: Option<Vec<(Site, u32)>> = sides.collect();
            let sides = sides.filter(|sides| (1..=MOST_SIDES).contains(&sides.len()));
            guards.extend(sides.map(|sides| (sides, Some(node))));
            match dominators.immediate(node) {
                Some(above) if above != node => node = above,
                _ => return guards,
            }
        }
    }

    /// Calls of functions that are not part of the program. What happens inside is seen
    /// in traces, with the call as its place.
    pub fn outside_calls(&self) -> Vec<Site> {
        let program = self.program;
        let calls = self.graphs.calls.edges().iter();
        let mut sites: Vec<Site> = calls
            .filter(|(_, callee)| !program.function(*callee).is_defined())
            .map(|(site, _)| *site)
            .collect();
        sites.dedup();
        sites
    }

    /// Branches that depend on the result of an instruction by computation alone.
    pub fn branches_behind(&self, users: &HashMap<Site, Vec<Site>>, site: Site) -> Vec<Site> {
        const MOST: usize = 64;
        let mut seen = vec![site];
        let mut branches = Vec::new();
        let mut next = 0;
        while next < seen.len() && seen.len() < MOST {
            for &user in users.get(&seen[next]).into_iter().flatten() {
                if seen.contains(&user) {
                    continue;
                }
                let instruction = self.program.instruction(user);
                if instruction.decides() {
                    branches.push(user);
                }
                if instruction.call().is_none() {
                    seen.push(user);
                }
            }
            next += 1;
        }
        branches
    }
}

fn deciding(program: &Program) -> HashMap<Site, Vec<Site>> {
    let mut deciding: HashMap<Site, Vec<Site>> = HashMap::new();
    for site in program.sites() {
        let instruction = program.instruction(site);
        if let Operation::Branch { then, otherwise } = instruction.operation
            && then != otherwise
            && let Some(&Value::Result(condition)) = instruction.operands.first()
        {
            deciding.entry(condition).or_default().push(site);
        }
    }
    deciding
}
