//! Every kind of bad input gets its own answer.

mod support;

use changeling_build::{BuildError, Source, build};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use support::{Room, directory, project};

#[test]
fn missing_files_and_things_that_are_no_programs() {
    let room = Room::new();
    assert_eq!(room.build(&room.files(&["no.c"])).unwrap_err().code(), 10);
    assert_eq!(
        room.build(&directory(room.path().join("no")))
            .unwrap_err()
            .code(),
        10
    );
    assert_eq!(
        room.build(&Source::Bitcode(room.path().join("no.bc")))
            .unwrap_err()
            .code(),
        10
    );
    room.write("text.txt", "just text\n");
    room.write("only.h", "int x;\n");
    for name in ["text.txt", "only.h"] {
        let error = room.build(&room.files(&[name])).unwrap_err();
        assert_eq!(error.code(), 11, "{error}");
        assert!(error.to_string().contains(name));
    }
    assert_eq!(room.build(&room.files(&[])).unwrap_err().code(), 12);
    let error = room
        .build(&Source::Files(vec!["/bin/true".into()]))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("not linked with `changeling cc`"),
        "{error}"
    );
    room.assert_clean();
}

#[test]
fn the_compilers_message_comes_through() {
    let room = Room::new();
    room.write("bad.c", "int main(void) { return undeclared_thing; }\n");
    let error = room.build(&room.files(&["bad.c"])).unwrap_err();
    assert_eq!(error.code(), 13);
    assert!(error.output().unwrap().contains("undeclared_thing"));
    room.write("bad.rs", "fn main() { undeclared() }\n");
    let error = room.build(&room.files(&["bad.rs"])).unwrap_err();
    assert_eq!(error.code(), 13);
    assert!(error.output().unwrap().contains("undeclared"));
    room.write(
        "link.c",
        "int nowhere(void); int main(void) { return nowhere(); }\n",
    );
    let error = room.build(&room.files(&["link.c"])).unwrap_err();
    assert_eq!(error.code(), 14);
    assert!(error.output().unwrap().contains("nowhere"));
    room.write("twice.c", "int main(void) { return 0; }\n");
    room.write("twice2.c", "int main(void) { return 0; }\n");
    let error = room
        .build(&room.files(&["twice.c", "twice2.c"]))
        .unwrap_err();
    assert_eq!(error.code(), 14);
    room.assert_clean();
}

#[test]
fn neither_main_nor_harness() {
    let room = Room::new();
    room.write("lib.c", "int f(void) { return 0; }\n");
    let error = room.build(&room.files(&["lib.c"])).unwrap_err();
    assert_eq!(error.code(), 12);
    assert!(error.help().contains("LLVMFuzzerTestOneInput"));
}

#[test]
fn objects_and_bitcode_for_other_machines() {
    let room = Room::new();
    let source = room.write("f.c", "int f(void) { return 0; }\n");
    room.write("main.c", "int f(void); int main(void) { return f(); }\n");
    let compile = |arguments: &[&str], output: &str| {
        let mut command = Command::new("clang-22");
        command
            .args(arguments)
            .arg("-c")
            .arg(&source)
            .arg("-o")
            .arg(room.path().join(output));
        assert!(command.status().unwrap().success());
    };
    compile(&["--target=aarch64-linux-gnu", "-ffreestanding"], "arm.o");
    compile(
        &["--target=aarch64-linux-gnu", "-ffreestanding", "-emit-llvm"],
        "arm.bc",
    );
    let error = room.build(&room.files(&["main.c", "arm.o"])).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().contains("aarch64")),
        (15, true)
    );
    let error = room
        .build(&Source::Bitcode(room.path().join("arm.bc")))
        .unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().contains("aarch64")),
        (15, true)
    );
    room.write("junk.bc", "BC\u{c0}\u{de} junk");
    let error = room
        .build(&Source::Bitcode(room.path().join("junk.bc")))
        .unwrap_err();
    assert_eq!(error.code(), 25);
}

#[test]
fn build_commands_that_fail_end_well_for_nothing_or_do_not_end() {
    let room = Room::new();
    room.write("t/a.c", "int main(void) { return 0; }\n");
    let source = |command: &str| Source::Directory {
        path: room.path().join("t"),
        command: Some(command.into()),
        program: None,
    };
    let error = room
        .build(&source("echo the reason >&2; exit 3"))
        .unwrap_err();
    assert_eq!(error.code(), 18);
    assert!(error.to_string().contains("exit code 3"));
    assert_eq!(error.output(), Some("the reason"));
    let error = room.build(&source("kill -SEGV $$")).unwrap_err();
    assert!(error.to_string().contains("signal 11"), "{error}");
    let error = room.build(&source("true")).unwrap_err();
    assert!(matches!(error, BuildError::NoProgram { .. }));
    let error = room.build(&source("clang-22 a.c -o a")).unwrap_err();
    assert!(error.help().contains("$CC"), "{}", error.help());
    let error = room.build(&source("no-such-tool a.c")).unwrap_err();
    assert!(error.help().contains("not installed"), "{}", error.help());
    let error = room
        .build(&source("echo 'configure: error: no libfoo' >&2; exit 1"))
        .unwrap_err();
    assert!(error.help().contains("--without"), "{}", error.help());

    let mut options = room.options();
    options.time_limit = Some(Duration::from_millis(300));
    let start = Instant::now();
    let marker = room.path().join("alive");
    let command = format!("(sleep 3; touch '{}') & sleep 100", marker.display());
    let error = build(&source(&command), &options).unwrap_err();
    assert_eq!(error.code(), 26);
    assert!(start.elapsed() < Duration::from_secs(60));
    std::thread::sleep(Duration::from_secs(4));
    assert!(!marker.exists(), "a process of the build lives on");
    room.assert_clean();
}

/// A single file has no build command, but its compiler can take as long as one.
#[test]
fn a_compiler_that_does_not_end_is_stopped() {
    let room = Room::new();
    let text = "constexpr long f() { long n = 0; for (long i = 0; i < 1L << 40; i++) n += i; return n; }\n\
                int main() { constexpr long n = f(); return n != 0; }\n";
    room.write("a.cpp", text);
    let mut options = room.options();
    options.flags = vec!["-fconstexpr-steps=2147483647".into()];
    options.time_limit = Some(Duration::from_secs(1));
    let start = Instant::now();
    let source = Source::Files(vec![room.path().join("a.cpp")]);
    let error = build(&source, &options).unwrap_err();
    assert_eq!(error.code(), 26, "{error}");
    assert!(error.to_string().contains("a.cpp"), "{error}");
    assert!(error.help().contains("--build-time"), "{}", error.help());
    assert!(start.elapsed() < Duration::from_secs(60));
    room.assert_clean();
}

/// Both versions would write to it, and be the same.
#[test]
fn a_program_outside_of_the_tree_is_refused() {
    let room = Room::new();
    room.write("t/a.c", "int main(void) { return 0; }\n");
    let outside = room.path().join("program");
    let source = |program: PathBuf| Source::Directory {
        path: room.path().join("t"),
        command: Some(format!("$CC a.c -o '{}'", program.display())),
        program: Some(program),
    };
    let error = room.build(&source(outside)).unwrap_err();
    assert_eq!(error.code(), 20);
    assert!(error.help().contains("outside"), "{}", error.help());
    room.build(&source("../program".into())).unwrap();
}

#[test]
fn trees_without_a_build_file() {
    let room = Room::new();
    room.write("t/a.c", "int main(void) { return 0; }\n");
    let error = room.build(&directory(room.path().join("t"))).unwrap_err();
    assert_eq!(error.code(), 19);
    assert!(error.help().contains("--build"));
}

#[test]
fn unreadable_sources() {
    let room = Room::new();
    let path = room.write("secret.c", "int main(void) { return 0; }\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser reads everything.
    match room.build(&room.files(&["secret.c"])) {
        Ok(_) => assert!(std::fs::read(&path).is_ok()),
        Err(error) => assert!([10, 13].contains(&error.code()), "{error}"),
    }
}

#[test]
fn names_that_are_not_unicode() {
    use std::os::unix::ffi::OsStrExt as _;
    let room = Room::new();
    let name = std::ffi::OsStr::from_bytes(b"tool\xff.c");
    let path = room.path().join(name);
    std::fs::write(&path, "int main(void) { return 0; }\n").unwrap();
    let error = room.build(&Source::Files(vec![path])).unwrap_err();
    assert_eq!(error.code(), 10);
    assert!(error.to_string().contains("not UTF-8"), "{error}");
    assert!(error.help().contains("rename"), "{}", error.help());
}

#[test]
fn names_with_a_line_break() {
    let room = Room::new();
    room.write("two\nlines.c", "int main(void) { return 0; }\n");
    let error = room.build(&room.files(&["two\nlines.c"])).unwrap_err();
    assert_eq!(error.code(), 10);
    assert!(error.to_string().contains(r"two\nlines.c"), "{error}");
}

#[test]
fn broken_compilation_databases() {
    let room = Room::new();
    for (text, reason) in [
        ("[", "EOF"),
        ("[]", "empty"),
        (r#"[{"directory": "/", "file": "a.c"}]"#, "no command"),
    ] {
        let database = room.write("compile_commands.json", text);
        let error = room
            .build(&Source::CompileCommands {
                database,
                program: None,
            })
            .unwrap_err();
        assert_eq!(error.code(), 27);
        assert!(error.to_string().contains(reason), "{error}");
    }
}

/// A small file system that fills up. It can only be made where user namespaces are allowed; the
/// test then asserts on the message, and elsewhere on the refusal.
#[test]
fn a_full_disk_is_named() {
    let room = Room::new();
    room.write(
        "big.c",
        &format!(
            "static const char data[] = \"{}\";\nint main(void) {{ return data[0]; }}\n",
            "x".repeat(400_000)
        ),
    );
    let small = room.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let script =
        r#"mount -t tmpfs -o size=256k none "$1" && exec "$2" --exact full_disk_inner --nocapture"#;
    let output = Command::new("unshare")
        .args([
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            script,
            "sh",
        ])
        .arg(&small)
        .arg(std::env::current_exe().unwrap())
        .env("FULL_DISK_CACHE", small.join("cache"))
        .env("FULL_DISK_SOURCE", room.path().join("big.c"))
        .output()
        .unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    if output.status.success() {
        assert!(said.contains("code 21: the disk is full"), "{said}");
    } else {
        assert!(said.contains("unshare") || said.contains("mount"), "{said}");
    }
}

/// The half of [`a_full_disk_is_named`] that runs where the small file system is.
#[test]
fn full_disk_inner() {
    let Some(cache) = std::env::var_os("FULL_DISK_CACHE") else {
        // By itself this is an ordinary build.
        let room = Room::new();
        room.build(&directory(project("fuzzer"))).unwrap();
        return;
    };
    let room = Room::new();
    let mut options = room.options();
    options.cache = cache.into();
    let source = Source::Files(vec![std::env::var_os("FULL_DISK_SOURCE").unwrap().into()]);
    let error = build(&source, &options).unwrap_err();
    println!("code {}: {error}", error.code());
}

#[test]
fn what_is_missing_on_the_machine_is_named() {
    let room = Room::new();
    room.write(
        "h.c",
        "#include <not_there.h>\nint main(void) { return 0; }\n",
    );
    let error = room.build(&room.files(&["h.c"])).unwrap_err();
    assert!(error.help().contains("has the header"), "{}", error.help());
    room.write("ok.c", "int main(void) { return 0; }\n");
    let mut options = room.options();
    options.flags = vec!["-lnot_there".into()];
    let error = build(&room.files(&["ok.c"]), &options).unwrap_err();
    assert!(error.help().contains("has the library"), "{}", error.help());
    let manifest = "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nnot-there-at-all = \"1\"\n";
    room.write("a/Cargo.toml", manifest);
    room.write("a/src/main.rs", "fn main() {}\n");
    let mut options = room.options();
    options.cargo_arguments = vec!["--offline".into()];
    let package = Source::Cargo {
        manifest_dir: room.path().join("a"),
        target: None,
    };
    let error = build(&package, &options).unwrap_err();
    assert!(error.help().contains("cargo fetch"), "{}", error.help());
    let manifest = manifest.replace("\"1\"", "{ path = \"../gone\" }");
    room.write("a/Cargo.toml", &manifest);
    let error = build(&package, &options).unwrap_err();
    assert_eq!(error.code(), 24);
    assert!(error.output().is_some_and(|text| text.contains("gone")));
    assert!(error.help().contains("mend the path"), "{}", error.help());
}
