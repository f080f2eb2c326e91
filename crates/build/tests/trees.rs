//! Source trees under make, configure scripts, CMake, and compilation databases.

mod support;

use changeling_build::{BuildError, Source, Variant, build};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Room, assert_alike, directory, disassemble, function, project, run, stand_in, text};

/// Names and times of everything in a tree, to see that it is not touched.
fn snapshot(root: &Path) -> Vec<(PathBuf, std::time::SystemTime)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        all.push((
            path.clone(),
            std::fs::metadata(&path).unwrap().modified().unwrap(),
        ));
        if path.is_dir() {
            all.extend(snapshot(&path));
        }
    }
    all.sort();
    all
}

#[test]
fn make_with_a_static_archive() {
    let room = Room::new();
    let before = snapshot(&project("archive"));
    let built = room.build(&directory(project("archive"))).unwrap();
    assert_eq!(snapshot(&project("archive")), before);
    assert_eq!(text(&run(&built.plain, "two words\n")), "2 1.4\n");
    assert!(built.missing.is_empty(), "{:?}", built.missing);
    let bitcode = disassemble(&built);
    assert!(!function(&bitcode, "count_words").is_empty());
    assert!(
        function(&bitcode, "unused").is_empty(),
        "a member that was not linked is in the bitcode"
    );
    assert!(
        bitcode.contains("filename: \"src/main.c\""),
        "names are not relative to the tree"
    );
    assert_alike(&built, &room, &["", "a b c\nd\n"]);
    assert_eq!(room.build(&directory(project("archive"))).unwrap(), built);
    room.assert_clean();
}

#[test]
fn configure_scripts_get_true_answers() {
    let room = Room::new();
    let built = room.build(&directory(project("configured"))).unwrap();
    assert_eq!(text(&run(&built.plain, "")), "1 2 clang 2\n");
    assert_alike(&built, &room, &[""]);
}

#[test]
fn cmake_with_c_and_cpp() {
    let room = Room::new();
    let built = room.build(&directory(project("cmake"))).unwrap();
    assert_eq!(text(&run(&built.plain, "2 3 -1 4")), "6\nnegative: -1x4\n");
    assert!(!function(&disassemble(&built), "area").is_empty());
    assert_alike(&built, &room, &["", "2 3 -1 4", "x"]);
}

#[test]
fn assembler_response_files_and_prebuilt_objects() {
    let room = Room::new();
    let built = room.build(&directory(project("mixed"))).unwrap();
    let missing: Vec<(&str, &str)> = built
        .missing
        .iter()
        .map(|missing| (missing.object.as_str(), missing.reason.as_str()))
        .collect();
    assert_eq!(
        missing,
        [
            ("double.s", "assembler source"),
            ("fast.S", "assembler source"),
            ("prebuilt.o", "not compiled with `changeling cc`")
        ]
    );
    assert_eq!(text(&run(&built.plain, "5")), "hello world 10 10 15 4\n");
    assert_alike(&built, &room, &["5", ""]);
}

#[test]
fn shared_libraries_of_the_project_become_part_of_the_program() {
    let room = Room::new();
    let built = room.build(&directory(project("shared"))).unwrap();
    assert_eq!(text(&run(&built.plain, "9")), "9\n");
    assert!(built.missing.is_empty(), "{:?}", built.missing);
    assert!(!function(&disassemble(&built), "greet").is_empty());
    assert_alike(&built, &room, &["9", "1"]);
}

#[test]
fn fuzzing_engines_are_replaced() {
    let room = Room::new();
    let built = room.build(&directory(project("fuzzer"))).unwrap();
    assert!(built.harness && built.missing.is_empty());
    assert_eq!(text(&run(&built.plain, "hi")), "greeted\n2\n");
    assert_alike(&built, &room, &["", "hi"]);
    // A sanitizer finds no room for its memory in the sandbox, and bitcode has none.
    let plain = std::fs::read(&built.plain).unwrap();
    let sanitizer = b"__asan_init";
    assert!(!plain.windows(sanitizer.len()).any(|part| part == sanitizer));
}

#[test]
fn leftovers_of_the_users_build_are_not_taken_for_finished() {
    let room = Room::new();
    let tree = room.path().join("my tree");
    copy(&project("archive"), &tree);
    assert!(
        Command::new("make")
            .arg("CC=clang-22")
            .current_dir(&tree)
            .output()
            .unwrap()
            .status
            .success()
    );
    let built = room.build(&directory(tree)).unwrap();
    assert!(built.missing.is_empty(), "{:?}", built.missing);
    assert_alike(&built, &room, &["a b"]);
}

#[test]
fn a_build_command_of_the_user_and_one_of_several_programs() {
    let room = Room::new();
    room.write("t/one.c", "int main(void) { return 1; }\n");
    room.write("t/two.c", "int main(void) { return 2; }\n");
    let command = Some("mkdir out && gcc one.c -o out/one && c++ -x c two.c -oout/two".to_string());
    let path = room.path().join("t");
    let source = |program: Option<&str>| Source::Directory {
        path: path.clone(),
        command: command.clone(),
        program: program.map(PathBuf::from),
    };
    let error = room.build(&source(None)).unwrap_err();
    assert_eq!(error.code(), 20);
    assert!(
        error.help().contains("out/one, out/two"),
        "{}",
        error.help()
    );
    let built = room.build(&source(Some("out/two"))).unwrap();
    assert_eq!(run(&built.plain, "").status.code(), Some(2));
    let error = room.build(&source(Some("out/three"))).unwrap_err();
    assert!(matches!(error, BuildError::NoProgram { .. }));
    room.assert_clean();
}

#[test]
fn variants_of_a_tree() {
    let room = Room::new();
    let mut options = room.options();
    options.variants = vec![Variant::Sanitized, Variant::AutoZero];
    let built = build(&directory(project("archive")), &options).unwrap();
    assert_eq!(built.variants.len(), 2);
    for variant in &built.variants {
        assert_eq!(text(&run(&variant.path, "a b c d")), "4 2.0\n");
    }
    let names = Command::new("llvm-nm-22")
        .arg(&built.variants[0].path)
        .output()
        .unwrap();
    assert!(text(&names).contains("__asan_init"));
}

#[test]
fn compilation_databases() {
    let room = Room::new();
    room.write(
        "p/src/main.c",
        "#include <part.h>\n#include <stdio.h>\nint main(void) { printf(\"%d\\n\", part(N)); }\n",
    );
    room.write("p/src/other.c", "int main(void) { return 1; }\n");
    room.write("p/src/part.cpp", "#include <part.h>\n#include <string>\nextern \"C\" int part(int n) { return std::to_string(n).size(); }\n");
    room.write(
        "p/inc/part.h",
        "#ifdef __cplusplus\nextern \"C\"\n#endif\nint part(int);\n",
    );
    let database = room.write(
        "p/compile_commands.json",
        r#"[{"directory": "src", "file": "main.c", "command": "gcc -DN=1234 -I../inc -MMD -o main.o -c main.c"},
            {"directory": "src", "file": "other.c", "arguments": ["cc", "-c", "other.c"]},
            {"directory": "src", "file": "part.cpp", "arguments": ["c++", "-std=c++17", "-I", "../inc", "-c", "part.cpp", "-o", "part.o"]}]"#,
    );
    let source = |program: Option<&str>| Source::CompileCommands {
        database: database.clone(),
        program: program.map(String::from),
    };
    let error = room.build(&source(None)).unwrap_err();
    assert_eq!(
        (error.code(), error.help().contains("main.c, other.c")),
        (20, true)
    );
    let built = room.build(&source(Some("main"))).unwrap();
    assert_eq!(text(&run(&built.plain, "")), "4\n");
    assert_alike(&built, &room, &[""]);
    assert!(!room.path().join("p/src/main.d").exists());
}

/// The stand-in by hand, as in a user's own build.
#[test]
fn executables_linked_by_the_stand_in_are_programs() {
    let room = Room::new();
    room.write(
        "a.c",
        "#include <stdio.h>\nint f(int); int main(void) { printf(\"%d\\n\", f(getchar())); }\n",
    );
    room.write("b.c", "int f(int n) { return n / 2; }\n");
    let cc = |arguments: &[&str]| {
        let status = Command::new(stand_in())
            .arg("cc")
            .args(arguments)
            .current_dir(room.path())
            .status()
            .unwrap();
        assert!(status.success(), "{arguments:?}");
    };
    cc(&["-c", "-O2", "a.c", "b.c"]);
    cc(&["-r", "a.o", "b.o", "-o", "both.o", "-nostdlib"]);
    cc(&["-fuse-ld=lld-22", "both.o", "-o", "prog"]);
    assert!(room.path().join("prog.changeling.bc").is_file());
    let built = room.build(&room.files(&["prog"])).unwrap();
    assert!(built.missing.is_empty(), "{:?}", built.missing);
    assert_alike(&built, &room, &["a", ""]);
    let from_bitcode = room
        .build(&Source::Bitcode(room.path().join("prog.changeling.bc")))
        .unwrap();
    assert_alike(&from_bitcode, &room, &["a"]);
    // Moved away, an executable still knows its bitcode.
    std::fs::rename(room.path().join("prog"), room.path().join("moved")).unwrap();
    assert_alike(&room.build(&room.files(&["moved"])).unwrap(), &room, &["a"]);
}

#[test]
fn the_stand_in_passes_through_what_is_not_its_business() {
    let room = Room::new();
    room.write("a.c", "#include \"a.h\"\nint main(void) { return X; }\n");
    room.write("a.h", "#define X 0\n");
    let cc = |arguments: &[&str]| {
        Command::new(stand_in())
            .arg("cc")
            .args(arguments)
            .current_dir(room.path())
            .output()
            .unwrap()
    };
    assert!(text(&cc(&["-E", "a.c"])).contains("return 0"));
    assert!(text(&cc(&["-MM", "a.c"])).contains("a.h"));
    assert!(text(&cc(&["--version"])).contains("clang version 22"));
    assert!(cc(&["-S", "a.c"]).status.success() && room.path().join("a.s").is_file());
    assert!(cc(&["-c", "-MMD", "-MF", "deps", "a.c"]).status.success());
    assert!(
        std::fs::read_to_string(room.path().join("deps"))
            .unwrap()
            .contains("a.h")
    );
    assert!(cc(&["a.c", "-flto", "-o", "lto"]).status.success());
    room.build(&room.files(&["lto"])).unwrap();
    let failed = cc(&["-Werror", "-Wall", "-c", "-x", "c", "missing.c"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("missing.c"));
    assert_eq!(cc(&["a.c", "-o", "/dev/null"]).status.code(), Some(0));
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp")
        .arg("-r")
        .arg(from)
        .arg(to)
        .status()
        .unwrap();
    assert!(status.success());
}
