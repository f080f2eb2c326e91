//! Control flow. Blocks are cut behind calls that may not come back, so that
//! what follows such a call is a node of its own: a *segment* is entered at its
//! first instruction and runs to its last.

use changeling_program::{BlockId, FunctionId, Operation, Program, Site};
use serde::{Deserialize, Serialize};

use crate::calls::Calls;
use crate::{Graph, Node};

/// A segment, numbered through the whole program in the order of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SegmentId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub function: FunctionId,
    pub first: Site,
    pub last: Site,
}

impl Segment {
    pub fn sites(&self) -> impl DoubleEndedIterator<Item = Site> + use<> {
        (self.first.0..=self.last.0).map(Site)
    }
}

pub struct Flow {
    pub segments: Vec<Segment>,
    functions: Vec<FunctionFlow>,
}

/// The flow graph of one function. Node n is its n-th segment.
pub struct FunctionFlow {
    pub first: SegmentId,
    pub graph: Graph,
    /// Nodes the function can be left from: returns, unwinding, and calls that
    /// may not come back.
    pub exits: Vec<Node>,
    /// Those of them that return.
    pub returns: Vec<Node>,
}

impl FunctionFlow {
    pub fn segment(&self, node: Node) -> SegmentId {
        SegmentId(self.first.0 + node.0)
    }

    pub fn node(&self, segment: SegmentId) -> Node {
        Node(segment.0 - self.first.0)
    }

    pub fn is_empty(&self) -> bool {
        self.graph.is_empty()
    }
}

impl Flow {
    pub fn new(program: &Program, calls: &Calls) -> Flow {
        let mut flow = Flow {
            segments: Vec::new(),
            functions: Vec::new(),
        };
        for id in program.function_ids() {
            let function = flow.function_flow(program, calls, id);
            flow.functions.push(function);
        }
        flow
    }

    pub fn function(&self, id: FunctionId) -> &FunctionFlow {
        &self.functions[id.index()]
    }

    pub fn segment(&self, id: SegmentId) -> &Segment {
        &self.segments[id.0 as usize]
    }

    /// The segment around a site.
    pub fn segment_of(&self, site: Site) -> SegmentId {
        let after = self
            .segments
            .partition_point(|segment| segment.first <= site);
        SegmentId(after as u32 - 1)
    }

    pub fn ids(&self) -> impl Iterator<Item = SegmentId> + use<> {
        (0..self.segments.len() as u32).map(SegmentId)
    }

    /// The segments a branch leads to, in the order of its sides.
    pub fn targets(&self, program: &Program, branch: Site) -> Vec<SegmentId> {
        let blocks = program.instruction(branch).successors();
        blocks
            .into_iter()
            .map(|block| self.segment_of(program.block(block).first))
            .collect()
    }

    fn function_flow(&mut self, program: &Program, calls: &Calls, id: FunctionId) -> FunctionFlow {
        let first = SegmentId(self.segments.len() as u32);
        let function = program.function(id);
        let mut starts: Vec<Node> = Vec::with_capacity(function.blocks().len());
        let mut leaves = Vec::new();
        for block in function.blocks() {
            starts.push(Node(self.segments.len() as u32 - first.0));
            self.cut(program, calls, id, block, first, &mut leaves);
        }
        let of_block = |block: BlockId| starts[(block.0 - function.first_block.0) as usize];
        let count = self.segments.len() - first.0 as usize;
        let mut edges = Vec::new();
        let mut returns = Vec::new();
        for node in (0..count as u32).map(Node) {
            let segment = self.segments[first.0 as usize + node.index()];
            let last = program.instruction(segment.last);
            if !last.is_terminator() {
                edges.push((node, Node(node.0 + 1)));
                continue;
            }
            let targets = last.successors();
            match last.operation {
                Operation::Return => {
                    returns.push(node);
                    leaves.push(node);
                }
                // Behind a call that does not come back; the call is the exit,
                // and an exit of its own only if there is no such call.
                _ if targets.is_empty() => leaves.push(node),
                _ => {}
            }
            edges.extend(targets.into_iter().map(|block| (node, of_block(block))));
        }
        leaves.sort_unstable();
        leaves.dedup();
        FunctionFlow {
            first,
            graph: Graph::new(count, &edges),
            exits: leaves,
            returns,
        }
    }

    fn cut(
        &mut self,
        program: &Program,
        calls: &Calls,
        function: FunctionId,
        block: BlockId,
        first_segment: SegmentId,
        leaves: &mut Vec<Node>,
    ) {
        let last = program.terminator(block);
        let mut first = program.block(block).first;
        for site in program.block(block).sites() {
            let leaving =
                program.instruction(site).call().is_some() && calls.call_exits(program, site).any();
            if leaving {
                leaves.push(Node(self.segments.len() as u32 - first_segment.0));
            }
            if leaving || site == last {
                self.segments.push(Segment {
                    function,
                    first,
                    last: site,
                });
                first = Site(site.0 + 1);
            }
        }
    }
}
