//! Reads standard input and prints what the crate makes of it.

mod input;

use humantime::parse_duration;

fn main() {
    let Some(text) = input::text() else { return };
    match parse_duration(&text) {
        Ok(duration) => println!("{}.{:09}", duration.as_secs(), duration.subsec_nanos()),
        Err(error) => println!("error {error}"),
    }
}
