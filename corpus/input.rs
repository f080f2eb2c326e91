//! What the drivers of crates read; a module of each.
#![allow(dead_code)]

use std::io::Read;

/// All of standard input.
pub fn bytes() -> Vec<u8> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).unwrap();
    bytes
}

/// All of standard input, if it is UTF-8; says so if it is not.
pub fn text() -> Option<String> {
    let text = String::from_utf8(bytes()).ok();
    if text.is_none() {
        println!("not UTF-8");
    }
    text
}
