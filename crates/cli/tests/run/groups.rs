//! What is one difference to a reader, and what accepting one hides.

use super::room::*;

const TOOL: &str = r#"#include <stdio.h>
static void f(void) {
    puts("alpha");
}

static int n(void) {
    return 1;
}

static void g(void) {
    puts("beta");
}

int main(void) {
    int c = getchar();
    if (c == 'a')
        f();
    else if (c == 'b')
        g();
    else
        printf("none %d\\n", n());
}
"#;

/// The paths are the same on both inputs; the changes entered are not.
#[test]
fn two_changes_of_text_are_two_differences() {
    let room = Room::new();
    room.write("old.c", TOOL);
    room.write(
        "new.c",
        TOOL.replace("\"alpha", "\"Alpha")
            .replace("\"beta", "\"Beta"),
    );
    let arguments = ["run", "old.c", "new.c", "--stdin", "1", "--jobs", "1"];
    let said = room.changeling(&arguments);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    let found = room.results()["differences"].as_array().unwrap().clone();
    assert_eq!(found.len(), 2, "{}", said.stdout);
    let texts = found
        .iter()
        .map(|one| one["head"]["stdout"].as_str().unwrap());
    let mut texts: Vec<&str> = texts.collect();
    texts.sort_unstable();
    assert_eq!(texts, ["Alpha\n", "Beta\n"]);
    assert_eq!(
        room.results()["timeline"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()["differences"],
        2
    );

    // A number is enough to name a case, and what is printed can be run.
    let said = room.changeling(&["replay", "1"]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    let script = said
        .stdout
        .lines()
        .find_map(|line| line.split("reproduce sh ").nth(1));
    assert!(room.path(script.unwrap()).is_file(), "{}", said.stdout);

    // What is accepted is the one, not every change of text.
    assert_eq!(room.changeling(&["accept", "1"]).code, Some(0));
    let said = room.changeling(&arguments);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    let results = room.results();
    assert_eq!(results["differences"].as_array().unwrap().len(), 1);
    assert_eq!(
        results["differences"][0]["input"]["streams"][0]["text"],
        found[1]["input"]["streams"][0]["text"]
    );
    assert_eq!(results["accepted"]["count"], 1);
}

/// Every input enters the first change; those that enter the second one too may differ for its sake.
#[test]
fn what_a_change_explains_but_looks_otherwise_is_shown() {
    let text = r#"#include <stdio.h>
static int price(int c) { return c * 3 + (c == PRICE); }

static int note(int c) { return c + NOTE; }

int main(void) {
    int c = getchar();
    if (c < 0) return 0;
    printf("price %d\n", price(c));
    if (c == 'm')
        printf("note %d\n", note(c));
    return 0;
}
"#;
    let room = Room::new();
    room.write("old.c", text.replace("PRICE", "300").replace("NOTE", "1"));
    room.write("new.c", text.replace("PRICE", "'p'").replace("NOTE", "2"));
    let arguments = ["run", "old.c", "new.c", "--stdin", "1", "--jobs", "1"];
    for left in [2, 1, 0] {
        let said = room.changeling(&arguments);
        let found = room.results()["differences"].as_array().unwrap().len();
        assert_eq!(found, left, "{}{}", said.stdout, said.stderr);
        if left > 0 {
            let said = room.changeling(&["accept", &room.first_case()]);
            assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
        }
    }
}

/// The message of an assertion names the file and the line, and both moved.
#[test]
fn an_assertion_that_fails_in_both_versions_is_no_difference() {
    let text = "#include <assert.h>\n#include <stdio.h>\nint main(void) {\n    assert(getchar() != 'z');\n}\n";
    let room = Room::new();
    room.write("old.c", text);
    room.write("new.c", format!("\n\n{text}"));
    room.write("seed", "z");
    let arguments = [
        "run", "old.c", "new.c", "--stdin", "1", "--seed", "seed", "--jobs", "1",
    ];
    let said = room.changeling(&arguments);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
}

/// A failure that is new and one that is gone are two things, though the paths part in the same place.
#[test]
fn a_new_failure_does_not_hide_one_that_is_gone() {
    let text = "#include <stdio.h>\nint main(void) {\n    if (getchar() == 'a') {\n        puts(\"no\");\n        return 3;\n    }\n    return 0;\n}\n";
    let room = Room::new();
    room.write("old.c", text);
    room.write("new.c", text.replace("'a'", "'b'"));
    let said = room.changeling(&["run", "old.c", "new.c", "--stdin", "1", "--jobs", "1"]);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    for title in ["exit 0 becomes exit 3", "exit 3 becomes exit 0"] {
        assert!(said.stdout.contains(title), "{}", said.stdout);
    }
}

/// "53" with `x` needs two steps at once to become "55": another input of the group is shorter.
#[test]
fn the_shortest_input_of_a_group_is_shown_and_runs_are_counted_once() {
    let text = r#"#include <stdio.h>
#include <stdlib.h>
int main(void) {
    char b[2];
    int n = fread(b, 1, 2, stdin), v = 0;
    for (int i = 0; i < n && b[i] >= '0' && b[i] <= '9'; i++)
        v = v * 10 + b[i] - '0';
    if (getenv("MODE") && getenv("MODE")[0] == 'x')
        v += 2;
    STOP
    printf("value %d\\n", v);
}
"#;
    let room = Room::new();
    room.write("old.c", text.replace("STOP", ""));
    room.write("new.c", text.replace("STOP", "if (v == 55) abort();"));
    let arguments = [
        "run", "old.c", "new.c", "--stdin", "2", "--env", "MODE=1", "--jobs", "1",
    ];
    let said = room.changeling(&arguments);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    let results = room.results();
    assert_eq!(
        results["differences"].as_array().unwrap().len(),
        1,
        "{}",
        said.stdout
    );
    let case = room.path(&room.first_case());
    assert_eq!(std::fs::read(case.join("stdin.bin")).unwrap(), b"55");
    assert_eq!(std::fs::read(case.join("env-MODE.bin")).unwrap(), b"");
    let runs = results["stats"]["runs"].as_u64().unwrap();
    for change in results["changes"].as_array().unwrap() {
        assert!(change["runs"].as_u64().unwrap() <= runs, "{change}");
    }
}

/// Nothing is left to explore: then it does not matter who came first.
#[test]
fn several_workers_find_the_same_as_one() {
    let [old, new] = ["old", "new"].map(|side| fixture(&format!("demo/{side}.c")));
    let (old, new) = (old.display().to_string(), new.display().to_string());
    let mut found = Vec::new();
    for (jobs, seed) in [("1", "0"), ("4", "0"), ("2", "3")] {
        let room = Room::new();
        let run = ["run", &old, &new, "--sym-arg", "4", "--time", "100s"];
        let said = room.changeling(&[&run[..], &["--jobs", jobs, "--random-seed", seed]].concat());
        assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
        let results = room.results();
        assert_eq!(results["stopped"], "exhausted", "{}", said.stdout);
        let differences = results["differences"].as_array().unwrap().iter();
        let groups = differences.map(|one| one["group"].as_str().unwrap().to_owned());
        let mut groups: Vec<String> = groups.collect();
        groups.sort();
        found.push((groups, results["stats"]["pairs"].as_u64()));
    }
    assert!(found.iter().all(|one| *one == found[0]), "{found:#?}");
}

/// Lines beside each other are one change, but an input enters only one of them.
#[test]
fn accepting_one_line_hides_neither_the_next_one_nor_what_becomes_of_it() {
    let text = |one: &str, two: &str, three: &str| {
        format!(
            "#include <stdio.h>\nint main(void) {{\n    switch (getchar()) {{\n    case 'a': puts(\"{one}\"); break;\n    case 'b': puts(\"{two}\"); break;\n    default: puts(\"{three}\");\n    }}\n}}\n"
        )
    };
    let room = Room::new();
    room.write("old.c", text("one", "two", "three"));
    room.write("new.c", text("One", "Two", "three"));
    let arguments = ["run", "old.c", "new.c", "--stdin", "1", "--jobs", "1"];
    let found = |room: &Room| {
        let results = room.results();
        let list = results["differences"].as_array().unwrap().iter();
        let texts = list.map(|one| one["head"]["stdout"].as_str().unwrap().to_owned());
        let mut texts: Vec<String> = texts.collect();
        texts.sort();
        texts
    };
    let said = room.changeling(&arguments);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    assert_eq!(found(&room), ["One\n", "Two\n"], "{}", said.stdout);
    let case = room.results()["differences"]
        .as_array()
        .unwrap()
        .iter()
        .find_map(|one| {
            let is_it = one["head"]["stdout"] == "One\n";
            is_it.then(|| one["id"].as_str().unwrap().to_owned())
        });
    let case = case.unwrap();
    assert_eq!(room.changeling(&["accept", &case]).code, Some(0));
    let said = room.changeling(&arguments);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    assert_eq!(found(&room), ["Two\n"], "{}", said.stdout);

    // Accepted is what was seen, not what else becomes of the lines.
    room.write("new.c", text("ONE", "two", "Three"));
    let said = room.changeling(&arguments);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    assert_eq!(found(&room), ["ONE\n", "Three\n"], "{}", said.stdout);
    room.write("new.c", text("One", "two", "three"));
    let said = room.changeling(&arguments);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
}

/// What comes of the line is chosen where the ways meet again; who comes there another way has not been at the line.
#[test]
fn a_line_that_only_chooses_a_value_is_entered_by_its_own_way() {
    let text = "#include <stdio.h>\nint main(void) {\n    int c = getchar(), flag = 0;\n    if (c == 'a')\n        flag = 1;\n    puts(c == 'b' ? \"b\" : \"other\");\n    return c == 'c' ? 7 : flag;\n}\n";
    let room = Room::new();
    room.write("old.c", text);
    room.write("new.c", text.replace("flag = 1", "flag = 2"));
    let said = room.changeling(&["run", "old.c", "new.c", "--stdin", "1", "--jobs", "1"]);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    let results = room.results();
    assert!(results["stats"]["runs"].as_u64() > Some(1), "{results}");
    assert_eq!(results["changes"][0]["runs"], 1, "{results}");
}
