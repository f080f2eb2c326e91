//! The same instructions in another order are a change where the order counts.

mod common;

use common::{Pair, lines_of};

const BASE: &str = "\
#include <stdio.h>
static int level = 3, limit = 4, *where = &limit;
static void set(int to) { level = to; }
static int next(void) { puts(\"next\"); return getchar(); }
int main(void) {
  int c = getchar();
  int before = level + 1;
  set(c);
  int after = level + 1;
  if (c == 'a') {
    int value = next();
    puts(\"one\");
    puts(\"two\");
    return value == 'b';
  }
  if (c == 'b') {
    int kept = *where;
    level = 5;
    limit = 6;
    if (kept == 4)
      return 1;
  }
  if (c == 'c')
    printf(\"%d\\n\", before * 2);
  printf(\"%d %d\\n\", after * 2, before);
  return 0;
}
";

fn edited(edits: &[(&str, &str)]) -> Pair {
    let mut head = BASE.to_owned();
    for (from, to) in edits {
        assert_eq!(head.matches(from).count(), 1, "{from}");
        head = head.replace(from, to);
    }
    Pair::new(BASE, &head)
}

fn modified(pair: &Pair) -> Vec<u32> {
    let changes = pair.set.changes.iter();
    let sites: Vec<_> = changes
        .flat_map(|change| change.head.modified.iter().copied())
        .collect();
    lines_of(&pair.head, &sites)
}

/// What uses the result stays where it is.
#[test]
fn a_call_on_the_other_side_of_calls() {
    let pair = edited(&[
        ("    int value = next();\n", ""),
        (
            "    puts(\"two\");\n",
            "    puts(\"two\");\n    int value = next();\n",
        ),
    ]);
    assert_eq!(modified(&pair), [13]);
}

#[test]
fn a_load_on_the_other_side_of_stores() {
    let pair = edited(&[
        ("    int kept = *where;\n", ""),
        (
            "    limit = 6;\n",
            "    limit = 6;\n    int kept = *where;\n",
        ),
    ]);
    assert_eq!(modified(&pair), [19]);
}

/// Nothing but a branch lies between; what may fail, or is seen, does not run on the other way any more.
#[test]
fn what_runs_on_one_way_only() {
    let text = "\
int getchar(void);
int main(int argc, char **argv) {
  int c = getchar();
  int value = /* */;
  if (c == 'a') {
    return value;
  }
  return 0;
}
";
    for made in ["getchar()", "argv[9][0]", "100 / c"] {
        let base = text.replace("/* */", made);
        let line = format!("  int value = {made};\n");
        let head = base
            .replace(&line, "")
            .replace("    return", &format!("{line}    return"));
        let pair = Pair::new(&base, &head);
        // The branch, or what stands behind it now.
        let lines = modified(&pair);
        assert!(!lines.is_empty(), "{made}");
        assert!(
            lines.iter().all(|line| [4, 5].contains(line)),
            "{made}: {lines:?}"
        );
    }
}

/// `level + 1` both times, but not of the same level.
#[test]
fn an_expression_of_what_was_loaded_at_another_time() {
    let pair = edited(&[("before * 2);", "after * 2 );")]);
    assert_eq!(modified(&pair), [24]);
}

/// It runs on the other way, too, where nothing else has changed.
#[test]
fn a_store_where_two_ways_join() {
    let text = "\
int puts(const char *);
int getchar(void);
static int level;
int main(void) {
  int c = getchar();
  if (c == 'a') {
    puts(\"x\");
    level = 1;
  }
  c = getchar();
  return c == 'b' ? level : 0;
}
";
    let head = text.replace("    level = 1;\n  }\n", "  }\n  level = 1;\n");
    for (base, head) in [(text, head.as_str()), (&head, text)] {
        let pair = Pair::new(base, head);
        let branch = 6;
        let lines = modified(&pair);
        let after = if head == text { 8 } else { 9 };
        assert!(
            lines.contains(&branch) || lines.contains(&after),
            "{lines:?}"
        );
    }
}

#[test]
fn what_only_computes_may_stand_anywhere() {
    let base = "int main(int argc, char **argv) {\n  int more = argc * 3 + 1;\n  argv[0] = 0;\n  argv[1] = 0;\n  return more;\n}\n";
    let line = "  int more = argc * 3 + 1;\n";
    let head = base
        .replace(line, "")
        .replace("  return", &format!("{line}  return"));
    let pair = Pair::new(base, &head);
    assert!(pair.set.changes.is_empty(), "{:#?}", pair.set.changes);
}
