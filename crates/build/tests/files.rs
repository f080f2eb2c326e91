//! C and C++ files, single Rust files, and bitcode.

mod support;

use changeling_build::{BuildError, Language, Source, Variant, build};
use std::process::Command;
use support::{Room, assert_alike, disassemble, function, run, text};

#[test]
fn a_file_becomes_a_binary_and_bitcode() {
    let room = Room::new();
    room.write("sum.c", "#include <stdio.h>\n#include <math.h>\nint main(void) { int a = 0, b; while (scanf(\"%d\", &b) == 1) a += b; printf(\"%d %g\\n\", a, floor(a / 2.0)); return a & 1; }\n");
    let built = room.build(&room.files(&["sum.c"])).unwrap();
    let output = run(&built.plain, "1 2 4");
    assert_eq!(
        (text(&output).as_str(), output.status.code()),
        ("7 3\n", Some(1))
    );
    assert_eq!(built.languages, [Language::C]);
    assert_eq!(built.source_root, room.path().canonicalize().unwrap());
    assert!(built.missing.is_empty() && !built.harness);
    assert_alike(&built, &room, &["", "1 2 4", "x"]);
    room.assert_clean();
}

#[test]
fn branches_of_the_source_stay_branches() {
    let room = Room::new();
    room.write("b.c", "int f(int a, int b) { if (a > 3 && b < 4) return 1; return a > b ? a : b; }\nint g(int c) { int r = 0; if (c == 'x') r = 1; return r; }\nint main(int argc, char **argv) { (void)argv; return f(argc, 2) + g(argc); }\n");
    let built = room.build(&room.files(&["b.c"])).unwrap();
    let text = disassemble(&built);
    let conditional = |name| {
        function(&text, name)
            .iter()
            .filter(|line| line.contains("br i1"))
            .count()
    };
    assert_eq!(conditional("f"), 3);
    assert_eq!(conditional("g"), 1);
    assert!(!text.contains(" select "));
    let local = |name| {
        function(&text, name)
            .iter()
            .any(|line| line.contains("alloca"))
    };
    assert!(!local("f") && !local("g"), "variables are not in SSA form");
    assert!(
        function(&text, "main")
            .iter()
            .filter(|line| line.contains("call i32"))
            .count()
            == 2,
        "something was inlined"
    );
    assert!(text.contains("!DIFile(filename: \"b.c\", directory: \""));
}

#[test]
fn library_calls_stay_calls_by_their_own_name() {
    let room = Room::new();
    room.write("c.c", "#include <ctype.h>\n#include <stdlib.h>\n#include <stdio.h>\n#include <string.h>\nint main(int n, char **a) { char b[8]; strcpy(b, n > 1 ? a[1] : \"7\"); printf(\"%d\\n\", atoi(b)); return isdigit(getchar()) != 0; }\n");
    let source = room.files(&["c.c"]);
    let mut options = room.options();
    options.flags = vec!["-O2".into(), "-D_FORTIFY_SOURCE=2".into()];
    let text = disassemble(&build(&source, &options).unwrap());
    for name in ["isdigit", "atoi", "getchar", "strcpy", "printf"] {
        assert!(
            text.lines()
                .any(|line| line.starts_with("declare") && line.contains(&format!("@{name}("))),
            "no call of {name}"
        );
    }
}

#[test]
fn cpp_with_exceptions_templates_and_strings() {
    let room = Room::new();
    room.write("main.cpp", "#include \"part.h\"\n#include <iostream>\n#include <map>\nint main() { std::string word; std::map<std::string, int> seen; try { while (std::cin >> word) { check(word); seen[word]++; } } catch (const std::exception &e) { std::cout << e.what() << '\\n'; } for (auto &[k, n] : seen) std::cout << k << n << '\\n'; return c_part(seen.size()); }\n");
    room.write("part.cc", "#include \"part.h\"\n#include <stdexcept>\nvoid check(const std::string &w) { if (w.size() > 3) throw std::length_error(w + \" is long\"); }\n");
    room.write(
        "c_part.c",
        "int c_part(int n) { return n + (int)sizeof('x'); }\n",
    );
    room.write(
        "part.h",
        "#include <string>\nvoid check(const std::string &);\nextern \"C\" int c_part(int);\n",
    );
    let source = room.files(&["main.cpp", "part.cc", "c_part.c"]);
    let mut options = room.options();
    options.flags = vec!["-std=c++20".into()];
    let built = build(&source, &options).unwrap();
    assert_eq!(built.languages, [Language::C, Language::Cpp]);
    assert_alike(&built, &room, &["", "a b a", "a long way", "a b tooooo"]);
    // Strings of the library are extern templates; their bodies are here all the same.
    let text = disassemble(&built);
    assert!(text.lines().any(
        |line| line.starts_with("define linkonce_odr hidden") && line.contains("basic_string")
    ));
    assert!(!text.contains("available_externally"));
}

#[test]
fn a_second_call_finds_the_first_and_a_changed_header_does_not() {
    let room = Room::new();
    room.write("inc/n.h", "#define N 1\n");
    room.write(
        "src/a.c",
        "#include \"../inc/n.h\"\n#include <stdio.h>\nint main(void) { printf(\"%d\\n\", N); }\n",
    );
    let source = room.files(&["src/a.c"]);
    let first = room.build(&source).unwrap();
    let made = std::fs::metadata(&first.plain).unwrap().modified().unwrap();
    let second = room.build(&source).unwrap();
    assert_eq!(first, second);
    assert_eq!(
        std::fs::metadata(&second.plain)
            .unwrap()
            .modified()
            .unwrap(),
        made
    );
    room.write("inc/n.h", "#define N 2\n");
    let third = room.build(&source).unwrap();
    assert_ne!(third.key, first.key);
    assert_eq!(text(&run(&third.plain, "")), "2\n");
    room.write("inc/n.h", "#define N 1\n");
    assert_eq!(room.build(&source).unwrap(), first);
}

#[test]
fn the_same_source_gives_the_same_bitcode() {
    let room = Room::new();
    let program = "#include <stdio.h>\n#include <assert.h>\nstatic int f(int a) { assert(a < 100); return a > 2 ? a : 2; }\nint main(void) { printf(\"%d %s\\n\", f(getchar()), __FILE__); }\n";
    room.write("one/a.c", program);
    room.write("two/a.c", program);
    let one = room.build(&room.files(&["one/a.c"])).unwrap();
    let two = room.build(&room.files(&["two/a.c"])).unwrap();
    assert_ne!(one.key, two.key);
    assert_eq!(
        std::fs::read(&one.bitcode).unwrap(),
        std::fs::read(&two.bitcode).unwrap()
    );
    assert_eq!(run(&one.plain, "z"), run(&two.plain, "z"));
}

#[test]
fn many_builds_at_once_do_not_disturb_one_another() {
    let room = Room::new();
    room.write("a.c", "int main(void) { return 3; }\n");
    let source = room.files(&["a.c"]);
    let keys: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| room.build(&source).unwrap().key))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(keys.iter().all(|key| *key == keys[0]));
    room.assert_clean();
}

#[test]
fn variants_are_further_binaries() {
    let room = Room::new();
    room.write("v.c", "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { volatile char *p = malloc(4); char c[4]; volatile char *q = c; printf(\"%d\\n\", q[1]); return p[getchar() - '0']; }\n");
    let mut options = room.options();
    options.variants = vec![Variant::Sanitized, Variant::AutoZero, Variant::AutoPattern];
    let version = room.build(&room.files(&["v.c"])).unwrap();
    let built = build(&room.files(&["v.c"]), &options).unwrap();
    let made = [&built.plain, &built.bitcode];
    assert_eq!(
        made,
        [&version.plain, &version.bitcode],
        "what was there is not built again"
    );
    assert_eq!(build(&room.files(&["v.c"]), &options).unwrap(), built);
    let path = |variant| {
        &built
            .variants
            .iter()
            .find(|v| v.variant == variant)
            .unwrap()
            .path
    };
    let sanitized = run(path(Variant::Sanitized), "4");
    assert!(String::from_utf8_lossy(&sanitized.stderr).contains("heap-buffer-overflow"));
    assert_eq!(text(&run(path(Variant::AutoZero), "0")), "0\n");
    assert_eq!(text(&run(path(Variant::AutoPattern), "0")), "-86\n");
}

/// A compiler that knows malloc reads nothing where nothing was written, and then no filling shows.
#[test]
fn memory_of_the_heap_is_read_by_the_builds_that_fill_it() {
    let room = Room::new();
    room.write("c.c", "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { int *p = malloc(400); int v = p[30]; free(p); printf(\"%d\\n\", v); return 0; }\n");
    room.write("cc.cpp", "#include <cstdio>\nint main() { int *p = new int[100]; int v = p[30]; delete[] p; printf(\"%d\\n\", v); return 0; }\n");
    let mut options = room.options();
    options.variants = vec![Variant::AutoZero, Variant::AutoPattern];
    for name in ["c.c", "cc.cpp"] {
        let built = build(&room.files(&[name]), &options).unwrap();
        for variant in &built.variants {
            for (perturb, shown) in [("255", "0\n"), ("85", "-1431655766\n")] {
                let mut command = std::process::Command::new(&variant.path);
                let output = command.env("MALLOC_PERTURB_", perturb).output().unwrap();
                let said = String::from_utf8_lossy(&output.stdout);
                assert_eq!(said, shown, "{name}, {}", variant.variant.name());
            }
        }
    }
}

#[test]
fn harnesses_get_a_main_that_feeds_them() {
    let room = Room::new();
    room.write("h.c", "#include <stdint.h>\n#include <stdio.h>\n#include <stddef.h>\nint LLVMFuzzerTestOneInput(const uint8_t *d, size_t n) { printf(\"%zu %d\\n\", n, n ? d[n - 1] : -1); return 0; }\n");
    let built = room.build(&room.files(&["h.c"])).unwrap();
    assert!(built.harness);
    assert_eq!(text(&run(&built.plain, "")), "0 -1\n");
    let long = "a".repeat(10_000) + "b";
    assert_eq!(text(&run(&built.plain, &long)), "10001 98\n");
    let bitcode = disassemble(&built);
    assert!(function(&bitcode, "main").is_empty());
    assert!(!function(&bitcode, "LLVMFuzzerTestOneInput").is_empty());
    assert_alike(&built, &room, &["", "abc"]);
}

#[test]
fn harnesses_in_rust_get_it_too() {
    let room = Room::new();
    room.write("h.rs", "#![no_main]\n#[unsafe(no_mangle)]\npub extern \"C\" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> i32 {\n    let data = unsafe { std::slice::from_raw_parts(data, size) };\n    println!(\"{} {:?}\", size, data.last());\n    0\n}\n");
    let built = room.build(&room.files(&["h.rs"])).unwrap();
    assert!(built.harness && built.missing.is_empty());
    assert_eq!(text(&run(&built.plain, "")), "0 None\n");
    assert_eq!(text(&run(&built.plain, "ab")), "2 Some(98)\n");
    assert_alike(&built, &room, &["", "abc"]);
}

#[test]
fn observed_values_go_to_the_named_descriptor() {
    let room = Room::new();
    let program = "#include <changeling.h>\nint other(void);\nint main(void) { changeling_observe(\"n\", -9223372036854775807LL - 1); changeling_observe_bytes(\"b\", \"\\x01\\xff\", 2); return other(); }\n";
    room.write("o.c", program);
    room.write("p.cpp", "#include \"changeling.h\"\nextern \"C\" int other() { changeling_observe(\"a=b\", 7); return 0; }\n");
    let built = room.build(&room.files(&["o.c", "p.cpp"])).unwrap();
    let shell = |script: &str| {
        Command::new("sh")
            .arg("-c")
            .arg(script)
            .arg(&built.plain)
            .output()
            .unwrap()
    };
    let observed = shell("CHANGELING_OBSERVE_FD=1 \"$0\"");
    assert_eq!(text(&observed), "n=-9223372036854775808\nb=01ff\na_b=7\n");
    assert_eq!(text(&run(&built.plain, "")), "");
    assert!(!function(&disassemble(&built), "changeling_observe").is_empty());
}

#[test]
fn assembler_objects_and_archives_are_named_as_missing() {
    let room = Room::new();
    room.write(
        "main.c",
        "int seven(void), eight(void); int main(void) { return seven() + eight(); }\n",
    );
    room.write(
        "seven.s",
        ".globl seven\nseven: movl $7, %eax\nret\n.section .note.GNU-stack,\"\",@progbits\n",
    );
    room.write("eight.c", "int eight(void) { return 8; }\n");
    let object = room.path().join("eight.o");
    let status = Command::new("clang-22")
        .arg("-c")
        .arg(room.path().join("eight.c"))
        .arg("-o")
        .arg(&object)
        .status();
    assert!(status.unwrap().success());
    let built = room
        .build(&room.files(&["main.c", "seven.s", "eight.o"]))
        .unwrap();
    let missing: Vec<&str> = built
        .missing
        .iter()
        .map(|missing| missing.object.as_str())
        .collect();
    assert_eq!(missing, ["seven.s", "eight.o"]);
    assert_eq!(run(&built.plain, "").status.code(), Some(15));
    assert_alike(&built, &room, &[""]);
}

#[test]
fn a_rust_file_is_a_program() {
    let room = Room::new();
    room.write("r.rs", "fn main() { let mut s = String::new(); std::io::stdin().read_line(&mut s).unwrap(); let n: u8 = s.trim().parse().unwrap(); println!(\"{}\", n + 250); }\n");
    let built = room.build(&room.files(&["r.rs"])).unwrap();
    assert_eq!(built.languages, [Language::Rust]);
    assert_eq!(text(&run(&built.plain, "9")), "3\n");
    assert_alike(&built, &room, &["9", "x", "300"]);
}

/// What prints backtraces is most of a small program.
#[test]
fn what_prints_backtraces_in_rust_is_left_out() {
    let room = Room::new();
    let start =
        "fn main() { let mut s = String::new(); std::io::stdin().read_line(&mut s).unwrap(); ";
    let print = "println!(\"{}\", s.as_bytes()[1]); }\n";
    let own = "if s == \"b\" { println!(\"{}\", std::backtrace::Backtrace::force_capture()); } ";
    for (program, replaced) in [
        (format!("{start}{print}"), 1),
        (format!("{start}{own}{print}"), 2),
    ] {
        room.write("p.rs", program.as_str());
        let built = room.build(&room.files(&["p.rs"])).unwrap();
        assert_alike(&built, &room, &["ab", "", "a"]);
        let text = disassemble(&built);
        let empty =
            |line: &&str| line.starts_with("define") && line.contains("@changeling_backtrace");
        assert_eq!(text.lines().filter(empty).count(), replaced, "{program}");
        assert!(!text.contains("5gimli4read"), "{program}");
    }
}

#[test]
fn bitcode_is_a_program() {
    let room = Room::new();
    let source = room.write("b.c", "#include <stdio.h>\nint main(void) { int c = getchar(); if (c > 64) puts(\"big\"); return c & 1; }\n");
    let bitcode = room.path().join("b.bc");
    let status = Command::new("clang-22")
        .args(["-O1", "-emit-llvm", "-c"])
        .arg(source)
        .arg("-o")
        .arg(&bitcode)
        .status();
    assert!(status.unwrap().success());
    let built = room.build(&Source::Bitcode(bitcode)).unwrap();
    assert_eq!(text(&run(&built.plain, "a")), "big\n");
    assert_alike(&built, &room, &["a", "", "1"]);
}

#[test]
fn inline_functions_without_a_definition_elsewhere_are_kept() {
    let room = Room::new();
    room.write("i.c", "inline int square(int n) { return n * n; }\nint main(int n, char **a) { (void)a; return square(n + 1); }\n");
    let mut options = room.options();
    options.flags = vec!["-O2".into()];
    let built = build(&room.files(&["i.c"]), &options).unwrap();
    assert_eq!(run(&built.plain, "").status.code(), Some(4));
    assert_alike(&built, &room, &[""]);
}

#[test]
fn wrong_architecture_is_refused() {
    let room = Room::new();
    room.write("w.c", "int main(void) { return 0; }\n");
    let mut options = room.options();
    options.flags = vec!["-m32".into()];
    let error = build(&room.files(&["w.c"]), &options).unwrap_err();
    assert!(
        matches!(error, BuildError::Architecture { .. }),
        "{error:?}"
    );
    assert_eq!(error.code(), 15);
    room.assert_clean();
}

#[test]
fn half_a_file_in_the_cache_is_made_again() {
    let room = Room::new();
    room.write("a.c", "int main(void) { return 7; }\n");
    let build = || room.build(&room.files(&["a.c"])).unwrap();
    let whole = |built: &changeling_build::Built| {
        [&built.plain, &built.bitcode].map(|path| std::fs::read(path).unwrap())
    };
    let before = whole(&build());
    for part in 0..2 {
        let built = build();
        let path = [&built.plain, &built.bitcode][part];
        let length = std::fs::metadata(path).unwrap().len();
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(length / 2).unwrap();
        drop(file);
        let built = build();
        assert!(
            whole(&built) == before,
            "{} is still cut",
            built.plain.display()
        );
        assert_eq!(run(&built.plain, "").status.code(), Some(7));
    }
}

#[test]
fn an_empty_file_is_no_bitcode() {
    let room = Room::new();
    let path = room.write("empty.bc", "");
    let source = Source::detect(&[path], None, None);
    let error = room.build(&source).unwrap_err();
    assert!(matches!(error, BuildError::Bitcode { .. }), "{error:?}");
    assert!(error.help().contains("cut"), "{}", error.help());
}

/// Else every function would look changed beside one that was built from its source.
#[test]
fn bitcode_that_nobody_optimised_is_prepared_as_well() {
    let room = Room::new();
    let source = room.write(
        "a.c",
        "int f(int a) { int b = a + 1; return b; }\nint main(int n, char **v) { (void)v; return f(n); }\n",
    );
    let path = room.path().join("a.bc");
    let compiled = Command::new("clang-22")
        .args(["-O0", "-g", "-emit-llvm", "-c"])
        .arg(&source)
        .arg("-o")
        .arg(&path)
        .status();
    assert!(compiled.unwrap().success());
    let built = room.build(&Source::Bitcode(path)).unwrap();
    let text = disassemble(&built);
    assert!(!function(&text, "f").concat().contains("alloca"), "{text}");
    assert_alike(&built, &room, &[""]);
}
