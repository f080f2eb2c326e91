//! `changeling.toml`.

use super::room::*;

const TOOL: &str =
    "#include <stdio.h>\nint main(void) { int c = getchar(); puts(c == 'a' ? \"A\" : \"-\"); }\n";

fn tool(room: &Room, letter: char, folder: &str) {
    room.write(
        &format!("{folder}/tool.c"),
        TOOL.replace("'a'", &format!("'{letter}'")),
    );
    room.write(
        &format!("{folder}/Makefile"),
        "tool: tool.c\n\t$(CC) -o tool tool.c\n",
    );
}

/// All that the command line can say about a run, the file can say too.
#[test]
fn versions_and_the_display_are_settings_as_well() {
    let room = Room::new();
    for (letter, folder) in [('a', "old"), ('b', "new"), ('c', "other")] {
        tool(&room, letter, folder);
    }
    let common = "stdin = 1\njobs = 1\nruns = 40\n";
    room.write(
        "changeling.toml",
        format!("{common}base-dir = \"old\"\nhead-dir = \"new\"\ngolden = \"old\"\nquiet = true\n"),
    );
    let said = room.changeling(&["run"]);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    assert_eq!(said.stdout.lines().count(), 1, "{}", said.stdout);
    let results = room.results();
    assert_eq!(results["versions"]["head"]["label"], "new");
    assert_eq!(results["versions"]["golden"]["label"], "old");
    assert_eq!(results["differences"][0]["golden"]["class"], "regression");

    // The command line goes first.
    let said = room.changeling(&["run", "--head-dir", "other", "--json-lines"]);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("\"event\":\"end\""), "{}", said.stdout);
    assert_eq!(room.results()["versions"]["head"]["label"], "other");
    let said = room.changeling(&["run", "old", "old"]);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
}

#[test]
fn wrong_settings_are_named() {
    let room = Room::new();
    for (text, expected) in [
        ("gloden = \"x\"", "did you mean `golden`?"),
        ("quiet = 1", "`quiet` must be true or false"),
        ("base = \"a\"\nbase-dir = \"b\"", "`base` and `base-dir`"),
        (
            "quiet = true\njson-lines = true",
            "`quiet` and `json-lines`",
        ),
        ("seed = 1", "(numbers go with `random-seed`)"),
        ("head = 3", "`head` must be a text"),
        (
            "input = [{ sym-arg = 4, arg = \"-n\" }]",
            "`input` must be a list such as",
        ),
        ("input = [{}]", "`input` must be a list such as"),
        (
            "normalise = [{ pattern = \"a\", replacment = \"b\" }]",
            "did you mean `replacement`?",
        ),
        ("resume = true", "`resume` is for the command line alone"),
        ("env = { A = 3 }", "`env` must be a text such as \"NAME=8\""),
        ("build-time = \"long\"", "`build-time` must be a time"),
        ("guide = \"reech\"", "changeling.toml: `guide` reech"),
        ("jobs = 0", "changeling.toml: `jobs` 0: at least one"),
        ("env = \"A=B\"", "--env A=B: expected a number of bytes"),
        ("stdin = \"/dev/zero\"", "it is a device, not a file"),
        (
            "build-time = \"5m\"\nnormalize = \"a\"",
            "no file or directory",
        ),
    ] {
        room.write("changeling.toml", text);
        let said = room.changeling(&["run", "a.c", "b.c"]);
        let code = if text.starts_with("build-time = \"5m") {
            4
        } else {
            2
        };
        assert_eq!(said.code, Some(code), "{text}: {}", said.stderr);
        assert!(said.stderr.contains(expected), "{text}: {}", said.stderr);
    }
    std::fs::remove_file(room.path("changeling.toml")).unwrap();
    room.write("a.c", "int main(void) { return 0; }\n");
    for (options, expected) in [
        (
            &["--runs", "-1"][..],
            "expected a whole number that is not negative",
        ),
        (
            &["--jobs", "x"],
            "expected a whole number that is not negative",
        ),
        (&["--time", "-3s"], "--time -3s: expected a time such as"),
        (
            &["--program", "x"],
            "--program has no effect on single files",
        ),
        (
            &["--golden", "c.c"],
            "c.c is neither a file or directory nor",
        ),
        (
            &["--record-queries", "a.c"],
            "there is a file of this name, not a directory",
        ),
    ] {
        let said = room.changeling(&[&["run", "a.c", "a.c"], options].concat());
        assert!(
            matches!(said.code, Some(2 | 4)),
            "{options:?}: {}",
            said.stderr
        );
        assert!(
            said.stderr.contains(expected),
            "{options:?}: {}",
            said.stderr
        );
    }
}
