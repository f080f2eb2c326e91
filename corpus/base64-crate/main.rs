//! Reads standard input and prints what the crate makes of it.

use std::io::Read;

fn main() {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).unwrap();
    match base64::decode(&bytes) {
        Ok(bytes) => println!("{bytes:?}"),
        Err(error) => println!("error {error}"),
    }
}
