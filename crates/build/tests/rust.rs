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
    let without = room.build(&package(None)).unwrap();
    assert_eq!(
        without.plain, built.plain,
        "variants that there are not need no build"
    );
    room.assert_clean();
}

/// The code in C is linked with the plain and with the traced program.
#[test]
fn a_dependency_with_code_in_c() {
    let room = Room::new();
    let package = |name: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
    };
    let app = package("app") + "[dependencies]\nnative = { path = \"../native\" }\n";
    room.write("app/Cargo.toml", &app);
    room.write(
        "app/src/main.rs",
        "fn main() { println!(\"{}\", native::three()); }\n",
    );
    room.write("native/Cargo.toml", &package("native"));
    room.write("native/three.c", "int three(void) { return 3; }\n");
    room.write(
        "native/build.rs",
        "use std::process::Command;
fn main() {
    let out = std::env::var(\"OUT_DIR\").unwrap();
    let object = format!(\"{out}/three.o\");
    let archive = format!(\"{out}/libthree.a\");
    let done = |command: &mut Command| assert!(command.status().unwrap().success());
    done(Command::new(\"clang-22\").args([\"-c\", \"-fPIC\", \"three.c\", \"-o\", &object]));
    done(Command::new(\"llvm-ar-22\").args([\"rcs\", &archive, &object]));
    println!(\"cargo:rustc-link-search=native={out}\");
    println!(\"cargo:rustc-link-lib=static=three\");
}
",
    );
    room.write(
        "native/src/lib.rs",
        "extern \"C\" { #[link_name = \"three\"] fn native_three() -> i32; }
pub fn three() -> i32 { unsafe { native_three() } }
",
    );
    let source = Source::Cargo {
        manifest_dir: room.path().join("app"),
        target: None,
    };
    let built = room.build(&source).unwrap();
    assert_eq!(text(&run(&built.plain, "")), "3\n");
    assert_eq!(built.missing.len(), 1, "{:?}", built.missing);
    assert_alike(&built, &room, &[""]);
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
