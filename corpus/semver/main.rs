//! Reads standard input and prints what the crate makes of it.

mod input;

use semver::{Version, VersionReq};

const VERSIONS: [&str; 4] = ["0.3.1", "1.2.3-rc.1", "1.2.3", "2.0.0"];

fn main() {
    let Some(text) = input::text() else { return };
    match Version::parse(&text) {
        Ok(version) => println!("version {version}"),
        Err(_) => println!("version error"),
    }
    match VersionReq::parse(&text) {
        // What it matches, not how it is printed.
        Ok(requirement) => {
            let matches = VERSIONS.map(|version| requirement.matches(&version.parse().unwrap()));
            println!("requirement {matches:?}");
        }
        Err(_) => println!("requirement error"),
    }
}
