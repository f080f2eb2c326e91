//! Reads standard input and prints what the crate makes of it.

use semver::{Version, VersionReq};
use std::io::Read;

fn main() {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).unwrap();
    let Ok(text) = String::from_utf8(bytes) else {
        println!("not UTF-8");
        return;
    };
    match Version::parse(&text) {
        Ok(version) => println!("version {version}"),
        Err(_) => println!("version error"),
    }
    match VersionReq::parse(&text) {
        Ok(requirement) => println!("requirement {requirement}"),
        Err(_) => println!("requirement error"),
    }
}
