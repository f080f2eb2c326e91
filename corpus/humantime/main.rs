//! Reads standard input and prints what the crate makes of it.

use humantime::parse_duration;
use std::io::Read;

fn main() {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).unwrap();
    let Ok(text) = String::from_utf8(bytes) else {
        println!("not UTF-8");
        return;
    };
    match parse_duration(&text) {
        Ok(duration) => println!("{}.{:09}", duration.as_secs(), duration.subsec_nanos()),
        Err(error) => println!("error {error}"),
    }
}
