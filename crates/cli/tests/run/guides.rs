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
    // What no change has touched on one input may be touched on another.
    let (_, said) = oracle("t5", &["--stdin", "2", "--guide", "all"]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
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

#[test]
fn reach_finds_an_input_for_a_line_or_says_why_not() {
    let room = Room::new();
    let text = "#include <stdio.h>\n\
        static int unused(void) { return 1; }\n\
        int (*keep)(void) = 0;\n\
        int main(void) {\n\
        int state = 0, c;\n\
        while ((c = getchar()) != EOF) {\n\
        if (c == 'x') state = 1;\n\
        else if (state == 1 && c == 'y')\n\
        puts(\"here\");\n\
        }\n\
        if (state > 7) puts(\"never\");\n\
        return state > 9 ? unused() : 0; }\n";
    room.write("program.c", text);
    let reach = |target: &str| {
        let cache = cache().display().to_string();
        let arguments = [
            "reach",
            target,
            "program.c",
            "--stdin",
            "3",
            "--cache",
            &cache,
        ];
        room.changeling(&arguments)
    };
    let said = reach("program.c:9");
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    let input = std::fs::read(room.path(".changeling/reach/stdin.bin")).unwrap();
    assert!(input.starts_with(b"xy"), "{input:?}");
    let absolute = room.path("program.c").display().to_string();
    let said = reach(&format!("{absolute}:9"));
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    let said = reach("unused");
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    assert!(said.stdout.contains("not reached in"), "{}", said.stdout);
    let said = reach("mian");
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr.contains("similar names: main"),
        "{}",
        said.stderr
    );
    let said = reach("program.c:400");
    assert!(
        said.stderr.contains("nearest line with code is program.c:"),
        "{}",
        said.stderr
    );
}
