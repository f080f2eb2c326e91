//! Reads standard input and prints what the crate makes of it.

use bytesize::ByteSize;
use std::io::Read;

fn main() {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).unwrap();
    let Ok(text) = String::from_utf8(bytes) else {
        println!("not UTF-8");
        return;
    };
    match text.parse::<ByteSize>() {
        Ok(size) => println!("{} {size}", size.as_u64()),
        Err(error) => println!("error {error}"),
    }
}
