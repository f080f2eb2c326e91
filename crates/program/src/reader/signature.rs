//! From the debug information of a function to its [`Signature`].

use std::collections::HashMap;
use std::path::Path;

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;

use super::llvm::{self, MetadataKind, Source};
use super::{ReadError, check_magic, classify};
use crate::names::demangle;
use crate::signature::{
    FunctionName, Indirection, Member, Qualifier, Record, RecordKind, Scope, Signature,
    SourceLanguage, SourceParameter, SourceType, SourceTypeId,
};
use crate::{Linkage, stable_name};

/// The functions with a body in a file of bitcode; it need not be a whole program.
pub fn function_names(path: &Path) -> Result<Vec<FunctionName>, ReadError> {
    with_module(path, |source| {
        source
            .functions()
            .filter(|function| function.blocks().next().is_some())
            .map(|function| {
                let symbol = function.name();
                FunctionName {
                    name: demangle(&symbol),
                    symbol,
                }
            })
            .collect()
    })
}

/// What the debug information says of a function; `None` if there is no such
/// function, or nothing is said of it.
pub fn signature(path: &Path, symbol: &str) -> Result<Option<Signature>, ReadError> {
    with_module(path, |source| {
        let function = source.functions().find(|f| f.name() == symbol)?;
        Describer::new(source).describe(function)
    })
}

fn with_module<R>(path: &Path, work: impl FnOnce(&Source<'_>) -> R) -> Result<R, ReadError> {
    let bytes = std::fs::read(path).map_err(|source| ReadError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    check_magic(&bytes, path)?;
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(&bytes, "bitcode");
    let module = Module::parse_bitcode_from_buffer(&buffer, &context)
        .map_err(|message| classify(&message.to_string(), path))?;
    Ok(work(&Source::new(&module, &context)))
}

/// Numbers of DWARF for kinds of types.
mod tag {
    pub const ARRAY: u16 = 0x01;
    pub const CLASS: u16 = 0x02;
    pub const ENUMERATION: u16 = 0x04;
    pub const MEMBER: u16 = 0x0d;
    pub const POINTER: u16 = 0x0f;
    pub const REFERENCE: u16 = 0x10;
    pub const STRUCTURE: u16 = 0x13;
    pub const SUBROUTINE: u16 = 0x15;
    pub const TYPEDEF: u16 = 0x16;
    pub const UNION: u16 = 0x17;
    pub const INHERITANCE: u16 = 0x1c;
    pub const BASE: u16 = 0x24;
    pub const CONST: u16 = 0x26;
    pub const VOLATILE: u16 = 0x35;
    pub const RESTRICT: u16 = 0x37;
    pub const RVALUE_REFERENCE: u16 = 0x42;
    pub const ATOMIC: u16 = 0x47;
}

/// Flags of LLVM's debug information.
mod flag {
    pub const PUBLIC: i32 = 3;
    pub const DECLARATION: i32 = 1 << 2;
    pub const STATIC_MEMBER: i32 = 1 << 12;
    pub const BIT_FIELD: i32 = 1 << 19;
    pub const PASS_BY_REFERENCE: i32 = 1 << 23;
}

struct Describer<'s, 'm> {
    source: &'s Source<'m>,
    types: Vec<SourceType>,
    known: HashMap<llvm::Metadata<'m>, SourceTypeId>,
    /// Types that have a number and are not read yet.
    pending: Vec<(SourceTypeId, llvm::Metadata<'m>)>,
}

impl<'s, 'm> Describer<'s, 'm> {
    fn new(source: &'s Source<'m>) -> Describer<'s, 'm> {
        Describer {
            source,
            types: Vec::new(),
            known: HashMap::new(),
            pending: Vec::new(),
        }
    }

    fn describe(mut self, function: llvm::Value<'m>) -> Option<Signature> {
        let subprogram = function.subprogram()?;
        let symbol = function.name();
        // Operands: file, scope, name, linkage name, type, …, variables at 7.
        let name = self.text(subprogram, 2).unwrap_or_else(|| symbol.clone());
        let file = subprogram.scope_file();
        let file_name = file.map(|file| file.file_name()).unwrap_or_default();
        let list = self.node(subprogram, 4).map(|ty| self.list(ty, 5));
        let mut list = list.unwrap_or_default().into_iter();
        let result = list.next().flatten().map(|ty| self.type_id(ty));
        let mut variadic = function.global_type().is_variadic();
        let mut parameters = Vec::new();
        for entry in list {
            match entry {
                Some(ty) => parameters.push(SourceParameter {
                    name: String::new(),
                    ty: Some(self.type_id(ty)),
                }),
                // An empty entry at the end stands for `...`.
                None => variadic = true,
            }
        }
        for (number, name) in self.parameter_names(function, subprogram) {
            if let Some(parameter) = parameters.get_mut(number) {
                parameter.name = name;
            }
        }
        let scope = self.scope(self.node(subprogram, 1));
        let unnamed = scope.iter().any(|part| part.name.is_empty());
        let language = language(&symbol, &file_name);
        while let Some((id, node)) = self.pending.pop() {
            let read = self.read_type(node);
            self.types[id.0 as usize] = read;
        }
        Some(Signature {
            name,
            scope,
            language,
            file: file_name,
            directory: file.map(|file| file.file_directory()).unwrap_or_default(),
            line: subprogram.subprogram_line(),
            local: unnamed || function.linkage() == Linkage::Internal,
            symbol,
            parameters,
            variadic,
            result,
            types: self.types,
        })
    }

    /// Numbers (from zero) and names of parameters.
    fn parameter_names(
        &self,
        function: llvm::Value<'m>,
        subprogram: llvm::Metadata<'m>,
    ) -> Vec<(usize, String)> {
        let mut variables = self.list(subprogram, 7);
        for block in function.blocks() {
            for instruction in block.instructions() {
                let records = instruction.debug_records();
                variables.extend(
                    records
                        .filter_map(|record| record.variable())
                        .map(|(variable, ..)| Some(variable)),
                );
            }
        }
        let mut seen = std::collections::HashSet::new();
        variables
            .into_iter()
            .flatten()
            .filter(|&variable| {
                matches!(
                    variable.kind(),
                    MetadataKind::LLVMDILocalVariableMetadataKind
                ) && seen.insert(variable)
                    && self.node(variable, 0) == Some(subprogram)
            })
            .filter_map(|variable| {
                // The interface of LLVM gives the number only in print.
                let printed = self.source.print(variable);
                let (_, rest) = printed.split_once(", arg: ")?;
                let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
                let number = digits.parse::<usize>().ok()?.checked_sub(1)?;
                Some((number, self.text(variable, 1)?))
            })
            .collect()
    }

    fn type_id(&mut self, node: llvm::Metadata<'m>) -> SourceTypeId {
        if let Some(&id) = self.known.get(&node) {
            return id;
        }
        let id = SourceTypeId(self.types.len() as u32);
        self.types.push(SourceType::Void);
        self.known.insert(node, id);
        self.pending.push((id, node));
        id
    }

    fn read_type(&mut self, node: llvm::Metadata<'m>) -> SourceType {
        if matches!(node.kind(), MetadataKind::LLVMDISubroutineTypeMetadataKind) {
            return SourceType::Function;
        }
        if !node.is_type() {
            return SourceType::Other {
                name: String::new(),
            };
        }
        let name = node.type_name();
        let bits = node.type_bits();
        // Operands of derived and composite types: file, scope, name, size, offset, base, elements.
        let tag = node.tag();
        let indirect = |kind, name: String, target| SourceType::Indirect { kind, name, target };
        match tag {
            tag::BASE => base_type(name, bits),
            tag::POINTER => indirect(Indirection::Pointer, name, self.base(node)),
            tag::REFERENCE => indirect(Indirection::Reference, name, self.base(node)),
            tag::RVALUE_REFERENCE => indirect(Indirection::RvalueReference, name, self.base(node)),
            tag::CONST | tag::VOLATILE | tag::RESTRICT | tag::ATOMIC => SourceType::Qualified {
                qualifier: match tag {
                    tag::CONST => Qualifier::Const,
                    tag::VOLATILE => Qualifier::Volatile,
                    tag::RESTRICT => Qualifier::Restrict,
                    _ => Qualifier::Atomic,
                },
                target: self.base(node),
            },
            tag::TYPEDEF => SourceType::Alias {
                name,
                scope: self.scope(self.node(node, 1)),
                target: self.base(node),
            },
            tag::STRUCTURE | tag::CLASS | tag::UNION => self.record(node, name, bits),
            tag::ENUMERATION => SourceType::Enumeration {
                name,
                scope: self.scope(self.node(node, 1)),
                bits,
                underlying: self.base(node),
            },
            tag::ARRAY => match self.base(node) {
                Some(element) => SourceType::Array {
                    element,
                    lengths: self.lengths(node),
                },
                None => SourceType::Other { name },
            },
            tag::SUBROUTINE => SourceType::Function,
            _ => SourceType::Other { name },
        }
    }

    fn record(&mut self, node: llvm::Metadata<'m>, name: String, bits: u64) -> SourceType {
        let mut plain = node.type_flags() & flag::PASS_BY_REFERENCE == 0;
        let mut members = Vec::new();
        for element in self.list(node, 6).into_iter().flatten() {
            if !element.is_type() {
                continue;
            }
            let name = element.type_name();
            match element.tag() {
                tag::INHERITANCE => plain = false,
                tag::MEMBER if element.type_flags() & flag::STATIC_MEMBER != 0 => {}
                tag::MEMBER => {
                    // The hidden pointer to the table of virtual functions.
                    plain &= !name.starts_with("_vptr$");
                    members.push(Member {
                        name,
                        ty: self.base(element),
                        offset: element.type_offset(),
                        bits: element.type_bits(),
                        bit_field: element.type_flags() & flag::BIT_FIELD != 0,
                        public: element.type_flags() & flag::PUBLIC == flag::PUBLIC,
                    });
                }
                // Parts that are only sometimes there, as in enumerations of Rust; nested types are no parts.
                tag::TYPEDEF | tag::STRUCTURE | tag::CLASS | tag::UNION | tag::ENUMERATION => {}
                _ => plain = false,
            }
        }
        SourceType::Record(Record {
            kind: match node.tag() {
                tag::CLASS => RecordKind::Class,
                tag::UNION => RecordKind::Union,
                _ => RecordKind::Struct,
            },
            name,
            scope: self.scope(self.node(node, 1)),
            bits,
            members,
            plain,
            declaration: node.type_flags() & flag::DECLARATION != 0,
        })
    }

    fn lengths(&self, array: llvm::Metadata<'m>) -> Vec<Option<u64>> {
        let ranges = self.list(array, 6).into_iter().flatten();
        ranges
            .map(|range| {
                // Operands: count, lower bound, …
                let operands = self.source.operands(range);
                let count = operands.first().copied().flatten()?.constant_metadata()?;
                u64::try_from(count).ok()
            })
            .collect()
    }

    /// Names of what is around, outermost first.
    fn scope(&self, mut around: Option<llvm::Metadata<'m>>) -> Vec<Scope> {
        let mut parts = Vec::new();
        while let Some(node) = around {
            let operands = self.source.operands(node);
            let (name, is_type) = match node.kind() {
                // Operands: file, scope, name.
                MetadataKind::LLVMDINamespaceMetadataKind => (self.text(node, 2), false),
                MetadataKind::LLVMDICompositeTypeMetadataKind => (self.text(node, 2), true),
                MetadataKind::LLVMDISubprogramMetadataKind => (self.text(node, 2), true),
                _ => break,
            };
            parts.push(Scope {
                name: name.unwrap_or_default(),
                is_type,
            });
            around = operands
                .get(1)
                .copied()
                .flatten()
                .and_then(|value| value.as_metadata());
        }
        parts.reverse();
        parts
    }

    fn base(&mut self, node: llvm::Metadata<'m>) -> Option<SourceTypeId> {
        self.node(node, 5).map(|base| self.type_id(base))
    }

    fn node(&self, node: llvm::Metadata<'m>, operand: usize) -> Option<llvm::Metadata<'m>> {
        let operands = self.source.operands(node);
        operands.get(operand).copied().flatten()?.as_metadata()
    }

    fn text(&self, node: llvm::Metadata<'m>, operand: usize) -> Option<String> {
        let operands = self.source.operands(node);
        let text = operands.get(operand).copied().flatten()?.metadata_text()?;
        Some(text).filter(|text| !text.is_empty())
    }

    fn list(&self, node: llvm::Metadata<'m>, operand: usize) -> Vec<Option<llvm::Metadata<'m>>> {
        match self.node(node, operand) {
            Some(list) => self
                .source
                .operands(list)
                .into_iter()
                .map(|entry| entry.and_then(|value| value.as_metadata()))
                .collect(),
            None => Vec::new(),
        }
    }
}

/// What a basic type is, by its name: compilers use one name for each.
fn base_type(name: String, bits: u64) -> SourceType {
    let is = |names: &[&str]| names.contains(&name.as_str());
    if is(&["bool", "_Bool"]) {
        SourceType::Boolean
    } else if is(&["char", "wchar_t", "char8_t", "char16_t", "char32_t"]) {
        SourceType::Character { name, bits }
    } else if is(&[
        "float",
        "double",
        "long double",
        "f16",
        "f32",
        "f64",
        "f128",
        "_Float16",
        "__float128",
        "_Float128",
        "__bf16",
    ]) {
        SourceType::Float { name, bits }
    } else {
        let word = name.strip_prefix("unsigned").is_some();
        let rust = |letter: char| {
            name.strip_prefix(letter)
                .is_some_and(|rest| rest == "size" || rest.bytes().all(|b| b.is_ascii_digit()))
                && name.len() > 1
        };
        let unsigned = word || rust('u');
        let signed = rust('i')
            || is(&[
                "int",
                "signed char",
                "short",
                "long",
                "long long",
                "__int128",
                "long int",
                "short int",
                "long long int",
            ]);
        match unsigned || signed {
            true => SourceType::Integer { name, bits, signed },
            false => SourceType::Other { name },
        }
    }
}

fn language(symbol: &str, file: &str) -> SourceLanguage {
    if rustc_demangle::try_demangle(symbol).is_ok() || file.ends_with(".rs") {
        SourceLanguage::Rust
    } else if stable_name(symbol, true).starts_with("_Z") {
        SourceLanguage::Cpp
    } else {
        SourceLanguage::C
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_types_are_known_by_name() {
        let signed = |name: &str| match base_type(name.into(), 32) {
            SourceType::Integer { signed, .. } => Some(signed),
            _ => None,
        };
        assert_eq!(signed("int"), Some(true));
        assert_eq!(signed("unsigned char"), Some(false));
        assert_eq!(signed("u8"), Some(false));
        assert_eq!(signed("isize"), Some(true));
        assert_eq!(signed("usize"), Some(false));
        assert_eq!(signed("u"), None);
        assert_eq!(base_type("_Bool".into(), 8), SourceType::Boolean);
        assert!(matches!(
            base_type("char".into(), 8),
            SourceType::Character { .. }
        ));
        assert!(matches!(
            base_type("()".into(), 0),
            SourceType::Other { .. }
        ));
    }

    #[test]
    fn languages_are_told_by_symbol_and_file() {
        assert_eq!(language("parse", "a.c"), SourceLanguage::C);
        assert_eq!(language("_ZL5parsei", "a.cpp"), SourceLanguage::Cpp);
        assert_eq!(
            language("_RNvCs1234_7mycrate3foo", ""),
            SourceLanguage::Rust
        );
        assert_eq!(language("exported", "src/lib.rs"), SourceLanguage::Rust);
    }
}
