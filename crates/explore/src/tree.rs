//! The tree of all pairs of paths seen so far, and what is known about the
//! sides not taken.

use crate::decision::{Decision, Ended, PairState, Way, WayState};
use crate::merge::{Owner, Step};
use crate::path::{self, TestKind};
use crate::runner::Side;
use crate::terms::TermError;
use changeling_solver::{Arena, Assignment, Expr};
use changeling_trace::sites::SiteTable;
use std::cmp::Reverse;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

/// Number of an input in the order in which inputs were run.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct RunId(pub u32);

pub struct Tree {
    nodes: Vec<Node>,
}

struct Node {
    parent: NodeId,
    /// The parent's way that leads here.
    way: u32,
    /// What holds because of it.
    held: Option<Expr>,
    /// The first run that came here, or one that came further.
    run: RunId,
    /// The last decision before this node that only one version takes, and the
    /// way it went.
    difference: Option<(NodeId, u32)>,
    /// Behind a way that was discarded and yet taken.
    discarded: bool,
    /// Behind one that a guide would give up.
    doubted: bool,
    depth: u32,
    /// How far `run` came, and when that was judged.
    progress: (u64, Far),
    /// The last byte before it that was found to be a certain one, as a number; 0 if none was.
    word: u64,
    decision: Option<Box<Decision>>,
    ended: Option<Ended>,
}

/// How far a run came; smaller is further. Of those that came as far, the one that ran more of what was
/// changed, then the one with more input to go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Far {
    pub left: u32,
    pub missing: u32,
    pub length: Reverse<usize>,
}

impl Far {
    const NOWHERE: Far = Far {
        left: u32::MAX,
        missing: u32::MAX,
        length: Reverse(0),
    };
}

/// What inserting a pair of paths did.
#[derive(Clone, Debug)]
pub struct Inserted {
    pub end: NodeId,
    /// The pair was not known before.
    pub is_new: bool,
    /// Nodes whose decision is new, in the order of the path.
    pub decisions: Vec<NodeId>,
    /// Ways taken for the first time.
    pub taken: Vec<(NodeId, usize)>,
    /// One of them is like none taken before; not for the tree to say.
    pub is_news: bool,
    /// The run did not decide what the tree says it must.
    pub inconsistent: bool,
    /// The run went where a guide is certain that no difference can come from.
    pub discarded: bool,
    /// It went where one would have given up.
    pub doubted: bool,
}

/// Conditions with more operators and operands than this are all alike.
const TELLING: usize = 12;

impl Tree {
    pub const ROOT: NodeId = NodeId(0);

    pub fn new() -> Tree {
        let root = Node {
            parent: Tree::ROOT,
            way: 0,
            held: None,
            run: RunId(0),
            difference: None,
            discarded: false,
            doubted: false,
            depth: 0,
            progress: (0, Far::NOWHERE),
            word: 0,
            decision: None,
            ended: None,
        };
        Tree { nodes: vec![root] }
    }

    /// Number of nodes; there is always a root.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    pub fn run(&self, node: NodeId) -> RunId {
        self.node(node).run
    }

    pub fn decision(&self, node: NodeId) -> Option<&Decision> {
        self.node(node).decision.as_deref()
    }

    pub fn decision_mut(&mut self, node: NodeId) -> Option<&mut Decision> {
        self.nodes[node.0 as usize].decision.as_deref_mut()
    }

    pub fn ended(&self, node: NodeId) -> Option<&Ended> {
        self.node(node).ended.as_ref()
    }

    pub fn ended_mut(&mut self, node: NodeId) -> Option<&mut Ended> {
        self.nodes[node.0 as usize].ended.as_mut()
    }

    /// The last decision before a node that only one version takes, and the way
    /// it went.
    pub fn difference_before(&self, node: NodeId) -> Option<(NodeId, u32)> {
        self.node(node).difference
    }

    /// Which byte, of all that stand for themselves, was seen last before a node.
    pub fn word(&self, node: NodeId) -> u64 {
        self.node(node).word
    }

    /// The decision before a node, and the way it went.
    pub fn before(&self, node: NodeId) -> Option<(NodeId, usize)> {
        let this = self.node(node);
        this.held.map(|_| (this.parent, this.way as usize))
    }

    /// The decisions on the way to a node, the last one first, each with the way it went.
    pub fn way_to(&self, node: NodeId) -> impl Iterator<Item = (NodeId, &Decision, usize)> {
        let way = std::iter::successors(self.before(node), |(node, _)| self.before(*node));
        way.filter_map(|(node, taken)| Some((node, self.decision(node)?, taken)))
    }

    /// Everything that holds at a node, from the root on.
    pub fn prefix(&self, node: NodeId) -> Vec<Expr> {
        let condition = self.condition(node).into_iter();
        condition.map(|(held, _)| held).collect()
    }

    /// Everything that holds at a node, from the root on, each with whether it
    /// fixes a value.
    pub fn condition(&self, node: NodeId) -> Vec<(Expr, bool)> {
        let mut held: Vec<(Expr, bool)> = self
            .ancestors(node)
            .map(|(parent, held)| {
                let fixed = matches!(parent.map(|d| d.kind), Some(TestKind::Fixed(_)));
                (held, fixed)
            })
            .collect();
        held.reverse();
        held
    }

    /// The decisions before a node, from the root on, with what holds because of each.
    pub fn decisions_before(&self, node: NodeId) -> Vec<(&Decision, Expr)> {
        let mut before: Vec<(&Decision, Expr)> = self
            .ancestors(node)
            .filter_map(|(decision, held)| Some((decision?, held)))
            .collect();
        before.reverse();
        before
    }

    /// A run that ended at `end` came far: from now on it stands for all nodes on its way
    /// where none came further. If that was judged before `when`, those that stood there are judged
    /// again: what comes later is not better for it. Whether it is the furthest of all.
    pub fn came_far(
        &mut self,
        end: NodeId,
        run: RunId,
        progress: Far,
        when: u64,
        mut judge: impl FnMut(RunId) -> Far,
    ) -> bool {
        if progress.left == u32::MAX {
            return false;
        }
        let mut current = end;
        loop {
            let node = &mut self.nodes[current.0 as usize];
            if node.progress.0 != when {
                let furthest = match node.run == run {
                    true => Far::NOWHERE,
                    false => judge(node.run),
                };
                node.progress = (when, furthest);
            }
            if node.progress.1 <= progress && node.run != run {
                return false;
            }
            node.progress = (when, progress);
            node.run = run;
            if current == Tree::ROOT {
                return true;
            }
            current = node.parent;
        }
    }

    /// The run that came furthest, if that was judged.
    pub fn furthest(&self) -> Option<RunId> {
        let root = self.node(Tree::ROOT);
        (root.progress.1.left != u32::MAX).then_some(root.run)
    }

    /// What the version `side` went on to decide on the way from `node` down to
    /// `end`, the decision at `node` itself left out; nearest first.
    pub fn continuation(&self, node: NodeId, end: NodeId, side: Side) -> Vec<Expr> {
        let mut held = Vec::new();
        let mut current = end;
        while current != node && current != Tree::ROOT {
            let this = self.node(current);
            let decision = self.decision(this.parent);
            if this.parent != node && decision.is_some_and(|decision| decision.owner.includes(side))
            {
                held.extend(this.held);
            }
            current = this.parent;
        }
        held.reverse();
        held
    }

    /// All ways that a guide has discarded.
    pub fn discarded(&self) -> Vec<(NodeId, usize)> {
        let nodes = (0u32..).map(NodeId).zip(&self.nodes);
        let decided = nodes.filter_map(|(id, node)| Some((id, node.decision.as_deref()?)));
        decided
            .flat_map(|(id, decision)| {
                let ways = decision.ways.iter().enumerate();
                let discarded = ways.filter(|(_, way)| way.state == WayState::Discarded);
                discarded.map(move |(at, _)| (id, at))
            })
            .collect()
    }

    /// Whether nothing is left open anywhere: every side is taken or impossible
    /// (or was discarded by a sound rule), and every pair is decided.
    pub fn is_complete(&self) -> bool {
        self.nodes
            .iter()
            .all(|node| match (&node.decision, &node.ended) {
                (Some(decision), None) => decision.ways.iter().all(|way| {
                    matches!(
                        way.state,
                        WayState::Taken(_)
                            | WayState::Impossible
                            | WayState::Discarded
                            | WayState::LeftOut
                    )
                }),
                (None, Some(ended)) => {
                    matches!(ended.state, PairState::Equal | PairState::Different)
                }
                _ => false,
            })
    }

    /// Sides that were neither taken nor given up.
    pub fn open_ways(&self) -> u64 {
        let decisions = self.nodes.iter().filter_map(|node| node.decision.as_ref());
        let ways = decisions.flat_map(|decision| &decision.ways);
        ways.filter(|way| way.state == WayState::Open).count() as u64
    }

    /// Sides that the run which came first did not take. Where a value was fixed there is no other side, only other values.
    pub fn other_sides(&self) -> u64 {
        let decisions = self.nodes.iter().filter_map(|node| node.decision.as_ref());
        let branches = decisions.filter(|decision| !matches!(decision.kind, TestKind::Fixed(_)));
        branches
            .map(|decision| decision.ways.len() as u64 - 1)
            .sum()
    }

    fn ancestors(&self, node: NodeId) -> impl Iterator<Item = (Option<&Decision>, Expr)> {
        let mut current = node;
        std::iter::from_fn(move || {
            let this = self.node(current);
            let held = this.held?;
            current = this.parent;
            Some((self.decision(this.parent), held))
        })
    }

    /// Adds a pair of paths. Runs that disagree with the tree about what is to be
    /// decided next follow the way that their input satisfies.
    pub fn insert(
        &mut self,
        arena: &mut Arena,
        sites: [&SiteTable; 2],
        steps: &[Step],
        input: &Assignment,
        run: RunId,
    ) -> Result<Inserted, TermError> {
        let mut inserted = Inserted {
            end: Tree::ROOT,
            is_new: false,
            decisions: Vec::new(),
            taken: Vec::new(),
            is_news: false,
            inconsistent: false,
            discarded: false,
            doubted: false,
        };
        let mut node = Tree::ROOT;
        let mut steps = steps.iter().peekable();
        loop {
            let step = steps.peek().copied();
            let known = self.node(node).decision.is_some();
            let way = match (known, step) {
                (false, None) => break,
                (true, Some(step)) if self.fits(node, step) => {
                    steps.next();
                    self.way_of(node, step)
                }
                (true, _) => {
                    let decision = self.decision(node).expect("checked above");
                    // A guard that fails is not recorded: the run just ends.
                    inserted.inconsistent |= !matches!(decision.kind, TestKind::Guard(_));
                    match self.satisfied(arena, node, input) {
                        Some(way) => way,
                        // A value that was never fixed before cannot be known here.
                        None => break,
                    }
                }
                (false, Some(step)) => {
                    steps.next();
                    self.decide(arena, sites, node, step)?;
                    inserted.decisions.push(node);
                    inserted.inconsistent |= !self.make_room(arena, node, &mut inserted.taken);
                    self.way_of(node, step)
                }
            };
            node = self.follow(arena, node, way, run, &mut inserted.taken);
        }
        inserted.end = node;
        inserted.discarded = self.node(node).discarded;
        inserted.doubted = self.node(node).doubted;
        inserted.is_new = self.node(node).ended.is_none();
        Ok(inserted)
    }

    /// Ends a pair of paths at `node`.
    pub fn end(&mut self, node: NodeId, ended: Ended) {
        self.nodes[node.0 as usize].ended = Some(ended);
    }

    /// Where a pair that ended at `node` ends now: it moves when a later run shows
    /// that a guard stood there.
    pub fn current_end(&self, mut node: NodeId) -> Option<NodeId> {
        while self.node(node).ended.is_none() {
            let decision = self.decision(node)?;
            match (decision.kind, decision.ways.first()?.state) {
                (TestKind::Guard(_), WayState::Taken(child)) => node = child,
                _ => return None,
            }
        }
        Some(node)
    }

    /// Paths that ended at a node which now has a decision: they ended because a
    /// guard failed, or else the run that brought the decision contradicts them.
    fn make_room(&mut self, arena: &Arena, node: NodeId, taken: &mut Vec<(NodeId, usize)>) -> bool {
        let Some(ended) = self.nodes[node.0 as usize].ended else {
            return true;
        };
        let decision = self.decision(node).expect("the node has a decision");
        if !matches!(decision.kind, TestKind::Guard(_)) {
            return false;
        }
        let child = self.follow(arena, node, 0, ended.run, taken);
        self.nodes[child.0 as usize].ended = self.nodes[node.0 as usize].ended.take();
        true
    }

    fn fits(&self, node: NodeId, step: &Step) -> bool {
        let Some(decision) = self.decision(node) else {
            return false;
        };
        if step.is_fixed() && matches!(decision.kind, TestKind::Fixed(_)) {
            return decision.subject == step.test.subject;
        }
        decision.ways.iter().any(|way| way.held == step.test.held)
    }

    fn way_of(&mut self, node: NodeId, step: &Step) -> usize {
        let decision = self.decision_mut(node).expect("the node has a decision");
        if let Some(at) = decision
            .ways
            .iter()
            .position(|way| way.held == step.test.held)
        {
            return at;
        }
        let (outcome, held) = (step.test.outcome, step.test.held);
        decision.ways.push(Way {
            outcome,
            held,
            state: WayState::Open,
            doubted: false,
        });
        decision.ways.len() - 1
    }

    fn satisfied(&self, arena: &Arena, node: NodeId, input: &Assignment) -> Option<usize> {
        let decision = self.decision(node)?;
        decision
            .ways
            .iter()
            .position(|way| arena.holds(way.held, input))
    }

    fn decide(
        &mut self,
        arena: &mut Arena,
        sites: [&SiteTable; 2],
        node: NodeId,
        step: &Step,
    ) -> Result<(), TermError> {
        let alternatives = path::alternatives(arena, sites[step.side().index()], &step.test)?;
        let way = |(outcome, held)| {
            let impossible = arena.truth(held) == Some(false);
            let state = if impossible {
                WayState::Impossible
            } else {
                WayState::Open
            };
            Way {
                outcome,
                held,
                state,
                doubted: false,
            }
        };
        self.nodes[node.0 as usize].decision = Some(Box::new(Decision {
            kind: step.test.kind,
            owner: step.owner,
            sites: step.sites,
            caller: step.test.caller,
            within: step.within,
            contexts: step.contexts,
            sameness: step.sameness,
            depth: self.node(node).depth,
            visits: step.visits,
            shape: arena.shape(step.test.subject, TELLING).unwrap_or(0),
            subject: step.test.subject,
            ways: alternatives.into_iter().map(way).collect(),
            attempts: 0,
        }));
        Ok(())
    }

    fn follow(
        &mut self,
        arena: &Arena,
        node: NodeId,
        way: usize,
        run: RunId,
        taken: &mut Vec<(NodeId, usize)>,
    ) -> NodeId {
        let before = self.node(node).difference;
        let decision = self.decision(node).expect("the node has a decision");
        let Way {
            held,
            state,
            doubted,
            ..
        } = decision.ways[way];
        if let WayState::Taken(child) = state {
            return child;
        }
        let difference = match decision.owner {
            Owner::Both => before,
            Owner::One(_) => Some((node, way as u32)),
        };
        let discarded = self.node(node).discarded || state == WayState::Discarded;
        let doubted = self.node(node).doubted || doubted;
        let depth = self.node(node).depth + 1;
        let word = arena.certain_byte(held).unwrap_or(self.node(node).word);
        let child = NodeId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes"));
        self.nodes.push(Node {
            parent: node,
            way: way as u32,
            held: Some(held),
            run,
            difference,
            discarded,
            doubted,
            depth,
            progress: (0, Far::NOWHERE),
            word,
            decision: None,
            ended: None,
        });
        let decision = self.decision_mut(node).expect("the node has a decision");
        decision.ways[way].state = WayState::Taken(child);
        taken.push((node, way));
        child
    }

    fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node.0 as usize]
    }
}

impl Default for Tree {
    fn default() -> Tree {
        Tree::new()
    }
}
