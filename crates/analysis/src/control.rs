//! Control dependence: which decisions decide whether a node runs.
//!
//! The pairs (decision, node) can be quadratic in number, so they are not
//! stored. A decision is an edge out of a branching node; it decides exactly
//! the nodes on the way up the post-dominator tree from the edge's end to below
//! the branching node's own post-dominator. Both directions are answered from
//! the tree.

use crate::{Dominators, Graph, Node};

/// An edge whose being taken decides something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decision {
    pub from: Node,
    pub to: Node,
    /// Position among the successors of `from`.
    pub side: u32,
}

pub struct Control {
    post: Dominators,
    entry: Node,
    /// By when a walk over the tree enters `to`.
    decisions: Vec<Decision>,
    /// A tree over `decisions` with the smallest depth of the post-dominator of
    /// `from` in each part.
    lowest: Vec<u32>,
    /// Positions in `decisions`, by `from`.
    by_from: Vec<u32>,
}

const USED: u32 = u32::MAX;

impl Control {
    pub fn new(graph: &Graph, entry: Node, exits: &[Node]) -> Control {
        let (post, extended) = Dominators::post(graph, entry, exits);
        let mut decisions = Vec::new();
        for from in graph.nodes().filter(|&node| post.is_reachable(node)) {
            for (side, &to) in extended.successors(from).iter().enumerate() {
                let decides = to.index() < graph.len() && post.is_reachable(to) && {
                    Some(to) != post.immediate(from) && !post.dominates(to, from) || to == from
                };
                if decides {
                    decisions.push(Decision {
                        from,
                        to,
                        side: side as u32,
                    });
                }
            }
        }
        decisions.sort_by_key(|decision| (post.interval(decision.to).0, *decision));
        let mut control = Control {
            post,
            entry,
            lowest: Vec::new(),
            by_from: (0..decisions.len() as u32).collect(),
            decisions,
        };
        let decisions = &control.decisions;
        control.by_from.sort_by_key(|&n| decisions[n as usize]);
        control.lowest = control.tree();
        control
    }

    fn tree(&self) -> Vec<u32> {
        let count = self.decisions.len().next_power_of_two();
        let mut tree = vec![USED; 2 * count];
        for (n, decision) in self.decisions.iter().enumerate() {
            tree[count + n] = self.limit(decision);
        }
        for n in (1..count).rev() {
            tree[n] = tree[2 * n].min(tree[2 * n + 1]);
        }
        tree
    }

    /// Depth of the node at which the decision's effect ends.
    fn limit(&self, decision: &Decision) -> u32 {
        self.post
            .immediate(decision.from)
            .map_or(0, |above| self.post.depth(above))
    }

    pub fn post_dominators(&self) -> &Dominators {
        &self.post
    }

    /// Whether the node runs whenever the function is entered and left in an
    /// ordinary way: it does not depend on decisions alone.
    pub fn is_unconditional(&self, node: Node) -> bool {
        self.post.dominates(node, self.entry)
    }

    /// Decisions that the node depends on.
    pub fn controllers(&self, node: Node) -> Vec<Decision> {
        let mut found = Vec::new();
        self.visit(
            node,
            &mut |n, _| found.push(self.decisions[n]),
            &self.lowest,
        );
        found.sort_unstable();
        found
    }

    /// Nodes that depend on the decision.
    pub fn controlled(&self, decision: Decision) -> Vec<Node> {
        let limit = self.limit(&decision);
        self.post
            .chain(decision.to)
            .take_while(|&node| self.post.depth(node) > limit)
            .collect()
    }

    /// All decisions, each once.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// The decisions made at the end of a node.
    pub fn decisions_of(&self, node: Node) -> impl Iterator<Item = Decision> + '_ {
        let decision = |n: &u32| self.decisions[*n as usize];
        let from = self.by_from.partition_point(|n| decision(n).from < node);
        self.by_from[from..]
            .iter()
            .map(decision)
            .take_while(move |decision| decision.from == node)
    }

    /// For a search that wants each decision only the first time one of its
    /// nodes comes up.
    pub fn search(&self) -> ControlSearch<'_> {
        ControlSearch {
            control: self,
            lowest: self.lowest.clone(),
        }
    }

    fn visit(&self, node: Node, visitor: &mut impl FnMut(usize, usize), lowest: &[u32]) {
        if !self.post.is_reachable(node) {
            return;
        }
        let (enter, leave) = self.post.interval(node);
        let entered = |decision: &Decision| self.post.interval(decision.to).0;
        let from = self
            .decisions
            .partition_point(|decision| entered(decision) < enter);
        let to = self
            .decisions
            .partition_point(|decision| entered(decision) < leave);
        let depth = self.post.depth(node);
        let count = lowest.len() / 2;
        // Parts of the tree that lie in the range and hold something low enough.
        let mut work = vec![(1usize, 0usize, count)];
        while let Some((part, first, last)) = work.pop() {
            if first >= to || last <= from || lowest[part] >= depth || lowest[part] == USED {
                continue;
            }
            if last - first == 1 {
                visitor(first, part);
                continue;
            }
            let middle = first.midpoint(last);
            work.push((2 * part, first, middle));
            work.push((2 * part + 1, middle, last));
        }
    }
}

pub struct ControlSearch<'c> {
    control: &'c Control,
    lowest: Vec<u32>,
}

impl ControlSearch<'_> {
    /// Decisions the node depends on that were not returned before.
    pub fn take(&mut self, node: Node) -> Vec<Decision> {
        let mut found = Vec::new();
        let control = self.control;
        control.visit(node, &mut |n, part| found.push((n, part)), &self.lowest);
        for &(_, mut part) in &found {
            self.lowest[part] = USED;
            while part > 1 {
                part /= 2;
                self.lowest[part] = self.lowest[2 * part].min(self.lowest[2 * part + 1]);
            }
        }
        let mut taken: Vec<_> = found
            .into_iter()
            .map(|(n, _)| control.decisions[n])
            .collect();
        taken.sort_unstable();
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(nodes: usize, edges: &[(u32, u32)]) -> Graph {
        let edges: Vec<_> = edges.iter().map(|&(a, b)| (Node(a), Node(b))).collect();
        Graph::new(nodes, &edges)
    }

    fn deciders(control: &Control, node: u32) -> Vec<(u32, u32)> {
        let list = control.controllers(Node(node));
        list.iter()
            .map(|decision| (decision.from.0, decision.side))
            .collect()
    }

    #[test]
    fn a_diamond_and_a_loop() {
        // 0 -> 1|2 -> 3; 3 loops to 0 or leaves to 4.
        let graph = graph(5, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 0), (3, 4)]);
        let control = Control::new(&graph, Node(0), &[Node(4)]);
        assert_eq!(deciders(&control, 1), [(0, 0)]);
        assert_eq!(deciders(&control, 2), [(0, 1)]);
        assert_eq!(deciders(&control, 3), [(3, 0)]);
        assert_eq!(deciders(&control, 0), [(3, 0)]);
        assert_eq!(deciders(&control, 4), []);
        assert!(control.is_unconditional(Node(4)) && control.is_unconditional(Node(3)));
        assert!(!control.is_unconditional(Node(1)));
    }

    #[test]
    fn agrees_with_the_definition_on_random_graphs() {
        let mut state = 5u64;
        let mut random = move |bound: usize| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as usize % bound
        };
        for round in 0..300 {
            let nodes = 3 + round % 8;
            let mut edges = Vec::new();
            for from in 0..nodes - 1 {
                for _ in 0..1 + random(2) {
                    edges.push((Node::new(from), Node::new(random(nodes))));
                }
            }
            let graph = Graph::new(nodes, &edges);
            let exit = Node::new(nodes - 1);
            let control = Control::new(&graph, Node(0), &[exit]);
            let post = control.post_dominators();
            let reachable = graph.reachable([Node(0)]);
            let mut search = control.search();
            let mut taken = std::collections::HashSet::new();
            for b in graph.nodes().filter(|b| reachable[b.index()]) {
                let mut expected = Vec::new();
                for a in graph.nodes().filter(|&a| post.is_reachable(a)) {
                    for (side, &u) in graph.successors(a).iter().enumerate() {
                        // b post-dominates the edge's end, but not a itself
                        // (unless it is a).
                        let decides = post.is_reachable(u)
                            && post.dominates(b, u)
                            && (a == b || !post.dominates(b, a));
                        if decides {
                            expected.push(Decision {
                                from: a,
                                to: u,
                                side: side as u32,
                            });
                        }
                    }
                }
                expected.sort_unstable();
                let found = control.controllers(b);
                assert_eq!(found, expected, "{b:?} in {edges:?}");
                for decision in &found {
                    assert!(control.controlled(*decision).contains(&b));
                }
                let fresh: Vec<_> = found
                    .iter()
                    .filter(|d| taken.insert(**d))
                    .copied()
                    .collect();
                assert_eq!(search.take(b), fresh);
            }
        }
    }
}
