//! Inclusion constraints between sets of cells, solved by propagating what is new.

use std::collections::HashSet;

use changeling_program::Site;

use super::NodeId;
use super::objects::{Merge, ObjectId, Objects};

/// What happens to each pointer that arrives at a node.
#[derive(Clone, Copy, Debug)]
pub enum Use {
    /// `to` = the pointer moved by so many bytes.
    Offset { to: NodeId, bytes: i64 },
    /// `to` = the pointer moved by bytes and any number of strides.
    Indexed { to: NodeId, bytes: i64, stride: u64 },
    /// `to` = what it points to.
    Load { to: NodeId },
    /// What it points to = `from`.
    Store { from: NodeId },
    /// It is called here.
    Callee { site: Site },
    /// It is given to an unknown function here, which may call it.
    Callback { site: Site },
}

#[derive(Default)]
pub struct Solver {
    leader: Vec<NodeId>,
    sets: Vec<Vec<NodeId>>,
    fresh: Vec<Vec<NodeId>>,
    edges: Vec<Vec<NodeId>>,
    known_edges: HashSet<(NodeId, NodeId)>,
    uses: Vec<Vec<Use>>,
    queue: Vec<NodeId>,
    queued: Vec<bool>,
    edges_since_collapse: usize,
    first_cell: u32,
}

/// A function pointer that reached a call.
pub struct Arrival {
    pub site: Site,
    pub target: NodeId,
    pub callback: bool,
}

impl Solver {
    /// Nodes from `first_cell` on are cells of memory.
    pub fn new(first_cell: u32) -> Solver {
        let mut solver = Solver {
            first_cell,
            ..Solver::default()
        };
        solver.grow(first_cell as usize);
        solver
    }

    fn node(&mut self) -> NodeId {
        let id = NodeId(self.leader.len() as u32);
        self.leader.push(id);
        self.sets.push(Vec::new());
        self.fresh.push(Vec::new());
        self.edges.push(Vec::new());
        self.uses.push(Vec::new());
        self.queued.push(false);
        id
    }

    /// Makes all nodes up to this number.
    fn grow(&mut self, count: usize) {
        while self.leader.len() < count {
            self.node();
        }
    }

    pub fn find(&self, mut node: NodeId) -> NodeId {
        while self.leader[node.index()] != node {
            node = self.leader[node.index()];
        }
        node
    }

    pub fn set(&self, node: NodeId) -> &[NodeId] {
        &self.sets[self.find(node).index()]
    }

    pub fn add(&mut self, node: NodeId, cells: &[NodeId]) {
        let node = self.find(node);
        let mut incoming: Vec<NodeId> = cells.iter().map(|&cell| self.find(cell)).collect();
        incoming.sort_unstable();
        incoming.dedup();
        let set = &self.sets[node.index()];
        incoming.retain(|cell| set.binary_search(cell).is_err());
        if incoming.is_empty() {
            return;
        }
        self.sets[node.index()] = merged(&self.sets[node.index()], &incoming);
        self.fresh[node.index()].extend(&incoming);
        self.enqueue(node);
    }

    pub fn copy(&mut self, from: NodeId, to: NodeId) {
        let (from, to) = (self.find(from), self.find(to));
        if from == to || !self.known_edges.insert((from, to)) {
            return;
        }
        self.edges[from.index()].push(to);
        self.edges_since_collapse += 1;
        let set = self.sets[from.index()].clone();
        self.add(to, &set);
    }

    pub fn attach(
        &mut self,
        node: NodeId,
        use_: Use,
        objects: &mut Objects,
        program: &changeling_program::Program,
    ) -> Vec<Arrival> {
        let node = self.find(node);
        self.uses[node.index()].push(use_);
        let set = self.sets[node.index()].clone();
        let mut arrivals = Vec::new();
        self.apply(use_, &set, objects, program, &mut arrivals);
        arrivals
    }

    /// Runs until nothing is new or function pointers have arrived somewhere.
    pub fn run(
        &mut self,
        objects: &mut Objects,
        program: &changeling_program::Program,
    ) -> Vec<Arrival> {
        let mut arrivals = Vec::new();
        while let Some(node) = self.queue.pop() {
            self.queued[node.index()] = false;
            if self.find(node) != node {
                continue;
            }
            let fresh = std::mem::take(&mut self.fresh[node.index()]);
            if fresh.is_empty() {
                continue;
            }
            for index in 0..self.uses[node.index()].len() {
                let use_ = self.uses[node.index()][index];
                self.apply(use_, &fresh, objects, program, &mut arrivals);
            }
            for index in 0..self.edges[node.index()].len() {
                let to = self.edges[node.index()][index];
                self.add(to, &fresh);
            }
            if self.edges_since_collapse > 4096 + self.leader.len() / 4 {
                self.collapse_cycles();
            }
        }
        arrivals
    }

    fn apply(
        &mut self,
        use_: Use,
        cells: &[NodeId],
        objects: &mut Objects,
        program: &changeling_program::Program,
        arrivals: &mut Vec<Arrival>,
    ) {
        for &cell in cells {
            let cell = self.find(cell);
            match use_ {
                Use::Offset { to, bytes } => {
                    let (object, offset) = objects.place(cell);
                    let moved = self.cell(objects, object, offset as i64 + bytes);
                    self.add(to, &[moved]);
                }
                Use::Indexed { to, bytes, stride } => {
                    let (object, offset) = objects.place(cell);
                    let at = (offset as i64).wrapping_add(bytes);
                    let merges = objects.step(object, at.max(0) as u64, stride, Some(program));
                    self.unite_all(merges);
                    let moved = self.cell(objects, object, at);
                    self.add(to, &[moved]);
                }
                Use::Load { to } => self.copy(cell, to),
                Use::Store { from } => self.copy(from, cell),
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

    pub fn cell(&mut self, objects: &mut Objects, object: ObjectId, offset: i64) -> NodeId {
        let (cell, merges) = objects.cell(object, offset);
        self.grow(cell.index() + 1);
        self.unite_all(merges);
        self.find(cell)
    }

    pub fn unite_all(&mut self, merges: Vec<Merge>) {
        for (keeper, gone) in merges {
            self.unite(keeper, gone);
        }
    }

    /// Cells must keep the node that their object knows, so the first stays.
    fn unite(&mut self, keeper: NodeId, gone: NodeId) {
        let (keeper, gone) = (self.find(keeper), self.find(gone));
        if keeper == gone {
            return;
        }
        self.leader[gone.index()] = keeper;
        let edges = std::mem::take(&mut self.edges[gone.index()]);
        let uses = std::mem::take(&mut self.uses[gone.index()]);
        let set = std::mem::take(&mut self.sets[gone.index()]);
        self.fresh[gone.index()].clear();
        self.edges[keeper.index()].extend(edges);
        self.uses[keeper.index()].extend(uses);
        self.add(keeper, &set);
        // Both had uses that have not seen the other's set.
        let all = self.sets[keeper.index()].clone();
        self.fresh[keeper.index()] = all;
        self.enqueue(keeper);
    }

    fn enqueue(&mut self, node: NodeId) {
        if !std::mem::replace(&mut self.queued[node.index()], true) {
            self.queue.push(node);
        }
    }

    /// Nodes on a cycle of copies have equal sets: they become one.
    pub fn collapse_cycles(&mut self) {
        self.edges_since_collapse = 0;
        let count = self.leader.len();
        let mut edges = Vec::new();
        for from in (0..count)
            .map(|n| NodeId(n as u32))
            .filter(|&n| self.leader[n.index()] == n)
        {
            for &to in &self.edges[from.index()] {
                let to = self.find(to);
                if to != from {
                    edges.push((crate::Node(from.0), crate::Node(to.0)));
                }
            }
        }
        let components = crate::Graph::new(count, &edges).components();
        let mut first: Vec<Option<NodeId>> = vec![None; components.count as usize];
        for node in (0..count).rev().map(|n| NodeId(n as u32)) {
            if self.leader[node.index()] != node {
                continue;
            }
            // Cells have the highest numbers, so a cell leads where there is one;
            // two cells on one cycle stay apart, since they are different places.
            let slot = &mut first[components.of[node.index()] as usize];
            match *slot {
                None => *slot = Some(node),
                Some(keeper) if !self.is_cell(node) => self.unite(keeper, node),
                Some(_) => {}
            }
        }
        for node in 0..count {
            let mut targets = std::mem::take(&mut self.edges[node]);
            for target in &mut targets {
                *target = self.find(*target);
            }
            targets.sort_unstable();
            targets.dedup();
            targets.retain(|target| target.index() != node);
            self.edges[node] = targets;
        }
    }

    fn is_cell(&self, node: NodeId) -> bool {
        node.0 >= self.first_cell
    }
}

fn merged(a: &[NodeId], b: &[NodeId]) -> Vec<NodeId> {
    let mut out = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i] <= b[j] {
            out.push(a[i]);
            i += 1;
        } else {
            out.push(b[j]);
            j += 1;
        }
    }
    out.extend_from_slice(&a[i..]);
    out.extend_from_slice(&b[j..]);
    out
}
