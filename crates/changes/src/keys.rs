//! Numbers that stand for what an instruction does, comparable across versions:
//! no site, block or type number of either program goes into them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::contents::Contents;
use crate::hints;
use crate::joints::Joints;
use changeling_program::{
    BlockId, Call, Callee, FunctionId, Global, GlobalId, Instruction, Linkage, Operation, Program,
    Shape, Site, Value, stable_name,
};

/// The operands of a failed assertion that are its file and line.
const ASSERTED_AT: [usize; 2] = [1, 2];
/// What things go by: matched functions and variables of the two versions must get the same name, and so must
/// blocks that correspond, of those whose address is taken. Functions and variables without one go by their own name,
/// blocks by that of their function alone.
#[derive(Default)]
pub struct Names {
    pub functions: HashMap<FunctionId, String>,
    pub globals: HashMap<GlobalId, String>,
    pub labels: HashMap<BlockId, String>,
    /// Whether a place in a Rust file, as panics tell it, is part of what a program does.
    pub places_count: bool,
}

pub struct Keys<'p> {
    pub program: &'p Program,
    types: Vec<u64>,
    constants: Vec<u64>,
    globals: Vec<u64>,
    functions: Vec<u64>,
    /// The functions as addresses: where they lie counts, too.
    addresses: Vec<u64>,
    pub(crate) labels: HashMap<BlockId, u64>,
    joints: Joints,
}

impl<'p> Keys<'p> {
    pub fn new(program: &'p Program, names: &Names) -> Keys<'p> {
        let mut keys = Keys {
            program,
            types: Vec::with_capacity(program.types.len()),
            constants: Vec::new(),
            globals: Vec::new(),
            functions: Vec::new(),
            addresses: Vec::new(),
            labels: HashMap::new(),
            joints: Joints::new(program),
        };
        // Parts of a type have lower numbers than the type.
        for ty in &program.types {
            let key = keys.type_key(&ty.shape, ty.size);
            keys.types.push(key);
        }
        keys.renamed(names)
    }

    /// The same with other names.
    pub fn renamed(self, names: &Names) -> Keys<'p> {
        let mut keys = self;
        let program = keys.program;
        let labels = names.labels.iter();
        keys.labels = labels.map(|(&block, name)| (block, hash(name))).collect();
        keys.functions = program
            .function_ids()
            .map(|id| match names.functions.get(&id) {
                Some(name) => hash(&("function", name)),
                None => hash(&("function", function_name(program, id))),
            })
            .collect();
        let lying = keys.functions.iter().zip(&program.functions);
        let lying =
            lying.map(|(key, function)| hash(&(key, &function.section, function.alignment)));
        keys.addresses = lying.collect();
        let contents = Contents::new(program, names, &keys);
        let (globals, constants) = (contents.globals(), contents.constants());
        (keys.globals, keys.constants) = (globals, constants);
        keys
    }

    fn type_key(&self, shape: &Shape, size: Option<u64>) -> u64 {
        let part = |id: &changeling_program::TypeId| self.types[id.index()];
        let list = |ids: &[changeling_program::TypeId]| ids.iter().map(part).collect::<Vec<_>>();
        match shape {
            Shape::Array { element, length } => hash(&("array", part(element), length)),
            Shape::Vector {
                element, length, ..
            } => hash(&("vector", part(element), length)),
            Shape::Struct {
                fields, offsets, ..
            } => hash(&("struct", list(fields), offsets, size)),
            Shape::Function {
                result,
                parameters,
                variadic,
            } => hash(&("function", part(result), list(parameters), variadic)),
            plain => hash(&(plain, size)),
        }
    }

    pub fn ty(&self, id: changeling_program::TypeId) -> u64 {
        self.types[id.index()]
    }

    /// What a variable starts with, at whatever name.
    pub fn initial_key(&self, global: &Global) -> u64 {
        let content = global.initialiser.and_then(|value| self.fixed(value));
        hash(&(
            self.types[global.ty.index()],
            content,
            global.constant,
            global.thread_local,
            &global.section,
            global.alignment,
        ))
    }

    /// What an operand is, if it is no result of an instruction.
    pub fn fixed(&self, value: Value) -> Option<u64> {
        match value {
            Value::Result(_) => None,
            Value::Argument(n) => Some(hash(&("argument", n))),
            Value::Constant(id) => Some(self.constants[id.index()]),
            Value::Global(id) => Some(self.globals[id.index()]),
            Value::Function(id) => Some(self.addresses[id.index()]),
        }
    }

    /// As something whose address is used.
    pub fn address(&self, id: FunctionId) -> u64 {
        self.addresses[id.index()]
    }

    pub fn function(&self, id: FunctionId) -> u64 {
        self.functions[id.index()]
    }

    pub fn global(&self, id: GlobalId) -> u64 {
        self.globals[id.index()]
    }

    /// Name and type: what kind of thing the instruction is.
    pub fn kind(&self, instruction: &Instruction) -> u64 {
        let ty = self.types[instruction.ty.index()];
        let operation = &instruction.operation;
        let name = std::mem::discriminant(operation);
        match operation {
            Operation::Binary(binary, _) => hash(&(name, ty, binary)),
            Operation::Cast(cast) => hash(&(name, ty, cast)),
            Operation::Call(call) => hash(&(name, ty, self.callee(call), call.invoke.is_some())),
            Operation::Other { opcode, .. } => hash(&(name, ty, opcode)),
            Operation::Store(_) => {
                let stored = instruction
                    .operands
                    .first()
                    .and_then(|&value| self.operand_type(instruction, value));
                hash(&(name, stored))
            }
            _ => hash(&(name, ty)),
        }
    }

    fn operand_type(&self, instruction: &Instruction, value: Value) -> Option<u64> {
        let function = self.program.block(instruction.block).function;
        self.program
            .type_of(function, value)
            .map(|ty| self.types[ty.index()])
    }

    fn callee(&self, call: &Call) -> u64 {
        match &call.callee {
            Callee::Direct(function) => self.functions[function.index()],
            Callee::Indirect(_) => hash(&("indirect", self.types[call.signature.index()])),
            Callee::Assembly(text) => hash(&("assembly", text)),
        }
    }

    /// The kind and everything fixed about it but its operands. What the function is compiled for has a say in each
    /// instruction.
    pub fn detail(&self, instruction: &Instruction) -> u64 {
        let function = self.program.block(instruction.block).function;
        let attributes = &self.program.function(function).attributes;
        let detail = self.own_detail(instruction);
        hash(&(detail, &instruction.manner, attributes))
    }

    fn own_detail(&self, instruction: &Instruction) -> u64 {
        let kind = self.kind(instruction);
        match &instruction.operation {
            Operation::Binary(_, flags) => hash(&(kind, flags)),
            Operation::Compare(predicate) => match hints::tested(self.program, instruction) {
                Some(value) => hash(&(
                    kind,
                    predicate,
                    "zero",
                    self.operand_type(instruction, value),
                )),
                None => hash(&(kind, predicate)),
            },
            Operation::Alloca { allocated } => hash(&(kind, self.program.ty(*allocated).size)),
            Operation::Load(access) | Operation::Store(access) => hash(&(kind, access)),
            Operation::Address(address) => {
                // Nothing fixed about the way a constant offset was written.
                let strides: Vec<i64> = address.scaled.iter().map(|&(_, stride)| stride).collect();
                hash(&(kind, address.constant, strides))
            }
            Operation::AtomicUpdate { operation } => hash(&(kind, operation)),
            Operation::ExtractValue { indices } | Operation::InsertValue { indices } => {
                hash(&(kind, indices))
            }
            Operation::Shuffle { mask } => hash(&(kind, mask)),
            Operation::LandingPad { cleanup } => hash(&(kind, cleanup)),
            Operation::Switch { cases, .. } => {
                let values: Vec<u128> = cases.iter().map(|case| case.value).collect();
                hash(&(kind, values))
            }
            _ => kind,
        }
    }

    /// Operands that count: those of address arithmetic with constant indices
    /// are in the offset already, where an assertion stands is no
    /// part of what it does, and hints for the optimiser are none of what they are about.
    pub fn operands(&self, instruction: &Instruction) -> Vec<Value> {
        let mut operands = self.plain_operands(instruction);
        for operand in &mut operands {
            *operand = self.itself(*operand);
        }
        operands
    }

    /// Where control goes behind an instruction, seen through blocks that only look at what was decided before.
    pub fn targets(&self, instruction: &Instruction) -> Vec<BlockId> {
        self.joints.targets(self.program, instruction)
    }

    /// The value behind hints for the optimiser.
    pub fn itself(&self, value: Value) -> Value {
        hints::behind(self.program, value)
    }

    fn plain_operands(&self, instruction: &Instruction) -> Vec<Value> {
        let tested = hints::tested(self.program, instruction);
        if let Some(value) = tested.or_else(|| self.joints.condition(self.program, instruction)) {
            return vec![value];
        }
        match &instruction.operation {
            Operation::Address(address) => {
                let scaled = address
                    .scaled
                    .iter()
                    .map(|&(n, _)| instruction.operands[n as usize]);
                instruction
                    .operands
                    .first()
                    .copied()
                    .into_iter()
                    .chain(scaled)
                    .collect()
            }
            Operation::Call(call) if self.is_assertion(call) => {
                let operands = instruction.operands.iter().enumerate();
                let count = operands.filter(|(n, _)| !ASSERTED_AT.contains(n));
                count.map(|(_, &value)| value).collect()
            }
            Operation::Call(call) => {
                let bundled = call.bundled.iter().copied();
                instruction.uses().chain(bundled).collect()
            }
            _ => instruction.uses().collect(),
        }
    }

    /// A call of what a failed `assert` calls.
    fn is_assertion(&self, call: &Call) -> bool {
        let Callee::Direct(callee) = call.callee else {
            return false;
        };
        let callee = self.program.function(callee);
        !callee.is_defined() && callee.symbol == "__assert_fail"
    }

    /// Keys of a function's instructions at three depths.
    pub fn body(&self, function: FunctionId) -> Body {
        let sites: Vec<Site> = self.program.function(function).sites().collect();
        let first = self.program.function(function).first_site.0;
        let mut body = Body::default();
        for &site in &sites {
            let instruction = self.program.instruction(site);
            body.kind.push(self.kind(instruction));
            let idle = self.is_idle(instruction) || self.joints.leads_to_branch(instruction);
            body.idle.push(idle);
        }
        self.find_left_over(&sites, &mut body.idle);
        for &site in &sites {
            let instruction = self.program.instruction(site);
            let detail = self.detail(instruction);
            let is_phi = matches!(instruction.operation, Operation::Phi { .. });
            let operands = self.operands(instruction);
            let of = |n: Site| (n.0 - first) as usize;
            let near: Vec<u64> = operands
                .iter()
                .map(|&value| match value {
                    Value::Result(site) => body.kind[of(site)],
                    other => self.fixed(other).unwrap_or(0),
                })
                .collect();
            let far: Vec<u64> = operands
                .iter()
                .map(|&value| match value {
                    Value::Result(site) if !is_phi && of(site) < body.deep.len() => {
                        body.deep[of(site)]
                    }
                    Value::Result(site) => body.kind[of(site)],
                    other => self.fixed(other).unwrap_or(0),
                })
                .collect();
            body.shape.push(hash(&(detail, near)));
            body.deep.push(hash(&(detail, far)));
        }
        body
    }

    /// What hints leave behind is idle: nobody looks at its results.
    fn find_left_over(&self, sites: &[Site], idle: &mut [bool]) {
        let Some(&first) = sites.first() else { return };
        let instruction = |site: Site| self.program.instruction(site);
        let may_be_left = |site: Site| hints::may_be_left(self.program, instruction(site));
        let mut seen: Vec<bool> = sites.iter().map(|&site| !may_be_left(site)).collect();
        if seen.iter().all(|&seen| seen) {
            return;
        }
        let mut work: Vec<Site> = sites.to_vec();
        work.retain(|&site| seen[(site.0 - first.0) as usize]);
        while let Some(site) = work.pop() {
            let operands = self.operands(instruction(site));
            for used in operands.into_iter().filter_map(Value::site) {
                let seen = &mut seen[(used.0 - first.0) as usize];
                if !std::mem::replace(seen, true) {
                    work.push(used);
                }
            }
        }
        for (idle, seen) in idle.iter_mut().zip(seen) {
            *idle |= !seen;
        }
    }

    /// Calls that only tell the optimiser something.
    fn is_idle(&self, instruction: &Instruction) -> bool {
        const IDLE: [&str; 5] = [
            "llvm.lifetime.",
            "llvm.dbg.",
            "llvm.experimental.noalias.scope.decl",
            "llvm.assume",
            "llvm.donothing",
        ];
        match instruction.call() {
            // A promise about an address is kept by the code that is made of it.
            Some(Call {
                callee: Callee::Direct(callee),
                bundled,
                ..
            }) if bundled.is_empty() => {
                let symbol = &self.program.function(*callee).symbol;
                IDLE.iter().any(|prefix| symbol.starts_with(prefix))
            }
            _ => false,
        }
    }
}

/// Keys of the instructions of one function, in order.
#[derive(Default)]
pub struct Body {
    /// Opcode, type, callee.
    pub kind: Vec<u64>,
    /// With details and constants, and the kinds of the operands.
    pub shape: Vec<u64>,
    /// With the whole expression below it.
    pub deep: Vec<u64>,
    /// No effect when run.
    pub idle: Vec<bool>,
}

/// The name that is the same in all builds.
pub fn function_name(program: &Program, id: FunctionId) -> String {
    let function = program.function(id);
    stable_name(&function.symbol, function.linkage == Linkage::Internal)
}

pub fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
