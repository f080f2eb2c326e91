//! From prepared bitcode to a [`Program`].

mod body;
mod constants;
mod debug;
mod llvm;
mod manner;
mod signature;
mod types;

pub use signature::{function_names, signature};

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;

use crate::names::{demangle, source_name};
use crate::{
    BlockId, Constant, ConstantId, File, FileId, Function, FunctionId, Global, GlobalId, Linkage,
    LocationId, Parameter, Program, Site, TypeId, Value, VariableId,
};
use llvm::{AttributePlace, Source};

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("{path}: {source}; is the path right and the file readable?")]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path} is not LLVM bitcode: it starts with {found}; expected the bytes `BC C0 DE`")]
    NotBitcode { path: PathBuf, found: String },
    #[error(
        "{path} was written by {producer}, which this reader (LLVM {reader}) does not understand: \
         compile it with clang {reader} or a rustc built on LLVM {reader}"
    )]
    WrongVersion {
        path: PathBuf,
        producer: String,
        reader: &'static str,
    },
    #[error("{path} is damaged bitcode ({message}); build it anew")]
    Damaged { path: PathBuf, message: String },
    #[error(
        "{path} has neither `main` nor `LLVMFuzzerTestOneInput`: \
         it is a library, or the object that defines `main` was built without bitcode"
    )]
    NoMain { path: PathBuf },
}

const READER_VERSION: &str = "22";

/// Reads a whole program from a file of prepared bitcode.
pub fn read(path: &Path) -> Result<Program, ReadError> {
    let bytes = std::fs::read(path).map_err(|source| ReadError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    read_bytes(&bytes, path)
}

/// Like [`read`], from memory; `path` is for messages.
pub fn read_bytes(bytes: &[u8], path: &Path) -> Result<Program, ReadError> {
    check_magic(bytes, path)?;
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(bytes, "bitcode");
    let module = Module::parse_bitcode_from_buffer(&buffer, &context)
        .map_err(|message| classify(&message.to_string(), path))?;
    let program = Reader::new(Source::new(&module, &context)).read(&module);
    let starts = ["main", "LLVMFuzzerTestOneInput"];
    let is_start =
        |function: &Function| function.is_defined() && starts.contains(&function.symbol.as_str());
    if !program.functions.iter().any(is_start) {
        return Err(ReadError::NoMain {
            path: path.to_owned(),
        });
    }
    Ok(program)
}

fn check_magic(bytes: &[u8], path: &Path) -> Result<(), ReadError> {
    const RAW: &[u8] = b"BC\xC0\xDE";
    const WRAPPED: &[u8] = &0x0B17_C0DE_u32.to_le_bytes();
    if bytes.starts_with(RAW) || bytes.starts_with(WRAPPED) {
        return Ok(());
    }
    let found = match bytes.get(..4) {
        Some(start) => start
            .iter()
            .map(|byte| format!("{byte:02X}"))
            .collect::<Vec<_>>()
            .join(" "),
        None => format!("only {} bytes", bytes.len()),
    };
    Err(ReadError::NotBitcode {
        path: path.to_owned(),
        found,
    })
}

/// The parser's message names producer and reader when they differ.
fn classify(message: &str, path: &Path) -> ReadError {
    let path = path.to_owned();
    let named = message
        .split_once("Producer: '")
        .and_then(|(_, rest)| rest.split_once('\''))
        .map(|(producer, _)| producer.to_owned());
    match named {
        Some(producer) if major(&producer) != Some(READER_VERSION) => ReadError::WrongVersion {
            path,
            producer,
            reader: READER_VERSION,
        },
        _ => ReadError::Damaged {
            path,
            message: message.trim().to_owned(),
        },
    }
}

fn major(producer: &str) -> Option<&str> {
    let digits = producer.trim_start_matches("LLVM").trim_start();
    digits.split('.').next().filter(|text| !text.is_empty())
}

/// Tables from LLVM's pointers to our numbers, and the program so far.
struct Reader<'m> {
    source: Source<'m>,
    program: Program,
    types: HashMap<llvm::Type<'m>, TypeId>,
    shapes: HashMap<crate::Type, TypeId>,
    functions: HashMap<llvm::Value<'m>, FunctionId>,
    globals: HashMap<llvm::Value<'m>, GlobalId>,
    constants: HashMap<Constant, ConstantId>,
    known_constants: HashMap<llvm::Value<'m>, Value>,
    blocks: HashMap<llvm::BasicBlock<'m>, BlockId>,
    /// Results and arguments of the function being read.
    locals: HashMap<llvm::Value<'m>, Value>,
    files: HashMap<File, FileId>,
    locations: HashMap<llvm::Metadata<'m>, LocationId>,
    scopes: HashMap<llvm::Metadata<'m>, (FileId, String)>,
    variables: HashMap<(FunctionId, llvm::Metadata<'m>), VariableId>,
}

impl<'m> Reader<'m> {
    fn new(source: Source<'m>) -> Reader<'m> {
        Reader {
            source,
            program: Program {
                format: Program::FORMAT,
                ..Program::default()
            },
            types: HashMap::new(),
            shapes: HashMap::new(),
            functions: HashMap::new(),
            globals: HashMap::new(),
            constants: HashMap::new(),
            known_constants: HashMap::new(),
            blocks: HashMap::new(),
            locals: HashMap::new(),
            files: HashMap::new(),
            locations: HashMap::new(),
            scopes: HashMap::new(),
            variables: HashMap::new(),
        }
    }

    fn read(mut self, module: &Module<'_>) -> Program {
        self.program.name = module.get_name().to_string_lossy().into_owned();
        self.program.assembler = self.source.assembler();
        // Numbers first, contents later: constants and calls point forwards.
        let functions: Vec<_> = self.source.functions().collect();
        let globals: Vec<_> = self.source.globals().collect();
        for (index, &function) in functions.iter().enumerate() {
            self.functions.insert(function, FunctionId::new(index));
        }
        for (index, &global) in globals.iter().enumerate() {
            self.globals.insert(global, GlobalId::new(index));
        }
        let mut block_count = 0;
        for &function in &functions {
            for block in function.blocks() {
                self.blocks.insert(block, BlockId::new(block_count));
                block_count += 1;
            }
        }
        for &function in &functions {
            let declared = self.declare(function);
            self.program.functions.push(declared);
        }
        for &global in &globals {
            let read = self.global(global);
            self.program.globals.push(read);
        }
        for &function in &functions {
            self.body(function);
        }
        self.program
    }

    fn declare(&mut self, function: llvm::Value<'m>) -> Function {
        let symbol = function.name();
        let signature = self.type_id(function.global_type());
        let parameters = function
            .parameters()
            .into_iter()
            .enumerate()
            .map(|(n, parameter)| {
                let place = AttributePlace::Parameter(n as u32);
                Parameter {
                    name: parameter.name(),
                    ty: self.type_id(parameter.ty()),
                    by_value: function.has_attribute(place, "byval"),
                    no_alias: function.has_attribute(place, "noalias"),
                }
            });
        let parameters = parameters.collect();
        let has = |name| function.has_attribute(AttributePlace::Function, name);
        let subprogram = function.subprogram();
        let instance = subprogram.and_then(|subprogram| self.subprogram_name(subprogram));
        let linkage = function.linkage();
        Function {
            name: source_name(&symbol, linkage == Linkage::Internal),
            symbol,
            instance: instance.unwrap_or_default(),
            linkage,
            signature,
            parameters,
            first_block: BlockId(0),
            block_count: 0,
            first_site: Site::FIRST,
            site_count: 0,
            place: subprogram.and_then(|subprogram| self.subprogram_place(subprogram)),
            no_return: has("noreturn"),
            no_unwind: has("nounwind"),
            attributes: manner::attributes(function),
            section: function.section(),
            alignment: manner::alignment(function),
        }
    }

    fn global(&mut self, global: llvm::Value<'m>) -> Global {
        let symbol = global.name();
        let initialiser = global.initialiser().map(|value| self.value(value));
        Global {
            name: demangle(&symbol),
            symbol,
            linkage: global.linkage(),
            ty: self.type_id(global.global_type()),
            constant: global.is_global_constant(),
            thread_local: global.is_thread_local(),
            section: global.section(),
            alignment: global.alignment(),
            initialiser,
            place: global
                .global_debug()
                .and_then(|variable| self.variable_place(variable)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_producer_tells_damage_from_another_version() {
        let path = Path::new("x.bc");
        let later = "Unknown attribute kind (102) (Producer: 'LLVM99.0.1' Reader: 'LLVM 22.1.8')";
        let message = classify(later, path).to_string();
        assert!(
            message.contains("x.bc was written by LLVM99.0.1"),
            "{message}"
        );
        let same = "Invalid record (Producer: 'LLVM22.1.2' Reader: 'LLVM 22.1.8')";
        assert!(matches!(classify(same, path), ReadError::Damaged { .. }));
        assert!(matches!(
            classify("Malformed block", path),
            ReadError::Damaged { .. }
        ));
    }
}
