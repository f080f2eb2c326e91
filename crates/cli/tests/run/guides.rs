//! Guides of the search, and `changeling reach`.

use super::*;

/// A pair of `fixtures/oracles` with one worker and all guides.
fn oracle(name: &str, more: &[&str]) -> (Room, Said) {
    let room = Room::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/oracles");
    let version = |file: &str| folder.join(name).join(file).display().to_string();
    let (old, new) = (version("old.c"), version("new.c"));
    let mut arguments = vec![
        "run",
        &old,
        &new,
        "--jobs",
        "1",
        "--differences",
        "1",
        "--quiet",
    ];
    arguments.extend(more);
    let said = room.changeling(&arguments);
    (room, said)
}

#[test]
fn guides_lead_through_a_state_machine() {
    let (room, said) = oracle("t1-testme", &["--stdin", "16", "--runs", "20"]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    let first = &room.results()["stats"]["runs_to_first_difference"];
    assert!(first.as_u64().unwrap() <= 20, "{first}");
    // Line 20 has run, so the change was entered.
    let inputs = room.inputs();
    let length = |input: &String| input.len() / 2;
    let covered = inputs
        .iter()
        .position(|i| i.starts_with("5b7b3c2a") && length(i) == 15);
    assert!(covered.unwrap() < 15, "{inputs:?}");
    let page = include_str!("../../../../docs/guides.md");
    let table = page.lines().skip_while(|line| *line != "    run   input");
    let table = table.skip(1).take_while(|line| !line.is_empty());
    let shown = table.filter_map(|line| {
        let (number, input) = line.strip_prefix("    ")?.split_at_checked(6)?;
        let input = input.split("  ").next()?;
        let hex: String = input.bytes().map(|byte| format!("{byte:02x}")).collect();
        Some((number.trim_end().parse::<usize>().ok()?, hex))
    });
    let shown: Vec<(usize, String)> = shown.collect();
    assert!(shown.len() >= 6);
    // What lies between the goals may come in another order.
    let mut inputs = inputs.iter();
    for (number, input) in shown {
        assert!(
            inputs.any(|ran| *ran == input),
            "docs/guides.md, run {number}"
        );
    }
}

#[test]
fn one_worker_does_the_same_again() {
    let searched = || {
        let (room, _) = oracle("t1-testme", &["--stdin", "16", "--runs", "60"]);
        room.inputs()
    };
    let inputs = searched();
    assert!(inputs.len() >= 10);
    assert_eq!(inputs, searched());
}

/// The suite of the worked example: its pair of versions, and the inputs that exist already.
#[test]
fn a_suite_shortens_the_way() {
    let room = Room::new();
    let expected = expectations(&fixture("oracles/t1-testme/expect.toml"));
    let suite = expected["suite"].as_array().unwrap();
    for (number, input) in suite.iter().enumerate() {
        let bytes = unhex(input["stdin"].as_str().unwrap());
        room.write(&format!("suite/{number}"), bytes);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/oracles/t1-testme");
    let version = |file: &str| folder.join(file).display().to_string();
    let (old, new) = (version("old.c"), version("new.c"));
    let said = room.changeling(&[
        "run", &old, &new, "--quiet", "--jobs", "1", "--stdin", "16", "--seed", "suite", "--runs",
        "10",
    ]);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
}

#[test]
fn a_third_version_says_what_a_difference_is() {
    let room = Room::new();
    let program = |condition: &str, answer: &str| {
        format!(
            "#include <stdio.h>\n#include <stdlib.h>\nint main(void) {{\n\
             int c = getchar();\nif (c == 'r') puts({condition});\n\
             else if (c == 'f') puts({answer});\nelse puts(\"same\");\nreturn 0; }}\n"
        )
    };
    room.write("old.c", program("\"right\"", "\"right\""));
    room.write("new.c", program("\"broken\"", "\"right\""));
    room.write("third.c", program("\"right\"", "\"right\""));
    room.write("other.c", program("\"other\"", "\"other\""));
    room.write("crash.c", program("(abort(), \"\")", "(abort(), \"\")"));
    let classes = |base: &str, head: &str, golden: &str| {
        let said = room.changeling(&[
            "run", base, head, "--stdin", "1", "--golden", golden, "--jobs", "1",
        ]);
        assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
        let results = room.results();
        assert_eq!(results["versions"]["golden"]["label"], golden);
        let found = results["differences"].as_array().unwrap().iter();
        let mut classes: Vec<(String, String)> = found
            .map(|difference| {
                let input = difference["input"]["streams"][0]["bytes"].to_string();
                let class = difference["golden"]["class"].as_str().unwrap();
                (input, class.to_owned())
            })
            .collect();
        classes.sort();
        classes.dedup_by(|a, b| a.1 == b.1);
        let classes: Vec<String> = classes.into_iter().map(|(_, class)| class).collect();
        (classes, said.stdout)
    };
    let (found, said) = classes("old.c", "new.c", "third.c");
    assert_eq!(found, ["regression"]);
    let turned = classes("new.c", "old.c", "third.c").0;
    assert_eq!(turned, ["progression"]);
    assert!(
        said.contains("regression: the golden version does what base does"),
        "{said}"
    );
    let report = std::fs::read_to_string(room.path(".changeling/out/report.md")).unwrap();
    assert!(report.contains("With the golden version: "), "{report}");
    assert_eq!(classes("old.c", "new.c", "other.c").0, ["incomplete-fix"]);
    let (found, said) = classes("old.c", "new.c", "crash.c");
    assert_eq!(found, ["unclassified"]);
    assert!(said.contains("the golden version crashes"), "{said}");
    let said = room.changeling(&["run", "old.c", "new.c", "--golden", "no-such-thing"]);
    assert_ne!(said.code, Some(1));
    assert!(
        said.stderr.contains("golden, no-such-thing"),
        "{}",
        said.stderr
    );
}

/// A difference beside it is no part of a critical sequence: what is critical is what all runs that show the same have in
/// common. Nor is a fix part of an error.
#[test]
fn fixes_do_not_hide_a_critical_sequence() {
    let room = Room::new();
    let program = |text: &str, mark: &str, shown: &str| {
        format!(
            "#include <stdio.h>\nstatic int flag;\nint main(void) {{\nint c = getchar(), d = getchar(), e = getchar();\n\
             if (c == 'p') puts(\"{text}\");\nif (d == 'x')\n{mark};\nelse puts(\"-\");\nif (e == 'y')\n{shown};\nreturn flag * 0; }}\n"
        )
    };
    let shown = "puts(flag ? \"bad\" : \"good\")";
    room.write("old.c", program("pld", "flag = 0", "puts(\"good\")"));
    room.write("new.c", program("old", "flag = 1", shown));
    room.write("right.c", program("old", "flag = 0", "puts(\"good\")"));
    let search = |more: &[&str]| {
        let arguments = ["run", "old.c", "new.c", "--stdin", "3", "--jobs", "1"];
        let said = room.changeling(&[&arguments, more].concat());
        assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
        (room.results(), said.stdout)
    };
    let (results, said) = search(&[]);
    let changes = results["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 3, "{results}");
    assert!(
        changes
            .iter()
            .all(|change| change["first_run"].as_u64() > Some(0))
    );
    assert!(results.get("critical").is_none(), "{results}");
    let differences = results["differences"].as_array().unwrap().iter();
    let critical: Vec<_> = differences
        .filter_map(|found| found.get("critical"))
        .collect();
    assert_eq!(critical.len(), 1, "{results}");
    assert_eq!(critical[0]["changes"], serde_json::json!([2, 3]));
    assert!(critical[0]["others"].as_u64() > Some(0), "{results}");
    let text = "critical sequence of difference";
    assert_eq!(said.matches(text).count(), 1, "{said}");
    let (results, said) = search(&["--golden", "right.c"]);
    let critical = &results["critical"];
    assert_eq!(critical["changes"], serde_json::json!([2, 3]), "{critical}");
    assert_eq!(critical["errors"], true);
    assert!(critical["differing"].as_u64() > Some(0) && critical["others"].as_u64() > Some(0));
    let text = "runs on which head differs from base and from the golden version";
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(text), "{said}");
    let sequences = results["sequences"].as_array().unwrap().iter();
    let fixes = sequences.filter(|entry| entry["changes"] == serde_json::json!([1]));
    for entry in fixes {
        assert!(entry["differing"].as_u64() > Some(0), "{entry}");
        assert_eq!(entry["errors"], 0, "{entry}");
    }
}

#[test]
fn changes_that_act_together_are_a_critical_sequence() {
    let more = ["--stdin", "6", "--runs", "120"];
    let room = Room::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/oracles/b1");
    let version = |file: &str| folder.join(file).display().to_string();
    let (old, new) = (version("old.c"), version("new.c"));
    let said = room.changeling(&[&["run", &old, &new, "--jobs", "1"], more.as_slice()].concat());
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    let results = room.results();
    let critical = &results["critical"];
    // `lhs = true` is only another way into a loop, and counts all the same.
    assert_eq!(critical["changes"], serde_json::json!([1, 2, 3]));
    assert!(critical["others"].as_u64().unwrap() > 0, "{critical}");
    assert!(said.stdout.contains("critical sequence: changes"));
    let first = &results["stats"]["runs_to_first_difference"];
    assert!(first.as_u64().unwrap() <= 12, "{first}");
    // Covering each change in isolation shows nothing, and is all that `isolation` does.
    let arguments = [
        "run",
        &old,
        &new,
        "--stdin",
        "6",
        "--jobs",
        "1",
        "--guide",
        "isolation",
    ];
    let said = room.changeling(&arguments);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    let results = room.results();
    assert!(results.get("critical").is_none());
    assert!(results["stats"]["by_rule"]["covered"].as_u64() > Some(0));
    let reached = results["changes"].as_array().unwrap();
    assert!(
        reached.iter().all(|change| change["runs"] != 0),
        "{reached:?}"
    );
}

/// How deep a recursion is, the input decides only by what makes it go on. Brackets one after the other do not add up.
#[test]
fn an_argument_that_counts_the_depth_is_a_goal() {
    let room = Room::new();
    let program = |limit: u32| {
        format!(
            "#include <stdio.h>\nstatic char text[32];\nstatic int at;\nstatic int value(int depth);\n\
             static int list(int depth)\n{{\n    int sum = 0;\n    at++;\n    while (text[at] != 0 && text[at] != ']')\n        \
             sum += value(depth + 1);\n    if (text[at] == ']')\n        at++;\n    return sum + 1;\n}}\n\
             static int value(int depth)\n{{\n    if (depth >= {limit}) {{\n        puts(\"too deep\");\n        at = 0;\n        text[0] = 0;\n        \
             return 0;\n    }}\n    if (text[at] == '[')\n        return list(depth);\n    at++;\n    return 0;\n}}\n\
             int main(void)\n{{\n    text[fread(text, 1, 24, stdin)] = 0;\n    printf(\"%d\\n\", value(0));\n    return 0;\n}}\n"
        )
    };
    room.write("old.c", program(12));
    room.write("new.c", program(11));
    let said = room.changeling(&[
        "run",
        "old.c",
        "new.c",
        "--jobs",
        "1",
        "--stdin",
        "24",
        "--differences",
        "1",
        "--runs",
        "100",
    ]);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
}

#[test]
fn a_flag_set_by_control_flow_is_a_goal() {
    for name in ["q3-flag", "q3-transitive"] {
        let (room, said) = oracle(name, &["--stdin", "1", "--runs", "5"]);
        assert_eq!(said.code, Some(1), "{name}: {}", said.stderr);
        let first = &room.results()["stats"]["runs_to_first_difference"];
        assert!(first.as_u64().unwrap() <= 3, "{name}: {first}");
    }
}

#[test]
fn pruned_flips_are_counted_and_lose_nothing() {
    let (room, said) = oracle("q1", &["--stdin", "1", "--guide", "prune"]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    let stats = &room.results()["stats"];
    assert_eq!(stats["discarded"], 1, "{stats}");
    assert_eq!(stats["by_rule"]["never-changed"], 1, "{stats}");
    // Seven decisions, each with one other side, whatever waits in how many places.
    assert_eq!(stats["flips"], 7, "{stats}");
}

/// The change does not show on the first input, but on others that go the same way: the published
/// rule gives them up.
#[test]
fn one_run_is_no_proof() {
    let room = Room::new();
    room.write("seed", [2, 0]);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/oracles/t5");
    let version = |file: &str| folder.join(file).display().to_string();
    let (old, new) = (version("old.c"), version("new.c"));
    let code = |guide: &str| {
        let said = room.changeling(&[
            "run", &old, &new, "--jobs", "1", "--stdin", "2", "--seed", "seed", "--guide", guide,
        ]);
        (said.code, room.results()["stats"]["by_rule"].clone())
    };
    let (ended, rules) = code("coverage,express");
    assert_eq!(ended, Some(0), "{rules}");
    assert_eq!(rules["not-infected"], 1);
    assert_eq!(code("all").0, Some(1));
    // The pair of paths on which nothing can differ is closed; the flip on its way is not.
    let stats = &room.results()["stats"];
    assert!(stats["equal_pairs"].as_u64() >= Some(1), "{stats}");
}

/// What was changed only decides: where both versions have decided alike they are alike.
#[test]
fn what_was_decided_alike_is_pruned() {
    let room = Room::new();
    let text = |limit: &str| {
        format!(
            "#include <stdio.h>\nint main(void) {{ unsigned char in[3];\n\
             if (fread(in, 1, 3, stdin) != 3) return 9;\n\
             if (in[0] {limit}) puts(\"small\"); else puts(\"large\");\n\
             if (in[1] == 'x') {{ if (in[2] > 7) puts(\"yes\"); else puts(\"no\"); return 1; }}\n\
             return 0; }}\n"
        )
    };
    room.write("old.c", text("< 10"));
    room.write("new.c", text("<= 10"));
    room.write("seed", "\0ab");
    let search = |guide: &str| {
        let arguments = [
            "run", "old.c", "new.c", "--jobs", "1", "--stdin", "3", "--seed", "seed", "--guide",
            guide,
        ];
        let said = room.changeling(&arguments);
        assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
        room.results()
    };
    let groups = |results: &Value| results["differences"].as_array().unwrap().len();
    let (pruned, whole) = (search("prune"), search("none"));
    let stats = &pruned["stats"];
    assert_eq!(stats["by_rule"]["decided-alike"], 2, "{stats}");
    assert!(stats["runs"].as_u64() < whole["stats"]["runs"].as_u64());
    assert_eq!(groups(&pruned), groups(&whole));
}

/// A loop that the input has no part in does one round more: decided otherwise, although every side was taken before.
#[test]
fn rounds_of_a_loop_are_not_taken_for_alike() {
    let room = Room::new();
    let text = |limit: &str| {
        format!(
            "#include <stdio.h>\nint main(void) {{ int n = 0;\n\
             for (int i = 0; i {limit}; i++) n = n * 3 + 1;\n\
             int c = getchar(); if (c == 'x') printf(\"%d\\n\", n);\nreturn 0; }}\n"
        )
    };
    room.write("old.c", text("< 100"));
    room.write("new.c", text("<= 100"));
    let arguments = ["run", "old.c", "new.c", "--jobs", "1", "--stdin", "1"];
    let said = room.changeling(&arguments);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
}

/// What a change computes cannot differ on the way to it: a question for the solver.
#[test]
fn what_cannot_be_infected_is_pruned() {
    let room = Room::new();
    let text = |operator: &str, guard: &str| {
        format!(
            "#include <stdio.h>\nstatic int size;\nint main(void) {{ unsigned char in[3];\n\
             if (fread(in, 1, 3, stdin) != 3) return 9;\n\
             if (in[0] {guard}) size = in[0] {operator} 2;\n\
             if (in[1] == 'x') {{ if (in[2] > 7) puts(\"yes\"); else puts(\"no\"); }}\n\
             if (in[1] == 'y') printf(\"%d\\n\", size);\nreturn 0; }}\n"
        )
    };
    let search = |guide: &str, guard: &str| {
        room.write("old.c", text("*", guard));
        room.write("new.c", text("+", guard));
        room.write("seed", "\x02ab");
        let said = room.changeling(&[
            "run", "old.c", "new.c", "--jobs", "1", "--stdin", "3", "--seed", "seed", "--guide",
            guide,
        ]);
        (said.code, room.results()["stats"].clone())
    };
    let (code, stats) = search("prune", "== 2");
    assert_eq!(code, Some(0), "{stats}");
    assert!(stats["by_rule"]["same-state"].as_u64() > Some(0), "{stats}");
    assert!(
        stats["infections"]["impossible"].as_u64() > Some(0),
        "{stats}"
    );
    let (code, whole) = search("none", "== 2");
    assert_eq!(code, Some(0), "{whole}");
    assert!(
        stats["runs"].as_u64() < whole["runs"].as_u64(),
        "{stats}{whole}"
    );
    // The published first rule alone leaves it alone.
    let (code, prefix) = search("prefix", "== 2");
    assert_eq!(code, Some(0), "{prefix}");
    assert_eq!(prefix["by_rule"]["same-state"].as_u64(), None, "{prefix}");
    // Where it can differ, that is asked for, and what would show it is not given up.
    let (code, stats) = search("prune", "<= 2");
    assert_eq!(code, Some(1), "{stats}");
    assert!(stats["infections"]["asked"].as_u64() > Some(0), "{stats}");
}

/// What pruning would give up is tried, and nothing there differs.
#[test]
fn an_audit_tries_what_would_be_pruned() {
    let room = Room::new();
    for name in ["q1", "q1-constant", "q9", "t5", "b1"] {
        let expected = expectations(&fixture(&format!("oracles/{name}/expect.toml")));
        let size = expected["inputs"]["stdin"].to_string();
        let folder = fixture(&format!("oracles/{name}"));
        let version = |file: &str| folder.join(file).display().to_string();
        let (old, new) = (version("old.c"), version("new.c"));
        let said = room.changeling(&[
            "run", &old, &new, "--jobs", "1", "--stdin", &size, "--guide", "audit", "--runs", "60",
        ]);
        assert_eq!(said.code, Some(1), "{name}: {}{}", said.stdout, said.stderr);
        let stats = room.results()["stats"].clone();
        let count = |key: &str| stats["audited"][key].as_u64();
        assert_eq!(count("differing").unwrap_or(0), 0, "{name}: {stats}");
        if name == "q1" {
            assert!(count("runs") > Some(0), "{stats}");
        }
    }
}

/// What a change computed is forgotten where the input is refused.
#[test]
fn what_nobody_looks_at_any_more_is_pruned() {
    let room = Room::new();
    let text = |factor: u32| {
        format!(
            "#include <stdio.h>\nint main(void) {{ unsigned char in[3];\n\
             if (fread(in, 1, 3, stdin) != 3) return 9;\nint size = in[0] * {factor};\n\
             if (in[1] == 'x') {{ if (in[2] > 7) puts(\"no\"); else puts(\"never\"); return 1; }}\n\
             printf(\"%d\\n\", size); return 0; }}\n"
        )
    };
    room.write("old.c", text(2));
    room.write("new.c", text(3));
    room.write("seed", "\0ab");
    let arguments = [
        "run", "old.c", "new.c", "--jobs", "1", "--stdin", "3", "--seed", "seed", "--guide",
        "prune",
    ];
    let said = room.changeling(&arguments);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    let rules = &room.results()["stats"]["by_rule"];
    assert_eq!(rules["without-effect"], 1, "{rules}");
}

#[test]
fn unknown_guides_get_a_suggestion() {
    let (_, said) = oracle("q1", &["--guide", "raech"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr.contains("did you mean `reach`?"),
        "{}",
        said.stderr
    );
}

/// Code that nothing calls, recursion, a loop with two entries, and versions that share no more than
/// `main`.
#[test]
fn unusual_programs_are_searched() {
    let room = Room::new();
    let text = "#include <stdio.h>\n\
        int spare(int x) { return x + 1; }\n\
        static int depth(int c) { return c == '(' ? 1 + depth(getchar()) : 0; }\n\
        static int tangled(int n) {\n\
        if (n & 1) goto middle;\n\
        top: n--; if (n < 0) return n;\n\
        middle: n -= 2; if (n > 0) goto top;\n\
        return n; }\n\
        int main(void) { printf(\"%d\\n\", tangled(depth(getchar()))); return 0; }\n";
    room.write("old.c", text);
    let search = |new: &str, text: &str| {
        room.write(new, text);
        room.changeling(&["run", "old.c", new, "--stdin", "4", "--jobs", "1"])
    };
    let said = search("spare.c", &text.replace("x + 1", "x + 2"));
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    let results = room.results();
    let warnings = results["warnings"].to_string();
    assert!(warnings.contains("no input can reach"), "{warnings}");
    let said = search("tangled.c", &text.replace("n -= 2", "n -= 3"));
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    let other = "#include <stdio.h>\nint main(void) { puts(\"other\"); return 0; }\n";
    let said = search("other.c", other);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
}

/// Of the branches that runs come by, the input has no say in some.
#[test]
fn branches_without_a_say_are_counted() {
    let more = ["--stdin", "16", "--runs", "40", "--guide", "none"];
    let (room, said) = oracle("t1-testme", &more);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let stats = &room.results()["stats"];
    let count = |name: &str| stats["branches"][name].as_u64().unwrap();
    assert!(count("runs") >= 2, "{stats}");
    assert!(count("symbolic") > 0, "{stats}");
    assert!(count("executed") > count("symbolic"), "{stats}");
    let share = stats["share_untainted"].as_f64().unwrap();
    assert!((0.0..1.0).contains(&share), "{share}");
}

/// Sums wrap around in one version and panic in the other, in code of Rust's library that both have.
#[test]
fn other_flags_of_the_compiler_are_not_given_up() {
    let room = Room::new();
    let source = "use std::io::Read;\n\nfn main() {\n    let mut text = Vec::new();\n    std::io::stdin().read_to_end(&mut text).unwrap();\n    println!(\"{}\", text.iter().sum::<u8>());\n}\n";
    for (version, checks) in [("old", false), ("new", true)] {
        let manifest = format!(
            "[package]\nname = \"total\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[profile.release]\noverflow-checks = {checks}\n\n[workspace]\n"
        );
        room.write(&format!("{version}/Cargo.toml"), manifest);
        room.write(&format!("{version}/src/main.rs"), source);
    }
    let more = ["--stdin", "2", "--jobs", "1", "--runs", "200", "--quiet"];
    let said = room.changeling(&[&["run", "old", "new"], &more[..]].concat());
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    let cache = cache();
    let cache = cache.to_string_lossy();
    let compared = room.changeling(&["diff", "old", "new", "--cache", &cache]);
    let told = "taken for the same: ";
    assert!(compared.stdout.contains(told), "{}", compared.stdout);
}
