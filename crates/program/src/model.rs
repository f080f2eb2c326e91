//! A whole program.

use serde::{Deserialize, Serialize};

use crate::{
    BlockId, Constant, ConstantId, FileId, FunctionId, GlobalId, Instruction, LocationId, Shape,
    Site, Type, TypeId, Value, VariableId,
};

/// One version of a program, whole. The vectors are indexed by the number types
/// of the same name; [`Site`]s count from 1, everything else from 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    pub format: u32,
    pub name: String,
    pub types: Vec<Type>,
    pub constants: Vec<Constant>,
    pub globals: Vec<Global>,
    pub functions: Vec<Function>,
    pub blocks: Vec<Block>,
    pub instructions: Vec<Instruction>,
    pub files: Vec<File>,
    pub locations: Vec<Location>,
    /// Local variables of the source, as far as debug information knows them.
    pub variables: Vec<Variable>,
    /// By ascending `before`.
    pub debug_values: Vec<DebugValue>,
    /// Assembler outside of functions, as it is written: nothing else is known about it.
    #[serde(default)]
    pub assembler: String,
    /// Functions that code outside of the program can call by their names: what is linked tells, not the code.
    #[serde(default)]
    pub exported: Vec<FunctionId>,
    /// Variables that code outside of the program can use by their names.
    #[serde(default)]
    pub exported_variables: Vec<GlobalId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// As in the bitcode.
    pub symbol: String,
    /// For people.
    pub name: String,
    /// As debug information has it: in Rust with the types that it was made for, which the symbol only has
    /// as a hash. Empty if unknown.
    pub instance: String,
    pub linkage: Linkage,
    /// A [`Shape::Function`].
    pub signature: TypeId,
    pub parameters: Vec<Parameter>,
    /// Blocks `first_block .. first_block + block_count`; none if only declared.
    pub first_block: BlockId,
    pub block_count: u32,
    pub first_site: Site,
    pub site_count: u32,
    /// Where the source defines it.
    pub place: Option<Place>,
    pub no_return: bool,
    pub no_unwind: bool,
    /// What else of how it was declared has a say in the code that is made of its body: the processor that it is for,
    /// whether it is optimised.
    #[serde(default)]
    pub attributes: String,
    /// Where the source wants it to lie, and at which multiples of how many bytes; 0 if that is all the same.
    #[serde(default)]
    pub section: Option<String>,
    #[serde(default)]
    pub alignment: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    pub name: String,
    pub ty: TypeId,
    /// The caller's object is copied; the pointer is not shared.
    pub by_value: bool,
    /// Nothing else leads to what it leads to, as the source promises (`restrict`, Rust's references).
    #[serde(default)]
    pub no_alias: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Linkage {
    /// Seen by other objects.
    External,
    /// One of several equal definitions may be taken (inline, templates, weak).
    Mergeable,
    /// Only this object.
    Internal,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    pub function: FunctionId,
    pub first: Site,
    pub count: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Global {
    pub symbol: String,
    pub name: String,
    pub linkage: Linkage,
    /// Type of the variable itself.
    pub ty: TypeId,
    /// Never written.
    pub constant: bool,
    pub thread_local: bool,
    /// Where the source wants it to lie. What lies among the addresses of functions that run before `main` runs.
    #[serde(default)]
    pub section: Option<String>,
    /// Its address is a multiple of so many bytes.
    #[serde(default)]
    pub alignment: u32,
    /// `None` if only declared here.
    pub initialiser: Option<Value>,
    pub place: Option<Place>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct File {
    /// As the compiler was given it.
    pub name: String,
    /// The directory that `name` is relative to.
    pub directory: String,
}

impl File {
    pub fn path(&self) -> std::path::PathBuf {
        std::path::Path::new(&self.directory).join(&self.name)
    }
}

/// A line of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    pub file: FileId,
    pub line: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    pub file: FileId,
    /// 0 if the compiler gave none.
    pub line: u32,
    pub column: u32,
    /// Symbol (or plain name) of the source function this was written in, which
    /// is another one than the function around it where code was inlined.
    pub scope: String,
    /// The call that was replaced by the inlined body.
    pub inlined_at: Option<LocationId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    pub name: String,
    pub function: FunctionId,
    pub line: u32,
}

/// From `before` on, `variable` has `value`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebugValue {
    pub before: Site,
    pub variable: VariableId,
    pub value: Value,
    /// `value` is the variable's address, not its contents.
    pub address: bool,
    pub location: Option<LocationId>,
}

impl Program {
    pub const FORMAT: u32 = 1;

    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.index()]
    }

    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.index()]
    }

    pub fn instruction(&self, site: Site) -> &Instruction {
        &self.instructions[site.index()]
    }

    pub fn global(&self, id: GlobalId) -> &Global {
        &self.globals[id.index()]
    }

    pub fn ty(&self, id: TypeId) -> &Type {
        &self.types[id.index()]
    }

    pub fn constant(&self, id: ConstantId) -> &Constant {
        &self.constants[id.index()]
    }

    pub fn function_ids(&self) -> impl Iterator<Item = FunctionId> + use<> {
        (0..self.functions.len()).map(FunctionId::new)
    }

    /// Functions with a body.
    pub fn definitions(&self) -> impl Iterator<Item = FunctionId> + '_ {
        self.function_ids()
            .filter(|&id| self.function(id).is_defined())
    }

    pub fn sites(&self) -> impl Iterator<Item = Site> + use<> {
        (0..self.instructions.len()).map(Site::from_index)
    }

    pub fn function_named(&self, name: &str) -> Option<FunctionId> {
        let symbol = self
            .functions
            .iter()
            .position(|function| function.symbol == name);
        let found = symbol.or_else(|| {
            let matches = |function: &crate::Function| function.name == name;
            let defined = self
                .functions
                .iter()
                .position(|f| matches(f) && f.is_defined());
            defined.or_else(|| self.functions.iter().position(matches))
        });
        found.map(FunctionId::new)
    }

    pub fn function_of(&self, site: Site) -> FunctionId {
        self.block(self.instruction(site).block).function
    }

    pub fn terminator(&self, block: BlockId) -> Site {
        let block = self.block(block);
        Site(block.first.0 + block.count - 1)
    }

    pub fn successors(&self, block: BlockId) -> Vec<BlockId> {
        self.instruction(self.terminator(block)).successors()
    }

    pub fn location(&self, site: Site) -> Option<&Location> {
        self.instruction(site)
            .location
            .map(|id| &self.locations[id.index()])
    }

    /// The source line of an instruction: where it was written, not where it was
    /// inlined. `None` without debug information or for compiler-made code.
    pub fn place(&self, site: Site) -> Option<Place> {
        let location = self.location(site)?;
        (location.line != 0).then_some(Place {
            file: location.file,
            line: location.line,
        })
    }

    /// The chain of locations from the instruction's own outwards through the
    /// calls it was inlined at.
    pub fn inlining(&self, site: Site) -> impl Iterator<Item = &Location> {
        let first = self.instruction(site).location;
        std::iter::successors(first, |id| self.locations[id.index()].inlined_at)
            .map(|id| &self.locations[id.index()])
    }

    pub fn file(&self, id: FileId) -> &File {
        &self.files[id.index()]
    }

    /// `file:line`.
    pub fn describe_place(&self, place: Place) -> String {
        format!("{}:{}", self.file(place.file).name, place.line)
    }

    /// Debug values that take effect just before the instruction.
    pub fn debug_values_at(&self, site: Site) -> &[DebugValue] {
        let from = self
            .debug_values
            .partition_point(|value| value.before < site);
        let to = self
            .debug_values
            .partition_point(|value| value.before <= site);
        &self.debug_values[from..to]
    }

    /// The value's type.
    pub fn type_of(&self, function: FunctionId, value: Value) -> Option<TypeId> {
        match value {
            Value::Result(site) => Some(self.instruction(site).ty),
            Value::Argument(n) => self
                .function(function)
                .parameters
                .get(n as usize)
                .map(|parameter| parameter.ty),
            Value::Constant(id) => match self.constant(id) {
                Constant::Integer { ty, .. }
                | Constant::Float { ty, .. }
                | Constant::Null { ty }
                | Constant::Zero { ty }
                | Constant::Undefined { ty, .. }
                | Constant::Bytes { ty, .. }
                | Constant::Aggregate { ty, .. }
                | Constant::Expression { ty, .. }
                | Constant::Opaque { ty, .. } => Some(*ty),
                Constant::Offset { .. } | Constant::BlockAddress { .. } => self.pointer_type(),
            },
            Value::Global(_) | Value::Function(_) => self.pointer_type(),
        }
    }

    fn pointer_type(&self) -> Option<TypeId> {
        let pointer = Shape::Pointer { space: 0 };
        self.types
            .iter()
            .position(|ty| ty.shape == pointer)
            .map(TypeId::new)
    }
}

impl Function {
    pub fn is_defined(&self) -> bool {
        self.block_count > 0
    }

    pub fn is_intrinsic(&self) -> bool {
        self.symbol.starts_with("llvm.")
    }

    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = BlockId> + ExactSizeIterator + use<> {
        (self.first_block.0..self.first_block.0 + self.block_count).map(BlockId)
    }

    pub fn sites(&self) -> impl DoubleEndedIterator<Item = Site> + ExactSizeIterator + use<> {
        (self.first_site.0..self.first_site.0 + self.site_count).map(Site)
    }

    pub fn entry(&self) -> Option<BlockId> {
        self.is_defined().then_some(self.first_block)
    }
}

impl Block {
    pub fn sites(&self) -> impl DoubleEndedIterator<Item = Site> + ExactSizeIterator + use<> {
        (self.first.0..self.first.0 + self.count).map(Site)
    }
}
