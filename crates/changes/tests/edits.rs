//! Many small edits of one program: those that only look like a change, and those that are one, on their lines.

mod common;

use changeling_changes::ChangeKind;
use common::Pair;

const BASE: &str = "\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define SCALE(v) ((v) * 3)
#define LIMIT 40
enum mode { IDLE, BUSY, DONE = 7 };
typedef unsigned int word;
struct item { int id; short weight; char tag; };
static int table[4] = {10, 20, 30, 40};
const char *names[] = {\"a\", \"bb\", \"ccc\"};
static int counter;
int depth = 5;
static const double factor = 1.5;
typedef int (*operation)(int, int);
static int add(int a, int b) { return a + b; }
static int sub(int a, int b) { return a - b; }
static operation operations[2] = {add, sub};
static int log_event(int kind) {
  counter++;
  return kind * 2;
}
static int weigh(const struct item *it, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    if (it[i].weight < 0)
      continue;
    sum += it[i].weight * table[i & 3];
    if (sum > LIMIT) {
      log_event(BUSY);
      break;
    }
  }
  return sum;
}
static int parse(const char *text) {
  int value = 0;
  int sign = 1;
  if (*text == '-') {
    sign = -1;
    text++;
  }
  while (*text >= '0' && *text <= '9') {
    value = value * 10 + (*text - '0');
    text++;
  }
  if (*text)
    goto bad;
  return sign * value;
bad:
  fprintf(stderr, \"bad\\n\");
  return -1;
}
static const char *name_of(int state) {
  switch (state) {
  case IDLE:
    return \"idle\";
  case BUSY:
    return \"busy\";
  case DONE:
    return \"done\";
  default:
    return names[state & 1];
  }
}
int main(int argc, char **argv) {
  struct item items[2] = {{1, 2, 'x'}, {3, (short)argc, 'y'}};
  int total = weigh(items, 2);
  word w = (word)total;
  int x = parse(argc > 1 ? argv[1] : \"12\");
  x = x + 1;
  printf(\"%d %u %s\\n\", SCALE(x), w, name_of(x & 7));
  printf(\"%d %f\\n\", operations[x & 1](x, depth), factor * counter);
  do {
    x--;
  } while (x > 0);
  return x == 0 ? 0 : 1;
}
";

fn edited(edits: &[(&str, &str)]) -> Pair {
    let mut head = BASE.to_owned();
    for (from, to) in edits {
        assert!(head.contains(from), "{from}");
        head = head.replace(from, to);
    }
    Pair::new(BASE, &head)
}

/// What is edited, and how.
type Cosmetic = (&'static str, &'static [(&'static str, &'static str)]);

const COSMETICS: &[Cosmetic] = &[
    (
        "param",
        &[
            (
                "const struct item *it, int n",
                "const struct item *list, int count",
            ),
            ("it[i]", "list[i]"),
            ("i < n", "i < count"),
        ],
    ),
    ("static function", &[("weigh(", "measure(")]),
    ("field", &[("weight", "heft")]),
    ("label", &[("goto bad", "goto fail"), ("\nbad:", "\nfail:")]),
    ("macros", &[("SCALE", "TIMES3"), ("LIMIT", "MOST")]),
    ("enumerator", &[("BUSY", "WORKING")]),
    ("structure", &[("struct item", "struct thing")]),
    (
        "no typedef",
        &[(
            "  word w = (word)total",
            "  unsigned w = (unsigned int)total",
        )],
    ),
    (
        "order of variables",
        &[(
            "static int counter;\nint depth = 5;\n",
            "int depth = 5;\nstatic int counter;\n",
        )],
    ),
    (
        "one declaration",
        &[(
            "  int value = 0;\n  int sign = 1;\n",
            "  int value = 0, sign = 1;\n",
        )],
    ),
    (
        "includes",
        &[(
            "#include <stdio.h>\n#include <stdlib.h>\n",
            "#include <stdlib.h>\n#include <ctype.h>\n#include <stdio.h>\n",
        )],
    ),
    (
        "increments",
        &[("x = x + 1", "x += 1"), ("counter++", "++counter")],
    ),
    (
        "braces",
        &[(
            "    if (it[i].weight < 0)\n      continue;",
            "    if (it[i].weight < 0) {\n      continue;\n    }",
        )],
    ),
    (
        "const and casts",
        &[
            ("  int total = weigh", "  const int total = weigh"),
            ("return sign * value", "return (int)(sign * value)"),
        ],
    ),
    (
        "loops",
        &[(
            "  while (*text >= '0' && *text <= '9') {\n    value = value * 10 + (*text - '0');\n    text++;\n  }",
            "  for (; *text >= '0' && *text <= '9'; text++) {\n    value = value * 10 + (*text - '0');\n  }",
        )],
    ),
    (
        "a name for a constant",
        &[
            ("value * 10", "value * BASE"),
            (
                "#define LIMIT 40",
                "#define LIMIT (4 * 10)\n#define BASE 10",
            ),
        ],
    ),
    (
        "attributes",
        &[
            (
                "static int parse(",
                "__attribute__((nonnull)) static int parse(",
            ),
            (
                "static int log_event",
                "__attribute__((noinline, cold)) static int log_event",
            ),
        ],
    ),
    (
        "unused",
        &[
            ("int sum = 0;", "int sum = 0; int unused = 3; (void)unused;"),
            (
                "int main(",
                "static int never(int q) { return q; }\nint main(",
            ),
        ],
    ),
    (
        "other ways to write it",
        &[
            ("it[i].weight < 0", "(it + i)->weight < 0"),
            ("if (*text)", "if (text[0] != 0)"),
            ("- '0')", "- 48)"),
            ("LIMIT 40", "LIMIT 0x28"),
        ],
    ),
    ("strings", &[("\"%d %u %s\\n\"", "\"%d %u \" \"%s\\n\"")]),
    (
        "initialisers",
        &[
            (
                "table[4] = {10, 20, 30, 40}",
                "table[] = {[0] = 10, 20, [2] = 30, 40}",
            ),
            ("IDLE, BUSY,", "IDLE = 0, BUSY = 1,"),
        ],
    ),
    (
        "else behind goto",
        &[(
            "    goto bad;\n  return sign * value;",
            "    goto bad;\n  else\n    return sign * value;",
        )],
    ),
];

#[test]
fn other_ways_to_write_the_same_are_no_change() {
    for (what, edits) in COSMETICS {
        let pair = edited(edits);
        assert!(
            pair.set.changes.is_empty(),
            "{what}: {:#?}",
            pair.set.changes
        );
    }
}

/// One line of base, or a few, and what stands there in head.
const SEMANTIC: &[(&str, &str)] = &[
    ("return a + b", "return a ^ b"),
    ("value * 10 +", "value * 11 +"),
    ("sum > LIMIT", "sum >= LIMIT"),
    ("if (*text)", "if (!*text)"),
    ("  counter++;\n", ""),
    ("    if (it[i].weight < 0)\n      continue;\n", ""),
    ("      break;\n", ""),
    (
        "  int sum = 0;\n",
        "  int sum = 0;\n  if (n == 1)\n    return 4;\n",
    ),
    ("depth = 5", "depth = 6"),
    ("static int counter;", "static int counter = 3;"),
    ("30, 40}", "31, 40}"),
    ("\"bb\"", "\"bc\""),
    ("DONE = 7", "DONE = 6"),
    ("((v) * 3)", "((v) * 4)"),
    ("LIMIT 40", "LIMIT 41"),
    ("typedef unsigned int word", "typedef unsigned char word"),
    ("{add, sub}", "{sub, add}"),
    ("factor = 1.5", "factor = 1.25"),
    ("    goto bad;", "    return 0;"),
    ("  case BUSY:\n    return \"busy\";\n", ""),
    ("names[state & 1]", "names[state % 3u]"),
    ("SCALE(x), w", "SCALE(x++), w"),
    ("return x == 0 ? 0 : 1", "return x == 0 ? 0 : 2"),
    ("\"%d %f\\n\"", "\"%d %g\\n\""),
    (
        "  int total = weigh",
        "  log_event(1);\n  int total = weigh",
    ),
    ("*text >= '0' && *text", "*text >= '0' || *text"),
    ("if (*text == '-')", "if (*text == '-' && text[1])"),
    ("sum += it[i].weight *", "sum += (char)it[i].weight *"),
    (
        "for (int i = 0; i < n; i++)",
        "for (int i = n - 1; i >= 0; i--)",
    ),
    ("int sign = 1", "int sign = 2"),
    ("(x, depth)", "(depth, x)"),
];

#[test]
fn edits_with_an_effect_are_changes_of_their_lines() {
    for &(from, to) in SEMANTIC {
        let pair = edited(&[(from, to)]);
        assert!(!pair.set.changes.is_empty(), "{from}");
        let before = BASE.find(from).expect("edited");
        let same = from.bytes().zip(to.bytes()).take_while(|(a, b)| a == b);
        let common = from[..same.count().min(from.len())].matches('\n').count();
        let line = 1 + BASE[..before].matches('\n').count() + common;
        for change in &pair.set.changes {
            let (first, count) = match change.kind {
                ChangeKind::Deleted => pair.base_lines(change),
                ChangeKind::Added | ChangeKind::Modified => pair.head_lines(change),
            };
            let lines = first as usize..(first + count) as usize;
            assert!(lines.contains(&line), "{from}: {lines:?} without {line}");
        }
        let kind = match (from.ends_with('\n'), to) {
            (true, "") => ChangeKind::Deleted,
            _ if to.starts_with(from) && from.ends_with('\n')
                || to.ends_with(from) && to.contains('\n') =>
            {
                ChangeKind::Added
            }
            _ => ChangeKind::Modified,
        };
        assert_eq!(pair.set.changes[0].kind, kind, "{from}");
    }
}
