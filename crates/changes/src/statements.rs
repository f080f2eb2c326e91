//! What single lines of a statement tell.

use crate::declarations::words;

/// Statements of more lines are not looked through.
pub const STATEMENT: usize = 80;

/// Whether a statement or the head of one ends here; what strings hold does not count.
pub fn ends_statement(line: &str) -> bool {
    let mut inside = false;
    let mut escaped = false;
    for c in line.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => inside = !inside,
            ';' | '{' | '}' if !inside => return true,
            _ => {}
        }
    }
    false
}

/// How many of the lines a declaration has that begins with them: up to the semicolon that is in no parentheses or
/// braces, as that of an array's type in Rust is.
pub fn declaration_length(lines: &[String]) -> usize {
    let mut depth = 0;
    let mut inside = false;
    for (at, line) in lines.iter().enumerate() {
        let mut rest = line.chars();
        while let Some(c) = rest.next() {
            match c {
                '\\' if inside => drop(rest.next()),
                '"' => inside = !inside,
                _ if inside => {}
                '\'' => {
                    // Of a letter, not of a lifetime.
                    let literal = rest.as_str();
                    let escaped = literal.starts_with('\\');
                    let behind = literal.char_indices().skip(1 + usize::from(escaped));
                    if let Some((end, _)) = behind.take(1).find(|(_, c)| *c == '\'') {
                        rest = literal[end + 1..].chars();
                    }
                }
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                ';' if depth <= 0 => return at + 1,
                _ => {}
            }
        }
    }
    lines.len().min(1)
}

/// Stands for a variable that holds what a function returns.
pub const RETURN: &str = "return";

/// Whether the line may give the variable a value.
pub fn assigns(line: &str, name: &str) -> bool {
    if name == RETURN {
        return words(line).any(|word| word == RETURN);
    }
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(name).any(|(at, _)| {
        let (before, behind) = (&line[..at], &line[at + name.len()..]);
        let whole = !before.ends_with(letter) && !behind.starts_with(letter);
        let behind = behind.trim_start();
        let operator =
            behind.trim_start_matches(['+', '-', '*', '/', '%', '&', '|', '^', '<', '>']);
        let equals = operator.starts_with('=') && !operator.starts_with("==");
        let steps = ["++", "--"]
            .iter()
            .any(|step| behind.starts_with(step) || before.trim_end().ends_with(step));
        // A type stands between the name and the value in Rust.
        whole && (equals || steps || (behind.starts_with(':') && behind.contains('=')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_end_with_their_semicolon() {
        let length = |text: &str| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            declaration_length(&lines)
        };
        assert_eq!(length("int a = 1;\nint b;\n"), 1);
        assert_eq!(
            length("char *t[] = {\n  \";\",\n  \"\\\"};\",\n};\nint b;"),
            4
        );
        assert_eq!(length("char t[] = { ';', '\\'', '{' }\n;\nint b;"), 2);
        assert_eq!(
            length("static T: [&'static str; 2] = [\n  \"a\",\n];\nint b;"),
            3
        );
        assert_eq!(length("TABLE(a)\nTABLE(b)\n"), 1);
        assert_eq!(length(""), 0);
    }
}
