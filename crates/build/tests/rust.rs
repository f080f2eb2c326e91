//! Cargo packages.

mod support;

use changeling_build::{BuildError, Language, Source, Variant, build};
use support::{Room, assert_alike, project, run, text};

fn package(target: Option<&str>) -> Source {
    Source::Cargo {
        manifest_dir: project("cargo/app"),
        target: target.map(String::from),
    }
}

#[test]
fn a_package_with_a_dependency_by_path() {
    let room = Room::new();
    let mut options = room.options();
    options.variants = vec![Variant::Sanitized];
    let built = build(&package(None), &options).unwrap();
    assert_eq!(built.languages, [Language::Rust]);
    assert_eq!(text(&run(&built.plain, "200 100 1")), "45 false\n");
    assert_alike(&built, &room, &["", "200 100", "! 1 2", "\u{fffd}"]);
    assert!(
        !project("cargo/app/Cargo.lock").exists(),
        "the user's tree was touched"
    );
    assert!(
        !project("cargo/app/target").exists(),
        "the user's tree was touched"
    );
    assert!(built.source_root.join("app/src/main.rs").is_file());
    assert!(built.variants.is_empty() && built.unavailable[0].0 == Variant::Sanitized);
    assert_eq!(build(&package(None), &options).unwrap(), built);
    room.assert_clean();
}

#[test]
fn the_profile_of_the_user_decides_about_overflow() {
    let room = Room::new();
    let mut options = room.options();
    options.profile = "dev".into();
    let built = build(&package(Some("app")), &options).unwrap();
    assert_eq!(text(&run(&built.plain, "200")), "200 true\n");
    let overflow = run(&built.plain, "200 100");
    assert_eq!(overflow.status.code(), Some(101));
    assert!(String::from_utf8_lossy(&overflow.stderr).contains("attempt to add with overflow"));
    assert_alike(&built, &room, &["200", "200 100"]);
}

#[test]
fn an_example_is_a_program() {
    let room = Room::new();
    let built = room.build(&package(Some("short"))).unwrap();
    assert_eq!(text(&run(&built.plain, "")), "6\n");
    assert_alike(&built, &room, &[""]);
}

#[test]
fn unknown_targets_and_broken_packages_are_answered() {
    let room = Room::new();
    let error = room.build(&package(Some("shrot"))).unwrap_err();
    assert_eq!(
        (error.code(), error.help()),
        (23, "choose one of: app, short".into())
    );
    room.write(
        "bad/Cargo.toml",
        "[package]\nname = \"bad\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n",
    );
    room.write("bad/src/main.rs", "fn main() { let x: u8 = \"text\"; }\n");
    let error = room
        .build(&Source::Cargo {
            manifest_dir: room.path().join("bad"),
            target: None,
        })
        .unwrap_err();
    assert!(
        matches!(&error, BuildError::Cargo { output, .. } if output.contains("mismatched types")),
        "{error:?}"
    );
    let error = room
        .build(&Source::Cargo {
            manifest_dir: room.path().join("none"),
            target: None,
        })
        .unwrap_err();
    assert_eq!(error.code(), 10);
}
