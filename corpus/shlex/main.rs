//! Reads standard input and prints what the crate makes of it.

mod input;

use shlex::split;

fn main() {
    let Some(text) = input::text() else { return };
    println!("{:?}", split(&text));
}
