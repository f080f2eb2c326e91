//! The program dependence graph of one function, by instructions and by lines.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use changeling_program::{FunctionId, Operation, Place, Program, Site, Value};
use serde::{Deserialize, Serialize};

use crate::graphs::Graphs;
use crate::memory::Memory;
use crate::pointers::{Cell, Origin};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pdg {
    pub function: FunctionId,
    pub edges: Vec<Edge>,
}

/// `to` depends on `from`; `None` stands for the function's entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Edge {
    pub from: Option<Site>,
    pub to: Site,
    pub kind: Dependence,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Dependence {
    /// `from` decides whether `to` runs, on the side with this label.
    Control { label: String },
    /// `to` uses what `from` computed.
    Value { variable: String },
    /// `to` reads memory that `from` wrote.
    Memory { variable: String },
}

/// Dependences between source lines; `None` stands for the function's entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    /// (deciding line, line, label of the side).
    pub control: BTreeSet<(Option<u32>, u32, String)>,
    /// (defining line, using line, variable).
    pub data: BTreeSet<(Option<u32>, u32, String)>,
}

impl Pdg {
    pub fn new(program: &Program, graphs: &Graphs, memory: &Memory, function: FunctionId) -> Pdg {
        let mut pdg = Pdg {
            function,
            edges: Vec::new(),
        };
        if program.function(function).is_defined() {
            pdg.control(program, graphs);
            pdg.values(program);
            pdg.memory(program, graphs, memory);
            pdg.edges.sort();
            pdg.edges.dedup();
        }
        pdg
    }

    fn control(&mut self, program: &Program, graphs: &Graphs) {
        let flow = graphs.flow.function(self.function);
        let control = graphs.control(self.function);
        for node in flow.graph.nodes() {
            let sites = || graphs.flow.segment(flow.segment(node)).sites();
            if control.is_unconditional(node) {
                let kind = Dependence::Control {
                    label: String::new(),
                };
                self.edges.extend(sites().map(|to| Edge {
                    from: None,
                    to,
                    kind: kind.clone(),
                }));
            }
            for decision in control.controllers(node) {
                let from = graphs.flow.segment(flow.segment(decision.from)).last;
                let kind = Dependence::Control {
                    label: side_label(program, from, decision.side),
                };
                let edge = |to| Edge {
                    from: Some(from),
                    to,
                    kind: kind.clone(),
                };
                self.edges.extend(sites().map(edge));
            }
        }
    }

    fn values(&mut self, program: &Program) {
        let names = variable_names(program, self.function);
        let parameters = &program.function(self.function).parameters;
        for to in program.function(self.function).sites() {
            for value in program.instruction(to).uses() {
                let (from, variable) = match value {
                    Value::Result(from) => (Some(from), names.get(&value).cloned()),
                    Value::Argument(n) => {
                        let own = parameters
                            .get(n as usize)
                            .map(|parameter| parameter.name.clone());
                        (None, names.get(&value).cloned().or(own))
                    }
                    _ => continue,
                };
                let kind = Dependence::Value {
                    variable: variable.unwrap_or_default(),
                };
                self.edges.push(Edge { from, to, kind });
            }
        }
    }

    fn memory(&mut self, program: &Program, graphs: &Graphs, memory: &Memory) {
        for to in program.function(self.function).sites() {
            let Some(access) = memory.access(to) else {
                continue;
            };
            for &cell in &access.reads {
                let mut trail = memory.trail(program, &graphs.calls, self.function, cell);
                let sources = memory.sources(program, &mut trail, Some(to));
                let kind = Dependence::Memory {
                    variable: cell_name(program, graphs, cell),
                };
                let found = sources
                    .definitions
                    .into_iter()
                    .chain(sources.calls)
                    .map(Some);
                for from in found.chain(sources.enters.then_some(None)) {
                    self.edges.push(Edge {
                        from,
                        to,
                        kind: kind.clone(),
                    });
                }
            }
        }
    }

    /// The same between lines. Instructions without a line hand on what they got.
    pub fn by_line(&self, program: &Program) -> Lines {
        let line = |site: Site| written(program, site).map(|place| place.line);
        let mut through: BTreeMap<Site, Vec<&Edge>> = BTreeMap::new();
        for edge in &self.edges {
            if line(edge.to).is_none() && !matches!(edge.kind, Dependence::Control { .. }) {
                through.entry(edge.to).or_default().push(edge);
            }
        }
        let mut lines = Lines::default();
        for edge in &self.edges {
            let Some(to) = line(edge.to) else { continue };
            let backwards = edge.from.is_some_and(|from| from >= edge.to);
            match &edge.kind {
                Dependence::Control { label } => {
                    let from = edge.from.map(line);
                    let own = from == Some(Some(to)) && !backwards;
                    if from != Some(None) && !own {
                        lines.control.insert((from.flatten(), to, label.clone()));
                    }
                }
                Dependence::Value { variable } | Dependence::Memory { variable } => {
                    for (from, site) in definers(edge.from, &through, &line) {
                        let own = from == Some(to) && site.is_some_and(|site| site < edge.to);
                        if !own {
                            lines.data.insert((from, to, variable.clone()));
                        }
                    }
                }
            }
        }
        lines
    }
}

/// Where the source has an instruction. Nothing stands where values meet: LLVM tells one of the lines that they come
/// from, wherever that is.
pub fn written(program: &Program, site: Site) -> Option<Place> {
    match program.instruction(site).operation {
        Operation::Phi { .. } => None,
        _ => program.place(site),
    }
}

/// Lines a value really comes from, through instructions that have none.
fn definers(
    from: Option<Site>,
    through: &BTreeMap<Site, Vec<&Edge>>,
    line: &impl Fn(Site) -> Option<u32>,
) -> Vec<(Option<u32>, Option<Site>)> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut work = vec![from];
    while let Some(site) = work.pop() {
        match site {
            None => found.push((None, None)),
            Some(site) => match line(site) {
                Some(line) => found.push((Some(line), Some(site))),
                None if seen.insert(site) => {
                    let before = through.get(&site).map_or(&[][..], Vec::as_slice);
                    work.extend(before.iter().map(|edge| edge.from));
                }
                None => {}
            },
        }
    }
    found
}

/// `T` and `F` for a condition, the value for a case, `*` for a default.
pub fn side_label(program: &Program, site: Site, side: u32) -> String {
    match &program.instruction(site).operation {
        Operation::Branch { .. } => ["T", "F"].get(side as usize).copied().unwrap_or("").into(),
        Operation::Switch { cases, .. } => match cases.get(side as usize) {
            Some(case) => case.value.to_string(),
            None => "*".into(),
        },
        Operation::Call(call) if call.invoke.is_some() => ["returns", "unwinds"]
            .get(side as usize)
            .copied()
            .unwrap_or("")
            .into(),
        Operation::Call(_) => "returns".into(),
        _ => String::new(),
    }
}

fn variable_names(program: &Program, function: FunctionId) -> HashMap<Value, String> {
    let body = program.function(function);
    let from = program
        .debug_values
        .partition_point(|known| known.before < body.first_site);
    let end = Site(body.first_site.0 + body.site_count);
    let to = program
        .debug_values
        .partition_point(|known| known.before < end);
    let mut names = HashMap::new();
    for known in program.debug_values[from..to]
        .iter()
        .filter(|known| !known.address)
    {
        let name = &program.variables[known.variable.index()].name;
        names.entry(known.value).or_insert_with(|| name.clone());
    }
    names
}

/// The variable a cell belongs to, with the offset if it is not its start.
pub fn cell_name(program: &Program, graphs: &Graphs, cell: Cell) -> String {
    let (origin, offset) = graphs.pointers.describe(cell);
    let name = match origin {
        Origin::Global(id) => program.global(id).name.clone(),
        Origin::Stack(site) => local_name(program, site),
        Origin::Heap(site) => format!("heap@{site}"),
        Origin::Function(id) => program.function(id).name.clone(),
        Origin::Variadic(_) => "...".into(),
        Origin::Outside => "outside".into(),
    };
    if offset == 0 {
        name
    } else {
        format!("{name}+{offset}")
    }
}

fn local_name(program: &Program, site: Site) -> String {
    let function = program.function(program.function_of(site));
    let from = program
        .debug_values
        .partition_point(|known| known.before < function.first_site);
    let own = program.debug_values[from..]
        .iter()
        .take_while(|known| known.before.0 < function.first_site.0 + function.site_count);
    let mut own = own.filter(|known| known.address && known.value == Value::Result(site));
    match own.next() {
        Some(known) => program.variables[known.variable.index()].name.clone(),
        None => format!("local@{site}"),
    }
}
