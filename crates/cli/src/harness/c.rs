//! Harnesses in C and C++.

use super::names::Names;
use super::plan::{Planner, Slot, Way};
use super::records::Types;
use super::{Refusal, Subject};
use changeling_program::{
    Indirection, Record, Signature, SourceLanguage, SourceType, SourceTypeId,
};
use std::fmt::Write;

/// Names that a harness uses itself.
const OWN: [&str; 16] = [
    "data",
    "size",
    "in",
    "result",
    "bytes",
    "take",
    "take_into",
    "take_length",
    "take_copy",
    "take_text",
    "main",
    "memcpy",
    "malloc",
    "free",
    "abort",
    "strlen",
];

pub fn write(subject: &Subject) -> Result<String, Refusal> {
    let signature = subject.signature;
    let refuse = |reason: &str| Err(Refusal::Function(reason.into()));
    if signature.name == "main" {
        return refuse("it is where the program starts: compare the programs themselves");
    }
    if signature.variadic {
        return refuse(
            "it takes any number of arguments (`...`): write a function that calls it with some",
        );
    }
    let names: Vec<&str> = signature
        .parameters
        .iter()
        .map(|p| p.name.as_str())
        .collect();
    if names.first() == Some(&"this") {
        return refuse(
            "it is a method and needs an object: write a function that makes one and calls it",
        );
    }
    let mut names = Names::new(OWN.iter().copied().chain([signature.name.as_str()]));
    let planner = Planner { signature };
    let slots = planner
        .parameters(&mut names)
        .map_err(Refusal::Parameters)?;
    let cpp = signature.language == SourceLanguage::Cpp;
    let mut types = Types::new(signature, cpp);
    for ty in signature
        .parameters
        .iter()
        .filter_map(|p| p.ty)
        .chain(signature.result)
    {
        types.need(ty);
        if let SourceType::Indirect {
            target: Some(target),
            ..
        } = signature.plain(ty)
            && defined(signature, *target)
        {
            types.need(*target);
        }
    }
    let parts = slots.iter().map(|slot| slot.way.parts()).sum();
    let writer = Writer {
        signature,
        types,
        cpp,
        parts,
        body: String::new(),
        last: String::new(),
    };
    Ok(writer.write(subject, &slots))
}

/// Whether a type is a structure whose members are known.
fn defined(signature: &Signature, ty: SourceTypeId) -> bool {
    matches!(signature.plain(ty), SourceType::Record(record) if !record.declaration && record.plain)
}

pub(super) struct Writer<'a> {
    pub(super) signature: &'a Signature,
    types: Types<'a>,
    cpp: bool,
    /// Parts of any length that are still to be made.
    parts: usize,
    body: String,
    /// What is done after all else.
    last: String,
}

impl Writer<'_> {
    fn write(mut self, subject: &Subject, slots: &[Slot]) -> String {
        let fixed: u64 = slots.iter().map(|slot| slot.way.fixed()).sum();
        if fixed > 0 {
            self.line(&format!("if (size < {fixed})"));
            self.line("  return 0; /* too short for the arguments of fixed size */");
        }
        for slot in slots {
            self.fixed_argument(slot);
        }
        for slot in slots {
            self.part(slot, &slot.place, true);
        }
        self.call(slots);
        self.observe_arguments(slots);
        let last = std::mem::take(&mut self.last);
        self.body += &last;
        let mut text = self.head(subject);
        text += &self.helpers();
        text += &self.types.definitions();
        text += &self.declaration();
        let external = if self.cpp { "extern \"C\" " } else { "" };
        let _ = write!(
            text,
            "{external}int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {{\n  struct bytes in = {{data, size}};\n  (void)in;\n{}  return 0;\n}}\n",
            self.body
        );
        text
    }

    pub(super) fn line(&mut self, text: &str) {
        self.body += &format!("  {text}\n");
    }

    fn head(&self, subject: &Subject) -> String {
        let suffix = if self.cpp { "cc" } else { "c" };
        let name = &self.signature.name;
        let file = subject
            .file
            .clone()
            .unwrap_or_else(|| format!("{name}_harness.{suffix}"));
        let headers = match self.cpp {
            true => {
                "#include <stddef.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n\n#include <string>\n#include <string_view>\n#include <utility>\n#include <vector>\n"
            }
            false => {
                "#include <stddef.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n"
            }
        };
        format!(
            "/* A harness for `{name}` ({}), written by `changeling harness`.\n \
             *\n \
             * It makes the arguments of one call from the bytes of an input: those of fixed\n \
             * size first, then strings and buffers. Change it as you like: other arguments,\n \
             * several calls, more results to look at. To compare two versions with it:\n \
             *\n \
             *     changeling run OLD NEW --harness {file} --stdin 16\n \
             *\n \
             * It is also a target for other fuzzers. Instead of the declarations below, the\n \
             * program's own headers may be included.\n \
             */\n{headers}\n\
             #if __has_include(<changeling.h>)\n#include <changeling.h>\n#else\n\
             #define changeling_observe(name, value) ((void)(value))\n\
             #define changeling_observe_bytes(name, bytes, count) ((void)(bytes), (void)(count))\n#endif\n\n",
            subject.place
        )
    }

    /// Only what the body uses.
    fn helpers(&self) -> String {
        let mut text = String::from(
            "/* Bytes of the input that are not used yet. */\nstruct bytes {\n  const uint8_t *data;\n  size_t size;\n};\n\n",
        );
        let uses = |name: &str| self.body.contains(&format!("{name}(&in"));
        if uses("take") || uses("take_length") {
            text += "/* The next bytes as a number, the lowest first. */\n\
                static uint64_t take(struct bytes *in, size_t count) {\n  uint64_t value = 0;\n  \
                for (size_t i = 0; i < count; i++)\n    value |= (uint64_t)in->data[i] << (8 * i);\n  \
                in->data += count;\n  in->size -= count;\n  return value;\n}\n\n";
        }
        if uses("take_into") {
            text += "/* The next bytes as they are. */\n\
                static void take_into(struct bytes *in, void *to, size_t count) {\n  \
                if (count > 0)\n    memcpy(to, in->data, count);\n  \
                in->data += count;\n  in->size -= count;\n}\n\n";
        }
        if uses("take_length") {
            text += "/* How long the next part is: a byte says it; never longer than the rest. */\n\
                static size_t take_length(struct bytes *in) {\n  if (in->size == 0)\n    return 0;\n  \
                size_t length = (size_t)take(in, 1);\n  return length < in->size ? length : in->size;\n}\n\n";
        }
        if uses("take_copy") || uses("take_text") {
            text += "/* A copy of the next bytes with `more` zeros behind, of exactly that size. */\n\
                static void *take_copy(struct bytes *in, size_t count, size_t more) {\n  \
                char *copy = (char *)malloc(count + more ? count + more : 1);\n  if (!copy)\n    abort();\n  \
                if (count > 0)\n    memcpy(copy, in->data, count);\n  \
                for (size_t i = 0; i < more; i++)\n    copy[count + i] = 0;\n  \
                in->data += count;\n  in->size -= count;\n  return copy;\n}\n\n";
        }
        if uses("take_text") {
            text += "/* A string of the next bytes. */\n\
                static char *take_text(struct bytes *in, size_t count) {\n  \
                return (char *)take_copy(in, count, 1);\n}\n\n";
        }
        text
    }

    fn declaration(&self) -> String {
        let signature = self.signature;
        let parameters: Vec<String> = signature
            .parameters
            .iter()
            .filter_map(|p| Some(self.types.declare(p.ty?, &p.name)))
            .collect();
        let parameters = match (parameters.is_empty(), self.cpp) {
            (true, false) => "void".to_string(),
            _ => parameters.join(", "),
        };
        let result = signature
            .result
            .map_or("void".into(), |ty| self.types.text(ty));
        let space = if result.ends_with(['*', '&']) {
            ""
        } else {
            " "
        };
        let symbol = &signature.symbol;
        let by_symbol = self.cpp || *symbol != signature.name;
        let (note, label) = match by_symbol {
            true => (
                "By its symbol, so that neither its namespace nor its headers are needed here.",
                format!("\n    __asm__(\"{symbol}\")"),
            ),
            false => ("As in the program.", String::new()),
        };
        format!(
            "/* {note} */\n{result}{space}{}({parameters}){label};\n\n",
            signature.name
        )
    }

    /// Declares the variable of a parameter and fills what has a fixed size.
    fn fixed_argument(&mut self, slot: &Slot) {
        let place = &slot.place;
        let text = self.types.value(slot.ty);
        match &slot.way {
            Way::Number { bytes } => {
                self.line(&format!("{text} {place} = ({text})take(&in, {bytes});"))
            }
            Way::Flag => self.line(&format!("{text} {place} = take(&in, 1) & 1;")),
            Way::Raw { .. } | Way::Members(_) => {
                let declared = self.types.declare(slot.ty, place);
                self.line(&format!("{};", declared.trim_start_matches("const ")));
                self.fixed(slot, place);
            }
            Way::Behind {
                target, contents, ..
            } => {
                let text = self.types.value(*target);
                self.line(&format!("{text} {place};"));
                match contents {
                    Some(contents) => self.fixed(contents, place),
                    None => self.line(&format!(
                        "memset(&{place}, 0, sizeof {place}); /* for the function to fill */"
                    )),
                }
            }
            _ => {}
        }
    }

    /// Fills a variable or member that is declared.
    fn fixed(&mut self, slot: &Slot, path: &str) {
        match &slot.way {
            Way::Number { bytes } => {
                let text = self.types.value(slot.ty);
                self.line(&format!("{path} = ({text})take(&in, {bytes});"));
            }
            Way::Flag => self.line(&format!("{path} = take(&in, 1) & 1;")),
            Way::Raw { .. } => self.line(&format!("take_into(&in, &{path}, sizeof {path});")),
            Way::Members(slots) => {
                self.line(&format!("memset(&{path}, 0, sizeof {path});"));
                for slot in slots {
                    match &slot.way {
                        Way::Zero(reason) => {
                            self.line(&format!("/* {path}.{} stays zero: {reason} */", slot.place))
                        }
                        Way::Members(_) | Way::Number { .. } | Way::Flag | Way::Raw { .. } => {
                            self.fixed(slot, &format!("{path}.{}", slot.place));
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// Makes what may have any length. `top` if the path is a variable that is not declared yet.
    fn part(&mut self, slot: &Slot, path: &str, top: bool) {
        let variable = path.replace('.', "_");
        match &slot.way {
            Way::Text { .. } => {
                let length = self.length(&variable, "size", "");
                let made = format!("take_text(&in, {length})");
                self.pointer(slot, path, &made, top);
            }
            Way::Buffer {
                element,
                length,
                end,
                ..
            } => self.buffer(slot, path, top, *element, length.as_deref(), end.as_deref()),
            Way::Library { text, .. } => self.library(text, path, &variable),
            Way::Members(slots) => {
                for slot in slots {
                    self.part(slot, &format!("{path}.{}", slot.place), false);
                }
            }
            Way::Behind {
                contents: Some(contents),
                ..
            } => self.part(contents, path, false),
            _ => {}
        }
    }

    /// A variable with the length of the next part, and its name.
    fn length(&mut self, variable: &str, word: &str, divisor: &str) -> String {
        let name = format!("{variable}_{word}");
        let whole = match self.parts {
            1 => "in.size",
            _ => "take_length(&in)",
        };
        self.parts = self.parts.saturating_sub(1);
        self.line(&format!("size_t {name} = {whole}{divisor};"));
        name
    }

    fn pointer(&mut self, slot: &Slot, path: &str, made: &str, top: bool) {
        let mut text = self.types.value(slot.ty);
        if top {
            // The copy may be changed and freed, whatever the function promises.
            text = text
                .replace("const ", "")
                .trim_end_matches("const")
                .to_string();
            self.line(&format!("{text}{path} = ({text})({made});"));
        } else {
            self.line(&format!("{path} = ({text})({made});"));
        }
        self.last += &format!("  free((void *){path});\n");
    }

    fn buffer(
        &mut self,
        slot: &Slot,
        path: &str,
        top: bool,
        element: Option<SourceTypeId>,
        length: Option<&str>,
        end: Option<&str>,
    ) {
        let variable = path.replace('.', "_");
        let one = element.map_or(1, |element| match self.signature.plain(element) {
            SourceType::Integer { bits, .. }
            | SourceType::Character { bits, .. }
            | SourceType::Float { bits, .. } => bits / 8,
            SourceType::Record(record) => record.bits / 8,
            _ => 1,
        });
        let (divisor, factor) = match one {
            1 => (String::new(), String::new()),
            n => (format!(" / {n}"), format!(" * {n}")),
        };
        let count = self.length(&variable, "count", &divisor);
        let made = format!("take_copy(&in, {count}{factor}, 0)");
        self.pointer(slot, path, &made, top);
        let beside = |name: &str| match path.rsplit_once('.') {
            Some((front, _)) => format!("{front}.{name}"),
            None => name.to_string(),
        };
        if let Some(length) = length {
            let ty = self.type_of(slot, length, path);
            let place = beside(length);
            let text = ty.map_or("size_t".into(), |ty| self.types.value(ty));
            let declared = if top {
                format!("{text} ")
            } else {
                String::new()
            };
            self.line(&format!("{declared}{place} = ({text}){count};"));
        }
        if let Some(end) = end {
            let place = beside(end);
            let text = self.types.value(slot.ty);
            let declared = if top { text.clone() } else { String::new() };
            self.line(&format!("{declared}{place} = {path} + {count};"));
        }
    }

    /// The type of the slot beside another one.
    fn type_of(&self, slot: &Slot, name: &str, path: &str) -> Option<SourceTypeId> {
        let signature = self.signature;
        if !path.contains('.') {
            let place = |p: &&changeling_program::SourceParameter| {
                p.name == name || name.starts_with(&format!("{}_argument", p.name))
            };
            return signature.parameters.iter().find(place)?.ty;
        }
        let records = signature.types.iter().filter_map(|ty| match ty {
            SourceType::Record(record) => Some(record),
            _ => None,
        });
        let holds = |record: &&Record| {
            let has = |wanted: &str| record.members.iter().any(|m| m.name == wanted);
            has(name) && has(&slot.place)
        };
        let record = records.into_iter().find(holds)?;
        record.members.iter().find(|m| m.name == name)?.ty
    }

    fn library(&mut self, text: &str, path: &str, variable: &str) {
        let element = text
            .strip_prefix("std::vector<")
            .and_then(|rest| rest.strip_suffix('>'));
        match (text, element) {
            (_, Some(element)) => {
                let count = self.length(variable, "count", &format!(" / sizeof({element})"));
                self.line(&format!("{text} {path}({count});"));
                self.line(&format!(
                    "take_into(&in, {path}.data(), {count} * sizeof({element}));"
                ));
            }
            ("std::string_view", _) => {
                let count = self.length(variable, "size", "");
                self.line(&format!(
                    "char *{variable}_bytes = (char *)take_copy(&in, {count}, 0);"
                ));
                self.line(&format!("{text} {path}({variable}_bytes, {count});"));
                self.last += &format!("  free({variable}_bytes);\n");
            }
            _ => {
                let count = self.length(variable, "size", "");
                self.line(&format!("{text} {path}({count}, '\\0');"));
                self.line(&format!("take_into(&in, {path}.data(), {count});"));
            }
        }
    }

    fn call(&mut self, slots: &[Slot]) {
        let arguments: Vec<String> = slots
            .iter()
            .map(|slot| {
                let place = &slot.place;
                match (self.signature.plain(slot.ty), &slot.way) {
                    (
                        SourceType::Indirect {
                            kind: Indirection::Pointer,
                            ..
                        },
                        Way::Behind { .. },
                    ) => format!("&{place}"),
                    (
                        SourceType::Indirect {
                            kind: Indirection::RvalueReference,
                            ..
                        },
                        _,
                    ) => format!("std::move({place})"),
                    _ => place.clone(),
                }
            })
            .collect();
        let call = format!("{}({})", self.signature.name, arguments.join(", "));
        self.body += "\n";
        let Some(ty) = self.signature.result else {
            self.line(&format!("{call};"));
            return;
        };
        let text = self.types.text(ty);
        if text == "void" {
            self.line(&format!("{call};"));
            return;
        }
        let space = if text.ends_with(['*', '&']) { "" } else { " " };
        self.line(&format!("{text}{space}result = {call};"));
        self.observe(ty, "result", "result", true);
    }
}
