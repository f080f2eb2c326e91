//! Reads standard input and prints what the crate makes of it.

mod input;

use semver::{Version, VersionReq};

fn main() {
    let Some(text) = input::text() else { return };
    match Version::parse(&text) {
        Ok(version) => println!("version {version}"),
        Err(_) => println!("version error"),
    }
    match VersionReq::parse(&text) {
        Ok(requirement) => println!("requirement {requirement}"),
        Err(_) => println!("requirement error"),
    }
}
