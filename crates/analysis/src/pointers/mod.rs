//! What pointers can point to: inclusion-based, field-sensitive, without regard
//! to the order of execution; and with it, whom indirect calls can call.
//!
//! Memory is divided into objects (variables, allocation sites) and these into
//! cells by offset. Elements of an array that is indexed by a variable share
//! their cells.

mod closure;
mod constraints;
mod objects;
mod solver;

use std::collections::{BTreeSet, HashSet};

use changeling_program::{FunctionId, Program, Site, Value};

use closure::Shared;
pub use constraints::address_taken;
use constraints::{Layout, generate};
use objects::Objects;
pub use objects::{ObjectId, Origin};
use solver::Solver;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(pub u32);

impl NodeId {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A piece of memory that is never looked into further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell(pub u32);

/// Pointers with the same number point to the same places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetsId(u32);

/// The solution.
pub struct Pointers {
    layout: Layout,
    solver: Solver,
    objects: Objects,
    callees: Vec<(Site, FunctionId)>,
    callbacks: Vec<(Site, FunctionId)>,
    shared: Shared,
}

impl Pointers {
    pub fn new(program: &Program) -> Pointers {
        Pointers::unless(program, &|| false).expect("nothing stops it")
    }

    /// `None` if it was told to stop; the longer it runs the more often it asks.
    pub fn unless(program: &Program, stop: &dyn Fn() -> bool) -> Option<Pointers> {
        generate(program, stop)
    }

    /// Functions that the call at the site can enter through a pointer.
    pub fn callees(&self, site: Site) -> impl Iterator<Item = FunctionId> + '_ {
        at(&self.callees, site)
    }

    /// Functions that an external function called at the site may call because
    /// it was given their address.
    pub fn callbacks(&self, site: Site) -> impl Iterator<Item = FunctionId> + '_ {
        at(&self.callbacks, site)
    }

    /// Functions that code outside of the program may call at any time.
    pub fn given_away(&self) -> &BTreeSet<FunctionId> {
        &self.shared.functions
    }

    /// Whether code outside of the program may look at the memory at any time.
    pub fn is_shared(&self, cell: Cell) -> bool {
        let (object, _) = self.objects.place(self.solver.cell_of(NodeId(cell.0)));
        self.shared.objects.contains(&object)
    }

    /// `None` for what is never a pointer.
    pub fn targets(&self, function: FunctionId, pointer: Value) -> Option<TargetsId> {
        let node = self.layout.value(function, pointer)?;
        Some(TargetsId(self.solver.contents_of(node).0))
    }

    /// Cells that `size` bytes behind the pointer can touch.
    pub fn cells(&self, function: FunctionId, pointer: Value, size: u64) -> Vec<Cell> {
        let Some(node) = self.layout.value(function, pointer) else {
            return Vec::new();
        };
        let mut cells = Vec::new();
        for first in self.solver.set(node) {
            let (object, offset) = self.objects.place(first);
            cells.push(Cell(first.0));
            let end = offset.saturating_add(size);
            let others = self.objects.get(object).cells_between(offset, end);
            cells.extend(others.map(|other| Cell(other.0)));
        }
        cells.sort_unstable();
        cells.dedup();
        cells
    }

    /// Everything in the objects behind the pointer.
    pub fn whole_objects(&self, function: FunctionId, pointer: Value) -> Vec<Cell> {
        let Some(node) = self.layout.value(function, pointer) else {
            return Vec::new();
        };
        let objects: BTreeSet<ObjectId> = self
            .solver
            .set(node)
            .iter()
            .map(|&cell| self.objects.place(cell).0)
            .collect();
        let cells = objects
            .into_iter()
            .flat_map(|object| self.objects.cells_of(object));
        let cells: BTreeSet<Cell> = cells.map(|cell| Cell(cell.0)).collect();
        cells.into_iter().collect()
    }

    /// Everything that can be reached from the pointer through memory.
    pub fn reachable(&self, function: FunctionId, pointer: Value) -> Vec<Cell> {
        let mut seen: BTreeSet<Cell> = self.whole_objects(function, pointer).into_iter().collect();
        let mut work: Vec<Cell> = seen.iter().copied().collect();
        // Cells with common contents lead to the same cells.
        let mut expanded = HashSet::new();
        let mut objects = HashSet::new();
        while let Some(cell) = work.pop() {
            if !expanded.insert(self.solver.contents_of(NodeId(cell.0))) {
                continue;
            }
            for next in self.solver.set(NodeId(cell.0)) {
                let (object, _) = self.objects.place(next);
                if !objects.insert(object) {
                    continue;
                }
                for inner in self.objects.cells_of(object) {
                    if seen.insert(Cell(inner.0)) {
                        work.push(Cell(inner.0));
                    }
                }
            }
        }
        seen.into_iter().collect()
    }

    /// Whether the object behind the pointer holds pointers to unnamed arguments: a `va_list`.
    pub fn leads_to_arguments(&self, function: FunctionId, pointer: Value) -> bool {
        let lists = self.whole_objects(function, pointer).into_iter();
        let mut held = lists.flat_map(|cell| self.solver.set(NodeId(cell.0)));
        held.any(|place| {
            let (object, _) = self.objects.place(place);
            matches!(self.objects.get(object).origin, Origin::Variadic(_))
        })
    }

    /// Origins of the objects behind the pointer.
    pub fn origins(&self, function: FunctionId, pointer: Value) -> Vec<Origin> {
        let Some(node) = self.layout.value(function, pointer) else {
            return Vec::new();
        };
        let objects: BTreeSet<ObjectId> = self
            .solver
            .set(node)
            .iter()
            .map(|&cell| self.objects.place(cell).0)
            .collect();
        objects
            .into_iter()
            .map(|object| self.objects.get(object).origin)
            .collect()
    }

    /// All cells there are, ascending.
    pub fn all_cells(&self) -> Vec<Cell> {
        let cells = self.objects.list.iter().flat_map(|object| object.cells());
        let cells: BTreeSet<Cell> = cells.map(|cell| Cell(cell.0)).collect();
        cells.into_iter().collect()
    }

    /// What kind of memory the cell is in, and at which offset.
    pub fn describe(&self, cell: Cell) -> (Origin, u64) {
        let (object, offset) = self.objects.place(self.solver.cell_of(NodeId(cell.0)));
        (self.objects.get(object).origin, offset)
    }

    /// Whether a store of so many bytes to the cell replaces all it held: it stands for a single
    /// place in memory, and nothing of the object behind it is left until the next cell begins.
    pub fn is_single(&self, cell: Cell, size: u64, program: &Program) -> bool {
        let (object, _) = self.objects.place(self.solver.cell_of(NodeId(cell.0)));
        let object = self.objects.get(object);
        let offset = self.objects.place(NodeId(cell.0)).1;
        object.is_single_at(offset)
            && object
                .room_at(offset)
                .is_some_and(|room| room > 0 && room <= size)
            && match object.origin {
                Origin::Global(_) => true,
                // A local variable of a function that is active twice is two.
                Origin::Stack(site) => {
                    let entry = program.function(program.function_of(site)).first_block;
                    program.instruction(site).block == entry
                }
                _ => false,
            }
    }
}

fn at(list: &[(Site, FunctionId)], site: Site) -> impl Iterator<Item = FunctionId> + '_ {
    let from = list.partition_point(|&(at, _)| at < site);
    list[from..]
        .iter()
        .take_while(move |&&(at, _)| at == site)
        .map(|&(_, function)| function)
}
