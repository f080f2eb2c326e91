//! Reads standard input and prints what the crate makes of it.

mod input;

use wildmatch::WildMatch;

fn main() {
    let Some(text) = input::text() else { return };
    let (pattern, text) = text.split_once('\n').unwrap_or((&text, ""));
    println!("{}", WildMatch::new(pattern).matches(text));
}
