//! Reads standard input and prints what the crate makes of it.

mod input;

fn main() {
    let Some(text) = input::text() else { return };
    println!("{:?}", iso8601::date(&text));
    println!("{:?}", iso8601::time(&text));
    println!("{:?}", iso8601::duration(&text));
}
