//! Solving to the end: what arrives at calls brings new constraints.

use std::collections::{BTreeSet, HashMap, HashSet};

use changeling_program::{Call, Callee, FunctionId, GlobalId, Instruction, Shape, Site, TypeId};

use super::NodeId;
use super::constraints::{Generator, address_taken};
use super::objects::{ObjectId, Origin};
use super::solver::Arrival;
use crate::names::known_variables;

/// What code outside of the program knows.
pub(super) struct Shared {
    pub functions: BTreeSet<FunctionId>,
    pub objects: HashSet<ObjectId>,
}

/// A copy between more pairs of places than this joins them all.
const MANY_COPIES: usize = 64;

impl Generator<'_> {
    /// Until nothing is new: function pointers that arrive at calls bring new
    /// constraints, and so do cells that appear in copied memory.
    pub(super) fn solve(&mut self, stop: &dyn Fn() -> bool) {
        let mut copied: HashSet<(NodeId, NodeId)> = HashSet::new();
        loop {
            let arrivals = self.solver.run(&mut self.objects, self.program, stop);
            let mut progress = false;
            for arrival in arrivals {
                progress |= self.arrive(arrival);
            }
            // Many pointers point to the same places.
            let mut alike: HashSet<(NodeId, NodeId)> = HashSet::new();
            for n in 0..self.copies.len() {
                let (to, from) = self.copies[n];
                let both = (self.solver.contents_of(to), self.solver.contents_of(from));
                if alike.insert(both) {
                    progress |= self.copy_memory(to, from, &mut copied);
                }
            }
            if !progress || stop() {
                return;
            }
        }
    }

    /// Returns whether the call was not known yet.
    fn arrive(&mut self, arrival: Arrival) -> bool {
        let (object, _) = self.objects.place(self.solver.cell_of(arrival.target));
        let Origin::Function(callee) = self.objects.get(object).origin else {
            return false;
        };
        let instruction = self.program.instruction(arrival.site);
        let caller = self.program.function_of(arrival.site);
        if arrival.callback {
            let new = self.program.function(callee).is_defined()
                && self.callbacks.insert((arrival.site, callee));
            if new {
                let gifts = self.layout.gifts(arrival.site);
                for n in 0..self.program.function(callee).parameters.len() as u32 {
                    if let Some(node) = self.layout.argument(callee, n) {
                        self.solver.copy(gifts, node);
                    }
                }
            }
            return new;
        }
        let new = self.accepts(callee, instruction) && self.callees.insert((arrival.site, callee));
        if new {
            self.enter(arrival.site, instruction, caller, callee);
        }
        new
    }

    /// Whether the call passes what the function takes.
    fn accepts(&self, callee: FunctionId, instruction: &Instruction) -> bool {
        let function = self.program.function(callee);
        let variadic = matches!(
            self.program.ty(function.signature).shape,
            Shape::Function { variadic: true, .. }
        );
        let (given, taken) = (instruction.operands.len(), function.parameters.len());
        given == taken || (variadic && given > taken)
    }

    /// Calls whose pointer comes from nowhere known: any function of that type
    /// whose address is taken.
    pub(super) fn by_type(&mut self) {
        let mut taken: HashMap<TypeId, Vec<FunctionId>> = HashMap::new();
        for id in address_taken(self.program) {
            taken
                .entry(self.program.function(id).signature)
                .or_default()
                .push(id);
        }
        let resolved: HashSet<Site> = self.callees.iter().map(|&(site, _)| site).collect();
        for site in self.program.sites() {
            let instruction = self.program.instruction(site);
            let Some(Call {
                callee: Callee::Indirect(_),
                signature,
                ..
            }) = instruction.call()
            else {
                continue;
            };
            if resolved.contains(&site) {
                continue;
            }
            for &callee in taken.get(signature).map_or(&[][..], Vec::as_slice) {
                if self.callees.insert((site, callee)) {
                    self.enter(site, instruction, self.program.function_of(site), callee);
                }
            }
        }
    }

    /// What code outside of the program can have the address of: it was given it, or memory from which it can be come to, or
    /// it lies in a variable of its own, or one that it knows by name. It may call these functions and look at this memory whenever it runs.
    pub(super) fn shared(&self) -> Shared {
        let globals = self.program.globals.iter().enumerate();
        let of_others = globals.filter(|(_, global)| global.initialiser.is_none());
        let of_others = of_others.map(|(index, _)| GlobalId::new(index));
        let globals = of_others.chain(known_variables(self.program));
        let known = globals.map(Origin::Global).chain([Origin::Outside]);
        let known = known.filter_map(|origin| self.objects.find(origin));
        let known: Vec<ObjectId> = known.chain(self.lent.values().copied()).collect();
        let cells = known
            .iter()
            .flat_map(|&object| self.objects.cells_of(object));
        let mut work: Vec<NodeId> = self.gifts.iter().copied().chain(cells).collect();
        let mut functions = BTreeSet::new();
        let mut seen: HashSet<ObjectId> = known.into_iter().collect();
        let mut alike = HashSet::new();
        while let Some(node) = work.pop() {
            if !alike.insert(self.solver.contents_of(node)) {
                continue;
            }
            for cell in self.solver.set(node) {
                let (object, _) = self.objects.place(cell);
                if !seen.insert(object) {
                    continue;
                }
                match self.objects.get(object).origin {
                    Origin::Function(id) if self.program.function(id).is_defined() => {
                        functions.insert(id);
                    }
                    _ => work.extend(self.objects.cells_of(object)),
                }
            }
        }
        Shared {
            functions,
            objects: seen,
        }
    }

    /// Cell by cell, keeping distances. Returns whether anything was new.
    fn copy_memory(
        &mut self,
        to: NodeId,
        from: NodeId,
        done: &mut HashSet<(NodeId, NodeId)>,
    ) -> bool {
        let mut progress = false;
        let targets = self.solver.set(to);
        let sources = self.solver.set(from);
        if targets.len() * sources.len() > MANY_COPIES {
            return self.join_memory(targets.into_iter().chain(sources).collect());
        }
        for &source in &sources {
            let (object, start) = self.objects.place(source);
            for cell in self.objects.cells_of(object).collect::<Vec<_>>() {
                let (_, offset) = self.objects.place(self.solver.cell_of(cell));
                if offset < start || self.solver.set(cell).is_empty() {
                    continue;
                }
                for &target in &targets {
                    let (other, first) = self.objects.place(self.solver.cell_of(target));
                    let copy = self.cell(other, first + offset - start);
                    if done.insert((self.solver.cell_of(cell), copy)) {
                        self.solver.copy(cell, copy);
                        progress = true;
                    }
                }
            }
        }
        progress
    }

    /// All that these cells' objects contain becomes one.
    fn join_memory(&mut self, cells: Vec<NodeId>) -> bool {
        let objects: BTreeSet<ObjectId> = cells
            .into_iter()
            .map(|cell| self.objects.place(cell).0)
            .collect();
        let cells: Vec<NodeId> = objects
            .into_iter()
            .flat_map(|object| self.objects.cells_of(object))
            .collect();
        let pairs = cells.windows(2);
        let mut progress = false;
        for pair in pairs {
            progress |= self.solver.unite(pair[0], pair[1]);
        }
        progress
    }
}
