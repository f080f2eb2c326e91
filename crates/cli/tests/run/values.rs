//! Searches that go by the values of comparisons.

use super::*;

/// How long something has waited is counted by the program, and no byte of the input shows up in it.
#[test]
fn values_that_come_nearer_are_gone_on_with() {
    let room = Room::new();
    let old = "#include <stdio.h>
        static int late(int waited) { return waited >= 9; }
        int main(void) {
            int c, waited = 0, busy = 0, shown = 0;
            while ((c = getchar()) != EOF) {
                if (c == 'b') busy = 3;
                else if (c == 't') { if (busy) { busy--; waited++; shown += late(waited); } }
                else if (c == 'r') waited = 0;
                else { puts(\"?\"); return 1; }
            }
            printf(\"%d\\n\", shown > 0);
            return 0;
        }";
    room.write("old.c", old);
    room.write("new.c", old.replace(">= 9", "> 9"));
    let first = |guides: &str, seed: &str| -> u64 {
        let arguments = "run old.c new.c --stdin 16 --jobs 1 --quiet --differences 1 --runs 3000";
        let mut arguments: Vec<&str> = arguments.split(' ').collect();
        arguments.extend(["--random-seed", seed, "--guide", guides]);
        let said = room.changeling(&arguments);
        assert_eq!(said.code, Some(1), "{}", said.stderr);
        let first = &room.results()["stats"]["runs_to_first_difference"];
        first.as_u64().unwrap()
    };
    // One search may be lucky.
    let runs = |guides: &str| -> u64 {
        let seeds = ["0", "1", "2", "3", "4"];
        seeds.iter().map(|seed| first(guides, seed)).sum()
    };
    let without = runs("reach,subgoals,prune,csg,incremental,correlation");
    let with = runs("all");
    assert!(with * 2 < without, "{with} and {without}");
}
