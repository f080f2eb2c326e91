//! Constraints between sets of cells.
//!
//! Between values sets flow in one direction only, along copies. Memory is
//! treated more coarsely: cells that one pointer is used to read or write share
//! what they contain. This keeps the number of constraints proportional to the
//! program: with inclusion in memory too, programs with their own allocator or
//! with one large state structure take hours.

use changeling_program::{Program, Site};

use super::NodeId;
use super::objects::{Merge, ObjectId, Objects};
use crate::bits::Bits;
use crate::{Graph, Node};

/// What happens to each pointer that arrives at a node.
#[derive(Clone, Copy, Debug)]
pub enum Use {
    /// `to` = the pointer moved by so many bytes.
    Offset { to: NodeId, bytes: i64 },
    /// `to` = the pointer moved by bytes and any number of strides.
    Indexed { to: NodeId, bytes: i64, stride: u64 },
    /// It is called here.
    Callee { site: Site },
    /// It is given to an unknown function here, which may call it.
    Callback { site: Site },
}

/// A function pointer that reached a call.
pub struct Arrival {
    pub site: Site,
    pub target: NodeId,
    pub callback: bool,
}

/// Nodes below `first_cell` are values. The others are cells of memory, and at
/// the same time stand for what the cell contains: `leader` joins contents,
/// `same_cell` joins places.
pub struct Solver {
    first_cell: u32,
    leader: Vec<NodeId>,
    same_cell: Vec<NodeId>,
    sets: Vec<Bits>,
    /// The part of each set that has gone along the copies.
    copied: Vec<Bits>,
    /// The part of each set that the uses have seen.
    used: Vec<Bits>,
    /// Nodes of whose set a part may not have gone along the copies yet.
    uncopied: Vec<bool>,
    /// Nodes of whose set the uses may not have seen a part yet.
    unused: Vec<bool>,
    edges: Vec<Vec<NodeId>>,
    uses: Vec<Vec<Use>>,
    /// Contents of what the node points to, once it was used as an address.
    behind: Vec<Option<NodeId>>,
    wants_behind: Vec<bool>,
    changed: bool,
    /// All nodes there were when cycles were looked for last, in the direction of copies.
    order: Vec<NodeId>,
    /// So many nodes there were then.
    ordered: usize,
    /// Copies that were added since then, and nodes that were joined.
    moves: usize,
}

/// So many nodes are looked at before it is asked whether to go on.
const OFTEN: usize = 4096;
/// So many copies and joined nodes are no reason to look for cycles again.
const FEW_MOVES: usize = 256;

impl Solver {
    /// Nodes from `first_cell` on are cells of memory.
    pub fn new(first_cell: u32) -> Solver {
        let mut solver = Solver {
            first_cell,
            leader: Vec::new(),
            same_cell: Vec::new(),
            sets: Vec::new(),
            copied: Vec::new(),
            used: Vec::new(),
            edges: Vec::new(),
            uses: Vec::new(),
            behind: Vec::new(),
            wants_behind: Vec::new(),
            uncopied: Vec::new(),
            unused: Vec::new(),
            changed: false,
            order: Vec::new(),
            ordered: 0,
            moves: 0,
        };
        solver.grow(first_cell as usize);
        solver
    }

    fn grow(&mut self, count: usize) {
        while self.leader.len() < count {
            let id = NodeId(self.leader.len() as u32);
            self.leader.push(id);
            self.same_cell.push(id);
            self.sets.push(Bits::default());
            self.copied.push(Bits::default());
            self.used.push(Bits::default());
            self.edges.push(Vec::new());
            self.uses.push(Vec::new());
            self.behind.push(None);
            self.wants_behind.push(false);
            self.uncopied.push(false);
            self.unused.push(false);
        }
    }

    /// Something was added to the set of a node.
    fn grown(&mut self, node: NodeId) {
        self.uncopied[node.index()] = true;
        self.unused[node.index()] = true;
        self.changed = true;
    }

    fn find(&mut self, node: NodeId) -> NodeId {
        find_halving(&mut self.leader, node)
    }

    /// The cell that stands for this place now.
    pub fn cell_of(&self, mut cell: NodeId) -> NodeId {
        while self.same_cell[cell.index()] != cell {
            cell = self.same_cell[cell.index()];
        }
        cell
    }

    /// The node whose set this one shares.
    pub fn contents_of(&self, node: NodeId) -> NodeId {
        let mut node = node;
        while self.leader[node.index()] != node {
            node = self.leader[node.index()];
        }
        node
    }

    /// Cells the node can point to, ascending, each once.
    pub fn set(&self, node: NodeId) -> Vec<NodeId> {
        let node = self.contents_of(node);
        let cells = self.sets[node.index()].ones();
        let mut cells: Vec<NodeId> = cells
            .map(|bit| self.cell_of(NodeId(self.first_cell + bit)))
            .collect();
        // Only places that were joined are out of order.
        if !cells.is_sorted_by(|before, after| before < after) {
            cells.sort_unstable();
            cells.dedup();
        }
        cells
    }

    pub fn add(&mut self, node: NodeId, cell: NodeId) {
        let node = self.find(node);
        let bit = self.cell_of(cell).0 - self.first_cell;
        if self.sets[node.index()].set(bit) {
            self.grown(node);
        }
    }

    pub fn copy(&mut self, from: NodeId, to: NodeId) {
        let (from, to) = (self.find(from), self.find(to));
        if from == to || self.edges[from.index()].last() == Some(&to) {
            return;
        }
        self.edges[from.index()].push(to);
        let (source, target) = two(&mut self.sets, from, to);
        if target.join(source) {
            self.grown(to);
        }
        self.moves += 1;
        self.changed = true;
    }

    /// `to` = what the address points to.
    pub fn load(&mut self, address: NodeId, to: NodeId) {
        let contents = self.contents(address);
        self.copy(contents, to);
    }

    /// What the address points to = `from`.
    pub fn store(&mut self, address: NodeId, from: NodeId) {
        let contents = self.contents(address);
        self.copy(from, contents);
    }

    /// The contents behind an address; a node of its own until the first cell
    /// arrives.
    fn contents(&mut self, address: NodeId) -> NodeId {
        let address = self.find(address);
        self.wants_behind[address.index()] = true;
        if let Some(contents) = self.behind[address.index()] {
            return self.find(contents);
        }
        // Cells that are there already have not been joined yet.
        self.used[address.index()] = Bits::default();
        self.unused[address.index()] = true;
        self.changed = true;
        let contents = NodeId(self.leader.len() as u32);
        self.pending(contents);
        self.behind[address.index()] = Some(contents);
        contents
    }

    fn pending(&mut self, node: NodeId) {
        self.grow(node.index() + 1);
    }

    pub fn attach(&mut self, node: NodeId, use_: Use) {
        let node = self.find(node);
        self.uses[node.index()].push(use_);
        self.used[node.index()] = Bits::default();
        self.unused[node.index()] = true;
        self.changed = true;
    }

    /// Runs until nothing is new, or it is told to stop. Returns the function pointers that
    /// arrived at calls since the last time.
    pub fn run(
        &mut self,
        objects: &mut Objects,
        program: &Program,
        stop: &dyn Fn() -> bool,
    ) -> Vec<Arrival> {
        let mut arrivals = Vec::new();
        while std::mem::replace(&mut self.changed, false) {
            self.propagate_all();
            for index in 0..self.leader.len() {
                if index % OFTEN == 0 && stop() {
                    return arrivals;
                }
                let node = NodeId(index as u32);
                if self.leader[index] == node {
                    self.apply(node, objects, program, &mut arrivals);
                }
            }
        }
        arrivals
    }

    /// Cycles are looked for again when there may be many new ones: it takes a look at everything.
    fn propagate_all(&mut self) {
        if self.order.is_empty() || self.moves > FEW_MOVES + self.order.len() / 64 {
            self.order = self.collapse_cycles();
            self.ordered = self.leader.len();
            self.moves = 0;
        }
        let order = std::mem::take(&mut self.order);
        for &node in &order {
            self.propagate(node);
        }
        self.order = order;
        for index in self.ordered..self.leader.len() {
            self.propagate(NodeId(index as u32));
        }
    }

    fn propagate(&mut self, node: NodeId) {
        if !self.uncopied[node.index()] || self.leader[node.index()] != node {
            return;
        }
        self.uncopied[node.index()] = false;
        let fresh = self.sets[node.index()].without(&self.copied[node.index()]);
        if fresh.is_empty() {
            return;
        }
        self.copied[node.index()] = self.sets[node.index()].clone();
        for n in 0..self.edges[node.index()].len() {
            let to = self.edges[node.index()][n];
            let to = self.find(to);
            if to != node && self.sets[to.index()].join(&fresh) {
                self.grown(to);
            }
        }
    }

    fn apply(
        &mut self,
        node: NodeId,
        objects: &mut Objects,
        program: &Program,
        arrivals: &mut Vec<Arrival>,
    ) {
        let idle = self.uses[node.index()].is_empty() && !self.wants_behind[node.index()];
        let news = std::mem::replace(&mut self.unused[node.index()], false);
        if idle || !news {
            return;
        }
        let fresh = self.sets[node.index()].without(&self.used[node.index()]);
        if fresh.is_empty() {
            return;
        }
        self.used[node.index()] = self.sets[node.index()].clone();
        let cells: Vec<NodeId> = fresh
            .ones()
            .map(|bit| NodeId(self.first_cell + bit))
            .collect();
        let uses = self.uses[node.index()].clone();
        if let Some(contents) = self.behind[node.index()] {
            for &cell in &cells {
                let cell = self.cell_of(cell);
                self.unite(contents, cell);
            }
        }
        for use_ in uses {
            for &cell in &cells {
                let cell = self.cell_of(cell);
                match use_ {
                    Use::Offset { to, bytes } => {
                        let (object, offset) = objects.place(cell);
                        if let Some(moved) = objects.moved(object, offset, bytes) {
                            let moved = self.cell(objects, object, moved);
                            self.add(to, moved);
                        }
                    }
                    Use::Indexed { to, bytes, stride } => {
                        let (object, offset) = objects.place(cell);
                        let at = (offset as i64).wrapping_add(bytes).max(0) as u64;
                        let merges = objects.step(object, at, stride, Some(program));
                        self.unite_all(merges);
                        let (_, offset) = objects.place(self.cell_of(cell));
                        if let Some(moved) = objects.moved(object, offset, bytes) {
                            let moved = self.cell(objects, object, moved);
                            self.add(to, moved);
                        }
                    }
                    Use::Callee { site } => {
                        arrivals.push(Arrival {
                            site,
                            target: cell,
                            callback: false,
                        });
                    }
                    Use::Callback { site } => {
                        arrivals.push(Arrival {
                            site,
                            target: cell,
                            callback: true,
                        });
                    }
                }
            }
        }
    }

    pub fn cell(&mut self, objects: &mut Objects, object: ObjectId, offset: u64) -> NodeId {
        let (cell, merges) = objects.cell(object, offset, self.leader.len() as u32);
        self.grow(cell.index() + 1);
        self.unite_all(merges);
        self.cell_of(cell)
    }

    /// The places become one, and so do their contents.
    pub fn unite_all(&mut self, merges: Vec<Merge>) {
        for (keeper, gone) in merges {
            let (keeper, gone) = (self.cell_of(keeper), self.cell_of(gone));
            if keeper != gone {
                self.same_cell[gone.index()] = keeper;
            }
            self.unite(keeper, gone);
        }
    }

    /// Joins the contents of two cells, or two values on a cycle of copies, and
    /// with them what lies behind both. Returns whether they were apart.
    pub fn unite(&mut self, keeper: NodeId, gone: NodeId) -> bool {
        let mut work = vec![(keeper, gone)];
        let mut joined = false;
        while let Some((keeper, gone)) = work.pop() {
            let (keeper, gone) = (self.find(keeper), self.find(gone));
            if keeper != gone {
                joined = true;
                work.extend(self.join(keeper, gone));
            }
        }
        self.changed |= joined;
        joined
    }

    fn join(&mut self, keeper: NodeId, gone: NodeId) -> Option<(NodeId, NodeId)> {
        self.leader[gone.index()] = keeper;
        let edges = std::mem::take(&mut self.edges[gone.index()]);
        let uses = std::mem::take(&mut self.uses[gone.index()]);
        let set = std::mem::take(&mut self.sets[gone.index()]);
        self.edges[keeper.index()].extend(edges);
        self.uses[keeper.index()].extend(uses);
        self.sets[keeper.index()].join(&set);
        // Neither's uses and copies have seen the other's set.
        for seen in [&mut self.copied, &mut self.used] {
            let other = std::mem::take(&mut seen[gone.index()]);
            seen[keeper.index()].intersect(&other);
        }
        self.grown(keeper);
        self.moves += 1;
        self.wants_behind[keeper.index()] |= self.wants_behind[gone.index()];
        match (
            self.behind[keeper.index()],
            self.behind[gone.index()].take(),
        ) {
            (Some(own), Some(other)) => Some((own, other)),
            (own, other) => {
                self.behind[keeper.index()] = own.or(other);
                None
            }
        }
    }

    /// Nodes on a cycle of copies have equal sets: they become one. Returns the
    /// nodes in an order in which copies go forwards.
    fn collapse_cycles(&mut self) -> Vec<NodeId> {
        let count = self.leader.len();
        let mut edges = Vec::new();
        for index in 0..count {
            let from = NodeId(index as u32);
            if self.leader[index] != from {
                continue;
            }
            let mut targets = std::mem::take(&mut self.edges[index]);
            for target in &mut targets {
                *target = self.find(*target);
            }
            targets.sort_unstable();
            targets.dedup();
            targets.retain(|&target| target != from);
            edges.extend(targets.iter().map(|to| (Node(from.0), Node(to.0))));
            self.edges[index] = targets;
        }
        let components = Graph::new(count, &edges).components();
        let mut members: Vec<Option<NodeId>> = vec![None; components.count as usize];
        for index in 0..count {
            let node = NodeId(index as u32);
            if self.leader[index] != node {
                continue;
            }
            let first = &mut members[components.of[index] as usize];
            match *first {
                None => *first = Some(node),
                Some(keeper) => {
                    self.unite(keeper, node);
                }
            }
        }
        // Components are numbered against the direction of the edges.
        members.into_iter().rev().flatten().collect()
    }
}

fn find_halving(leader: &mut [NodeId], mut node: NodeId) -> NodeId {
    while leader[node.index()] != node {
        let next = leader[leader[node.index()].index()];
        leader[node.index()] = next;
        node = next;
    }
    node
}

fn two(sets: &mut [Bits], a: NodeId, b: NodeId) -> (&Bits, &mut Bits) {
    if a < b {
        let (left, right) = sets.split_at_mut(b.index());
        (&left[a.index()], &mut right[0])
    } else {
        let (left, right) = sets.split_at_mut(a.index());
        (&right[0], &mut left[b.index()])
    }
}
