//! From single edits to changes.

use std::collections::{BTreeMap, HashMap};

use changeling_analysis::{Graph, Node};
use changeling_program::{DebugValue, FunctionId, Operation, Place, Program, Site, Value};

use crate::alignment::{Alignment, Edit};
use crate::attribution::{assign_hunks, debug_values};
use crate::region::{Correspondence, Flow, Region, replacement};
use crate::source::{Text, Which};
use crate::{Change, ChangeId, ChangeKind, HunkId, Lines, Side, SiteMap, Span, Subject};

pub struct Pair<'a> {
    pub base: &'a Program,
    pub head: &'a Program,
    pub functions: (FunctionId, FunctionId),
    pub text: &'a Text,
    pub sites: &'a SiteMap,
}

impl<'a> Pair<'a> {
    pub fn side(&self, which: Which) -> (&'a Program, FunctionId) {
        match which {
            Which::Base => (self.base, self.functions.0),
            Which::Head => (self.head, self.functions.1),
        }
    }
}

/// The changes of one function. Edits of one hunk are one change; where there
/// is no hunk, neighbours and edits of one line are.
pub fn changes(pair: &Pair<'_>, alignment: &Alignment) -> Vec<Change> {
    if alignment.edits.is_empty() {
        return Vec::new();
    }
    let groups = group(pair, &alignment.edits);
    let base_flow = FunctionFlow::new(pair.base, pair.functions.0);
    let head_flow = FunctionFlow::new(pair.head, pair.functions.1);
    groups
        .into_iter()
        .map(|(hunk, edits)| change(pair, &base_flow, &head_flow, hunk, &edits))
        .collect()
}

type Groups = Vec<(Option<HunkId>, Vec<Edit>)>;

/// An instruction that several hunks altered is part of several changes.
fn group(pair: &Pair<'_>, edits: &[(Edit, u32)]) -> Groups {
    let hunks = assign_hunks(pair, edits);
    let mut by_hunk: BTreeMap<HunkId, (usize, Vec<Edit>)> = BTreeMap::new();
    let mut sets = Sets::new(edits.len());
    let mut by_run: HashMap<u32, usize> = HashMap::new();
    let mut by_line: HashMap<(bool, Place), usize> = HashMap::new();
    for (n, &(edit, run)) in edits.iter().enumerate() {
        for &hunk in &hunks[n] {
            by_hunk.entry(hunk).or_insert((n, Vec::new())).1.push(edit);
        }
        if !hunks[n].is_empty() {
            continue;
        }
        sets.unite(n, *by_run.entry(run).or_insert(n));
        let base = edit
            .base()
            .and_then(|site| pair.base.place(site))
            .map(|place| (false, place));
        let head = edit
            .head()
            .and_then(|site| pair.head.place(site))
            .map(|place| (true, place));
        for line in base.into_iter().chain(head) {
            sets.unite(n, *by_line.entry(line).or_insert(n));
        }
    }
    let mut groups: BTreeMap<(usize, Option<HunkId>), Vec<Edit>> = BTreeMap::new();
    for (hunk, (first, edits)) in by_hunk {
        groups.insert((first, Some(hunk)), edits);
    }
    for (n, &(edit, _)) in edits.iter().enumerate() {
        if hunks[n].is_empty() {
            groups.entry((sets.find(n), None)).or_default().push(edit);
        }
    }
    groups
        .into_iter()
        .map(|((_, hunk), edits)| (hunk, edits))
        .collect()
}

fn change(
    pair: &Pair<'_>,
    base_flow: &FunctionFlow,
    head_flow: &FunctionFlow,
    hunk: Option<HunkId>,
    edits: &[Edit],
) -> Change {
    let mut base_modified: Vec<Site> = edits.iter().filter_map(|edit| edit.base()).collect();
    let mut head_modified: Vec<Site> = edits.iter().filter_map(|edit| edit.head()).collect();
    base_modified.sort_unstable();
    head_modified.sort_unstable();
    let map = FunctionMap {
        base: base_flow,
        head: head_flow,
        sites: pair.sites,
    };
    let nodes = |flow: &FunctionFlow, sites: &[Site]| -> Vec<Node> {
        sites.iter().map(|&site| flow.node(site)).collect()
    };
    let found = replacement(
        &base_flow.flow,
        &head_flow.flow,
        &map,
        &nodes(base_flow, &base_modified),
        &nodes(head_flow, &head_modified),
    );
    let text = hunk.map(|hunk| &pair.text.hunks[hunk.0 as usize]);
    let kind = match (edits, text) {
        (_, Some(hunk)) if hunk.base.count == 0 => ChangeKind::Added,
        (_, Some(hunk)) if hunk.head.count == 0 => ChangeKind::Deleted,
        (edits, None) if edits.iter().all(|edit| edit.base().is_none()) => ChangeKind::Added,
        (edits, None) if edits.iter().all(|edit| edit.head().is_none()) => ChangeKind::Deleted,
        _ => ChangeKind::Modified,
    };
    let mut base = Side {
        function: Some(pair.functions.0),
        lines: text
            .map(|hunk| hunk.base)
            .or_else(|| lines(pair.base, &base_modified)),
        points: points(
            pair,
            Which::Base,
            text.map(|hunk| hunk.base),
            &base_modified,
        ),
        modified: base_modified,
        ..Side::default()
    };
    let mut head = Side {
        function: Some(pair.functions.1),
        lines: text
            .map(|hunk| hunk.head)
            .or_else(|| lines(pair.head, &head_modified)),
        points: points(
            pair,
            Which::Head,
            text.map(|hunk| hunk.head),
            &head_modified,
        ),
        modified: head_modified,
        ..Side::default()
    };
    let mut incoming = Vec::new();
    let mut outgoing = Vec::new();
    if let Some(found) = found {
        base_flow.fill(&mut base, &found.base, pair.base);
        head_flow.fill(&mut head, &found.head, pair.head);
        for ((from, to), target) in found.incoming {
            if let (Some(to), Some(target)) = (base_flow.site(to), head_flow.site(target)) {
                incoming.push((base_flow.site(from), to, target));
            }
        }
        for ((from, to), start) in found.outgoing {
            if let Some(from) = base_flow.site(from) {
                let start = start.and_then(|node| head_flow.site(node));
                outgoing.push((from, base_flow.site(to), start));
            }
        }
    }
    Change {
        id: ChangeId(0),
        kind,
        subject: Subject::Code,
        hunk,
        base,
        head,
        incoming,
        outgoing,
    }
}

/// Sites that run when a statement of the hunk runs: modified instructions of
/// its lines, and where its assignments take effect that left no instruction.
fn points(pair: &Pair<'_>, which: Which, hunk: Option<Lines>, modified: &[Site]) -> Vec<Site> {
    let (program, function) = pair.side(which);
    let within = |place: Place| {
        let place = pair.text.canonical(which, place);
        hunk.is_some_and(|hunk| hunk.file == place.file && hunk.contains(place.line))
    };
    let mut points: Vec<Site> = modified
        .iter()
        .copied()
        .filter(|&site| program.place(site).is_some_and(within))
        .collect();
    if !modified.is_empty() {
        let known = debug_values(program, program.function(function).sites());
        let values = known.iter().filter(|known| !known.address);
        let own = values.filter(|known| !is_carried(program, known));
        let assigned = own.filter(|known| {
            pair.text
                .assignment(which, program, known)
                .is_some_and(within)
        });
        points.extend(assigned.map(|known| known.before));
    }
    if points.is_empty() {
        points = modified.to_vec();
    }
    points.sort_unstable();
    points.dedup();
    points
}

/// Whether the value is merely what a variable had before, after ways that join.
fn is_carried(program: &Program, known: &DebugValue) -> bool {
    let phi = |site: Site| {
        let instruction = program.instruction(site);
        let block = program.instruction(known.before).block;
        matches!(instruction.operation, Operation::Phi { .. }) && instruction.block == block
    };
    matches!(known.value, Value::Argument(_)) || known.value.site().is_some_and(phi)
}

/// Lines of the instructions that are in the file of the first of them.
pub fn lines(program: &Program, sites: &[Site]) -> Option<Lines> {
    let places: Vec<Place> = sites
        .iter()
        .filter_map(|&site| program.place(site))
        .collect();
    let file = places.first()?.file;
    let own = places
        .iter()
        .filter(|place| place.file == file)
        .map(|place| place.line);
    let (first, last) = (own.clone().min()?, own.max()?);
    Some(Lines {
        file,
        first,
        count: last - first + 1,
    })
}

/// A function's flow graph by instructions: node 0 is the entry, then the
/// instructions in order, then the exit.
struct FunctionFlow {
    first: Site,
    count: u32,
    flow: Flow,
}

impl FunctionFlow {
    fn new(program: &Program, function: FunctionId) -> FunctionFlow {
        let body = program.function(function);
        let (first, count) = (body.first_site, body.site_count);
        let node = |site: Site| Node(site.0 - first.0 + 1);
        let exit = Node(count + 1);
        let mut edges = vec![(Node(0), Node(1))];
        for block in body.blocks() {
            let last = program.terminator(block);
            for site in program.block(block).sites() {
                if site != last {
                    edges.push((node(site), Node(node(site).0 + 1)));
                }
            }
            let targets = program.successors(block);
            if targets.is_empty() {
                edges.push((node(last), exit));
            }
            edges.extend(
                targets
                    .iter()
                    .map(|&to| (node(last), node(program.block(to).first))),
            );
        }
        let graph = Graph::new(count as usize + 2, &edges);
        FunctionFlow {
            first,
            count,
            flow: Flow::new(graph, Node(0)),
        }
    }

    fn node(&self, site: Site) -> Node {
        Node(site.0 - self.first.0 + 1)
    }

    fn site(&self, node: Node) -> Option<Site> {
        (node.0 >= 1 && node.0 <= self.count).then(|| Site(self.first.0 + node.0 - 1))
    }

    fn fill(&self, side: &mut Side, region: &Region, program: &Program) {
        // An anchor at the function's entry stands for its first instruction.
        side.entry = Some(self.site(region.entry).unwrap_or(self.first));
        let sites = region.nodes.iter().filter_map(|&node| self.site(node));
        for site in sites.chain((region.nodes.len() == 1).then_some(side.entry).flatten()) {
            match side.region.last_mut() {
                Some(span) if span.last == site => {}
                Some(span)
                    if span.last.0 + 1 == site.0
                        && program.instruction(span.last).block
                            == program.instruction(site).block =>
                {
                    span.last = site;
                }
                _ => side.region.push(Span {
                    first: site,
                    last: site,
                }),
            }
        }
    }
}

struct FunctionMap<'a> {
    base: &'a FunctionFlow,
    head: &'a FunctionFlow,
    sites: &'a SiteMap,
}

impl Correspondence for FunctionMap<'_> {
    fn to_head(&self, node: Node) -> Option<Node> {
        match self.base.site(node) {
            Some(site) => self.sites.head(site).map(|site| self.head.node(site)),
            None if node.0 == 0 => Some(node),
            None => Some(Node(self.head.count + 1)),
        }
    }

    fn to_base(&self, node: Node) -> Option<Node> {
        match self.head.site(node) {
            Some(site) => self.sites.base(site).map(|site| self.base.node(site)),
            None if node.0 == 0 => Some(node),
            None => Some(Node(self.base.count + 1)),
        }
    }
}

/// Disjoint sets; each goes by its smallest member.
struct Sets(Vec<usize>);

impl Sets {
    fn new(count: usize) -> Sets {
        Sets((0..count).collect())
    }

    fn find(&mut self, mut n: usize) -> usize {
        while self.0[n] != n {
            self.0[n] = self.0[self.0[n]];
            n = self.0[n];
        }
        n
    }

    fn unite(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b)] = a.min(b);
    }
}
