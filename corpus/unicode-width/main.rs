//! Reads standard input and prints what the crate makes of it.

mod input;

use unicode_width::UnicodeWidthStr;

fn main() {
    let Some(text) = input::text() else { return };
    println!("{}", text.as_str().width());
}
