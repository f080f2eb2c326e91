//! Hints for the optimiser are no change, and hide none.

mod common;

use common::{Pair, lines_of};

const BASE: &str = "\
#include <stdio.h>
#define likely(x) (__builtin_expect(((x) != 0), 1))
#define unlikely(x) __builtin_expect(!!(x), 0)
#define check(c, text) ((void)((c) || puts(text)))
int main(int argc, char **argv) {
  int wanted = 0;
  unsigned char first = argv[argc - 1][0];
  if (argc > 3)
    return 1;
  if (first)
    wanted = argc;
  check(first == 'a', \"no\");
  for (int i = 0; i < wanted && argv[i]; i++)
    puts(argv[i]);
  return 0;
}
";

fn replaced(pieces: &[(&str, &str)]) -> String {
    let mut text = BASE.to_owned();
    for (from, to) in pieces {
        assert!(text.contains(from), "nothing to replace: {from}");
        text = text.replacen(from, to, 1);
    }
    text
}

/// Hints wherever a condition is.
fn hinted() -> String {
    replaced(&[
        ("(argc > 3)", "(unlikely(argc > 3))"),
        ("if (first)", "if (__builtin_expect(first, 1))"),
        ("((c) || puts", "(likely(c) || puts"),
        (
            "i < wanted && argv[i]",
            "likely(i < wanted) && unlikely(argv[i])",
        ),
    ])
}

#[test]
fn which_way_is_likely_is_no_change() {
    let other = hinted().replacen("unlikely(argc > 3)", "likely(argc > 3)", 1);
    for (base, head) in [(BASE, &*hinted()), (&hinted(), BASE), (&hinted(), &other)] {
        let pair = Pair::new(base, head);
        assert!(pair.set.changes.is_empty(), "{:#?}", pair.set.changes);
        // Branches correspond, whatever their conditions go through.
        let branches = pair.base.sites().filter(|&site| {
            let instruction = pair.base.instruction(site);
            instruction.is_terminator()
        });
        assert!(
            branches
                .into_iter()
                .all(|site| pair.set.sites.head(site).is_some())
        );
    }
}

#[test]
fn what_is_hinted_at_may_change() {
    for (from, to, line) in [
        ("unlikely(argc > 3)", "unlikely(argc > 4)", 8),
        ("unlikely(argc > 3)", "unlikely(!(argc > 3))", 8),
        (
            "__builtin_expect(first, 1)",
            "__builtin_expect(argc, 1)",
            10,
        ),
        ("unlikely(argv[i])", "unlikely(argv[wanted])", 13),
    ] {
        let head = hinted().replacen(from, to, 1);
        assert_ne!(head, hinted());
        for base in [BASE, &hinted()] {
            let pair = Pair::new(base, &head);
            let change = pair.only();
            let lines = [
                lines_of(&pair.base, &change.base.modified),
                lines_of(&pair.head, &change.head.modified),
            ];
            assert!(
                lines.concat().iter().all(|&found| found == line),
                "{to}: {lines:?}"
            );
        }
    }
}

#[test]
fn the_width_of_what_is_tested_for_zero_counts_only_if_bits_are_lost() {
    let narrow = |cast: &str| replaced(&[("if (first)", &*format!("if ({cast})"))]);
    let base = narrow("argc");
    let wider = Pair::new(&base, &narrow("(long)argc"));
    assert!(wider.set.changes.is_empty(), "{:#?}", wider.set.changes);
    let cut = Pair::new(&base, &narrow("(char)argc"));
    assert_eq!(cut.set.changes.len(), 1, "{:#?}", cut.set.changes);
}

const SEVERAL: &str = "\
#include <stdio.h>
#define hint(x) (x)
#define short_hint(x) (x)
#define check(c, text) ((void)(hint(c) || puts(text)))
int main(int argc, char **argv) {
  const char *p = argv[argc - 1];
  check(argc > 1 && argc < 9, \"no\");
  if (hint(*p == 'a' || (argc == 4 && p[1])))
    return 1;
  if (short_hint(!(*p && argc != 5)))
    puts(\"two\");
  while (hint(*p && *p != ' ' && *p != '-'))
    p++;
  int both = hint(argc == 6 && *p);
  if (hint(!p[1]))
    both += 2;
  return hint(p[0] == 'x' && p[1] == 'y') ? both : argc;
}
";

fn several(from: &str, to: &str) -> String {
    let hinted = SEVERAL
        .replacen(
            "#define hint(x) (x)",
            "#define hint(x) (__builtin_expect(((x) != 0), 1))",
            1,
        )
        .replacen(
            "#define short_hint(x) (x)",
            "#define short_hint(x) __builtin_expect(x, 0)",
            1,
        );
    assert!(hinted.contains(from), "nothing to replace: {from}");
    hinted.replacen(from, to, 1)
}

/// The compiler makes such a condition a value first, and branches on that.
#[test]
fn hints_around_several_conditions_are_no_change() {
    let hinted = several("", "");
    for (base, head) in [(SEVERAL, &*hinted), (&hinted, SEVERAL)] {
        let pair = Pair::new(base, head);
        assert!(pair.set.changes.is_empty(), "{:#?}", pair.set.changes);
    }
}

#[test]
fn one_of_several_conditions_may_change() {
    for (from, to, line) in [
        ("argc > 1 && argc < 9", "argc > 1 || argc < 9", 7),
        ("argc > 1 && argc < 9", "argc > 1 && argc < 8", 7),
        ("argc > 1 && argc < 9", "argc > 1", 7),
        ("argc == 4 && p[1]", "argc == 4 && !p[1]", 8),
        ("!(*p && argc != 5)", "(*p && argc != 5)", 10),
        ("!(*p && argc != 5)", "(!*p && argc != 5)", 10),
        ("*p != ' ' && *p != '-'", "*p != ' '", 12),
        ("hint(!p[1])", "hint(p[1])", 15),
        ("argc == 6 && *p", "argc == 6 || *p", 14),
        ("? both : argc", "? argc : both", 17),
    ] {
        let head = several(from, to);
        for base in [SEVERAL, &several("", "")] {
            let pair = Pair::new(base, &head);
            assert!(!pair.set.changes.is_empty(), "{to}");
            for change in &pair.set.changes {
                let lines = [
                    lines_of(&pair.base, &change.base.modified),
                    lines_of(&pair.head, &change.head.modified),
                ];
                assert!(
                    lines.concat().iter().all(|&found| found == line),
                    "{to}: {lines:?}"
                );
            }
        }
    }
}
