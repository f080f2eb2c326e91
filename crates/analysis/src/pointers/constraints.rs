//! From instructions to constraints.

use std::collections::{BTreeSet, HashMap};

use changeling_program::{
    Call, Callee, Constant, ConstantId, FunctionId, GlobalId, Instruction, Operation, Program,
    Shape, Site, TypeId, Value,
};

use super::objects::{ObjectId, Objects, Origin};
use super::solver::{Solver, Use};
use super::{NodeId, Pointers};
use crate::library;

/// Which node stands for which value. Memory cells come after all of these.
pub struct Layout {
    sites: u32,
    arguments: Vec<u32>,
    parameters: Vec<u32>,
    returns: u32,
    variadic: u32,
    constants: u32,
    globals: u32,
    functions: u32,
    count: u32,
}

impl Layout {
    fn new(program: &Program) -> Layout {
        let sites = program.instructions.len() as u32;
        let mut next = 2 * sites;
        let arguments = program.functions.iter().map(|function| {
            let first = next;
            next += function.parameters.len() as u32;
            first
        });
        let arguments: Vec<u32> = arguments.collect();
        let parameters = program
            .functions
            .iter()
            .map(|f| f.parameters.len() as u32)
            .collect();
        let functions = program.functions.len() as u32;
        let returns = next;
        let variadic = returns + functions;
        let constants = variadic + functions;
        let globals = constants + program.constants.len() as u32;
        let addresses = globals + program.globals.len() as u32;
        Layout {
            sites,
            arguments,
            parameters,
            returns,
            variadic,
            constants,
            globals,
            functions: addresses,
            count: addresses + functions,
        }
    }

    pub fn value(&self, function: FunctionId, value: Value) -> Option<NodeId> {
        match value {
            Value::Result(site) => Some(self.result(site)),
            Value::Argument(n) => self.argument(function, n),
            Value::Constant(id) => Some(NodeId(self.constants + id.0)),
            Value::Global(id) => Some(NodeId(self.globals + id.0)),
            Value::Function(id) => Some(NodeId(self.functions + id.0)),
        }
    }

    fn result(&self, site: Site) -> NodeId {
        NodeId(site.index() as u32)
    }

    /// What an external function called here has in hands.
    pub(super) fn gifts(&self, site: Site) -> NodeId {
        NodeId(self.sites + site.index() as u32)
    }

    pub(super) fn argument(&self, function: FunctionId, n: u32) -> Option<NodeId> {
        let known = n < self.parameters[function.index()];
        known.then(|| NodeId(self.arguments[function.index()] + n))
    }

    fn returned(&self, function: FunctionId) -> NodeId {
        NodeId(self.returns + function.0)
    }

    fn variadic(&self, function: FunctionId) -> NodeId {
        NodeId(self.variadic + function.0)
    }
}

/// `None` if it was told to stop.
pub fn generate(program: &Program, stop: &dyn Fn() -> bool) -> Option<Pointers> {
    let layout = Layout::new(program);
    let solver = Solver::new(layout.count);
    let objects = Objects::default();
    let mut generator = Generator {
        program,
        layout,
        solver,
        objects,
        callees: BTreeSet::new(),
        callbacks: BTreeSet::new(),
        copies: Vec::new(),
        gifts: Vec::new(),
        lent: HashMap::new(),
    };
    generator.addresses();
    generator.starts();
    for site in program.sites() {
        generator.instruction(site);
    }
    generator.solve(stop);
    generator.by_type();
    generator.solve(stop);
    if stop() {
        return None;
    }
    let shared = generator.shared();
    Some(Pointers {
        layout: generator.layout,
        solver: generator.solver,
        objects: generator.objects,
        callees: generator.callees.into_iter().collect(),
        callbacks: generator.callbacks.into_iter().collect(),
        shared,
    })
}

pub(super) struct Generator<'p> {
    pub(super) program: &'p Program,
    pub(super) layout: Layout,
    pub(super) solver: Solver,
    pub(super) objects: Objects,
    pub(super) callees: BTreeSet<(Site, FunctionId)>,
    pub(super) callbacks: BTreeSet<(Site, FunctionId)>,
    /// Memory copied from one pointer's target to another's: (to, from).
    pub(super) copies: Vec<(NodeId, NodeId)>,
    /// What external functions are given.
    pub(super) gifts: Vec<NodeId>,
    /// Memory of libraries, by the function that returns it.
    pub(super) lent: HashMap<FunctionId, ObjectId>,
}

impl Generator<'_> {
    pub(super) fn cell(&mut self, object: ObjectId, offset: u64) -> NodeId {
        self.solver.cell(&mut self.objects, object, offset)
    }

    fn attach(&mut self, node: NodeId, use_: Use) {
        self.solver.attach(node, use_);
    }

    fn outside(&mut self) -> NodeId {
        let object = self.objects.object(Origin::Outside, None, self.program);
        let merges = self.objects.step(object, 0, 1, None);
        self.solver.unite_all(merges);
        self.cell(object, 0)
    }

    /// Addresses of variables and functions, constants, initial contents.
    fn addresses(&mut self) {
        for (index, global) in self.program.globals.iter().enumerate() {
            let id = GlobalId::new(index);
            let object = self
                .objects
                .object(Origin::Global(id), Some(global.ty), self.program);
            let cell = self.cell(object, 0);
            self.solver.add(NodeId(self.layout.globals + id.0), cell);
        }
        for id in self.program.function_ids() {
            let object = self
                .objects
                .object(Origin::Function(id), None, self.program);
            let cell = self.cell(object, 0);
            self.solver.add(NodeId(self.layout.functions + id.0), cell);
        }
        for index in 0..self.program.constants.len() {
            self.constant(ConstantId::new(index));
        }
        for (index, global) in self.program.globals.iter().enumerate() {
            let origin = Origin::Global(GlobalId::new(index));
            if let (Some(value), Some(object)) = (global.initialiser, self.objects.find(origin)) {
                self.contents(object, 0, value);
            }
        }
    }

    /// A constant that is an address, or contains some.
    fn constant(&mut self, id: ConstantId) {
        let node = NodeId(self.layout.constants + id.0);
        match self.program.constant(id) {
            Constant::Offset { base, bytes } => {
                if let Some(base) = self.layout.value(FunctionId(0), *base) {
                    self.attach(
                        base,
                        Use::Offset {
                            to: node,
                            bytes: *bytes,
                        },
                    );
                }
            }
            Constant::Expression { operands, .. } => {
                for operand in operands.iter().filter(|operand| operand.site().is_none()) {
                    if let Some(operand) = self.layout.value(FunctionId(0), *operand) {
                        self.solver.copy(operand, node);
                    }
                }
            }
            Constant::Aggregate { elements, .. } => {
                for element in elements {
                    if let Some(element) = self.layout.value(FunctionId(0), *element) {
                        self.solver.copy(element, node);
                    }
                }
            }
            _ => {}
        }
    }

    fn contents(&mut self, object: ObjectId, offset: u64, value: Value) {
        let Value::Constant(id) = value else {
            self.initial(object, offset, value);
            return;
        };
        let Constant::Aggregate { ty, elements } = self.program.constant(id) else {
            if matches!(
                self.program.constant(id),
                Constant::Offset { .. } | Constant::Expression { .. }
            ) {
                self.initial(object, offset, value);
            }
            return;
        };
        for (n, &element) in elements.iter().enumerate() {
            let at = element_offset(self.program, *ty, n);
            self.contents(object, offset + at, element);
        }
    }

    fn initial(&mut self, object: ObjectId, offset: u64, value: Value) {
        let cell = self.cell(object, offset);
        if let Some(node) = self.layout.value(FunctionId(0), value) {
            self.solver.copy(node, cell);
        }
    }

    /// Arguments that come from outside the program.
    fn starts(&mut self) {
        let outside = self.outside();
        self.solver.add(outside, outside);
        for (index, global) in self.program.globals.iter().enumerate() {
            let is_theirs = global.initialiser.is_none();
            if is_theirs && library::is_way_to_arguments(&global.symbol) {
                let origin = Origin::Global(GlobalId::new(index));
                let object = self.objects.object(origin, Some(global.ty), self.program);
                let cell = self.cell(object, 0);
                self.solver.add(cell, outside);
            }
        }
        for id in self.program.definitions() {
            let function = self.program.function(id);
            if matches!(function.symbol.as_str(), "main" | "LLVMFuzzerTestOneInput") {
                for n in 0..function.parameters.len() as u32 {
                    if let Some(node) = self.layout.argument(id, n) {
                        self.solver.add(node, outside);
                    }
                }
            }
        }
    }

    fn instruction(&mut self, site: Site) {
        let program = self.program;
        let instruction = program.instruction(site);
        let function = program.block(instruction.block).function;
        let result = self.layout.result(site);
        let operand = |layout: &Layout, n: usize| {
            instruction
                .operands
                .get(n)
                .and_then(|&value| layout.value(function, value))
        };
        match &instruction.operation {
            Operation::Alloca { allocated } => {
                let object = self
                    .objects
                    .object(Origin::Stack(site), Some(*allocated), program);
                let cell = self.cell(object, 0);
                self.solver.add(result, cell);
            }
            Operation::Load(_) if self.may_hold_pointer(instruction.ty) => {
                if let Some(address) = operand(&self.layout, 0) {
                    self.solver.load(address, result);
                }
            }
            Operation::Store(_) => {
                let stored = instruction.operands[0];
                let relevant = program
                    .type_of(function, stored)
                    .is_some_and(|ty| self.may_hold_pointer(ty));
                if let (true, Some(from), Some(address)) =
                    (relevant, operand(&self.layout, 0), operand(&self.layout, 1))
                {
                    self.solver.store(address, from);
                }
            }
            Operation::Address(address) => {
                let Some(base) = operand(&self.layout, 0) else {
                    return;
                };
                let strides = address
                    .scaled
                    .iter()
                    .map(|&(_, stride)| stride.unsigned_abs());
                let use_ = match strides.reduce(smallest_common) {
                    None => Use::Offset {
                        to: result,
                        bytes: address.constant,
                    },
                    Some(stride) => Use::Indexed {
                        to: result,
                        bytes: address.constant,
                        stride,
                    },
                };
                self.attach(base, use_);
            }
            Operation::AtomicUpdate { .. } | Operation::CompareExchange => {
                let last = instruction.operands.len() - 1;
                if let (Some(address), Some(from)) =
                    (operand(&self.layout, 0), operand(&self.layout, last))
                {
                    self.solver.load(address, result);
                    self.solver.store(address, from);
                }
            }
            Operation::Return => {
                if let Some(value) = operand(&self.layout, 0) {
                    self.solver.copy(value, self.layout.returned(function));
                }
            }
            Operation::Call(call) => self.call(site, instruction, call, function),
            Operation::Compare(_) | Operation::Switch { .. } | Operation::Branch { .. } => {}
            _ if self.may_hold_pointer(instruction.ty) => {
                for n in 0..instruction.operands.len() {
                    if let Some(value) = operand(&self.layout, n) {
                        self.solver.copy(value, result);
                    }
                }
            }
            _ => {}
        }
    }

    /// Pointers also travel as integers of their width, and inside larger values.
    fn may_hold_pointer(&self, ty: TypeId) -> bool {
        match &self.program.ty(ty).shape {
            Shape::Pointer { .. } | Shape::Struct { .. } | Shape::Array { .. } => true,
            Shape::Integer { bits } => *bits >= 64,
            Shape::Vector { element, .. } => self.may_hold_pointer(*element),
            _ => false,
        }
    }

    fn call(&mut self, site: Site, instruction: &Instruction, call: &Call, function: FunctionId) {
        match &call.callee {
            Callee::Direct(callee) => self.enter(site, instruction, function, *callee),
            Callee::Indirect(pointer) => {
                if let Some(pointer) = self.layout.value(function, *pointer) {
                    self.attach(pointer, Use::Callee { site });
                }
            }
            Callee::Assembly(_) => self.unknown(site, instruction, function),
        }
    }

    pub(super) fn enter(
        &mut self,
        site: Site,
        instruction: &Instruction,
        caller: FunctionId,
        callee: FunctionId,
    ) {
        let target = self.program.function(callee);
        if !target.is_defined() {
            self.external(site, instruction, caller, callee);
            return;
        }
        for (n, &value) in instruction.operands.iter().enumerate() {
            let Some(from) = self.layout.value(caller, value) else {
                continue;
            };
            let to = self.layout.argument(callee, n as u32);
            self.solver
                .copy(from, to.unwrap_or(self.layout.variadic(callee)));
        }
        self.solver
            .copy(self.layout.returned(callee), self.layout.result(site));
    }

    fn external(
        &mut self,
        site: Site,
        instruction: &Instruction,
        caller: FunctionId,
        callee: FunctionId,
    ) {
        let symbol = &self.program.function(callee).symbol;
        let result = self.layout.result(site);
        let argument = |layout: &Layout, n: usize| {
            instruction
                .operands
                .get(n)
                .and_then(|&value| layout.value(caller, value))
        };
        if symbol.starts_with("llvm.va_start") {
            self.variadic_start(caller, argument(&self.layout, 0));
            return;
        }
        if symbol.starts_with("llvm.va_copy") {
            if let (Some(to), Some(from)) = (argument(&self.layout, 0), argument(&self.layout, 1)) {
                self.copies.push((to, from));
            }
            return;
        }
        if library::keeps(symbol) {
            let given = 0..instruction.operands.len();
            let given = given.filter_map(|n| argument(&self.layout, n));
            self.gifts.extend(given);
        }
        match library::pointers(symbol) {
            library::Pointers::Allocates => self.allocate(site),
            library::Pointers::Lends => self.lend(site, callee),
            library::Pointers::ReturnsFirst => {
                if symbol.contains("realloc") {
                    self.allocate(site);
                }
                if let Some(first) = argument(&self.layout, 0) {
                    self.solver.copy(first, result);
                }
            }
            library::Pointers::Copies => {
                if let (Some(to), Some(from)) =
                    (argument(&self.layout, 0), argument(&self.layout, 1))
                {
                    self.copies.push((to, from));
                    self.solver.copy(to, result);
                }
            }
            library::Pointers::Plain => {}
            library::Pointers::Unknown => self.unknown(site, instruction, caller),
        }
    }

    fn allocate(&mut self, site: Site) {
        let object = self.objects.object(Origin::Heap(site), None, self.program);
        let cell = self.cell(object, 0);
        self.solver.add(self.layout.result(site), cell);
    }

    /// The first call stands for all of the function.
    fn lend(&mut self, site: Site, callee: FunctionId) {
        let (objects, program) = (&mut self.objects, self.program);
        let lent = self.lent.entry(callee);
        let made = || objects.object(Origin::Heap(site), None, program);
        let object = *lent.or_insert_with(made);
        let cell = self.cell(object, 0);
        self.solver.add(self.layout.result(site), cell);
    }

    /// May return, store and call anything it was given, or memory of its own.
    fn unknown(&mut self, site: Site, instruction: &Instruction, caller: FunctionId) {
        let gifts = self.layout.gifts(site);
        let result = self.layout.result(site);
        self.gifts.push(gifts);
        self.allocate(site);
        self.solver.copy(result, gifts);
        for &value in &instruction.operands {
            let Some(node) = self.layout.value(caller, value) else {
                continue;
            };
            let holds = self
                .program
                .type_of(caller, value)
                .is_some_and(|ty| self.may_hold_pointer(ty));
            if holds {
                self.solver.copy(node, gifts);
                self.solver.store(node, gifts);
                self.attach(node, Use::Callback { site });
            }
        }
        self.solver.copy(gifts, result);
    }

    fn variadic_start(&mut self, function: FunctionId, list: Option<NodeId>) {
        let object = self
            .objects
            .object(Origin::Variadic(function), None, self.program);
        let merges = self.objects.step(object, 0, 1, None);
        self.solver.unite_all(merges);
        let cell = self.cell(object, 0);
        self.solver.copy(self.layout.variadic(function), cell);
        // The list holds pointers to where the arguments lie, whatever its form.
        let address = self.layout.variadic(function);
        self.solver.add(address, cell);
        if let Some(list) = list {
            for bytes in [0, 8, 16] {
                let within = self.solver.set(list);
                for place in within {
                    let (object, offset) = self.objects.place(self.solver.cell_of(place));
                    let field = self.cell(object, offset + bytes);
                    self.solver.add(field, cell);
                }
            }
        }
    }
}

/// Functions used other than by calling them.
pub fn address_taken(program: &Program) -> Vec<FunctionId> {
    let mut taken = BTreeSet::new();
    for instruction in &program.instructions {
        for value in instruction.uses() {
            if let Value::Function(id) = value {
                taken.insert(id);
            }
        }
    }
    for constant in &program.constants {
        let parts: &[Value] = match constant {
            Constant::Aggregate { elements, .. } => elements,
            Constant::Expression { operands, .. } => operands,
            Constant::Offset { base, .. } => std::slice::from_ref(base),
            _ => &[],
        };
        for &part in parts {
            if let Value::Function(id) = part {
                taken.insert(id);
            }
        }
    }
    for global in &program.globals {
        if let Some(Value::Function(id)) = global.initialiser {
            taken.insert(id);
        }
    }
    taken.into_iter().collect()
}

fn element_offset(program: &Program, ty: TypeId, n: usize) -> u64 {
    match &program.ty(ty).shape {
        Shape::Struct { offsets, .. } => offsets.get(n).copied().unwrap_or(0),
        Shape::Array { element, .. } | Shape::Vector { element, .. } => {
            program.ty(*element).size.unwrap_or(0) * n as u64
        }
        _ => 0,
    }
}

fn smallest_common(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
