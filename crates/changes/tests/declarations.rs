//! What is declared outside of functions, and the code it acts on.

mod common;

use changeling_changes::{ChangeKind, Subject};
use common::{Pair, changed, lines_of};

#[test]
fn a_macro_leads_to_the_code_that_uses_it() {
    let pair = changed("#define LIMIT 10", "#define LIMIT 11");
    for change in &pair.set.changes {
        assert_eq!(
            (pair.base_lines(change), pair.head_lines(change)),
            ((3, 1), (3, 1))
        );
        let clamp = pair.head.function_named("clamp");
        assert_eq!(change.head.function, clamp);
        assert!(
            lines_of(&pair.head, &change.head.modified)
                .iter()
                .all(|line| (10..=12).contains(line))
        );
    }
    assert_eq!(pair.set.changes.len(), 1);
    assert_eq!(pair.set.quiet_hunks().count(), 0);
}

/// The macro on the line is in a hunk, but says what it said before; what it takes from another
/// one is what was changed.
#[test]
fn a_macro_is_looked_for_behind_another() {
    let base = "\
#include <stdio.h>
#define VERSION \"1.2\"
#define NAME \"tool\"
#define hello(out) \\
  greet((out), VERSION)
static int greet(FILE *out, const char *version) { return fprintf(out, \"%s\\n\", version); }
int main(void) {
  return hello(stdout) < 0;
}
";
    let head = base
        .replacen("\"1.2\"", "\"1.3\"", 1)
        .replacen("\"tool\"", "\"tools\"", 1)
        .replacen(
            "#define hello(out)",
            "#ifdef PREFIX\n#define p_hello(out) greet((out), VERSION)\n#define hello p_hello\n#else\n#define hello(out) ",
            1,
        )
        .replacen("VERSION)\nstatic", "VERSION)\n#endif\nstatic", 1);
    let pair = Pair::new(base, &head);
    assert_eq!(pair.head_lines(pair.only()).0, 2);
}

/// Its fields have names that others have, too.
#[test]
fn a_new_structure_explains_nothing_elsewhere() {
    let base = "\
#include <stdio.h>
struct state {
  int depth;
  int handler;
};
static int call(int n) { return n * 2; }
int run(struct state *state) {
  int status = call(state->handler);
  return status;
}
int main(int argc, char **argv) {
  struct state own = {argc, argc + 1};
  return run(&own);
}
";
    let head = base
        .replacen("  int handler;\n", "  int level;\n  int handler;\n", 1)
        .replacen(
            "static int call",
            "struct closing {\n  int level;\n  int status;\n};\nint done(struct closing *c) { return c->status; }\nstatic int call",
            1,
        )
        .replacen("{argc, argc", "{argc, 0, argc", 1);
    let pair = Pair::new(base, &head);
    let run = pair.head.function_named("run");
    let changes = pair.set.changes.iter();
    let own = changes.filter(|change| change.head.function == run);
    let lines: Vec<u32> = own.map(|change| pair.head_lines(change).0).collect();
    assert_eq!(lines, [4]);
}

/// As a version and the year of a copyright.
#[test]
fn all_macros_that_have_a_say_are_named() {
    let base = "\
#include <stdio.h>
#define VERSION \"1.2\"
#define FIRST 1
#define OTHER \"a\"
#define SECOND 2
#define TITLE \"tool \" VERSION \", 2020\"
int main(void) {
  puts(TITLE);
  return 0;
}
";
    let head = base
        .replacen("\"1.2\"", "\"1.3\"", 1)
        .replacen("\"a\"", "\"b\"", 1)
        .replacen("2020", "2022", 1);
    let pair = Pair::new(base, &head);
    let changes = pair.set.changes.iter();
    let lines: Vec<u32> = changes.map(|change| pair.head_lines(change).0).collect();
    assert_eq!(lines, [2, 6]);
    let quiet: Vec<u32> = pair.set.quiet_hunks().map(|hunk| hunk.head.first).collect();
    assert_eq!(quiet, [4]);
}

#[test]
fn a_table_leads_to_the_code_that_refers_to_it() {
    let pair = changed("  3, 4\n", "  3, 5\n");
    let change = pair.only();
    assert!(matches!(&change.subject, Subject::Global { name, .. } if name == "table"));
    assert_eq!(
        (pair.base_lines(change), pair.head_lines(change)),
        ((7, 1), (7, 1))
    );
    assert_eq!(lines_of(&pair.head, &change.head.modified), [20]);
    assert_eq!(lines_of(&pair.base, &change.base.modified), [20]);
    assert_eq!(pair.set.quiet_hunks().count(), 0);
}

#[test]
fn a_new_field_leads_to_the_code_that_knows_the_layout() {
    let pair = changed(
        "struct item { int id; int weight; };",
        "struct item { int id; int flag; int weight; };",
    );
    assert!(!pair.set.changes.is_empty());
    let total = pair.head.function_named("total");
    assert!(
        pair.set
            .changes
            .iter()
            .any(|change| change.head.function == total)
    );
    assert!(
        pair.set
            .changes
            .iter()
            .any(|change| pair.head_lines(change) == (4, 1))
    );
}

/// The code that knows the layout mentions neither the new field nor the structure.
#[test]
fn a_new_field_is_found_by_the_structure_around_it() {
    let base = "\
#include <stdio.h>
typedef struct
{
  int verbose;
  /* what to do */
  int mode;
} Flags;
static int chosen(Flags *flags) {
  return flags->mode;
}
int main(int argc, char **argv) {
  Flags own = {argc, argc + 1};
  printf(\"%d\\n\", chosen(&own) + own.verbose);
  return 0;
}
";
    let head = base
        .replacen("  int mode;", "  int quiet;\n  int mode;", 1)
        .replacen("{argc, argc", "{argc, 0, argc", 1)
        .replacen("typedef", "extern int other;\ntypedef", 1);
    let pair = Pair::new(base, &head);
    let changes = pair.set.changes.iter();
    let chosen = pair.head.function_named("chosen");
    let own: Vec<_> = changes
        .filter(|change| change.head.function == chosen)
        .map(|change| pair.head_lines(change))
        .collect();
    assert_eq!(own, [(7, 1)]);
}

/// In the code, the new first assignment is the old one: both clear the field behind `mode`.
#[test]
fn an_assignment_among_others_that_are_alike_is_a_change() {
    let base = "\
#include <stdio.h>
#include <stdlib.h>
typedef struct {
  int mode;
  int error;
} Flags;
int main(int argc, char **argv) {
  Flags *flags = malloc(sizeof(Flags));
  flags->mode = argc;
  flags->error = 0;
  printf(\"%d\\n\", flags->error + flags->mode);
  return 0;
}
";
    let head = base
        .replacen("  int error;", "  int quiet;\n  int error;", 1)
        .replacen(
            "  flags->error = 0;",
            "  flags->quiet = 0;\n  flags->error = 0;",
            1,
        );
    let pair = Pair::new(base, &head);
    let changes = pair.set.changes.iter();
    let mut lines: Vec<_> = changes.map(|change| pair.head_lines(change)).collect();
    lines.sort_unstable();
    assert_eq!(lines, [(5, 1), (11, 1)]);
    assert_eq!(pair.set.quiet_hunks().count(), 0);
}

/// A deleted assertion leaves its traces in lines that mention a parameter; so does a new function,
/// a new prototype and a new macro of several lines, which have nothing to do with it.
#[test]
fn names_of_parameters_lead_nowhere() {
    let base = "\
#include <assert.h>
struct buffer { int size; const char *data; };
int first(struct buffer *buf);
int prefix(const struct buffer *buf, const char *text) {
  int i;
  assert(buf && buf->data);
  for (i = 0; i < buf->size; ++i) {
    if (text[i] == 0)
      return 0;
    if (buf->data[i] != text[i])
      return buf->data[i] - text[i];
  }
  return 0;
}
int main(int argc, char **argv) {
  struct buffer own = {argc, argv[0]};
  return prefix(&own, argv[1]);
}
";
    let head = base
        .replacen("  assert(buf && buf->data);\n", "", 1)
        .replacen(
            "int first(",
            "#define LAST(buf) \\\n  ((buf)->data \\\n   [(buf)->size])\nint last(int i, struct buffer *buf);\nint first(",
            1,
        )
        .replacen(
            "int main",
            "int last(int i, struct buffer *buf) {\n  assert(buf);\n  return LAST(buf);\n}\nint main",
            1,
        );
    let pair = Pair::new(base, &head);
    let change = pair.only();
    assert_eq!(change.kind, ChangeKind::Deleted);
    assert_eq!(pair.base_lines(change), (6, 1));
}

#[test]
fn comments_explain_nothing_and_values_that_follow_do() {
    let base = "\
/* The size of the mode, or -1. */
enum mode { /* of a run */
  START,
  MIDDLE,
  END
};
int size(int mode) {
  if (mode < 0)
    return -1;
  if (mode == END) /* the end */
    return mode + 2;
  return mode;
}
#ifdef OTHER
int other(int mode) {
  int size = mode;
  return size;
}
#endif
int main(int argc, char **argv) {
  (void)argv;
  return size(argc);
}
";
    let head = base
        .replacen("mode, or -1. */", "mode and size, or -2. */", 1)
        .replacen("START,", "START = 4,", 1)
        .replacen("return -1;", "return -2;", 1)
        .replacen("/* the end */", "/* END of it */", 1)
        .replacen("int size = mode;", "int size = mode + 1;", 1);
    let pair = Pair::new(base, &head);
    let mut lines: Vec<(u32, u32)> = pair
        .set
        .changes
        .iter()
        .map(|c| pair.head_lines(c))
        .collect();
    lines.sort_unstable();
    assert_eq!(lines, [(3, 1), (9, 1)]);
}

/// Where `scale` was, there is `pause` now, and `scale` is where `size` was: the code that reads the one looks like the
/// code that read the other.
#[test]
fn a_field_in_the_place_of_another_is_no_other_code() {
    let base = "\
struct state {
  long debt;
  unsigned char kind;
  unsigned char pause;
  unsigned char scale;
  unsigned char size;
};
int step(struct state *g) {
  int scale = g->scale * 4 | 1;
  long debt = g->debt / 8 * scale;
  long size = g->size <= 62
    ? (1L << g->size) / 8 * scale
    : 9000;
  do {
    debt -= g->kind;
  } while (debt > -size);
  return debt / scale;
}
int main(int argc, char **argv) {
  struct state own = {argc, argc, argc, argc, argc};
  return step(&own);
}
";
    let head = base.replacen(
        "  unsigned char pause",
        "  unsigned char stop;\n  unsigned char pause",
        1,
    );
    let pair = Pair::new(base, &head);
    let step = pair.head.function_named("step");
    let own: Vec<_> = pair
        .set
        .changes
        .iter()
        .filter(|change| change.head.function == step)
        .collect();
    let [change] = own[..] else {
        panic!("one change expected: {own:#?}");
    };
    assert_eq!(pair.head_lines(change), (4, 1));
    assert_eq!(lines_of(&pair.base, &change.base.modified), [9, 11]);
    assert_eq!(lines_of(&pair.head, &change.head.modified), [10, 12]);
}

/// The line takes from two macros that have another text, and the hint in one of them does nothing.
#[test]
fn a_hint_in_a_macro_is_not_named_for_another() {
    let base = "\
#include <stdio.h>
#define likely(x) (__builtin_expect(((x) != 0), 1))
#define whole(o, i) (*(o) > 9 ? (*(i) = *(o), 1) : 0)
#define left(x, y) ((x) << (y))
#define right(x, y) left(x, -(y))
#define bits(op) { \\
  int i1; \\
  if (whole(&argc, &i1)) { \\
    printf(\"%d\\n\", op(argc, i1)); \\
  }}
int main(int argc, char **argv) {
  bits(right)
  return 0;
}
";
    let head = base
        .replacen("(*(o) > 9 ?", "(likely(*(o) > 9) ?", 1)
        .replacen("-(y)", "3 - (y)", 1);
    let pair = Pair::new(base, &head);
    assert_eq!(pair.head_lines(pair.only()), (5, 1));
    let quiet: Vec<u32> = pair.set.quiet_hunks().map(|hunk| hunk.head.first).collect();
    assert_eq!(quiet, [3]);
}

/// A line that mentions a type such as `double` has nothing to do with others that do.
#[test]
fn types_that_are_everywhere_explain_nothing() {
    let base = "\
#include <stdio.h>
typedef struct {
  int verbose;
  int mode;
} Flags;
static double chosen(Flags *flags) {
  return (double)flags->mode;
}
int main(int argc, char **argv) {
  Flags own = {argc, argc + 1};
  printf(\"%f\\n\", chosen(&own) + own.verbose);
  return 0;
}
";
    let head = base
        .replacen("  int mode;", "  int quiet;\n  int mode;", 1)
        .replacen("{argc, argc", "{argc, 0, argc", 1)
        .replacen("typedef", "extern double limit;\ntypedef", 1);
    let pair = Pair::new(base, &head);
    let changes = pair.set.changes.iter();
    let chosen = pair.head.function_named("chosen");
    let own = changes.filter(|change| change.head.function == chosen);
    let lines: Vec<_> = own.map(|change| pair.head_lines(change)).collect();
    assert_eq!(lines, [(5, 1)]);
}
