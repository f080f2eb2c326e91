//! What the debug information says of a function: its parameters and types as
//! the source has them.

use serde::{Deserialize, Serialize};

/// A function with a body, as people and linkers call it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionName {
    pub symbol: String,
    /// Demangled.
    pub name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SourceLanguage {
    /// Also functions of other languages that are called like those of C.
    C,
    Cpp,
    Rust,
}

/// A function as its source declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    pub symbol: String,
    /// As the source says it, without what is around it.
    pub name: String,
    /// Names around it, outermost first: namespaces, modules, types.
    pub scope: Vec<Scope>,
    pub language: SourceLanguage,
    pub file: String,
    pub directory: String,
    pub line: u32,
    /// Other files cannot call it: `static`, or in an unnamed namespace.
    pub local: bool,
    pub parameters: Vec<SourceParameter>,
    pub variadic: bool,
    pub result: Option<SourceTypeId>,
    /// All types that are reached from here.
    pub types: Vec<SourceType>,
}

impl Signature {
    pub fn get(&self, id: SourceTypeId) -> &SourceType {
        &self.types[id.0 as usize]
    }

    /// The type behind names and qualifiers.
    pub fn plain(&self, mut id: SourceTypeId) -> &SourceType {
        // A chain longer than the table would be a circle.
        for _ in 0..self.types.len() {
            match self.get(id) {
                SourceType::Alias { target, .. } | SourceType::Qualified { target, .. } => {
                    match target {
                        Some(target) => id = *target,
                        None => return &SourceType::Void,
                    }
                }
                _ => break,
            }
        }
        self.get(id)
    }

    /// Whether values of the type may not be changed.
    pub fn is_const(&self, mut id: SourceTypeId) -> bool {
        for _ in 0..self.types.len() {
            match self.get(id) {
                SourceType::Qualified {
                    qualifier: Qualifier::Const,
                    ..
                } => return true,
                SourceType::Alias {
                    target: Some(target),
                    ..
                }
                | SourceType::Qualified {
                    target: Some(target),
                    ..
                } => id = *target,
                _ => break,
            }
        }
        false
    }
}

/// A name around another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Empty for an unnamed namespace.
    pub name: String,
    /// A class or structure rather than a namespace or module.
    pub is_type: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceParameter {
    /// Empty if the source gives none.
    pub name: String,
    /// `None` if the debug information does not say.
    pub ty: Option<SourceTypeId>,
}

/// A type in [`Signature::types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourceTypeId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Qualifier {
    Const,
    Volatile,
    Restrict,
    Atomic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Indirection {
    Pointer,
    /// `&` of C++.
    Reference,
    /// `&&` of C++.
    RvalueReference,
}

/// A type as the source has it. Targets that are `None` are `void`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SourceType {
    Void,
    Integer {
        name: String,
        bits: u64,
        signed: bool,
    },
    /// A character of C and C++ (`char`), or the four bytes of Rust.
    Character {
        name: String,
        bits: u64,
    },
    Boolean,
    Float {
        name: String,
        bits: u64,
    },
    Indirect {
        kind: Indirection,
        /// Rust gives pointers names, such as `&mut u8`.
        name: String,
        target: Option<SourceTypeId>,
    },
    Qualified {
        qualifier: Qualifier,
        target: Option<SourceTypeId>,
    },
    Alias {
        name: String,
        scope: Vec<Scope>,
        target: Option<SourceTypeId>,
    },
    Record(Record),
    Enumeration {
        name: String,
        scope: Vec<Scope>,
        bits: u64,
        underlying: Option<SourceTypeId>,
    },
    Array {
        element: SourceTypeId,
        /// `None` where the source does not say.
        lengths: Vec<Option<u64>>,
    },
    Function,
    /// Something this model has no word for.
    Other {
        name: String,
    },
}

/// A structure, class or union.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub kind: RecordKind,
    /// Empty if the source gives none.
    pub name: String,
    pub scope: Vec<Scope>,
    pub bits: u64,
    pub members: Vec<Member>,
    /// Made of its members alone: no base classes, no virtual functions, passed as it is.
    pub plain: bool,
    /// Only its name is known here.
    pub declaration: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecordKind {
    Struct,
    Class,
    Union,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub name: String,
    pub ty: Option<SourceTypeId>,
    /// In bits.
    pub offset: u64,
    pub bits: u64,
    pub bit_field: bool,
    /// The debug information says that everybody may use it.
    pub public: bool,
}
