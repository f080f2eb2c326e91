//! Variables: renamed ones are no change, what they start with may be, however deep it lies, and static ones of
//! one name are told apart.

mod common;

use changeling_changes::Subject;
use changeling_program::{Constant, Global, GlobalId, Program, Value};
use common::{Pair, lines_of};

const BASE: &str = "\
#include <stdio.h>
static int counter;
static int errors;
int depth = 5;
static const int limit = 9;
static const int k = 3;
struct in { const char *name; int weights[2]; };
struct mid { struct in in[2]; };
struct out { struct mid mid[2]; };
struct out table[2] = {
  {{{{{\"a\", {1, 2}}, {\"b\", {3, 4}}}}, {{{\"c\", {1, 2}}, {\"d\", {3, 4}}}}}},
  {{{{{\"e\", {1, 2}}, {\"f\", {3, 4}}}}, {{{\"g\", {1, 2}}, {\"h\", {3, 4}}}}}},
};
int grid[2][2][2][2][2] = {{{{{1, 2}}}}, {{{{3, 4}, {5, 6}}}}};
static int note(int kind) {
  counter++;
  if (kind > limit)
    errors++;
  return kind * depth;
}
int main(int argc, char **argv) {
  printf(\"%d %d\\n\", note(argc), counter + errors);
  printf(\"%d\\n\", argc * k);
  printf(\"%s\\n\", table[argc & 1].mid[1].in[0].name);
  return table[argc & 1].mid[1].in[argc >> 1 & 1].weights[1] + grid[argc & 1][0][0][1][0];
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

#[test]
fn another_name_is_no_change() {
    let renamed = [
        ("counter", "events"),
        ("errors", "mistakes"),
        ("depth", "deepness"),
        ("table", "contents"),
        ("grid", "cells"),
        ("limit", "most"),
    ];
    for one in renamed {
        let pair = edited(&[one]);
        assert!(
            pair.set.changes.is_empty(),
            "{one:?}: {:#?}",
            pair.set.changes
        );
    }
    let pair = edited(&renamed);
    assert!(pair.set.changes.is_empty(), "{:#?}", pair.set.changes);
}

#[test]
fn another_name_and_another_use_is_a_change() {
    let pair = edited(&[
        ("static int errors;\n", ""),
        ("    errors++;", "    counter++;"),
        ("counter + errors", "counter + counter"),
    ]);
    let lines: Vec<u32> = pair
        .set
        .changes
        .iter()
        .flat_map(|change| lines_of(&pair.head, &change.head.modified))
        .collect();
    assert!(lines.contains(&17) && lines.contains(&21), "{lines:?}");
    let pair = edited(&[
        ("counter", "events"),
        ("static int events;", "static int events = 1;"),
    ]);
    assert!(!pair.set.changes.is_empty());
}

#[test]
fn contents_are_compared_however_deep() {
    for (from, to, line) in [
        ("\"h\", {3, 4}", "\"h\", {3, 5}", 12),
        ("\"h\", {3, 4}", "\"hh\", {3, 4}", 12),
        ("{5, 6}", "{5, 7}", 14),
    ] {
        let pair = edited(&[(from, to)]);
        let change = pair.only();
        assert!(matches!(&change.subject, Subject::Global { .. }));
        assert_eq!(pair.head_lines(change), (line, 1), "{to}");
    }
}

#[test]
fn a_constant_of_one_letter_is_found() {
    let pair = edited(&[("k = 3", "k = 4")]);
    assert_eq!(pair.head_lines(pair.only()), (6, 1));
    assert_eq!(lines_of(&pair.head, &pair.only().head.modified), [23]);
}

const FIRST: &str = "\
static int count = 1;
int bump(int by) {
  count += by;
  return count;
}
int first(void) { return count; }
";
const SECOND: &str = "\
static int count = 2;
int drop(int by) {
  count -= by;
  return count;
}
";
const BUMP: &str = "int bump(int by) {\n  count += by;\n  return count;\n}\n";
const MAIN: &str = "\
int bump(int); int first(void); int drop(int);
int main(int argc, char **argv) {
  bump(argc);
  return first() + drop(2);
}
";

/// Of two files with a static variable of the same name.
fn units(first: &str, second: &str) -> Pair {
    let of = |first, second| [("first.c", first), ("second.c", second), ("main.c", MAIN)];
    Pair::of_units(&of(FIRST, SECOND), &of(first, second))
}

#[test]
fn static_variables_of_one_name_are_told_apart() {
    assert!(units(FIRST, SECOND).set.changes.is_empty());
    // The other one starts with that already.
    let pair = units(&FIRST.replace("= 1", "= 2"), SECOND);
    assert_eq!(pair.head_lines(pair.only()), (1, 1));
    let pair = units(&FIRST.replace("= 1", "= 2"), &SECOND.replace("= 2", "= 1"));
    assert_eq!(pair.set.changes.len(), 2, "{:#?}", pair.set.changes);
    // The same text means the other variable now.
    let pair = units(&FIRST.replace(BUMP, ""), &format!("{SECOND}{BUMP}"));
    let line = lines_of(&pair.head, &pair.only().head.modified);
    assert_eq!(line, [7]);
    let pair = units(
        &FIRST.replace("static ", ""),
        &SECOND.replace("static int count = 2", "extern int count"),
    );
    assert!(!pair.set.changes.is_empty());
}

#[test]
fn files_that_change_places_are_no_change() {
    assert!(units(SECOND, FIRST).set.changes.is_empty());
    let pair = units(&FIRST.replace("count", "total"), SECOND);
    assert!(pair.set.changes.is_empty(), "{:#?}", pair.set.changes);
}

/// The linker numbers static variables of one name, and the compiler literals, in the order in which they come.
#[test]
fn what_is_the_same_does_not_hang_on_the_order() {
    let pair = units(SECOND, FIRST);
    let starting = |program: &Program, with: u128| {
        let holds = |global: &Global| match global.initialiser {
            Some(Value::Constant(id)) => {
                let constant = program.constant(id);
                matches!(constant, Constant::Integer { bits, .. } if *bits == with)
            }
            _ => false,
        };
        let at = program.globals.iter().position(holds);
        GlobalId::new(at.expect("a variable that starts so"))
    };
    let [first, second] = [1, 2].map(|with| starting(&pair.base, with));
    let [head_first, head_second] = [1, 2].map(|with| starting(&pair.head, with));
    let symbols = (
        &pair.base.global(first).symbol,
        &pair.head.global(head_second).symbol,
    );
    assert_eq!(symbols.0, symbols.1, "they have changed places");
    let same = &pair.set.variables;
    assert!(same.are_same(first, head_first) && same.are_same(second, head_second));
    assert!(!same.are_same(first, head_second) && !same.are_same(second, head_first));
    // Matched, but not the same any more.
    let pair = units(&FIRST.replace("= 1", "= 3"), SECOND);
    let (first, changed) = (starting(&pair.base, 1), starting(&pair.head, 3));
    assert!(!pair.set.variables.are_same(first, changed));

    let literals = |texts: [&str; 2]| {
        let calls = texts.map(|text| format!("puts(\"{text}\");"));
        format!(
            "int puts(const char *);\nint main(void) {{ {} }}\n",
            calls.concat()
        )
    };
    let pair = Pair::new(&literals(["one", "two"]), &literals(["two", "three"]));
    let same = |base: usize, head: usize| {
        let [base, head] = [base, head].map(GlobalId::new);
        pair.set.variables.are_same(base, head)
    };
    assert_eq!(pair.base.global(GlobalId::new(1)).symbol, ".str.1");
    assert!(same(1, 0) && !same(0, 0) && !same(1, 1));
}

/// Calls of it are no longer calls of the library's.
#[test]
fn a_function_of_the_programs_own_is_not_the_librarys() {
    let text = "int puts(const char *);\nint main(void) {\n  return puts(\"a\");\n}\n";
    let own = "int puts(const char *text) { return text[0]; }\n";
    for (base, head) in [
        (text.to_owned(), own.to_owned() + text),
        (own.to_owned() + text, text.to_owned()),
    ] {
        let pair = Pair::new(&base, &head);
        let line = |text: &str| text.lines().position(|line| line.contains("return puts"));
        let [base_line, head_line] = [&base, &head].map(|text| line(text).unwrap() as u32 + 1);
        let change = pair.only();
        assert_eq!(lines_of(&pair.base, &change.base.modified), [base_line]);
        assert_eq!(lines_of(&pair.head, &change.head.modified), [head_line]);
    }
    let variable = "int main(void) {\n  return opterr;\n}\n";
    let pair = Pair::new(
        &format!("extern int opterr;\n{variable}"),
        &format!("int opterr = 0;\n{variable}"),
    );
    assert_eq!(lines_of(&pair.head, &pair.only().head.modified), [3]);
}

#[test]
fn what_only_the_loader_or_a_library_looks_at_is_known() {
    let text = "int value;\nvoid set(void) { value = 3; }\nint main(void) { return value; }\n";
    let alone = |head: &str| {
        let pair = Pair::new(text, head);
        let [base, head] = pair.set.unreferred.each_ref().map(Vec::len);
        (base, head)
    };
    assert_eq!(alone(text), (0, 0));
    let early = text.replace("void set", "__attribute__((constructor)) void set");
    assert_eq!(alone(&early), (0, 1));
    let listed =
        "__attribute__((section(\".init_array\"), used)) static void (*list)(void) = set;\n";
    assert_eq!(alone(&format!("{text}{listed}")), (0, 1));
    assert_eq!(alone(&format!("{text}int opterr = 0;\n")), (0, 1));
    let referred = text.replace("value = 3", "static int more = 4; value = more++");
    assert_eq!(alone(&referred), (0, 0));
}

/// What is a place in Rust is a table in C.
#[test]
fn names_of_files_in_rust_with_numbers_behind_them_count() {
    let text = "static const struct { const char *name; int v[4]; } table[] = {{\"a.rs\", {1, 2, 3, 4}}, {\"b.c\", {5, 6, 7, 8}}};\n\
                int main(int argc, char **argv) { return table[argc & 1].v[argc >> 1 & 3]; }\n";
    let pair = Pair::new(text, &text.replace("3, 4", "9, 4"));
    assert!(matches!(&pair.only().subject, Subject::Global { .. }));
}

/// The hunk is explained by what was changed in the code beside it, but the variable is read through another one.
#[test]
fn a_variable_that_others_lead_to_is_not_forgotten() {
    let text = "static int limit = 5; static int twice(int c) { return c * 2; }\n\
                static int *limits[] = {&limit};\n\
                int main(int argc, char **argv) { return twice(argc) + *limits[argc >> 8]; }\n";
    let head = text.replace("= 5", "= 6").replace("c * 2", "c * 3");
    let pair = Pair::new(text, &head);
    let of_variables = pair
        .set
        .changes
        .iter()
        .filter(|change| change.subject != Subject::Code);
    assert_eq!(of_variables.count(), 1, "{:#?}", pair.set.changes);
}

#[test]
fn a_copy_is_not_what_it_was_copied_from() {
    let text = "struct big { int a[6]; };\n\
                static int bump(struct big b, int by) { b.a[1] += by; return b.a[1]; }\n\
                int main(int argc, char **argv) { struct big x = {{1, 2}}; return bump(x, argc) + x.a[1]; }\n";
    let head = text
        .replace("struct big b", "struct big *b")
        .replace("b.a", "b->a")
        .replace("(x, ", "(&x, ");
    let pair = Pair::new(text, &head);
    let lines: Vec<u32> = pair
        .set
        .changes
        .iter()
        .flat_map(|change| lines_of(&pair.head, &change.head.modified))
        .collect();
    assert!(lines.contains(&2), "{:#?}", pair.set.changes);
}
