//! What lines outside of functions declare.

use std::collections::HashSet;

use crate::records::opening;

pub enum Names {
    /// Of a macro: only its own name counts.
    Macro(String),
    Words(HashSet<String>),
    /// What a `use` of Rust brings in from elsewhere.
    Imported(HashSet<String>),
}

/// Numbers of the lines inside of functions, as far as braces tell: also of those that are not
/// compiled.
pub fn function_lines(text: &[String]) -> Vec<u32> {
    let mut inside = Vec::new();
    // For each open brace, whether it starts a function or is in one, and whether it only groups.
    let mut open: Vec<(bool, bool)> = Vec::new();
    let mut head = String::new();
    for (line, own) in (1..).zip(text) {
        if own.trim_start().starts_with('#') {
            continue;
        }
        if own.starts_with('}') {
            // Alternatives behind `#if` may have more braces open than there are.
            let groups = open.iter().take_while(|(_, groups)| *groups).count();
            open.truncate(groups + 1);
        }
        let mut within = open.last().is_some_and(|brace| brace.0);
        for c in own.chars() {
            match c {
                '{' => {
                    let function =
                        open.last().is_some_and(|brace| brace.0) || starts_function(&head);
                    open.push((function, groups(&head)));
                    within |= function;
                    head.clear();
                }
                '}' => {
                    open.pop();
                    head.clear();
                }
                _ => head.push(c),
            }
        }
        head.push('\n');
        // Of what is left of older statements the last ones say enough.
        if open.is_empty() && head.len() > HEAD {
            let from = (head.len() - HEAD..).find(|at| head.is_char_boundary(*at));
            head.drain(..from.unwrap_or(0));
        }
        if within {
            inside.push(line);
        }
    }
    inside
}

/// Bytes of text before a brace that are looked at.
const HEAD: usize = 2000;

/// Whether what stands before a brace is the head of a function.
fn starts_function(head: &str) -> bool {
    let last = head.trim_end();
    // Parameters of the oldest kind are declared between the head and the brace.
    if last.ends_with(';') {
        let Some(list) = last.rfind(')') else {
            return false;
        };
        let behind = &last[list + 1..];
        return behind.trim_start() != ";" && !behind.contains(['=', '}']) && !groups(behind);
    }
    let statement = last.rsplit(';').next().unwrap_or(last);
    let keyword = |word: &str| words(statement).any(|own| own == word);
    let known = ["struct", "union", "class", "enum"];
    statement.contains('(')
        && !statement.contains('=')
        && (statement.ends_with(')') || !known.iter().any(|word| keyword(word)))
}

/// Whether the brace holds declarations, as that of a namespace does.
fn groups(head: &str) -> bool {
    let statement = head.rsplit(';').next().unwrap_or(head);
    let known = ["namespace", "extern", "mod", "impl", "trait"];
    !statement.contains('(') && words(statement).any(|word| known.contains(&word))
}

/// If the line is one of an enumeration, the names behind it: their values follow from those before.
fn enumerators_behind(text: &[String], at: usize) -> Vec<String> {
    let Some((first, head)) = opening(text, at) else {
        return Vec::new();
    };
    if first == at || !words(&head).any(|word| word == "enum") {
        return Vec::new();
    }
    let behind = text
        .iter()
        .skip(at + 1)
        .take_while(|line| !line.contains(['}', '=']));
    let names = behind.filter_map(|line| words(line).next());
    names.map(str::to_owned).collect()
}

/// What a line outside of functions declares.
pub fn names_at(text: &[String], line: u32) -> Option<Names> {
    let mut at = line.checked_sub(1)? as usize;
    // A macro may go on for many lines, and only its name counts.
    while at > 0 && text.get(at - 1)?.trim_end().ends_with('\\') {
        at -= 1;
    }
    if is_parameter(text, at) {
        return None;
    }
    let names = names_of(text.get(at)?)?;
    Some(match names {
        Names::Words(own) if is_import(text, at) => Names::Imported(own),
        Names::Words(mut own) => {
            own.extend(enumerators_behind(text, at));
            Names::Words(own)
        }
        other => other,
    })
}

/// Whether a line goes on with the parameters of a function that is declared in lines before.
fn is_parameter(text: &[String], at: usize) -> bool {
    let before = text[..at].iter().rev().take(PARAMETERS);
    let own = before.take_while(|line| {
        let line = line.trim_end();
        !line.is_empty() && !line.ends_with([';', '{', '}']) && !line.trim_start().starts_with('#')
    });
    let open = own.flat_map(|line| line.chars()).map(|c| match c {
        '(' => 1,
        ')' => -1,
        _ => 0,
    });
    open.sum::<i32>() > 0
}

/// Whether a line is part of a `use`.
fn is_import(text: &[String], at: usize) -> bool {
    let before = text[..at].iter().rev().take(PARAMETERS);
    let open = before.take_while(|line| {
        let line = line.trim();
        let ends = line.is_empty() || line.ends_with([';', '}', ']']);
        // Around it there may be a module; its own braces are open, too.
        let around = line.ends_with('{') && keyword(line).is_some_and(|word| word != "use");
        !ends && !around
    });
    let first = at - open.count();
    keyword(&text[first]) == Some("use")
}

/// What kind of item of Rust a line begins.
fn keyword(line: &str) -> Option<&str> {
    let mut words = words(line).filter(|word| !["pub", "crate", "super", "unsafe"].contains(word));
    let known = [
        "use", "mod", "fn", "impl", "trait", "struct", "enum", "extern",
    ];
    words.next().filter(|word| known.contains(word))
}

/// Declarations of more lines are not looked through.
const PARAMETERS: usize = 40;

fn names_of(line: &str) -> Option<Names> {
    let trimmed = line.trim_start();
    if let Some(rest) = trimmed.strip_prefix('#') {
        let mut words = words(rest);
        let defines = matches!(words.next(), Some("define" | "undef"));
        return words
            .next()
            .filter(|_| defines)
            .map(|name| Names::Macro(name.to_owned()));
    }
    // Of a function that is declared only the name counts, not its parameters.
    let declared = match line.find(['(', ')', '=']) {
        // A macro such as `OF` may stand between.
        Some(at) if line[at..].starts_with('(') => words(&line[..at])
            .filter(|word| word.contains(char::is_lowercase))
            .last(),
        Some(at) if line[at..].starts_with(')') => return None,
        _ => None,
    };
    let names: HashSet<String> = match declared {
        Some(name) => HashSet::from([name.to_owned()]),
        None => {
            let telling = || words(line).filter(|word| !COMMON.contains(word));
            let long = telling().filter(|word| word.len() > 1);
            let long: HashSet<String> = long.map(str::to_owned).collect();
            match long.is_empty() {
                // Letters are everywhere, but what is declared may go by one.
                true => telling().take(1).map(str::to_owned).collect(),
                false => long,
            }
        }
    };
    (!names.is_empty()).then_some(Names::Words(names))
}

/// Words that say nothing about what a line is about: those of the languages, and types that are everywhere.
pub const COMMON: &[&str] = &[
    "int", "char", "long", "short", "unsigned", "signed", "float", "double", "bool", "void",
    "const", "static", "struct", "enum", "union", "typedef", "extern", "if", "else", "for",
    "while", "return", "sizeof", "let", "mut", "pub", "fn", "impl", "use", "include", "class",
    "public", "size_t", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t",
    "uint32_t", "uint64_t", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64",
    "i128", "isize", "f32", "f64", "str",
];

pub fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn lines_of_functions() {
        let text = lines(
            "int table[] = {\n  1,\n};\nint f(int a) {\n  g();\n}\nstruct s {\n  int x;\n};\n\
             int old(a, b)\n  int a;\n  char *b;\n{\n  return h(a);\n}\nnamespace n {\nint y;\nvoid k()\n{\n  l();\n}\n}\nint z;\n",
        );
        assert_eq!(function_lines(&text), [4, 5, 6, 13, 14, 15, 19, 20, 21]);
        let text = lines(
            "int f(int a) {\n#ifdef A\n  if (a) {\n#else\n  if (!a) {\n#endif\n    g();\n  }\n}\nint x;\nimpl T {\n    const A: u8 = 1;\n    fn new(x: u8) -> T {\n        T { x }\n    }\n}\n",
        );
        let inside = function_lines(&text);
        assert!(!inside.contains(&10) && !inside.contains(&12) && inside.contains(&14));
        assert!(inside.contains(&7));
    }

    #[test]
    fn parameters_name_nothing() {
        let text = lines("int first(int a,\n  Bytes *text,\n  Size length);\nBytes *second;\n");
        assert!(
            matches!(names_at(&text, 1), Some(Names::Words(names)) if names == ["first".to_owned()].into())
        );
        assert!(names_at(&text, 2).is_none() && names_at(&text, 3).is_none());
        assert!(matches!(names_at(&text, 4), Some(Names::Words(names)) if names.contains("Bytes")));
    }

    #[test]
    fn names_that_are_brought_in() {
        let text = lines(
            "#[cfg(x)]\nuse fs::File;\npub use io::{\n    Read,\n    Write,\n};\nstatic SIZE: u8 = 1;\n\
             mod test {\n    use super::{first, second};\n}\n",
        );
        let names = [
            (2, "File"),
            (3, "io"),
            (4, "Read"),
            (5, "Write"),
            (9, "first"),
        ];
        for (line, name) in names {
            let names = names_at(&text, line);
            assert!(matches!(names, Some(Names::Imported(names)) if names.contains(name)));
        }
        assert!(matches!(names_at(&text, 7), Some(Names::Words(names)) if names.contains("SIZE")));
    }

    #[test]
    fn types_that_are_everywhere_name_nothing() {
        let text =
            lines("const DIGITS: &[u8; 16] = b\"0123456789abcdef\";\nextern double limit;\n");
        for (line, name) in [(1, "DIGITS"), (2, "limit")] {
            assert!(
                matches!(names_at(&text, line), Some(Names::Words(names)) if names == [name.to_owned()].into())
            );
        }
    }

    #[test]
    fn values_that_follow() {
        let text = lines("typedef enum {\n  HEAD = 3,\n  BODY,\n  TAIL\n} part;\nint other;\n");
        let Some(Names::Words(names)) = names_at(&text, 2) else {
            panic!("names expected");
        };
        assert!(names.contains("HEAD") && names.contains("BODY") && names.contains("TAIL"));
        assert!(!names.contains("other"));
    }
}
