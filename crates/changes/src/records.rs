//! Which structures a line of the source belongs to.

use crate::declarations::words;
use std::collections::HashSet;

/// Declarations of more lines are not looked through.
const LONGEST: usize = 2000;

/// The structure around a line.
pub struct Record {
    /// By which it may be known: what stands before its opening brace, and behind its closing one.
    pub names: HashSet<String>,
    /// The line is behind the opening brace, so it is about a field. What has all in one line may be
    /// a declaration for the sake of form.
    pub inside: bool,
    /// The line of its opening brace.
    pub first: u32,
}

impl Record {
    /// Whether fields are all it has: the names of an enumeration are known outside.
    pub fn has_fields(&self) -> bool {
        !self.names.contains("enum")
    }
}

pub fn record_around(text: &[String], line: u32) -> Option<Record> {
    let at = (line as usize)
        .checked_sub(1)
        .filter(|at| *at < text.len())?;
    let (first, head) = opening(text, at)?;
    let mut names: HashSet<String> = words(&head).map(str::to_owned).collect();
    let keywords = ["struct", "union", "class", "enum"];
    if !keywords.iter().any(|keyword| names.contains(*keyword)) {
        return None;
    }
    if let Some(tail) = closing(text, first) {
        names.extend(words(&tail).map(str::to_owned));
    }
    let inside = first < at;
    Some(Record {
        names,
        inside,
        first: first as u32 + 1,
    })
}

/// The line of the brace that is open at the beginning of a line, or on it, and what stands
/// before it.
pub fn opening(text: &[String], at: usize) -> Option<(usize, String)> {
    let own = text[at].find('{').map(|brace| (at, brace));
    let found = own.or_else(|| {
        let mut depth = 0;
        let before = (at.saturating_sub(LONGEST)..at).rev();
        let mut places = before.flat_map(|line| {
            let braces = text[line].char_indices().rev();
            braces.map(move |(column, c)| (line, column, c))
        });
        places.find_map(|(line, column, c)| {
            match c {
                '}' => depth += 1,
                '{' if depth == 0 => return Some((line, column)),
                '{' => depth -= 1,
                _ => {}
            }
            None
        })
    });
    let (line, column) = found?;
    let head = &text[line][..column];
    // The brace may have a line of its own.
    let before = line.checked_sub(1).filter(|_| head.trim().is_empty());
    let before = before.map_or("", |before| text[before].as_str());
    Some((line, format!("{before} {head}")))
}

/// What stands behind the brace that closes the one on a line.
fn closing(text: &[String], first: usize) -> Option<String> {
    let mut depth = 0;
    for line in text.iter().skip(first).take(LONGEST) {
        for (column, c) in line.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 1 => return Some(line[column + 1..].to_owned()),
                '}' => depth -= 1,
                _ => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_before_and_behind() {
        let text = "int x;\nstruct item {\n  int id;\n  struct { int a; } in;\n  int b;\n};\n\
             typedef struct\n{\n  int flag;\n} Flags, *Pointer;\nint f(void) {\n  g();\n}\n";
        let text: Vec<String> = text.lines().map(str::to_owned).collect();
        let has = |line: u32, name: &str| {
            let found = record_around(&text, line);
            found.is_some_and(|record| record.inside && record.names.contains(name))
        };
        assert!(record_around(&text, 1).is_none());
        assert!(has(3, "item") && has(5, "item") && !has(9, "item"));
        assert!(!has(2, "item") && record_around(&text, 2).is_some());
        assert!(has(9, "Flags") && has(9, "Pointer"));
        assert!(record_around(&text, 12).is_none());
        assert!(record_around(&text, 99).is_none());
    }
}
