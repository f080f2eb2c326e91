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
