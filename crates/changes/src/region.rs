//! Changes as single-entry regions: a connected part of the flow graph with one
//! way in, that contains the modified nodes, and its counterpart in the other
//! version.

use changeling_analysis::{Dominators, Graph, Node};

/// A flow graph with its dominators.
pub struct Flow {
    pub graph: Graph,
    pub dominators: Dominators,
}

impl Flow {
    pub fn new(graph: Graph, root: Node) -> Flow {
        let dominators = Dominators::new(&graph, root);
        Flow { graph, dominators }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    pub entry: Node,
    /// Ascending.
    pub nodes: Vec<Node>,
}

/// A region of base, the region of head that replaces it, and how the edges
/// across the border are to be redirected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    pub base: Region,
    pub head: Region,
    /// Edge into base's region, and the node of head it leads to instead.
    pub incoming: Vec<((Node, Node), Node)>,
    /// Edge out of base's region, and the node of head's region that has the
    /// corresponding edge; `None` if head never goes there.
    pub outgoing: Vec<((Node, Node), Option<Node>)>,
}

/// Nodes that correspond, both ways.
pub trait Correspondence {
    fn to_head(&self, node: Node) -> Option<Node>;
    fn to_base(&self, node: Node) -> Option<Node>;
}

/// The smallest replacement that contains all the modified nodes. One of the
/// lists may be empty: then the closest unmodified node in front of the other's
/// region is the anchor on both sides. `None` if nothing modified can be reached.
pub fn replacement(
    base: &Flow,
    head: &Flow,
    map: &impl Correspondence,
    base_modified: &[Node],
    head_modified: &[Node],
) -> Option<Replacement> {
    let reachable = |flow: &Flow, nodes: &[Node]| -> Vec<Node> {
        nodes
            .iter()
            .copied()
            .filter(|&node| flow.dominators.is_reachable(node))
            .collect()
    };
    let mut left = reachable(base, base_modified);
    let mut right = reachable(head, head_modified);
    if left.is_empty() {
        let (there, here) = anchor(head, &right, |node| map.to_base(node))?;
        left.push(here);
        right.push(there);
    } else if right.is_empty() {
        let (there, here) = anchor(base, &left, |node| map.to_head(node))?;
        right.push(here);
        left.push(there);
    }
    // What lies inside on one side lies inside on the other.
    loop {
        let base_region = enclose(base, &left)?;
        let head_region = enclose(head, &right)?;
        let more_right = missing(&base_region, &head_region, |node| map.to_head(node), head);
        let more_left = missing(&head_region, &base_region, |node| map.to_base(node), base);
        if more_left.is_empty() && more_right.is_empty() {
            let incoming = incoming(base, &base_region, &head_region);
            let outgoing = outgoing(base, head, map, &base_region, &head_region);
            return Some(Replacement {
                base: base_region,
                head: head_region,
                incoming,
                outgoing,
            });
        }
        left.extend(more_left);
        right.extend(more_right);
    }
}

/// The closest common dominator of the nodes, and everything between it and
/// them: no edge leads into the region but into its entry.
pub fn enclose(flow: &Flow, nodes: &[Node]) -> Option<Region> {
    let mut nodes = nodes.iter().copied();
    let first = nodes.next()?;
    let rest: Vec<Node> = nodes.collect();
    let entry = rest
        .iter()
        .fold(first, |a, &b| flow.dominators.nearest_common(a, b));
    let mut seen = vec![false; flow.graph.len()];
    seen[entry.index()] = true;
    let mut region = vec![entry];
    let mut work = Vec::new();
    for node in [first].into_iter().chain(rest) {
        if !std::mem::replace(&mut seen[node.index()], true) {
            region.push(node);
            work.push(node);
        }
    }
    while let Some(node) = work.pop() {
        for &before in flow.graph.predecessors(node) {
            let reachable = flow.dominators.is_reachable(before);
            if reachable && !std::mem::replace(&mut seen[before.index()], true) {
                region.push(before);
                work.push(before);
            }
        }
    }
    region.sort_unstable();
    Some(Region {
        entry,
        nodes: region,
    })
}

/// The closest dominator with a partner, and the partner.
fn anchor(
    flow: &Flow,
    nodes: &[Node],
    partner: impl Fn(Node) -> Option<Node>,
) -> Option<(Node, Node)> {
    let entry = enclose(flow, nodes)?.entry;
    flow.dominators
        .chain(entry)
        .find_map(|node| Some((node, partner(node)?)))
}

/// Partners of the region's nodes that are not in the other region yet.
fn missing(
    region: &Region,
    other: &Region,
    partner: impl Fn(Node) -> Option<Node>,
    flow: &Flow,
) -> Vec<Node> {
    region
        .nodes
        .iter()
        .filter_map(|&node| partner(node))
        .filter(|node| other.nodes.binary_search(node).is_err())
        .filter(|&node| flow.dominators.is_reachable(node))
        .collect()
}

fn incoming(base: &Flow, region: &Region, head: &Region) -> Vec<((Node, Node), Node)> {
    let outside = |node: &&Node| region.nodes.binary_search(node).is_err();
    let mut before: Vec<Node> = base
        .graph
        .predecessors(region.entry)
        .iter()
        .filter(outside)
        .copied()
        .collect();
    before.sort_unstable();
    before.dedup();
    before
        .into_iter()
        .map(|node| ((node, region.entry), head.entry))
        .collect()
}

fn outgoing(
    base: &Flow,
    head: &Flow,
    map: &impl Correspondence,
    region: &Region,
    other: &Region,
) -> Vec<((Node, Node), Option<Node>)> {
    let mut edges = Vec::new();
    for &from in &region.nodes {
        for &to in base.graph.successors(from) {
            if region.nodes.binary_search(&to).is_ok() {
                continue;
            }
            let leads_there = |node: Node| {
                map.to_head(to)
                    .is_some_and(|to| head.graph.has_edge(node, to))
                    && other.nodes.binary_search(&node).is_ok()
            };
            let own = map.to_head(from).filter(|&node| leads_there(node));
            let start = own.or_else(|| {
                let before = head.graph.predecessors(map.to_head(to)?);
                before
                    .iter()
                    .copied()
                    .filter(|&node| leads_there(node))
                    .min()
            });
            edges.push(((from, to), start));
        }
    }
    edges.sort_unstable();
    edges.dedup();
    edges
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    struct Map(HashMap<Node, Node>);

    impl Correspondence for Map {
        fn to_head(&self, node: Node) -> Option<Node> {
            self.0.get(&node).copied()
        }

        fn to_base(&self, node: Node) -> Option<Node> {
            self.0
                .iter()
                .find(|(_, head)| **head == node)
                .map(|(base, _)| *base)
        }
    }

    fn flow(edges: &[(u32, u32)]) -> Flow {
        let edges: Vec<_> = edges.iter().map(|&(a, b)| (Node(a), Node(b))).collect();
        Flow::new(Graph::new(16, &edges), Node(0))
    }

    fn same(nodes: &[u32]) -> Map {
        Map(nodes.iter().map(|&n| (Node(n), Node(n))).collect())
    }

    fn nodes(list: &[u32]) -> Vec<Node> {
        list.iter().map(|&n| Node(n)).collect()
    }

    fn edge(from: u32, to: u32) -> (Node, Node) {
        (Node(from), Node(to))
    }

    /// `prog` of the specification: 0 is the entry, 9 the exit; statement 8
    /// exists in head only.
    const PROG: [(u32, u32); 9] = [
        (0, 1),
        (1, 2),
        (2, 3),
        (2, 7),
        (3, 4),
        (3, 5),
        (4, 6),
        (5, 6),
        (6, 2),
    ];

    fn prog(tail: &[(u32, u32)]) -> Flow {
        flow(&[&PROG[..], tail].concat())
    }

    #[test]
    fn one_statement() {
        let (base, head) = (prog(&[(7, 9)]), prog(&[(7, 9)]));
        let map = same(&[0, 1, 2, 3, 4, 5, 6, 7, 9]);
        let change = replacement(&base, &head, &map, &nodes(&[1]), &nodes(&[1])).expect("a region");
        assert_eq!(
            change.base,
            Region {
                entry: Node(1),
                nodes: nodes(&[1])
            }
        );
        assert_eq!(change.head, change.base);
        assert_eq!(change.incoming, [(edge(0, 1), Node(1))]);
        assert_eq!(change.outgoing, [(edge(1, 2), Some(Node(1)))]);
    }

    #[test]
    fn an_insertion_is_anchored_at_the_node_before() {
        let (base, head) = (prog(&[(7, 9)]), prog(&[(7, 8), (8, 9)]));
        let map = same(&[0, 1, 2, 3, 4, 5, 6, 7, 9]);
        let change = replacement(&base, &head, &map, &[], &nodes(&[8])).expect("a region");
        assert_eq!(
            change.base,
            Region {
                entry: Node(7),
                nodes: nodes(&[7])
            }
        );
        assert_eq!(
            change.head,
            Region {
                entry: Node(7),
                nodes: nodes(&[7, 8])
            }
        );
        assert_eq!(change.incoming, [(edge(2, 7), Node(7))]);
        assert_eq!(change.outgoing, [(edge(7, 9), Some(Node(8)))]);

        let deletion = replacement(&head, &base, &map, &nodes(&[8]), &[]).expect("a region");
        assert_eq!(deletion.base.nodes, nodes(&[7, 8]));
        assert_eq!(deletion.head.nodes, nodes(&[7]));
        assert_eq!(deletion.outgoing, [(edge(8, 9), Some(Node(7)))]);
    }

    #[test]
    fn two_entries_take_their_common_dominator() {
        let (base, head) = (prog(&[(7, 9)]), prog(&[(7, 9)]));
        let map = same(&[0, 1, 2, 3, 4, 5, 6, 7, 9]);
        let modified = nodes(&[4, 7]);
        let change = replacement(&base, &head, &map, &modified, &modified).expect("a region");
        assert_eq!(
            change.base,
            Region {
                entry: Node(2),
                nodes: nodes(&[2, 3, 4, 7])
            }
        );
        assert_eq!(
            change.incoming,
            [(edge(1, 2), Node(2)), (edge(6, 2), Node(2))]
        );
        let out = [(edge(3, 5), 3), (edge(4, 6), 4), (edge(7, 9), 7)];
        assert_eq!(
            change.outgoing,
            out.map(|(edge, node)| (edge, Some(Node(node))))
        );
    }

    #[test]
    fn a_region_replaced_by_another_of_other_form() {
        let base = flow(&[(0, 1), (1, 2), (2, 3), (3, 4), (3, 5)]);
        let head = flow(&[(0, 1), (1, 6), (6, 7), (6, 8), (7, 4), (8, 5)]);
        let map = same(&[0, 1, 4, 5]);
        let change =
            replacement(&base, &head, &map, &nodes(&[2, 3]), &nodes(&[6, 7, 8])).expect("a region");
        assert_eq!(
            change.base,
            Region {
                entry: Node(2),
                nodes: nodes(&[2, 3])
            }
        );
        assert_eq!(
            change.head,
            Region {
                entry: Node(6),
                nodes: nodes(&[6, 7, 8])
            }
        );
        assert_eq!(change.incoming, [(edge(1, 2), Node(6))]);
        let out = [(edge(3, 4), Some(Node(7))), (edge(3, 5), Some(Node(8)))];
        assert_eq!(change.outgoing, out);
    }

    #[test]
    fn no_edge_enters_but_at_the_entry() {
        // A diamond whose top and bottom are modified.
        let graph = flow(&[(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5)]);
        let region = enclose(&graph, &nodes(&[1, 4])).expect("a region");
        assert_eq!(region.nodes, nodes(&[1, 2, 3, 4]));
    }

    #[test]
    fn what_cannot_be_reached_has_no_region() {
        let graph = flow(&[(0, 1), (3, 1)]);
        let map = same(&[0, 1, 3]);
        assert_eq!(
            replacement(&graph, &graph, &map, &nodes(&[3]), &nodes(&[3])),
            None
        );
    }
}
