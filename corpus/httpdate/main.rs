//! Reads standard input and prints what the crate makes of it.

use std::io::Read;
use std::time::UNIX_EPOCH;

fn main() {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).unwrap();
    let Ok(text) = String::from_utf8(bytes) else {
        println!("not UTF-8");
        return;
    };
    match httpdate::parse_http_date(&text) {
        Ok(time) => println!("{}", time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())),
        Err(_) => println!("error"),
    }
}
