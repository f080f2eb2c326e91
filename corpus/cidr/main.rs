//! Reads standard input and prints what the crate makes of it.

use cidr::IpCidr;
use std::io::Read;

fn main() {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).unwrap();
    let Ok(text) = String::from_utf8(bytes) else {
        println!("not UTF-8");
        return;
    };
    match text.parse::<IpCidr>() {
        Ok(network) => println!("{network}"),
        Err(error) => println!("error {error}"),
    }
}
