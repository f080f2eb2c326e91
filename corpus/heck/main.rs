//! Reads standard input and prints what the crate makes of it.

use heck::*;
use std::io::Read;

fn main() {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).unwrap();
    let Ok(text) = String::from_utf8(bytes) else {
        println!("not UTF-8");
        return;
    };
    println!("{} {}", text.to_snake_case(), text.to_kebab_case());
}
