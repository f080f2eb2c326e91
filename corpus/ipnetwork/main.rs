//! Reads standard input and prints what the crate makes of it.

mod input;

use ipnetwork::IpNetwork;

fn main() {
    let Some(text) = input::text() else { return };
    match text.parse::<IpNetwork>() {
        Ok(network) => println!("{network} {} {}", network.network(), network.broadcast()),
        Err(error) => println!("error {error}"),
    }
}
