//! Reads standard input and prints what the crate makes of it.

mod input;

use std::time::UNIX_EPOCH;

fn main() {
    let Some(text) = input::text() else { return };
    match httpdate::parse_http_date(&text) {
        Ok(time) => println!("{}", time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())),
        Err(_) => println!("error"),
    }
}
