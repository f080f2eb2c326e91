//! Reads standard input and prints what the crate makes of it.

mod input;

fn main() {
    let bytes = input::bytes();
    match base64::decode(&bytes) {
        Ok(bytes) => println!("{bytes:?}"),
        Err(error) => println!("error {error}"),
    }
}
