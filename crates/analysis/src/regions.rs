//! Regions with one way in and one way out.

use crate::{Dominators, Graph, Node};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    pub entry: Node,
    /// The first node behind the region; the graph's size stands for its exit.
    pub exit: Node,
    /// Ascending.
    pub nodes: Vec<Node>,
}

/// The smallest region around the nodes that is entered at one node only and
/// left to one node only. If nothing smaller is, the whole graph is.
pub fn enclosing(graph: &Graph, root: Node, exits: &[Node], nodes: &[Node]) -> Option<Region> {
    let dominators = Dominators::new(graph, root);
    let (post, extended) = Dominators::post(graph, root, exits);
    let mut set: Vec<Node> = nodes
        .iter()
        .copied()
        .filter(|&n| dominators.is_reachable(n))
        .collect();
    set.sort_unstable();
    set.dedup();
    loop {
        let entry = set
            .iter()
            .copied()
            .reduce(|a, b| dominators.nearest_common(a, b))?;
        // Who comes in by the entry goes out by the exit.
        if let Err(at) = set.binary_search(&entry) {
            set.insert(at, entry);
        }
        let last = set
            .iter()
            .copied()
            .reduce(|a, b| post.nearest_common(a, b))?;
        let inside = set.binary_search(&last).is_ok();
        let exit = if inside {
            post.immediate(last).unwrap_or(post.root())
        } else {
            last
        };
        let mut region = between(&extended, entry, exit);
        let is_below = |node: &Node| dominators.dominates(entry, *node);
        if region.iter().all(is_below) {
            // Whatever leads into the region other than at its entry belongs to it.
            let others = region.iter().filter(|&&node| node != entry);
            let before = others.flat_map(|&node| graph.predecessors(node));
            let missing: Vec<Node> = before
                .copied()
                .filter(|node| {
                    dominators.is_reachable(*node) && region.binary_search(node).is_err()
                })
                .collect();
            if missing.is_empty() {
                region.retain(|&node| node.index() < graph.len());
                return Some(Region {
                    entry,
                    exit,
                    nodes: region,
                });
            }
            region.extend(missing);
        }
        set = region;
        set.retain(|&node| node.index() < graph.len());
        set.sort_unstable();
        set.dedup();
    }
}

/// Nodes reached from `entry` without going over `exit`, ascending.
fn between(graph: &Graph, entry: Node, exit: Node) -> Vec<Node> {
    let mut seen = vec![false; graph.len()];
    seen[entry.index()] = true;
    seen[exit.index()] = true;
    let mut found = vec![entry];
    let mut work = vec![entry];
    while let Some(node) = work.pop() {
        for &next in graph.successors(node) {
            if !std::mem::replace(&mut seen[next.index()], true) {
                found.push(next);
                work.push(next);
            }
        }
    }
    found.sort_unstable();
    found
}

/// The graph seen from some of its nodes: an edge where a way leads from one to
/// another without touching a third.
pub fn contracted(graph: &Graph, marked: &[Node]) -> Vec<(Node, Node)> {
    let mut is_marked = vec![false; graph.len()];
    marked
        .iter()
        .for_each(|node| is_marked[node.index()] = true);
    let mut edges = Vec::new();
    // One stamp per start saves clearing.
    let mut seen = vec![usize::MAX; graph.len()];
    for (stamp, &start) in marked.iter().enumerate() {
        let mut work = vec![start];
        while let Some(node) = work.pop() {
            for &next in graph.successors(node) {
                if std::mem::replace(&mut seen[next.index()], stamp) == stamp {
                    continue;
                }
                if is_marked[next.index()] {
                    edges.push((start, next));
                } else {
                    work.push(next);
                }
            }
        }
    }
    edges.sort_unstable();
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(nodes: usize, edges: &[(u32, u32)]) -> Graph {
        let edges: Vec<_> = edges.iter().map(|&(a, b)| (Node(a), Node(b))).collect();
        Graph::new(nodes, &edges)
    }

    fn nodes(list: &[u32]) -> Vec<Node> {
        list.iter().map(|&n| Node(n)).collect()
    }

    #[test]
    fn a_condition_with_its_body() {
        // 8 -> 10 -> (11 ->) 12, as at the change of `TestMe`; 12 goes on or back.
        let graph = graph(
            14,
            &[
                (0, 8),
                (8, 10),
                (8, 12),
                (10, 11),
                (10, 12),
                (11, 12),
                (12, 8),
                (12, 13),
            ],
        );
        let region = enclosing(&graph, Node(0), &[Node(13)], &nodes(&[10, 11])).expect("a region");
        assert_eq!(
            region,
            Region {
                entry: Node(10),
                exit: Node(12),
                nodes: nodes(&[10, 11])
            }
        );
    }

    #[test]
    fn two_arms_take_their_condition_along() {
        let graph = graph(6, &[(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5)]);
        let region = enclosing(&graph, Node(0), &[Node(5)], &nodes(&[2, 3])).expect("a region");
        assert_eq!(
            region,
            Region {
                entry: Node(1),
                exit: Node(4),
                nodes: nodes(&[1, 2, 3])
            }
        );
    }

    #[test]
    fn an_early_return_leaves_only_the_function() {
        let graph = graph(4, &[(0, 1), (0, 2), (2, 3)]);
        let region =
            enclosing(&graph, Node(0), &[Node(1), Node(3)], &nodes(&[1, 2])).expect("a region");
        assert_eq!((region.entry, region.exit), (Node(0), Node(4)));
        assert_eq!(region.nodes, nodes(&[0, 1, 2, 3]));
    }

    /// By the definition: of all regions with one way in and one way out around the nodes, no other has fewer.
    #[test]
    fn the_smallest_region_on_random_graphs() {
        let mut state = 3u64;
        let mut random = move |bound: usize| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as usize % bound
        };
        let mut partial = 0;
        for round in 0..400 {
            let count = 4 + round % 7;
            let mut edges = Vec::new();
            for from in 0..count - 1 {
                edges.push((Node::new(from), Node::new(from + 1)));
                if random(2) == 0 {
                    edges.push((Node::new(from), Node::new(random(count))));
                }
            }
            let graph = Graph::new(count, &edges);
            let exits = [Node::new(count - 1)];
            let wanted = [Node::new(random(count)), Node::new(random(count))];
            let found = enclosing(&graph, Node(0), &exits, &wanted).expect("all can be reached");
            let (_, extended) = Dominators::post(&graph, Node(0), &exits);
            let end = Node::new(count);
            let is_one = &|entry: Node, exit: Node| -> Option<Vec<Node>> {
                let region = between(&extended, entry, exit);
                let mut others = region.iter().filter(|&&node| node != entry);
                let closed = others.all(|&node| {
                    let mut before = extended.predecessors(node).iter();
                    before.all(|before| region.contains(before))
                });
                // The graph itself is entered at its root.
                let entered = entry == Node(0) || !region.contains(&Node(0));
                let whole = wanted.iter().all(|node| region.contains(node));
                let left = entry != exit && !region.contains(&end);
                (entered && left && closed && whole).then_some(region)
            };
            let all = graph.nodes().flat_map(|entry| {
                let exits = graph.nodes().chain([end]);
                exits.filter_map(move |exit| is_one(entry, exit))
            });
            let least = all.map(|region| region.len()).min();
            let own = is_one(found.entry, found.exit);
            assert_eq!(own.as_ref(), Some(&found.nodes), "{wanted:?} in {edges:?}");
            assert_eq!(Some(found.nodes.len()), least, "{wanted:?} in {edges:?}");
            partial += u32::from(found.nodes.len() < count);
        }
        assert!(partial > 100, "{partial}");
    }

    /// The change-sequence graph of the running example: 0 is the root, 14 the
    /// end; statements 1, 5 and 7 are changed, 8 is where they meet, 10 prints.
    #[test]
    fn a_change_sequence_graph() {
        let flow = [
            (0, 1),
            (1, 2),
            (2, 3),
            (3, 4),
            (4, 5),
            (5, 13),
            (3, 6),
            (6, 7),
            (7, 8),
            (8, 13),
            (6, 9),
            (9, 10),
            (9, 13),
            (10, 11),
            (11, 14),
            (13, 2),
        ];
        let graph = graph(15, &flow);
        let edges = contracted(&graph, &nodes(&[0, 1, 5, 7, 8, 10, 14]));
        let expected = [
            (0, 1),
            (1, 5),
            (1, 7),
            (1, 10),
            (5, 5),
            (5, 7),
            (5, 10),
            (7, 8),
            (8, 5),
            (8, 7),
            (8, 10),
            (10, 14),
        ];
        assert_eq!(edges, expected.map(|(a, b)| (Node(a), Node(b))));
    }
}
