//! A third version that says what is right, and the sequences of changes that errors have in common.

use super::*;

fn compared(room: &Room, more: &[&str]) -> (Value, String) {
    let arguments = ["run", "old.c", "new.c", "--jobs", "1"];
    let said = room.changeling(&[&arguments, more].concat());
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    let text = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    (room.results(), text)
}

fn classes(results: &Value) -> Vec<&str> {
    let found = results["differences"].as_array().unwrap().iter();
    found
        .map(|found| found["golden"]["class"].as_str().unwrap())
        .collect()
}

/// Both are one group, and the smaller input is the one that was mended.
#[test]
fn a_fix_that_goes_too_far_is_a_regression() {
    let room = Room::new();
    let program = |condition: &str| {
        format!(
            "#include <stdio.h>\nint main(void) {{\nint x = getchar();\nif (x < '0' || x > '9') {{ puts(\"none\"); return 1; }}\n\
             x -= '0';\nif ({condition}) puts(\"large\"); else puts(\"small\");\nreturn 0; }}\n"
        )
    };
    room.write("old.c", program("x > 4"));
    room.write("new.c", program("x >= 4 && x != 7"));
    room.write("right.c", program("x >= 4"));
    let (results, said) = compared(&room, &["--stdin", "1", "--golden", "right.c"]);
    assert_eq!(classes(&results), ["regression"], "{results}");
    let golden = &results["differences"][0]["golden"];
    let both = serde_json::json!({ "progression": 1, "regression": 1 });
    assert_eq!(golden["classes"], both);
    let case = room.path(&room.first_case());
    assert_eq!(std::fs::read(case.join("stdin.bin")).unwrap(), b"7");
    let text = "what base does; its inputs by class: regression 1, progression 1";
    assert!(said.contains(text), "{said}");
    let report = std::fs::read_to_string(room.path(".changeling/out/report.md")).unwrap();
    let simplest = "2 inputs show it; this is the simplest regression.";
    assert!(report.contains(simplest), "{report}");
    assert!(report.contains(", golden `right.c`"), "{report}");
}

#[test]
fn an_incomplete_fix_comes_with_what_is_right() {
    let room = Room::new();
    let program = |answer: &str| {
        format!(
            "#include <stdio.h>\nint main(void) {{\nif (getchar() == 'a') {{ {answer}; }}\nputs(\"end\"); return 0; }}\n"
        )
    };
    room.write("old.c", program("return 1"));
    room.write("new.c", program("return 2"));
    room.write("right.c", program("puts(\"no a\"); return 3"));
    let (_, said) = compared(&room, &["--stdin", "1", "--golden", "right.c"]);
    let text = "the golden version does neither (exit 3, stdout \"no a\\n\")";
    assert!(said.contains(text), "{said}");
}

/// What the file of a version is called is no difference; nor is it one of the third.
#[test]
fn the_file_of_the_golden_version_may_have_any_name() {
    let room = Room::new();
    let program = |answer: &str| {
        format!(
            "#include <stdio.h>\nint main(void) {{\nint c = getchar();\nif (c == 'a') {{\n{answer}\n}}\n\
             else if (c == 'b') {{ puts(\"b\"); return 3; }}\nreturn 0; }}\n"
        )
    };
    let complains = "printf(\"%s:%d: no a\\n\", __FILE__, __LINE__); return 1;";
    room.write("old.c", program(complains));
    room.write("new.c", program("return 0;"));
    room.write("right.c", program(complains));
    let (results, _) = compared(&room, &["--stdin", "1", "--golden", "right.c"]);
    assert_eq!(classes(&results), ["regression"], "{results}");
    // All ends are one `return` of one value, which is not what was changed.
    let entered = results["changes"][0]["runs"].as_u64().unwrap();
    let sequences = results["sequences"].as_array().unwrap().iter();
    let runs: u64 = sequences.map(|found| found["runs"].as_u64().unwrap()).sum();
    assert_eq!(runs, entered, "{results}");
    assert!(entered < results["stats"]["runs"].as_u64().unwrap());
}

#[test]
fn a_golden_version_that_disagrees_with_itself_tells_nothing() {
    let room = Room::new();
    let program = |answer: &str| {
        format!(
            "#include <stdio.h>\nint main(void) {{\nif (getchar() == 'a') {answer};\nreturn 0; }}\n"
        )
    };
    room.write("old.c", program("puts(\"1\")"));
    room.write("new.c", program("puts(\"2\")"));
    room.write(
        "right.c",
        program("printf(\"%llu\\n\", __builtin_ia32_rdtsc())"),
    );
    let (results, said) = compared(&room, &["--stdin", "1", "--golden", "right.c"]);
    assert_eq!(classes(&results), ["unclassified"], "{results}");
    assert!(said.contains("disagrees with itself"), "{said}");
    let sequences = results["sequences"].as_array().unwrap().iter();
    for entry in sequences {
        assert!(entry.get("errors").is_none(), "{entry}");
    }
}

/// Without sanitizers the third version does what both do.
#[test]
fn findings_of_sanitizers_are_looked_for_in_the_golden_version() {
    let room = Room::new();
    let program = |bound: u32| {
        format!(
            "#include <stdio.h>\nint main(void) {{\nstatic char list[4] = \"abc\";\nint at = getchar() - '0';\n\
             if (at >= 0 && at < 9) {{\nif (at >= {bound}) at = 0;\nputs(list[at] == 77 ? \"-\" : \"+\"); }}\nreturn 0; }}\n"
        )
    };
    room.write("old.c", program(4));
    room.write("new.c", program(6));
    let finds = |golden: &str| {
        let more = ["--stdin", "1", "--sanitize", "address", "--golden", golden];
        let (results, said) = compared(&room, &more);
        let found = results["differences"].as_array().unwrap().iter();
        let found = found.filter(|found| found["kind"] == "sanitizer");
        let classes: Vec<_> = found
            .map(|found| found["golden"]["class"].clone())
            .collect();
        assert!(!classes.is_empty(), "{said}");
        // What only sanitizers see differs all the same.
        let sequences = results["sequences"].as_array().unwrap().iter();
        let differing = sequences.filter_map(|entry| entry["differing"].as_u64());
        assert!(differing.sum::<u64>() > 0, "{results}");
        classes
    };
    assert_eq!(finds("new.c"), ["progression"]);
    assert_eq!(finds("old.c"), ["regression"]);
}

/// A wrong name is told before anything is built.
#[test]
fn names_of_golden_versions_are_looked_at_first() {
    let room = Room::new();
    room.write("old.c", "no program");
    room.write("new.c", "no program either");
    let said = room.changeling(&["run", "old.c", "new.c", "--golden", "no-such-thing"]);
    assert_eq!(said.code, Some(4));
    assert!(
        said.stderr.contains("(golden, no-such-thing)"),
        "{}",
        said.stderr
    );
    assert_eq!(room.results()["verdict"], "could-not-run");
}

/// The first two changes take turns for longer than anybody wants to read, and the third comes behind them.
#[test]
fn a_loop_does_not_hide_what_comes_behind_it() {
    let room = Room::new();
    let program = |first: &str, second: &str, third: &str| {
        format!(
            "#include <stdio.h>\nstatic int bad, n;\nstatic void one(void) {{\n{first};\nn++; }}\n\
             static void two(void) {{\nn += 2;\n{second};\nn--; }}\nstatic void three(void) {{\nn--;\n{third};\n}}\n\
             int main(void) {{\nint c;\nwhile ((c = getchar()) != EOF) {{\nif (c == 'a') one();\nelse if (c == 'b') two();\n\
             else if (c == '!') three();\n}}\nprintf(\"%d\\n\", n);\nreturn 0; }}\n"
        )
    };
    room.write("old.c", program("bad = 0", "bad = 0", "n += 100"));
    let third = "n += bad == 3 ? 101 : 100";
    let new = program("bad |= 1", "if (bad & 1) bad |= 2", third);
    room.write("new.c", new);
    room.write("seeds/long", "abababababababab!");
    room.write("seeds/turned", "babababababababa!");
    for (name, text) in [
        ("short", "ab!"),
        ("a", "a!"),
        ("b", "b!"),
        ("both", "abab"),
        ("turns", "bababa"),
    ] {
        room.write(&format!("seeds/{name}"), text);
    }
    let more = ["--stdin", "17", "--runs", "40", "--seed", "seeds"];
    let (results, said) = compared(&room, &more);
    let critical = &results["critical"];
    assert_eq!(critical["changes"], serde_json::json!([1, 2, 3]), "{said}");
}
