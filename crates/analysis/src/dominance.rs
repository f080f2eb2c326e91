//! Dominators and post-dominators.

use crate::{Graph, Node};

/// The dominator tree of the nodes reachable from a root. For post-dominators
/// see [`Dominators::post`].
#[derive(Clone, Debug)]
pub struct Dominators {
    root: Node,
    immediate: Vec<Option<Node>>,
    depth: Vec<u32>,
    /// Entry and exit times of a walk over the tree: `a` is above `b` iff a's
    /// interval contains b's.
    interval: Vec<(u32, u32)>,
}

const NONE: u32 = u32::MAX;

impl Dominators {
    /// Semi-dominators by path compression: O(m log n) on any graph, reducible
    /// or not.
    pub fn new(graph: &Graph, root: Node) -> Dominators {
        let (order, number, parent) = numbering(graph, root);
        let count = order.len();
        let mut semi: Vec<u32> = (0..count as u32).collect();
        let mut label = semi.clone();
        let mut ancestor = vec![NONE; count];
        let mut path = Vec::new();
        for w in (1..count).rev() {
            let mut lowest = parent[w];
            for predecessor in graph.predecessors(order[w]) {
                let v = number[predecessor.index()];
                if v == NONE {
                    continue;
                }
                let candidate = if v as usize <= w {
                    v
                } else {
                    semi[best(v, &mut ancestor, &mut label, &semi, &mut path) as usize]
                };
                lowest = lowest.min(candidate);
            }
            semi[w] = lowest;
            ancestor[w] = parent[w];
        }
        // In numbering order every candidate's own dominator is known already.
        let mut above = parent.clone();
        for w in 1..count {
            while above[w] > semi[w] {
                above[w] = above[above[w] as usize];
            }
        }
        let mut immediate = vec![None; graph.len()];
        for w in 1..count {
            immediate[order[w].index()] = Some(order[above[w] as usize]);
        }
        Dominators::from_tree(graph.len(), root, immediate, &order)
    }

    /// Post-dominators, with a virtual exit as one more node (number
    /// `graph.len()`): `exits` lead to it, and so does one node of each endless
    /// loop, as if the loop could be left there. Also returns the graph with
    /// the virtual exit.
    pub fn post(graph: &Graph, root: Node, exits: &[Node]) -> (Dominators, Graph) {
        let exit = Node::new(graph.len());
        let mut edges: Vec<_> = graph.edges().collect();
        edges.extend(exits.iter().map(|&node| (node, exit)));
        edges.extend(
            endless(graph, root, exits)
                .into_iter()
                .map(|node| (node, exit)),
        );
        let extended = Graph::new(graph.len() + 1, &edges);
        (Dominators::new(&extended.reversed(), exit), extended)
    }

    fn from_tree(
        nodes: usize,
        root: Node,
        immediate: Vec<Option<Node>>,
        order: &[Node],
    ) -> Dominators {
        let edges: Vec<_> = order
            .iter()
            .filter_map(|&node| Some((immediate[node.index()]?, node)))
            .collect();
        let tree = Graph::new(nodes, &edges);
        let mut depth = vec![0; nodes];
        let mut interval = vec![(0, 0); nodes];
        let mut clock = 1;
        let mut stack = vec![(root, 0)];
        interval[root.index()].0 = clock;
        while let Some((node, next)) = stack.last_mut() {
            clock += 1;
            match tree.successors(*node).get(*next) {
                Some(&child) => {
                    *next += 1;
                    depth[child.index()] = depth[node.index()] + 1;
                    interval[child.index()].0 = clock;
                    stack.push((child, 0));
                }
                None => {
                    interval[node.index()].1 = clock;
                    stack.pop();
                }
            }
        }
        Dominators {
            root,
            immediate,
            depth,
            interval,
        }
    }

    pub fn root(&self) -> Node {
        self.root
    }

    /// The closest dominator other than the node itself; `None` for the root
    /// and for what cannot be reached.
    pub fn immediate(&self, node: Node) -> Option<Node> {
        self.immediate[node.index()]
    }

    pub fn is_reachable(&self, node: Node) -> bool {
        self.interval[node.index()].1 != 0
    }

    /// Steps from the root in the tree.
    pub fn depth(&self, node: Node) -> u32 {
        self.depth[node.index()]
    }

    /// When a walk over the tree enters and leaves the node: the node's part of
    /// the tree is what the walk enters in between.
    pub fn interval(&self, node: Node) -> (u32, u32) {
        self.interval[node.index()]
    }

    /// Every node dominates itself.
    pub fn dominates(&self, above: Node, below: Node) -> bool {
        let (from, to) = self.interval[above.index()];
        let (first, last) = self.interval[below.index()];
        from <= first && last <= to && first != 0
    }

    /// The lowest node that dominates both.
    pub fn nearest_common(&self, a: Node, b: Node) -> Node {
        let (mut a, mut b) = (a, b);
        while a != b {
            let lower = if self.depth[a.index()] >= self.depth[b.index()] {
                &mut a
            } else {
                &mut b
            };
            *lower = self.immediate[lower.index()].unwrap_or(self.root);
        }
        a
    }

    /// The node and all its dominators, outwards.
    pub fn chain(&self, node: Node) -> impl Iterator<Item = Node> + '_ {
        std::iter::successors(Some(node), |&node| self.immediate(node))
    }
}

/// Depth-first numbering: nodes in order, number of each node, and number of
/// each one's parent.
fn numbering(graph: &Graph, root: Node) -> (Vec<Node>, Vec<u32>, Vec<u32>) {
    let mut order = vec![root];
    let mut number = vec![NONE; graph.len()];
    let mut parent = vec![0];
    number[root.index()] = 0;
    let mut stack = vec![(root, 0)];
    while let Some((node, next)) = stack.last_mut() {
        match graph.successors(*node).get(*next) {
            Some(&target) => {
                *next += 1;
                if number[target.index()] == NONE {
                    number[target.index()] = order.len() as u32;
                    parent.push(number[node.index()]);
                    order.push(target);
                    stack.push((target, 0));
                }
            }
            None => {
                stack.pop();
            }
        }
    }
    (order, number, parent)
}

/// The node with the smallest semi-dominator on the way from `v` up to, but
/// without, the root of its tree in the forest; shortens the way.
fn best(v: u32, ancestor: &mut [u32], label: &mut [u32], semi: &[u32], path: &mut Vec<u32>) -> u32 {
    if ancestor[v as usize] == NONE {
        return v;
    }
    path.clear();
    let mut top = v;
    while ancestor[ancestor[top as usize] as usize] != NONE {
        path.push(top);
        top = ancestor[top as usize];
    }
    while let Some(node) = path.pop() {
        let up = ancestor[node as usize] as usize;
        if semi[label[up] as usize] < semi[label[node as usize] as usize] {
            label[node as usize] = label[up];
        }
        ancestor[node as usize] = ancestor[up];
    }
    label[v as usize]
}

/// One node of each loop that cannot be left, namely the one reached first.
fn endless(graph: &Graph, root: Node, exits: &[Node]) -> Vec<Node> {
    let leaves = graph.reversed().reachable(exits.iter().copied());
    let order = graph.postorder(root);
    if order.iter().all(|node| leaves[node.index()]) {
        return Vec::new();
    }
    let components = graph.components();
    let mut is_sink = vec![true; components.count as usize];
    for (from, to) in graph.edges() {
        let (from, to) = (components.of[from.index()], components.of[to.index()]);
        if from != to {
            is_sink[from as usize] = false;
        }
    }
    let mut chosen = Vec::new();
    for &node in order.iter().rev() {
        let component = components.of[node.index()] as usize;
        if !leaves[node.index()] && std::mem::replace(&mut is_sink[component], false) {
            chosen.push(node);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(nodes: usize, edges: &[(u32, u32)]) -> Graph {
        let edges: Vec<_> = edges.iter().map(|&(a, b)| (Node(a), Node(b))).collect();
        Graph::new(nodes, &edges)
    }

    /// By the definition: `a` dominates `b` iff without `a`, `b` is out of reach.
    fn dominates_slowly(graph: &Graph, root: Node, above: Node, below: Node) -> bool {
        if above == below || above == root {
            return true;
        }
        let edges: Vec<_> = graph
            .edges()
            .filter(|&(from, to)| from != above && to != above)
            .collect();
        !Graph::new(graph.len(), &edges).reachable([root])[below.index()]
    }

    #[test]
    fn agrees_with_the_definition_on_random_graphs() {
        let mut state = 1u64;
        let mut random = move |bound: usize| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as usize % bound
        };
        for round in 0..400 {
            let nodes = 2 + round % 9;
            let edges: Vec<_> = (0..nodes + random(nodes * 2))
                .map(|_| (Node::new(random(nodes)), Node::new(random(nodes))))
                .collect();
            let graph = Graph::new(nodes, &edges);
            let dominators = Dominators::new(&graph, Node(0));
            let reachable = graph.reachable([Node(0)]);
            for a in graph.nodes().filter(|a| reachable[a.index()]) {
                for b in graph.nodes().filter(|b| reachable[b.index()]) {
                    let expected = dominates_slowly(&graph, Node(0), a, b);
                    assert_eq!(
                        dominators.dominates(a, b),
                        expected,
                        "{a:?} {b:?} {edges:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn an_irreducible_loop() {
        let graph = graph(4, &[(0, 1), (0, 2), (1, 2), (2, 1), (1, 3)]);
        let dominators = Dominators::new(&graph, Node(0));
        assert_eq!(dominators.immediate(Node(1)), Some(Node(0)));
        assert_eq!(dominators.immediate(Node(2)), Some(Node(0)));
        assert_eq!(dominators.immediate(Node(3)), Some(Node(1)));
        assert_eq!(dominators.nearest_common(Node(3), Node(2)), Node(0));
    }

    #[test]
    fn an_endless_loop_still_has_post_dominators() {
        // 0 goes to 1 (returns) or into the loop 2 <-> 3.
        let graph = graph(4, &[(0, 1), (0, 2), (2, 3), (3, 2)]);
        let (post, extended) = Dominators::post(&graph, Node(0), &[Node(1)]);
        assert!(extended.has_edge(Node(2), Node(4)));
        assert!(post.dominates(Node(2), Node(3)));
        assert_eq!(post.immediate(Node(0)), Some(Node(4)));
    }

    #[test]
    fn large_ladders_are_quick() {
        let count = 60_000;
        let mut edges = Vec::new();
        for n in 0..count - 2 {
            edges.push((Node(n), Node(n + 1)));
            edges.push((Node(n), Node(n + 2)));
            edges.push((Node(n + 1), Node(n)));
        }
        let dominators = Dominators::new(&Graph::new(count as usize, &edges), Node(0));
        assert!(dominators.dominates(Node(0), Node(count - 1)));
    }
}
