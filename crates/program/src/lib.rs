//! The plain-data model of one version of a program, and the reader that fills
//! it from prepared bitcode.
//!
//! Everything here is owned data with numbers instead of pointers: it can be
//! compared, saved and sent between threads. Only [`read`] knows LLVM.
//!
//! Absent on purpose: everything that has to be worked out, such as graphs, and how a version was built.

mod builder;
mod identity;
mod instruction;
mod model;
mod names;
mod reader;
mod signature;
mod types;
mod value;

pub use builder::{Builder, FunctionBuilder};
pub use identity::{
    BlockId, ConstantId, FileId, FunctionId, GlobalId, LocationId, Site, TypeId, VariableId,
};
pub use instruction::{
    Access, Address, BinaryOp, Call, Callee, Case, CastOp, Flags, Instruction, Invoke, Operation,
    Predicate,
};
pub use model::{
    Block, DebugValue, File, Function, Global, Linkage, Location, Parameter, Place, Program,
    Variable,
};
pub use names::{demangle, is_rust, stable_name};
pub use reader::{ReadError, function_names, read, read_bytes, signature};
pub use signature::{
    FunctionName, Indirection, Member, Qualifier, Record, RecordKind, Scope, Signature,
    SourceLanguage, SourceParameter, SourceType, SourceTypeId,
};
pub use types::{FloatKind, Shape, Type};
pub use value::{Constant, Value};
