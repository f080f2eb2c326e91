//! What is kept apart from differences: inputs on which memory that nobody wrote decides, or a version that does not
//! agree with itself.

use crate::room::*;

/// By its first byte the program reads a variable, the padding of a structure or memory of the heap, all of which head
/// forgets to write; prints something that no two runs have alike; or says something else.
fn source(written: bool) -> String {
    let clear = |what: &str| match written {
        true => format!("memset({what});"),
        false => String::new(),
    };
    format!(
        r#"#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>
struct padded {{ char tag; int value; }};
__attribute__((noinline)) static void soil(void) {{
    volatile char room[512];
    for (int i = 0; i < 512; i++) room[i] = 7;
    volatile char *heap = malloc(400);
    for (int i = 0; i < 400; i++) heap[i] = 7;
    free((void *)heap);
}}
__attribute__((noinline)) static void variable(void) {{
    char room[64];
    {}
    volatile char *seen = room;
    printf("%d\n", seen[40]);
}}
__attribute__((noinline)) static void padding(void) {{
    struct padded made[8];
    {}
    for (int i = 0; i < 8; i++) {{ made[i].tag = 1; made[i].value = 2; }}
    volatile char *seen = (volatile char *)made;
    printf("%d\n", seen[42]);
}}
__attribute__((noinline)) static void heap(void) {{
    char *room = malloc(400);
    {}
    volatile char *seen = room;
    printf("%d\n", seen[300]);
    free(room);
}}
int main(void) {{
    int c = getchar();
    soil();
    switch (c) {{
    case 'v': variable(); break;
    case 'p': padding(); break;
    case 'h': heap(); break;
    case 't': printf("%llu\n", {}); break;
    case 'd': puts("{}"); break;
    default: puts("nothing");
    }}
    return 0;
}}
"#,
        clear("room, 0, 64"),
        clear("made, 0, sizeof made"),
        clear("room, 0, 400"),
        if written { "0ull" } else { "__rdtsc()" },
        if written { "before" } else { "after" },
    )
}

#[test]
fn what_nobody_wrote_and_what_changes_by_itself_is_no_difference() {
    let room = Room::new();
    room.write("old.c", source(true));
    room.write("new.c", source(false));
    let run = ["run", "old.c", "new.c", "--stdin", "1", "--jobs", "1"];
    let said = room.changeling(&[&run[..], &["--time", "60s"]].concat());
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    let results = room.results();
    let inputs = |list: &str| {
        let entries = results[list].as_array().unwrap().iter();
        let mut texts: Vec<String> = entries
            .map(|entry| {
                entry["input"]["streams"][0]["text"]
                    .as_str()
                    .unwrap()
                    .into()
            })
            .collect();
        texts.sort();
        texts
    };
    assert_eq!(inputs("differences"), ["d"], "{}", said.stdout);
    assert_eq!(inputs("undefined"), ["h", "p", "v"], "{}", said.stdout);
    assert_eq!(inputs("unstable"), ["t"], "{}", said.stdout);
    assert!(!said.stdout.contains("a traced version"), "{}", said.stdout);
    // Whoever reads of it wants to know on which input.
    for text in ["stdin \"h\"", "stdin \"p\"", "stdin \"v\"", "stdin \"t\""] {
        assert!(said.stdout.contains(text), "{text}: {}", said.stdout);
        let report = std::fs::read_to_string(room.path(".changeling/out/report.md")).unwrap();
        assert!(report.contains(text), "{text}: {report}");
    }
    for (name, what) in [("results.sarif", "\"ruleId\""), ("junit.xml", "<failure")] {
        let report =
            std::fs::read_to_string(room.path(&format!(".changeling/out/{name}"))).unwrap();
        assert_eq!(report.matches(what).count(), 1, "{name}: {report}");
    }
}
