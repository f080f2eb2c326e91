//! Reads standard input and prints what the crate makes of it.

mod input;

use bytesize::ByteSize;

fn main() {
    let Some(text) = input::text() else { return };
    match text.parse::<ByteSize>() {
        Ok(size) => println!("{} {size}", size.as_u64()),
        Err(error) => println!("error {error}"),
    }
}
