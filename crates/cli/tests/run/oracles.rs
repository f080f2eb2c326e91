//! Worked examples of the directed search, with the inputs that they must come to.

use super::*;

/// A pair of `fixtures/oracles` from these inputs, with one worker.
fn searched(name: &str, seeds: &[&[u8]], more: &[&str]) -> (Room, Said) {
    let room = Room::new();
    for (number, seed) in seeds.iter().enumerate() {
        room.write(&format!("seeds/{number}"), seed);
    }
    let folder = fixture(&format!("oracles/{name}"));
    let version = |file: &str| folder.join(file).display().to_string();
    let (old, new) = (version("old.c"), version("new.c"));
    let expected = expectations(&folder.join("expect.toml"));
    let size = expected["inputs"]["stdin"].to_string();
    let mut arguments = vec!["run", &old, &new, "--jobs", "1", "--stdin", &size];
    arguments.extend(["--seed", "seeds"]);
    arguments.extend(more);
    let said = room.changeling(&arguments);
    (room, said)
}

fn runs_to_first(room: &Room) -> u64 {
    let first = &room.results()["stats"]["runs_to_first_difference"];
    first.as_u64().expect("a difference")
}

/// From x = -1: any positive number comes to the change, and then only 3 shows it.
#[test]
fn a_change_is_reached_in_two_runs_and_shown_in_three() {
    let (room, said) = searched("q1", &[&[255]], &["--differences", "1"]);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    assert_eq!(room.results()["changes"][0]["first_run"], 2);
    assert_eq!(runs_to_first(&room), 3);
    assert_eq!(room.inputs()[2], "03");
    // 16 is decided behind the change, and no input that stops there is asked for.
    assert_eq!(room.inputs().len(), 3, "{:?}", room.inputs());
}

/// What is changed is used on one side of a branch only, or decides one.
#[test]
fn a_change_without_effect_gets_one() {
    // The end of the input is a way of its own.
    for (name, runs, least) in [("q2-use", 2, 1), ("q2-branch", 3, 3)] {
        let (room, said) = searched(name, &[&[0]], &["--differences", "1"]);
        assert_eq!(said.code, Some(1), "{name}: {}{}", said.stdout, said.stderr);
        let inputs = room.inputs();
        let first = runs_to_first(&room);
        assert!(first <= runs, "{name}: {inputs:?}");
        let x = unhex(&inputs[first as usize - 1])[0] as i8;
        assert!(x >= least, "{name}: {x}");
    }
    // Equal up to 8 and from 256 to 511.
    let (room, said) = searched("q8", &[&[0, 0]], &["--differences", "1"]);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    let case = std::fs::read(room.path(&room.first_case()).join("stdin.bin")).unwrap();
    let red = u16::from_be_bytes([case[0], case[1]]);
    assert!(!(red <= 8 || (256..=511).contains(&red)), "{red}");
}

/// `x > 2` contradicts `x < 0`, and has no say in it.
#[test]
fn a_condition_is_asked_for_without_what_contradicts_it() {
    let search = |guide: &str| {
        let more = ["--differences", "1", "--guide", guide];
        let (room, said) = searched("q3-exclusive", &[&[3]], &more);
        assert_eq!(
            said.code,
            Some(1),
            "{guide}: {}{}",
            said.stdout,
            said.stderr
        );
        let second = unhex(&room.inputs()[1]);
        let displaced = room.results()["stats"]["displaced"].clone();
        (runs_to_first(&room), second, displaced)
    };
    for guide in ["all", "reach,correlation"] {
        let (runs, second, displaced) = search(guide);
        assert_eq!((runs, displaced), (2, 1.into()), "{guide}");
        assert!((second[0] as i8) < 0, "{guide}: {second:?}");
    }
    let (runs, second, displaced) = search("reach");
    assert_eq!((runs, displaced), (3, 0.into()));
    assert!((0..=2).contains(&second[0]), "{second:?}");
}

/// The branch depends on the input through what other branches assign, and on none of those around them.
#[test]
fn a_flag_is_followed_to_the_branch_that_decides_it() {
    let text = |flag: &str, shown: &str| {
        let noise: String = (1..=8)
            .map(|at| format!("if (in[{at}] > {at}0) n++;\n"))
            .collect();
        format!(
            "#include <stdio.h>\nint main(void) {{ signed char in[9] = {{0}};\nint b, c, d, n = 0;\n\
             fread(in, 1, 9, stdin);\n{noise}if (in[0] > 0) b = 1; else b = 0;\nn *= 2;\n{noise}{flag}\n\
             if (d) puts(\"{shown}\");\nreturn 0; }}\n"
        )
    };
    for flag in ["c = d = b;", "c = b; d = c + 0;"] {
        let room = Room::new();
        room.write("old.c", text(flag, "target"));
        room.write("new.c", text(flag, "changed target"));
        room.write("seed", [0; 9]);
        let search = |guide: &str| {
            let said = room.changeling(&[
                "run",
                "old.c",
                "new.c",
                "--jobs",
                "1",
                "--stdin",
                "9",
                "--seed",
                "seed",
                "--differences",
                "1",
                "--guide",
                guide,
            ]);
            assert_eq!(said.code, Some(1), "{flag}: {}{}", said.stdout, said.stderr);
            runs_to_first(&room)
        };
        assert_eq!(search("all"), 2, "{flag}");
        assert_eq!(room.inputs()[1], "010000000000000000", "{flag}");
        assert!(search("none") > 8, "{flag}");
    }
}

/// Every change is covered by `1` and `-`, and nothing shows; in one order, behind the digit 0, it does.
#[test]
fn covering_each_change_shows_nothing_and_each_order_does() {
    let suite: [&[u8]; 2] = [b"1", b"-"];
    let (room, said) = searched("b1", &suite, &["--guide", "isolation"]);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    let results = room.results();
    let changes = results["changes"].as_array().unwrap().iter();
    let first_runs: Vec<_> = changes.map(|change| change["first_run"].as_u64()).collect();
    // What the first gives a variable to start with comes to matter at a dash; the others run on each digit and on each dash.
    assert_eq!(first_runs.len(), 3);
    assert!(first_runs.iter().all(|run| (1..=2).contains(&run.unwrap())));
    assert_eq!(results["stats"]["runs"], 2, "{:?}", room.inputs());
    let (room, said) = searched("b1", &suite, &["--runs", "100"]);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    let results = room.results();
    let sequences = results["sequences"].as_array().unwrap();
    let of = |wanted: &[u32]| {
        let wanted = serde_json::json!(wanted);
        let found = sequences.iter().find(|entry| entry["changes"] == wanted);
        let found = found.unwrap_or_else(|| panic!("{wanted}: {results}"));
        found["differing"].as_u64().unwrap() > 0
    };
    let ways: [(&[u32], bool); 4] = [
        (&[2], false),
        (&[1, 3], false),
        (&[1, 3, 2], false),
        (&[1, 2, 3], true),
    ];
    for (way, differs) in ways {
        assert_eq!(of(way), differs, "{way:?}");
    }
    // Whoever differs has come by all three in this order.
    for entry in sequences.iter().filter(|entry| entry["differing"] != 0) {
        let mut order = entry["changes"].as_array().unwrap().iter();
        assert!(
            (1..=3).all(|change| order.any(|one| *one == change)),
            "{entry}"
        );
    }
    let critical = &results["critical"];
    assert_eq!(critical["changes"], serde_json::json!([1, 2, 3]));
}

/// By the published rule the first run speaks for all: but for shorter inputs nothing else is tried.
#[test]
fn the_published_rule_stops_after_the_first_run() {
    let more = ["--guide", "coverage,express"];
    let (room, said) = searched("t5", &[&[2, 0]], &more);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    let inputs = room.inputs();
    assert_eq!(inputs[0], "0200");
    assert!(
        inputs[1..].iter().all(|input| input.len() < 4),
        "{inputs:?}"
    );
    let stats = &room.results()["stats"];
    assert_eq!(stats["by_rule"]["not-infected"], 1, "{stats}");
    assert_eq!(room.results()["verdict"], "none-found");
}

/// In head the side leads to nothing that was changed; in base it leads to what was taken out.
#[test]
fn what_was_deleted_counts_as_changed() {
    let room = Room::new();
    let text = |deleted: &str| {
        format!(
            "#include <stdio.h>\nstatic int total;\nint main(void) {{\nint c = getchar(), d = getchar();\n\
             if (c == 'a') {{\ntotal = 1;\n{deleted}}} else if (c == 'b') {{\nif (d == 'x') total = 3;\n}}\n\
             printf(\"%d\\n\", total);\nreturn 0; }}\n"
        )
    };
    room.write("old.c", text("if (d == 'x') total = 2;\n"));
    room.write("new.c", text(""));
    room.write("seed", "--");
    let search = |guide: &str| {
        let said = room.changeling(&[
            "run", "old.c", "new.c", "--jobs", "1", "--stdin", "2", "--seed", "seed", "--guide",
            guide,
        ]);
        assert_eq!(
            said.code,
            Some(1),
            "{guide}: {}{}",
            said.stdout,
            said.stderr
        );
        assert_eq!(room.results()["stopped"], "exhausted");
        let case = room.path(&room.first_case()).join("stdin.bin");
        assert_eq!(std::fs::read(case).unwrap(), b"ax", "{guide}");
        room.results()["stats"].clone()
    };
    let stats = search("prune");
    assert!(
        stats["by_rule"]["never-changed"].as_u64() > Some(0),
        "{stats}"
    );
    let stats = search("audit");
    assert!(stats["audited"]["runs"].as_u64() > Some(0), "{stats}");
    assert_eq!(stats["audited"]["differing"], 0, "{stats}");
}
