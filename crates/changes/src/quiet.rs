//! Why a textual difference has no effect on the code.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Quiet {
    /// Only white space differs.
    Formatting,
    /// Only comments differ.
    Comments,
    /// The lines are elsewhere in the other version.
    Moved,
    /// Only names differ.
    Names,
    /// Anything else that compiles to the same code, or to none.
    Same,
}

impl Quiet {
    pub fn text(self) -> &'static str {
        match self {
            Quiet::Formatting => "formatting",
            Quiet::Comments => "comments",
            Quiet::Moved => "moved",
            Quiet::Names => "names",
            Quiet::Same => "the same code, or none",
        }
    }
}

/// A file without its comments, line by line.
pub struct Stripped {
    lines: Vec<String>,
    /// Lines that held a comment or a part of one.
    commented: Vec<bool>,
}

impl Stripped {
    /// C, C++ and Rust.
    pub fn new(text: &str) -> Stripped {
        let mut stripped = Stripped {
            lines: Vec::new(),
            commented: Vec::new(),
        };
        let mut inside = false;
        for line in text.lines() {
            let (kept, commented) = strip(line, &mut inside);
            stripped.lines.push(kept);
            stripped.commented.push(commented);
        }
        stripped
    }

    pub fn into_lines(self) -> Vec<String> {
        self.lines
    }

    fn range(&self, first: u32, count: u32) -> std::ops::Range<usize> {
        let from = (first.max(1) as usize - 1).min(self.lines.len());
        from..(from + count as usize).min(self.lines.len())
    }

    /// What is left of `count` lines from line `first`, without empty ones.
    fn code(&self, first: u32, count: u32) -> Vec<&str> {
        let lines = self.lines[self.range(first, count)].iter();
        lines
            .map(|line| line.trim())
            .filter(|line| !line.is_empty())
            .collect()
    }

    fn has_comment(&self, first: u32, count: u32) -> bool {
        self.commented[self.range(first, count)].contains(&true)
    }
}

/// Lines of two versions: file, first line, number of lines.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    pub file: &'a Stripped,
    pub first: u32,
    pub count: u32,
}

impl Part<'_> {
    fn code(&self) -> Vec<&str> {
        self.file.code(self.first, self.count)
    }
}

/// `others`: all differences there are, to find what was moved.
pub fn reason(base: Part<'_>, head: Part<'_>, others: &[(Part<'_>, Part<'_>)]) -> Quiet {
    let (left, right) = (base.code(), head.code());
    let (old, new) = (tokens(&left), tokens(&right));
    if old == new {
        let commented = base.file.has_comment(base.first, base.count)
            || head.file.has_comment(head.first, head.count);
        return match commented {
            true => Quiet::Comments,
            false => Quiet::Formatting,
        };
    }
    let moved = |lines: &[&str], elsewhere: &mut dyn Iterator<Item = Part<'_>>| {
        let mut known: HashMap<String, i32> = HashMap::new();
        for part in elsewhere {
            for line in part.code() {
                *known.entry(line.to_owned()).or_default() += 1;
            }
        }
        lines.iter().all(|line| match known.get_mut(*line) {
            Some(left) => {
                *left -= 1;
                *left >= 0
            }
            None => false,
        })
    };
    let heads = &mut others.iter().map(|(_, head)| *head);
    let bases = &mut others.iter().map(|(base, _)| *base);
    if moved(&left, heads) && moved(&right, bases) {
        return Quiet::Moved;
    }
    match only_names(&old, &new) {
        true => Quiet::Names,
        false => Quiet::Same,
    }
}

/// Whether the tokens differ by a one-to-one renaming of words.
fn only_names(old: &[String], new: &[String]) -> bool {
    let mut there: HashMap<&str, &str> = HashMap::new();
    let mut back: HashMap<&str, &str> = HashMap::new();
    let word = |token: &str| token.starts_with(|c: char| c.is_alphabetic() || c == '_');
    old.len() == new.len()
        && old.iter().zip(new).all(|(a, b)| {
            a == b
                || (word(a)
                    && word(b)
                    && *there.entry(a.as_str()).or_insert(b.as_str()) == b
                    && *back.entry(b.as_str()).or_insert(a.as_str()) == a)
        })
}

/// Words, strings and signs.
pub fn tokens(lines: &[&str]) -> Vec<String> {
    let mut tokens = Vec::new();
    for line in lines {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = if first.is_alphanumeric() || first == '_' {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                end.unwrap_or(rest.len())
            } else if first == '"' {
                string_length(rest)
            } else {
                first.len_utf8()
            };
            tokens.push(rest[..length].to_owned());
            rest = rest[length..].trim_start();
        }
    }
    tokens
}

/// Bytes of the string literal that the text starts with, or of all the text.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The line without comments; `inside`: a comment goes on from line to line.
fn strip(line: &str, inside: &mut bool) -> (String, bool) {
    let mut kept = String::new();
    let mut commented = *inside;
    let mut rest = line;
    while !rest.is_empty() {
        if *inside {
            match rest.find("*/") {
                Some(end) => {
                    rest = &rest[end + 2..];
                    *inside = false;
                    kept.push(' ');
                }
                None => break,
            }
        } else if rest.starts_with("//") {
            commented = true;
            break;
        } else if rest.starts_with("/*") {
            commented = true;
            *inside = true;
            rest = &rest[2..];
        } else {
            let length = match rest.chars().next() {
                Some('"') => string_length(rest),
                // The character '"' starts no string.
                Some('\'') if rest.starts_with("'\"'") => 3,
                Some('\'') if rest.starts_with("'\\\"'") => 4,
                Some(first) => first.len_utf8(),
                None => break,
            };
            kept.push_str(&rest[..length]);
            rest = &rest[length..];
        }
    }
    (kept, commented)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(base: &str, head: &str) -> Quiet {
        let (left, right) = (Stripped::new(base), Stripped::new(head));
        let whole = |file: &'static Stripped| Part {
            file,
            first: 1,
            count: file.lines.len() as u32,
        };
        let (left, right) = (Box::leak(Box::new(left)), Box::leak(Box::new(right)));
        let (base, head) = (whole(left), whole(right));
        reason(base, head, &[(base, head)])
    }

    #[test]
    fn reasons() {
        assert_eq!(why("a = b;", "a  =\n b ;"), Quiet::Formatting);
        assert_eq!(
            why("a = b; // old", "a = b; /* new\n text */"),
            Quiet::Comments
        );
        assert_eq!(why("", "/* new\n text */"), Quiet::Comments);
        assert_eq!(why("f();\ng();", "g();\nf();"), Quiet::Moved);
        assert_eq!(why("int a = b + a;", "int x = b + x;"), Quiet::Names);
        assert_eq!(why("int a = b + a;", "int x = b + y;"), Quiet::Same);
        assert_eq!(why("s = \"// no\";", "s = \"// yes\";"), Quiet::Same);
        assert_eq!(why("c = '\"'; // a", "c = '\"'; // b"), Quiet::Comments);
    }
}
