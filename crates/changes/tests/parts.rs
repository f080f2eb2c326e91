//! Which part of a textual difference a change is put down to.

mod common;

use common::Pair;

fn places(pair: &Pair) -> Vec<((u32, u32), (u32, u32))> {
    let changes = pair.set.changes.iter();
    changes
        .map(|change| (pair.base_lines(change), pair.head_lines(change)))
        .collect()
}

#[test]
fn a_brace_goes_with_what_it_closes() {
    let base = "\
#include <stdio.h>
int main(int argc, char **argv) {
  long value = 0;
  if (sscanf(argv[1], \"%ld\", &value) == 1) {
    printf(\"%ld\\n\", value);
    return 1;
  }
  return 0;
}
";
    let head = "\
#include <stdio.h>
int main(int argc, char **argv) {
  if (argc > 2) {
    puts(\"many\");
  }
  else {
    long value = 0;
    if (sscanf(argv[1], \"%ld\", &value) == 1) {
      printf(\"%ld\\n\", value);
      return 1;
    }
  }
  return 0;
}
";
    let pair = Pair::new(base, head);
    assert_eq!(places(&pair), [((3, 0), (3, 4))]);
}

#[test]
fn a_brace_alone_may_be_the_change() {
    let base = "\
#include <stdio.h>
int main(int argc, char **argv) {
  if (argc > 2) {
    puts(\"many\");
    puts(\"arguments\");
  }
  return 0;
}
";
    let head = base.replace(
        "    puts(\"arguments\");\n  }\n",
        "  }\n    puts(\"arguments\");\n",
    );
    let pair = Pair::new(base, &head);
    assert!(!pair.set.changes.is_empty());
    assert!(
        pair.set.changes.iter().all(|change| change.hunk.is_some()),
        "{:#?}",
        pair.set.changes
    );
}

#[test]
fn a_name_that_a_value_gets_later_is_no_change() {
    let base = "\
#include <stdio.h>
#include <stdlib.h>
long fits(long value);
int main(int argc, char **argv) {
  const long length = ftell(stdin);
  if (!fits(length))
    return 1;
  puts(\"fits\");
  const size_t size = length;
  char *buffer = malloc(size + 1);
  return buffer == 0;
}
";
    let head = base
        .replace("!fits(length)", "length >= 7000")
        .replace("size = length", "size = (size_t)length");
    let pair = Pair::new(base, &head);
    assert_eq!(places(&pair), [((6, 1), (6, 1))]);
}

/// However deep it lies: in a structure of an array of a structure, or behind literals that lead to others.
#[test]
fn what_lies_deep_in_a_variable_counts() {
    let nested = "\
struct entry { const char *name; int value; };
struct group { struct entry entries[2]; int weight; };
struct part { struct group groups[2]; int rank; };
const struct part table[2] = {
  {{{{{\"a\", 1}, {\"b\", 2}}, 5}, {{{\"c\", 13}, {\"d\", 4}}, 6}}, 7},
  {{{{{\"e\", 1}, {\"f\", 2}}, 5}, {{{\"g\", 3}, {\"h\", 4}}, 18}}, 7}};
int main(int argc, char **argv) {
  return table[argc & 1].groups[argc & 1].entries[0].value;
}
";
    for (from, to) in [("13", "14"), ("\"d\"", "\"D\""), ("18", "19")] {
        let pair = Pair::new(nested, &nested.replace(from, to));
        assert!(!pair.only().head.modified.is_empty(), "{from}");
    }
    let chained = "\
struct link { const struct link *next; const char *name; };
int show(const struct link *);
static const struct link table = {&(const struct link){&(const struct link){&(const struct link){
    &(const struct link){&(const struct link){0, \"last\"}, \"e\"}, \"d\"}, \"c\"}, \"b\"}, \"a\"};
int main(void) { return show(&table); }
int show(const struct link *link) { return link->next ? show(link->next) : link->name[0]; }
";
    let pair = Pair::new(chained, &chained.replace("last", "LAST"));
    assert!(!pair.only().head.modified.is_empty());
}
