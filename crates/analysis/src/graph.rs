//! Directed graphs with numbered nodes, and the walks everything else is made
//! of. All walks are iterative: functions of the size of a program exist.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Node(pub u32);

impl Node {
    pub fn new(index: usize) -> Node {
        Node(u32::try_from(index).expect("a graph has fewer than 2^32 nodes"))
    }

    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A graph that does not change any more: edges lie in two flat arrays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    forward: Adjacency,
    backward: Adjacency,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Adjacency {
    starts: Vec<u32>,
    targets: Vec<Node>,
}

impl Graph {
    /// Parallel edges are kept; successors stay in the order of `edges`.
    pub fn new(nodes: usize, edges: &[(Node, Node)]) -> Graph {
        Graph {
            forward: Adjacency::new(nodes, edges.iter().copied()),
            backward: Adjacency::new(nodes, edges.iter().map(|&(from, to)| (to, from))),
        }
    }

    pub fn len(&self) -> usize {
        self.forward.starts.len().saturating_sub(1)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = Node> + ExactSizeIterator + use<> {
        (0..self.len() as u32).map(Node)
    }

    pub fn successors(&self, node: Node) -> &[Node] {
        self.forward.of(node)
    }

    pub fn predecessors(&self, node: Node) -> &[Node] {
        self.backward.of(node)
    }

    pub fn edges(&self) -> impl Iterator<Item = (Node, Node)> + '_ {
        self.nodes()
            .flat_map(|from| self.successors(from).iter().map(move |&to| (from, to)))
    }

    pub fn has_edge(&self, from: Node, to: Node) -> bool {
        self.successors(from).contains(&to)
    }

    pub fn reversed(&self) -> Graph {
        Graph {
            forward: self.backward.clone(),
            backward: self.forward.clone(),
        }
    }

    /// Which nodes can be reached from `starts`, themselves included.
    pub fn reachable(&self, starts: impl IntoIterator<Item = Node>) -> Vec<bool> {
        let mut seen = vec![false; self.len()];
        let mut work: Vec<Node> = Vec::new();
        for start in starts {
            if !std::mem::replace(&mut seen[start.index()], true) {
                work.push(start);
            }
        }
        while let Some(node) = work.pop() {
            for &next in self.successors(node) {
                if !std::mem::replace(&mut seen[next.index()], true) {
                    work.push(next);
                }
            }
        }
        seen
    }

    /// Nodes reachable from `root`, each after all it leads to except along
    /// back edges.
    pub fn postorder(&self, root: Node) -> Vec<Node> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.len()];
        seen[root.index()] = true;
        let mut stack = vec![(root, 0)];
        while let Some((node, next)) = stack.last_mut() {
            match self.successors(*node).get(*next) {
                Some(&target) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[target.index()], true) {
                        stack.push((target, 0));
                    }
                }
                None => {
                    order.push(*node);
                    stack.pop();
                }
            }
        }
        order
    }

    /// Number of the strongly connected component of each node. Components are
    /// numbered so that edges between them go from higher to lower numbers.
    pub fn components(&self) -> Components {
        Components::of(self)
    }
}

impl Adjacency {
    fn new(nodes: usize, edges: impl Iterator<Item = (Node, Node)> + Clone) -> Adjacency {
        let mut starts = vec![0u32; nodes + 1];
        for (from, _) in edges.clone() {
            starts[from.index() + 1] += 1;
        }
        for index in 0..nodes {
            starts[index + 1] += starts[index];
        }
        let mut free = starts.clone();
        let mut targets = vec![Node(0); starts[nodes] as usize];
        for (from, to) in edges {
            let place = &mut free[from.index()];
            targets[*place as usize] = to;
            *place += 1;
        }
        Adjacency { starts, targets }
    }

    fn of(&self, node: Node) -> &[Node] {
        let from = self.starts[node.index()] as usize;
        let to = self.starts[node.index() + 1] as usize;
        &self.targets[from..to]
    }
}

#[derive(Clone, Debug)]
pub struct Components {
    pub of: Vec<u32>,
    pub count: u32,
}

impl Components {
    fn of(graph: &Graph) -> Components {
        const UNSEEN: u32 = u32::MAX;
        let mut number = vec![UNSEEN; graph.len()];
        let mut low = vec![0u32; graph.len()];
        let mut component = vec![UNSEEN; graph.len()];
        let mut open: Vec<Node> = Vec::new();
        let mut next_number = 0;
        let mut count = 0;
        let mut stack: Vec<(Node, usize)> = Vec::new();
        for root in graph.nodes() {
            if number[root.index()] != UNSEEN {
                continue;
            }
            stack.push((root, 0));
            while let Some(&mut (node, ref mut next)) = stack.last_mut() {
                if *next == 0 {
                    number[node.index()] = next_number;
                    low[node.index()] = next_number;
                    next_number += 1;
                    open.push(node);
                }
                match graph.successors(node).get(*next) {
                    Some(&target) => {
                        *next += 1;
                        if number[target.index()] == UNSEEN {
                            stack.push((target, 0));
                        } else if component[target.index()] == UNSEEN {
                            low[node.index()] = low[node.index()].min(number[target.index()]);
                        }
                    }
                    None => {
                        // A node without successors comes here at once, with
                        // `next` still 0; it is popped, so numbered only once.
                        stack.pop();
                        if let Some(&(parent, _)) = stack.last() {
                            low[parent.index()] = low[parent.index()].min(low[node.index()]);
                        }
                        if low[node.index()] == number[node.index()] {
                            while let Some(member) = open.pop() {
                                component[member.index()] = count;
                                if member == node {
                                    break;
                                }
                            }
                            count += 1;
                        }
                    }
                }
            }
        }
        Components {
            of: component,
            count,
        }
    }

    /// Members of each component.
    pub fn members(&self) -> Vec<Vec<Node>> {
        let mut members = vec![Vec::new(); self.count as usize];
        for (index, &component) in self.of.iter().enumerate() {
            members[component as usize].push(Node::new(index));
        }
        members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(nodes: usize, edges: &[(u32, u32)]) -> Graph {
        let edges: Vec<_> = edges.iter().map(|&(a, b)| (Node(a), Node(b))).collect();
        Graph::new(nodes, &edges)
    }

    #[test]
    fn neighbours_keep_their_order() {
        let graph = graph(3, &[(0, 2), (1, 2), (0, 1)]);
        assert_eq!(graph.successors(Node(0)), [Node(2), Node(1)]);
        assert_eq!(graph.predecessors(Node(2)), [Node(0), Node(1)]);
        assert!(graph.successors(Node(2)).is_empty());
    }

    #[test]
    fn components_come_after_what_they_lead_to() {
        let graph = graph(6, &[(0, 1), (1, 2), (2, 1), (2, 3), (3, 4), (4, 3), (5, 5)]);
        let components = graph.components();
        assert_eq!(components.count, 4);
        assert_eq!(components.of[1], components.of[2]);
        assert_eq!(components.of[3], components.of[4]);
        assert!(components.of[0] > components.of[1] && components.of[1] > components.of[3]);
    }

    #[test]
    fn a_long_chain_does_not_overflow_the_stack() {
        let count = 300_000;
        let edges: Vec<_> = (1..count).map(|n| (Node(n - 1), Node(n))).collect();
        let graph = Graph::new(count as usize, &edges);
        assert_eq!(graph.postorder(Node(0)).len(), count as usize);
        assert_eq!(graph.components().count, count);
    }
}
