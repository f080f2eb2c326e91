//! Reads standard input and prints what the crate makes of it.

use std::io::Read;
use wildmatch::WildMatch;

fn main() {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).unwrap();
    let Ok(text) = String::from_utf8(bytes) else {
        println!("not UTF-8");
        return;
    };
    let (pattern, text) = text.split_once('\n').unwrap_or((&text, ""));
    println!("{}", WildMatch::new(pattern).matches(text));
}
