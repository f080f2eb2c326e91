//! Reads standard input and prints what the crate makes of it.

mod input;

use heck::*;

fn main() {
    let Some(text) = input::text() else { return };
    println!("{} {}", text.to_snake_case(), text.to_kebab_case());
}
