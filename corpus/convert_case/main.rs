//! Reads standard input and prints what the crate makes of it.

mod input;

use convert_case::{Case, Casing};

fn main() {
    let Some(text) = input::text() else { return };
    println!("{} {}", text.to_case(Case::Snake), text.to_case(Case::Camel));
}
