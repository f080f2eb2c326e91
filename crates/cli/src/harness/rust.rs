//! Harnesses in Rust: an example program of the package.

use super::names::Names;
use super::{Refusal, Subject};
use changeling_program::{Record, Signature, SourceType, SourceTypeId};
use std::fmt::Write;

/// Names that a harness uses itself, and words that are no names.
const OWN: [&str; 6] = ["data", "input", "result", "self", "main", "std"];

pub fn write(subject: &Subject) -> Result<String, Refusal> {
    let signature = subject.signature;
    let path = path(signature)?;
    let mut names = Names::new(OWN);
    let mut arguments = Vec::new();
    let mut refused = Vec::new();
    for (number, parameter) in signature.parameters.iter().enumerate() {
        let word = !parameter.name.is_empty() && !parameter.name.starts_with('_');
        let wanted = match word {
            true => parameter.name.clone(),
            false => format!("argument{}", number + 1),
        };
        let made = match parameter.ty {
            Some(ty) => value(signature, ty, 0),
            None => Err("its type is not known".into()),
        };
        match made {
            Ok(value) => arguments.push((names.free(&wanted), value)),
            Err(reason) => refused.push(format!("`{wanted}`: {reason}")),
        }
    }
    if !refused.is_empty() {
        return Err(Refusal::Parameters(refused));
    }
    Ok(text(subject, &path, &arguments))
}

/// How the function is called from another crate.
fn path(signature: &Signature) -> Result<String, Refusal> {
    let refuse = |reason: &str| Err(Refusal::Function(reason.into()));
    let parts: Vec<&str> = signature.scope.iter().map(|s| s.name.as_str()).collect();
    if signature.name == "main" {
        return refuse("it is where the program starts: compare the programs themselves");
    }
    if signature.name.contains('{') {
        return refuse("it is a closure and has no name");
    }
    let method = signature
        .parameters
        .first()
        .is_some_and(|p| p.name == "self");
    if method
        || parts
            .iter()
            .any(|part| part.contains('{') || part.contains('<'))
    {
        return refuse(
            "it belongs to a type: write a public function that makes a value and calls it",
        );
    }
    if parts.is_empty() {
        return refuse("the debug information does not say which crate it is in");
    }
    let name = match signature.name.split_once('<') {
        Some((name, rest)) => format!("{name}::<{rest}"),
        None => signature.name.clone(),
    };
    Ok(format!("{}::{name}", parts.join("::")))
}

/// A value made from bytes.
struct Made {
    /// An expression that takes it from `input`.
    from: Expression,
    /// What stands before the variable's name in the call.
    prefix: &'static str,
    /// The call may change it.
    changes: bool,
}

enum Expression {
    Fixed {
        text: String,
        bytes: u64,
    },
    /// Of any length; `#` stands for the bytes.
    Part(String),
}

fn value(signature: &Signature, ty: SourceTypeId, depth: usize) -> Result<Made, String> {
    let plain = |from| Made {
        from,
        prefix: "",
        changes: false,
    };
    if let Some((text, bytes)) = fixed(signature, ty, depth) {
        return Ok(plain(Expression::Fixed { text, bytes }));
    }
    match signature.plain(ty) {
        SourceType::Record(record) => part(record),
        SourceType::Indirect {
            name,
            target: Some(target),
            ..
        } => {
            let inner = value(signature, *target, depth + 1)
                .map_err(|_| format!("a value of type `{name}` cannot be made"))?;
            if !inner.prefix.is_empty() {
                return Err(format!("a value of type `{name}` cannot be made"));
            }
            match name {
                name if name.starts_with("&mut ") => Ok(Made {
                    prefix: "&mut ",
                    changes: true,
                    ..inner
                }),
                name if name.starts_with('&') => Ok(Made {
                    prefix: "&",
                    ..inner
                }),
                name => Err(format!("it is a pointer (`{name}`)")),
            }
        }
        SourceType::Enumeration { name, .. } | SourceType::Other { name } => {
            Err(format!("a value of type `{name}` cannot be made"))
        }
        _ => Err("a value of its type cannot be made".into()),
    }
}

/// Slices, strings and vectors.
fn part(record: &Record) -> Result<Made, String> {
    let name = record.name.as_str();
    let made = |text: String, prefix, changes| {
        Ok(Made {
            from: Expression::Part(text),
            prefix,
            changes,
        })
    };
    let text = "String::from_utf8_lossy(#).into_owned()";
    if name == "&str" {
        return made(text.into(), "&", false);
    }
    let scoped = |module: &str| record.scope.iter().any(|scope| scope.name == module);
    if name == "String" && scoped("string") {
        return made(text.into(), "", false);
    }
    let slice = |start: &str| name.strip_prefix(start)?.strip_suffix(']');
    let element = name
        .strip_prefix("Vec<")
        .and_then(|rest| rest.split(',').next());
    let (element, prefix, changes) = match (slice("&["), slice("&mut ["), element) {
        (Some(element), ..) => (element, "&", false),
        (_, Some(element), _) => (element, "&mut ", true),
        (_, _, Some(element)) => (element.trim_end_matches('>'), "", false),
        _ => return Err(format!("a value of type `{name}` cannot be made")),
    };
    let size = match element {
        "u8" => return made("#.to_vec()".into(), prefix, changes),
        "i8" => 1,
        "u16" | "i16" => 2,
        "u32" | "i32" | "f32" => 4,
        "u64" | "i64" | "usize" | "isize" | "f64" => 8,
        "u128" | "i128" => 16,
        _ => return Err(format!("a value of type `{name}` cannot be made")),
    };
    made(
        format!(
            "#.as_chunks::<{size}>().0.iter().map(|b| {element}::from_le_bytes(*b)).collect::<Vec<_>>()"
        ),
        prefix,
        changes,
    )
}

/// An expression for a value of fixed size, and that size.
fn fixed(signature: &Signature, ty: SourceTypeId, depth: usize) -> Option<(String, u64)> {
    Some(match signature.plain(ty) {
        SourceType::Integer { name, bits, .. } => {
            (format!("{name}::from_le_bytes(input.take())"), bits / 8)
        }
        SourceType::Float { name, bits } if name == "f32" || name == "f64" => {
            (format!("{name}::from_le_bytes(input.take())"), bits / 8)
        }
        SourceType::Boolean => ("input.take::<1>()[0] & 1 == 1".into(), 1),
        SourceType::Character { .. } => (
            "char::from_u32(u32::from_le_bytes(input.take())).unwrap_or('\\u{fffd}')".into(),
            4,
        ),
        SourceType::Array { element, lengths } => {
            let [Some(length @ 0..=256)] = lengths[..] else {
                return None;
            };
            let (text, bytes) = fixed(signature, *element, depth + 1)?;
            match signature.plain(*element) {
                SourceType::Integer { name, .. } if name == "u8" => {
                    (format!("input.take::<{length}>()"), length)
                }
                _ => (
                    format!("std::array::from_fn::<_, {length}, _>(|_| {text})"),
                    bytes * length,
                ),
            }
        }
        SourceType::Record(record) => structure(signature, record, depth)?,
        _ => return None,
    })
}

/// A structure whose fields everybody may set.
fn structure(signature: &Signature, record: &Record, depth: usize) -> Option<(String, u64)> {
    let in_std = |name: &str| ["core", "alloc", "std"].contains(&name);
    let own = record.scope.first().is_some_and(|s| !in_std(&s.name));
    let usable = record.name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && record.members.iter().all(|member| member.public);
    if depth > 4 || !own || !record.plain || !usable || record.members.is_empty() {
        return None;
    }
    let mut bytes = 0;
    let mut fields = Vec::new();
    // The debug information lists them by offset; any order will do.
    for member in &record.members {
        let (text, size) = fixed(signature, member.ty?, depth + 1)?;
        bytes += size;
        let name = member.name.strip_prefix("__").unwrap_or(&member.name);
        fields.push(format!("{name}: {text}"));
    }
    let path: Vec<&str> = record.scope.iter().map(|s| s.name.as_str()).collect();
    let text = format!(
        "{}::{} {{ {} }}",
        path.join("::"),
        record.name,
        fields.join(", ")
    );
    Some((text, bytes))
}

fn text(subject: &Subject, path: &str, arguments: &[(String, Made)]) -> String {
    let signature = subject.signature;
    let stem = signature.name.split('<').next().unwrap_or("function");
    let file = subject
        .file
        .clone()
        .unwrap_or_else(|| format!("{stem}_harness.rs"));
    let name = file.rsplit('/').next().unwrap_or(&file);
    let mut body = String::new();
    let fixed: u64 = arguments
        .iter()
        .map(|(_, made)| match made.from {
            Expression::Fixed { bytes, .. } => bytes,
            _ => 0,
        })
        .sum();
    if fixed > 0 {
        let _ = write!(
            body,
            "    if data.len() < {fixed} {{\n        return; // too short for the arguments of fixed size\n    }}\n"
        );
    }
    let is_part = |made: &Made| matches!(made.from, Expression::Part(_));
    let mut parts = arguments.iter().filter(|(_, made)| is_part(made)).count();
    let mutable = |made: &Made| if made.changes { "mut " } else { "" };
    for (variable, made) in arguments {
        match &made.from {
            Expression::Fixed { text, .. } => {
                let _ = writeln!(body, "    let {}{variable} = {text};", mutable(made));
            }
            Expression::Part(_) => {}
        }
    }
    for (variable, made) in arguments {
        if let Expression::Part(text) = &made.from {
            let bytes = if parts == 1 {
                "input.0"
            } else {
                "input.part()"
            };
            parts -= 1;
            let text = text.replace('#', bytes);
            let _ = writeln!(body, "    let {}{variable} = {text};", mutable(made));
        }
    }
    let list: Vec<String> = arguments
        .iter()
        .map(|(variable, made)| format!("{}{variable}", made.prefix))
        .collect();
    let call = format!("{path}({})", list.join(", "));
    body += "\n";
    body += &match signature.result {
        None => format!("    {call};\n"),
        Some(_) => {
            format!(
                "    let result = {call};\n    // For a type without `Debug`, print what can be seen of it instead.\n    println!(\"{{result:?}}\");\n"
            )
        }
    };
    for (variable, _) in arguments.iter().filter(|(_, made)| made.changes) {
        let _ = writeln!(body, "    println!(\"{variable}: {{{variable}:?}}\");");
    }
    let takes = body.contains("input.take");
    let shares = body.contains("input.part()");
    let mut helpers = String::new();
    if takes {
        helpers += "\n    /// The next bytes; zeros behind the end.\n    fn take<const N: usize>(&mut self) -> [u8; N] {\n        let (front, rest) = self.0.split_at(N.min(self.0.len()));\n        self.0 = rest;\n        let mut bytes = [0; N];\n        bytes[..front.len()].copy_from_slice(front);\n        bytes\n    }\n";
    }
    if shares {
        helpers += "\n    /// The next part: a byte says how long it is; never longer than the rest.\n    fn part(&mut self) -> &'a [u8] {\n        let Some((&length, rest)) = self.0.split_first() else {\n            return &[];\n        };\n        let (part, rest) = rest.split_at(rest.len().min(length.into()));\n        self.0 = rest;\n        part\n    }\n";
    }
    let (mut declare, mut helper) = (String::new(), String::new());
    if body.contains("input.") {
        let changes = if takes || shares { "mut " } else { "" };
        declare = format!("    let {changes}input = Bytes(&data);\n");
        helper =
            "\n/// Bytes of the input that are not used yet.\nstruct Bytes<'a>(&'a [u8]);\n".into();
        if !helpers.is_empty() {
            let life = if shares {
                ("<'a>", "<'a>")
            } else {
                ("", "<'_>")
            };
            let inside = helpers.trim_start_matches('\n');
            helper += &format!("\nimpl{} Bytes{} {{\n{inside}}}\n", life.0, life.1);
        }
    }
    format!(
        "//! A harness for `{path}` ({}), written by `changeling harness`.\n\
         //!\n\
         //! It makes the arguments of one call from standard input: those of fixed size first, then\n\
         //! strings and slices. Change it as you like. To compare two versions with it:\n\
         //!\n\
         //!     changeling run OLD NEW --harness {file} --stdin 16\n\
         //!\n\
         //! It may also live in the package as `examples/{name}`; then `--program {}` chooses it.\n\n\
         use std::io::Read;\n\n\
         fn main() {{\n    let mut data = Vec::new();\n    \
         std::io::stdin()\n        .read_to_end(&mut data)\n        .expect(\"standard input can be read\");\n\
         {declare}{body}}}\n{helper}",
        subject.place,
        name.trim_end_matches(".rs")
    )
}
