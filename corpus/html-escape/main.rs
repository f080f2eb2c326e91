//! Reads standard input and prints what the crate makes of it.

mod input;

use html_escape::decode_html_entities;

fn main() {
    let Some(text) = input::text() else { return };
    println!("{}", decode_html_entities(&text));
}
