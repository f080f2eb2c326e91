//! Programs made by hand, for tests of everything that works on plain data.
//! All integers are 32 bits wide unless said otherwise.

use std::collections::HashMap;

use crate::{
    Access, Address, BinaryOp, Block, BlockId, Call, Callee, Case, Constant, ConstantId, File,
    FileId, Flags, Function, FunctionId, Global, GlobalId, Instruction, Invoke, Linkage, Location,
    LocationId, Operation, Parameter, Place, Predicate, Program, Shape, Site, Type, TypeId, Value,
};

pub struct Builder {
    program: Program,
    types: HashMap<Type, TypeId>,
    constants: HashMap<Constant, ConstantId>,
    lines: HashMap<(u32, String), LocationId>,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

impl Builder {
    pub fn new() -> Builder {
        let files = vec![File {
            name: "test.c".into(),
            directory: "/".into(),
        }];
        Builder {
            program: Program {
                format: Program::FORMAT,
                files,
                ..Program::default()
            },
            types: HashMap::new(),
            constants: HashMap::new(),
            lines: HashMap::new(),
        }
    }

    pub fn finish(self) -> Program {
        self.program
    }

    pub fn ty(&mut self, shape: Shape, size: Option<u64>) -> TypeId {
        let program = &mut self.program;
        *self
            .types
            .entry(Type { shape, size })
            .or_insert_with_key(|ty| {
                program.types.push(ty.clone());
                TypeId::new(program.types.len() - 1)
            })
    }

    pub fn integer_type(&mut self, bits: u32) -> TypeId {
        self.ty(Shape::Integer { bits }, Some(u64::from(bits.div_ceil(8))))
    }

    pub fn pointer_type(&mut self) -> TypeId {
        self.ty(Shape::Pointer { space: 0 }, Some(8))
    }

    pub fn void_type(&mut self) -> TypeId {
        self.ty(Shape::Void, None)
    }

    pub fn array_type(&mut self, bytes: u64) -> TypeId {
        let element = self.integer_type(8);
        self.ty(
            Shape::Array {
                element,
                length: bytes,
            },
            Some(bytes),
        )
    }

    pub fn constant(&mut self, constant: Constant) -> Value {
        let program = &mut self.program;
        let id = *self
            .constants
            .entry(constant)
            .or_insert_with_key(|constant| {
                program.constants.push(constant.clone());
                ConstantId::new(program.constants.len() - 1)
            });
        Value::Constant(id)
    }

    pub fn integer(&mut self, value: i32) -> Value {
        let ty = self.integer_type(32);
        self.constant(Constant::Integer {
            ty,
            bits: u128::from(value as u32),
        })
    }

    /// A variable of so many bytes; with `initialiser`, its contents.
    pub fn global(&mut self, name: &str, bytes: u64, initialiser: Option<Value>) -> GlobalId {
        let ty = self.array_type(bytes);
        let initialiser = Some(match initialiser {
            Some(value) => value,
            None => self.constant(Constant::Zero { ty }),
        });
        self.program.globals.push(Global {
            symbol: name.into(),
            name: name.into(),
            linkage: Linkage::External,
            ty,
            constant: false,
            thread_local: false,
            section: None,
            alignment: 1,
            initialiser,
            place: None,
        });
        GlobalId::new(self.program.globals.len() - 1)
    }

    /// A function of `int` parameters, not defined yet.
    pub fn declare(&mut self, name: &str, parameters: usize) -> FunctionId {
        let int = self.integer_type(32);
        self.declare_typed(name, &vec![int; parameters], int)
    }

    pub fn declare_typed(
        &mut self,
        name: &str,
        parameters: &[TypeId],
        result: TypeId,
    ) -> FunctionId {
        let shape = Shape::Function {
            result,
            parameters: parameters.to_vec(),
            variadic: false,
        };
        let signature = self.ty(shape, None);
        let parameters = parameters.iter().map(|&ty| Parameter {
            name: String::new(),
            ty,
            by_value: false,
            no_alias: false,
        });
        self.program.functions.push(Function {
            symbol: name.into(),
            name: name.into(),
            instance: String::new(),
            linkage: Linkage::External,
            signature,
            parameters: parameters.collect(),
            first_block: BlockId(0),
            block_count: 0,
            first_site: Site::FIRST,
            site_count: 0,
            place: None,
            no_return: false,
            no_unwind: false,
            attributes: String::new(),
            section: None,
            alignment: 0,
        });
        FunctionId::new(self.program.functions.len() - 1)
    }

    /// Marks a declared function as one that never returns.
    pub fn no_return(&mut self, function: FunctionId) {
        self.program.functions[function.index()].no_return = true;
    }

    /// Starts the body of a declared function, with so many empty blocks. Bodies
    /// are given in the order of the declarations.
    pub fn define(&mut self, function: FunctionId, blocks: usize) -> FunctionBuilder<'_> {
        let first_block = BlockId::new(self.program.blocks.len());
        let first_site = Site::from_index(self.program.instructions.len());
        let body = &mut self.program.functions[function.index()];
        body.first_block = first_block;
        body.first_site = first_site;
        body.block_count = blocks as u32;
        let empty = Block {
            function,
            first: first_site,
            count: 0,
        };
        self.program
            .blocks
            .resize(first_block.index() + blocks, empty);
        FunctionBuilder {
            builder: self,
            function,
            first_block,
            current: first_block,
            line: 0,
        }
    }
}

/// Fills a function, block after block.
pub struct FunctionBuilder<'a> {
    builder: &'a mut Builder,
    function: FunctionId,
    first_block: BlockId,
    current: BlockId,
    line: u32,
}

impl FunctionBuilder<'_> {
    /// The n-th block of this function.
    pub fn block(&self, n: usize) -> BlockId {
        BlockId(self.first_block.0 + n as u32)
    }

    /// Goes on with the n-th block; must be called in ascending order.
    pub fn start(&mut self, n: usize) -> &mut Self {
        self.current = self.block(n);
        let next = Site::from_index(self.builder.program.instructions.len());
        let block = &mut self.builder.program.blocks[self.current.index()];
        assert_eq!(block.count, 0, "blocks are filled in order, each once");
        block.first = next;
        self
    }

    /// Source line of what follows.
    pub fn line(&mut self, line: u32) -> &mut Self {
        self.line = line;
        let function = &mut self.builder.program.functions[self.function.index()];
        function.place.get_or_insert(Place {
            file: FileId(0),
            line,
        });
        self
    }

    pub fn int(&mut self, value: i32) -> Value {
        self.builder.integer(value)
    }

    pub fn argument(&self, n: u32) -> Value {
        Value::Argument(n)
    }

    pub fn emit(&mut self, operation: Operation, ty: TypeId, operands: Vec<Value>) -> Value {
        let location = (self.line != 0).then(|| self.location());
        let program = &mut self.builder.program;
        program.instructions.push(Instruction {
            operation,
            ty,
            operands,
            block: self.current,
            location,
            manner: None,
        });
        program.blocks[self.current.index()].count += 1;
        program.functions[self.function.index()].site_count += 1;
        Value::Result(Site::from_index(program.instructions.len() - 1))
    }

    fn location(&mut self) -> LocationId {
        let program = &mut self.builder.program;
        let scope = program.functions[self.function.index()].symbol.clone();
        *self
            .builder
            .lines
            .entry((self.line, scope))
            .or_insert_with_key(|(line, scope)| {
                program.locations.push(Location {
                    file: FileId(0),
                    line: *line,
                    column: 1,
                    scope: scope.clone(),
                    inlined_at: None,
                });
                LocationId::new(program.locations.len() - 1)
            })
    }

    pub fn binary(&mut self, operation: BinaryOp, a: Value, b: Value) -> Value {
        let int = self.builder.integer_type(32);
        self.emit(
            Operation::Binary(operation, Flags::default()),
            int,
            vec![a, b],
        )
    }

    pub fn compare(&mut self, predicate: Predicate, a: Value, b: Value) -> Value {
        let bit = self.builder.integer_type(1);
        self.emit(Operation::Compare(predicate), bit, vec![a, b])
    }

    pub fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        let int = self.builder.integer_type(32);
        self.emit(Operation::Select, int, vec![condition, a, b])
    }

    /// (value, block it comes from); more can be added later.
    pub fn phi(&mut self, incoming: &[(Value, BlockId)]) -> Value {
        let int = self.builder.integer_type(32);
        let (values, blocks) = incoming.iter().copied().unzip();
        self.emit(Operation::Phi { incoming: blocks }, int, values)
    }

    pub fn add_incoming(&mut self, phi: Value, value: Value, block: BlockId) {
        let site = phi.site().expect("a phi is an instruction");
        let instruction = &mut self.builder.program.instructions[site.index()];
        instruction.operands.push(value);
        if let Operation::Phi { incoming } = &mut instruction.operation {
            incoming.push(block);
        }
    }

    pub fn alloca(&mut self, bytes: u64) -> Value {
        let allocated = self.builder.array_type(bytes);
        let pointer = self.builder.pointer_type();
        let one = self.int(1);
        self.emit(Operation::Alloca { allocated }, pointer, vec![one])
    }

    pub fn load(&mut self, address: Value) -> Value {
        let int = self.builder.integer_type(32);
        self.emit(Operation::Load(Access::default()), int, vec![address])
    }

    pub fn load_pointer(&mut self, address: Value) -> Value {
        let pointer = self.builder.pointer_type();
        self.emit(Operation::Load(Access::default()), pointer, vec![address])
    }

    pub fn store(&mut self, value: Value, address: Value) {
        let void = self.builder.void_type();
        self.emit(
            Operation::Store(Access::default()),
            void,
            vec![value, address],
        );
    }

    /// `base + bytes`.
    pub fn address(&mut self, base: Value, bytes: i64) -> Value {
        let element = self.builder.integer_type(8);
        let address = Address {
            constant: bytes,
            scaled: Vec::new(),
            element,
            path: Vec::new(),
        };
        let pointer = self.builder.pointer_type();
        self.emit(Operation::Address(address), pointer, vec![base])
    }

    /// `base + index * stride`.
    pub fn indexed(&mut self, base: Value, index: Value, stride: i64) -> Value {
        let element = self.builder.integer_type(8);
        let scaled = vec![(1, stride)];
        let address = Address {
            constant: 0,
            scaled,
            element,
            path: Vec::new(),
        };
        let pointer = self.builder.pointer_type();
        self.emit(Operation::Address(address), pointer, vec![base, index])
    }

    pub fn call(&mut self, callee: FunctionId, arguments: &[Value]) -> Value {
        let signature = self.builder.program.functions[callee.index()].signature;
        let no_return = self.builder.program.functions[callee.index()].no_return;
        self.emit_call(
            Callee::Direct(callee),
            signature,
            no_return,
            None,
            arguments,
        )
    }

    pub fn call_pointer(&mut self, callee: Value, signature: TypeId, arguments: &[Value]) -> Value {
        self.emit_call(Callee::Indirect(callee), signature, false, None, arguments)
    }

    pub fn invoke(
        &mut self,
        callee: FunctionId,
        arguments: &[Value],
        normal: BlockId,
        unwind: BlockId,
    ) -> Value {
        let signature = self.builder.program.functions[callee.index()].signature;
        let invoke = Some(Invoke { normal, unwind });
        self.emit_call(Callee::Direct(callee), signature, false, invoke, arguments)
    }

    fn emit_call(
        &mut self,
        callee: Callee,
        signature: TypeId,
        no_return: bool,
        invoke: Option<Invoke>,
        arguments: &[Value],
    ) -> Value {
        let result = match self.builder.program.ty(signature).shape {
            Shape::Function { result, .. } => result,
            _ => self.builder.void_type(),
        };
        let call = Call {
            callee,
            signature,
            no_return,
            no_unwind: false,
            bundled: Vec::new(),
            invoke,
        };
        self.emit(Operation::Call(call), result, arguments.to_vec())
    }

    pub fn jump(&mut self, target: BlockId) {
        self.terminate(Operation::Jump { target }, Vec::new());
    }

    pub fn branch(&mut self, condition: Value, then: BlockId, otherwise: BlockId) {
        self.terminate(Operation::Branch { then, otherwise }, vec![condition]);
    }

    pub fn switch(&mut self, selector: Value, cases: &[(u64, BlockId)], default: BlockId) {
        let cases = cases
            .iter()
            .map(|&(value, target)| Case {
                value: value.into(),
                target,
            })
            .collect();
        self.terminate(Operation::Switch { cases, default }, vec![selector]);
    }

    pub fn ret(&mut self, value: Option<Value>) {
        self.terminate(Operation::Return, value.into_iter().collect());
    }

    pub fn unreachable(&mut self) {
        self.terminate(Operation::Unreachable, Vec::new());
    }

    fn terminate(&mut self, operation: Operation, operands: Vec<Value>) {
        let void = self.builder.void_type();
        self.emit(operation, void, operands);
    }
}
