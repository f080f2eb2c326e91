//! What a harness in C or C++ shows of a call's results.

use super::c::Writer;
use super::plan::{Slot, Way, library_type};
use changeling_program::{Indirection, Record, Signature, SourceType, SourceTypeId};

impl Writer<'_> {
    /// Shows a value to Changeling. `pointers`: also strings that it points to.
    pub(super) fn observe(&mut self, ty: SourceTypeId, path: &str, name: &str, pointers: bool) {
        let signature = self.signature;
        match signature.plain(ty) {
            SourceType::Integer { .. }
            | SourceType::Character { .. }
            | SourceType::Boolean
            | SourceType::Enumeration { .. } => {
                self.line(&format!(
                    "changeling_observe(\"{name}\", (long long){path});"
                ));
            }
            SourceType::Float { .. } => {
                self.line(&format!(
                    "changeling_observe_bytes(\"{name}\", &{path}, sizeof {path});"
                ));
            }
            SourceType::Array { element, .. } if !is_indirect(signature, *element) => {
                self.line(&format!(
                    "changeling_observe_bytes(\"{name}\", {path}, sizeof {path});"
                ));
            }
            SourceType::Record(record) if library_type(record).is_some() => {
                self.observe_library(record, path, name);
            }
            SourceType::Record(record) if record.plain && !record.declaration => {
                for member in &record.members {
                    if let Some(ty) = member.ty.filter(|_| !member.name.is_empty()) {
                        let (path, name) = (
                            format!("{path}.{}", member.name),
                            format!("{name}.{}", member.name),
                        );
                        self.observe(ty, &path, &name, false);
                    }
                }
            }
            SourceType::Indirect {
                kind: Indirection::Pointer,
                target,
                ..
            } if pointers => {
                let text = target.is_some_and(|target| {
                    matches!(
                        signature.plain(target),
                        SourceType::Character { bits: 8, .. }
                    )
                });
                self.line(&format!(
                    "changeling_observe(\"{name} is there\", {path} != 0);"
                ));
                if text {
                    self.line(&format!("if ({path})"));
                    self.line(&format!(
                        "  changeling_observe_bytes(\"{name}\", {path}, strlen({path}));"
                    ));
                }
            }
            SourceType::Indirect {
                kind: Indirection::Reference | Indirection::RvalueReference,
                target: Some(target),
                ..
            } if pointers => self.observe(*target, path, name, false),
            _ => {}
        }
    }

    fn observe_library(&mut self, record: &Record, path: &str, name: &str) {
        let Some(text) = library_type(record) else {
            return;
        };
        let factor = match text.starts_with("std::vector<") {
            true => format!(" * sizeof(*{path}.data())"),
            false => String::new(),
        };
        self.line(&format!(
            "changeling_observe_bytes(\"{name}\", {path}.data(), {path}.size(){factor});"
        ));
    }

    /// What the function may have changed.
    pub(super) fn observe_arguments(&mut self, slots: &[Slot]) {
        for slot in slots {
            let place = &slot.place;
            match &slot.way {
                Way::Behind {
                    target,
                    constant: false,
                    ..
                } => self.observe(*target, place, place, true),
                Way::Text { constant: false } => self.line(&format!(
                    "changeling_observe_bytes(\"{place}\", {place}, {place}_size);"
                )),
                Way::Buffer {
                    constant: false,
                    element,
                    ..
                } => {
                    let size = match element {
                        Some(_) => format!("{place}_count * sizeof *{place}"),
                        None => format!("{place}_count"),
                    };
                    self.line(&format!(
                        "changeling_observe_bytes(\"{place}\", {place}, {size});"
                    ));
                }
                Way::Library {
                    constant: false, ..
                } => {
                    if let SourceType::Indirect {
                        kind: Indirection::Reference,
                        target: Some(target),
                        ..
                    } = self.signature.plain(slot.ty)
                    {
                        self.observe(*target, place, place, false);
                    }
                }
                _ => {}
            }
        }
    }
}

fn is_indirect(signature: &Signature, ty: SourceTypeId) -> bool {
    matches!(
        signature.plain(ty),
        SourceType::Indirect { .. } | SourceType::Record(_) | SourceType::Array { .. }
    )
}
