//! Types of a function as C and C++ write them, and the structures they need.

use changeling_program::{
    Indirection, Qualifier, Record, RecordKind, Signature, SourceType, SourceTypeId,
};
use std::collections::BTreeMap;

/// Structures by their number, with the names they have in the harness.
pub struct Types<'a> {
    signature: &'a Signature,
    cpp: bool,
    names: BTreeMap<SourceTypeId, String>,
    /// In the order in which they must be defined.
    order: Vec<SourceTypeId>,
}

/// Aliases that the headers of a harness have.
const KNOWN: [&str; 14] = [
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "size_t",
    "ptrdiff_t",
    "intptr_t",
    "uintptr_t",
    "intmax_t",
    "uintmax_t",
];
/// Structures that the headers of a harness have too.
const TAKEN: [&str; 6] = [
    "timeval",
    "timespec",
    "random_data",
    "drand48_data",
    "bytes",
    "_IO_FILE",
];

impl<'a> Types<'a> {
    pub fn new(signature: &'a Signature, cpp: bool) -> Types<'a> {
        Types {
            signature,
            cpp,
            names: BTreeMap::new(),
            order: Vec::new(),
        }
    }

    /// Sees to it that the structures in a type will be defined.
    pub fn need(&mut self, ty: SourceTypeId) {
        let ty = self.bare(ty);
        match self.signature.get(ty) {
            SourceType::Record(record) => {
                if self.names.contains_key(&ty) || super::plan::library_type(record).is_some() {
                    return;
                }
                let name = self.name(ty, record);
                self.names.insert(ty, name);
                for member in &record.members {
                    if let Some(ty) = member.ty {
                        self.need(ty);
                    }
                }
                self.order.push(ty);
            }
            SourceType::Array { element, .. } => self.need(*element),
            _ => {}
        }
    }

    fn name(&self, ty: SourceTypeId, record: &Record) -> String {
        let alias = || {
            let types = &self.signature.types;
            types.iter().find_map(|other| match other {
                SourceType::Alias { name, target, .. } if *target == Some(ty) => Some(name.clone()),
                _ => None,
            })
        };
        let wanted = match record.name.is_empty() {
            true => alias().unwrap_or_else(|| format!("unnamed{}", ty.0)),
            false => record.name.clone(),
        };
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut name: String = wanted
            .chars()
            .map(|c| if is_word(c) { c } else { '_' })
            .collect();
        let taken = TAKEN.contains(&name.as_str());
        if taken || self.names.values().any(|other| *other == name) {
            name = format!("{name}_{}", ty.0);
        }
        name
    }

    /// The type without names and qualifiers.
    fn bare(&self, mut ty: SourceTypeId) -> SourceTypeId {
        for _ in 0..self.signature.types.len() {
            match self.signature.get(ty) {
                SourceType::Alias {
                    target: Some(target),
                    ..
                }
                | SourceType::Qualified {
                    target: Some(target),
                    ..
                } => ty = *target,
                _ => break,
            }
        }
        ty
    }

    /// A declaration of `name` with that type.
    pub fn declare(&self, ty: SourceTypeId, name: &str) -> String {
        if let SourceType::Array { element, lengths } = self.signature.get(self.bare(ty)) {
            let lengths: String = lengths
                .iter()
                .map(|length| format!("[{}]", length.map(|n| n.to_string()).unwrap_or_default()))
                .collect();
            return self.declare(*element, &format!("{name}{lengths}"));
        }
        let text = self.text(ty);
        match text.ends_with(['*', '&']) || name.is_empty() {
            true => format!("{text}{name}"),
            false => format!("{text} {name}"),
        }
    }

    /// A type that variables of a harness can have: not constant, no reference.
    pub fn variable(&self, ty: SourceTypeId) -> String {
        self.text(self.bare(ty))
    }

    /// The same, as the source calls it if the harness knows that name.
    pub fn value(&self, ty: SourceTypeId) -> String {
        match self.signature.get(ty) {
            SourceType::Alias { name, .. } if KNOWN.contains(&name.as_str()) => name.clone(),
            SourceType::Alias {
                target: Some(target),
                ..
            }
            | SourceType::Qualified {
                target: Some(target),
                ..
            } => self.value(*target),
            _ => self.variable(ty),
        }
    }

    pub fn text(&self, ty: SourceTypeId) -> String {
        match self.signature.get(ty) {
            SourceType::Void => "void".into(),
            SourceType::Integer { name, .. } | SourceType::Character { name, .. } => name.clone(),
            SourceType::Float { name, .. } => name.clone(),
            SourceType::Boolean => match self.cpp {
                true => "bool".into(),
                false => "_Bool".into(),
            },
            SourceType::Indirect { kind, target, .. } => self.indirect(*kind, *target),
            SourceType::Qualified { qualifier, target } => {
                let inner = target.map_or("void".into(), |target| self.text(target));
                match qualifier {
                    Qualifier::Const if inner.ends_with('*') => format!("{inner}const"),
                    Qualifier::Const => format!("const {inner}"),
                    // They do not change how the function is called.
                    Qualifier::Volatile | Qualifier::Restrict | Qualifier::Atomic => inner,
                }
            }
            SourceType::Alias { name, .. } if KNOWN.contains(&name.as_str()) => name.clone(),
            SourceType::Alias { target, .. } => {
                target.map_or("void".into(), |target| self.text(target))
            }
            SourceType::Record(record) => self.record_text(ty, record),
            SourceType::Enumeration {
                bits, underlying, ..
            } => match (underlying, bits) {
                (Some(underlying), _) => self.text(*underlying),
                (None, 64) => "unsigned long".into(),
                (None, _) => "unsigned int".into(),
            },
            SourceType::Array { .. } | SourceType::Function | SourceType::Other { .. } => {
                "void".into()
            }
        }
    }

    fn record_text(&self, ty: SourceTypeId, record: &Record) -> String {
        if let Some(text) = super::plan::library_type(record) {
            return text;
        }
        match self.names.get(&ty) {
            Some(name) => format!("{} {name}", keyword(record)),
            None => "void".into(),
        }
    }

    fn indirect(&self, kind: Indirection, target: Option<SourceTypeId>) -> String {
        let inner = target.map_or("void".into(), |target| self.text(target));
        let sign = match kind {
            Indirection::Pointer => "*",
            Indirection::Reference => "&",
            Indirection::RvalueReference => "&&",
        };
        match inner.ends_with('*') {
            true => format!("{inner}{sign}"),
            false => format!("{inner} {sign}"),
        }
    }

    /// Definitions of all structures that are needed.
    pub fn definitions(&self) -> String {
        let assert = if self.cpp {
            "static_assert"
        } else {
            "_Static_assert"
        };
        let mut text = String::new();
        for ty in &self.order {
            let SourceType::Record(record) = self.signature.get(*ty) else {
                continue;
            };
            let head = self.record_text(*ty, record);
            text += &format!("{head} {{\n");
            for (number, member) in record.members.iter().enumerate() {
                let Some(ty) = member.ty else { continue };
                let name = match member.name.is_empty() {
                    true => format!("unnamed{number}"),
                    false => member.name.clone(),
                };
                let bits = match member.bit_field {
                    true => format!(" : {}", member.bits),
                    false => String::new(),
                };
                text += &format!("  {}{bits};\n", self.declare(ty, &name));
            }
            let packed = if self.is_packed(record) {
                " __attribute__((packed))"
            } else {
                ""
            };
            text += &format!("}}{packed};\n");
            text += &format!(
                "{assert}(sizeof({head}) == {}, \"as large as in the program\");\n\n",
                record.bits / 8
            );
        }
        text
    }

    fn is_packed(&self, record: &Record) -> bool {
        let mut members = record.members.iter().filter(|member| !member.bit_field);
        members.any(|member| {
            let align = member.ty.map_or(1, |ty| self.alignment(ty));
            !member.offset.is_multiple_of(8 * align) || !record.bits.is_multiple_of(8 * align)
        })
    }

    fn alignment(&self, ty: SourceTypeId) -> u64 {
        match self.signature.get(self.bare(ty)) {
            SourceType::Integer { bits, .. }
            | SourceType::Character { bits, .. }
            | SourceType::Float { bits, .. }
            | SourceType::Enumeration { bits, .. } => (bits / 8).clamp(1, 16),
            SourceType::Indirect { .. } => 8,
            SourceType::Array { element, .. } => self.alignment(*element),
            SourceType::Record(record) if !self.is_packed(record) => {
                let members = record.members.iter().filter_map(|member| member.ty);
                members.map(|ty| self.alignment(ty)).max().unwrap_or(1)
            }
            _ => 1,
        }
    }
}

fn keyword(record: &Record) -> &'static str {
    match record.kind {
        RecordKind::Union => "union",
        RecordKind::Struct | RecordKind::Class => "struct",
    }
}
