//! Reads standard input and prints what the crate makes of it.

mod input;

use cidr::IpCidr;

fn main() {
    let Some(text) = input::text() else { return };
    match text.parse::<IpCidr>() {
        Ok(network) => println!("{network}"),
        Err(error) => println!("error {error}"),
    }
}
