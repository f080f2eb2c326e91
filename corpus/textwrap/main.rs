//! Reads standard input and prints what the crate makes of it.

mod input;

use textwrap::fill;

fn main() {
    let Some(text) = input::text() else { return };
    println!("{}", fill(&text, 5));
}
