//! What a comparison says about pairs of C programs.

mod common;

use changeling_changes::{ChangeKind, Reason};
use changeling_program::Operation;
use common::{BASE, Pair, changed, lines_of};

#[test]
fn the_same_program_has_no_change() {
    let pair = Pair::new(BASE, BASE);
    assert!(pair.set.changes.is_empty() && pair.set.hunks.is_empty());
    assert_eq!(pair.set.sites.len(), pair.base.instructions.len());
    assert!(
        pair.base
            .sites()
            .all(|site| pair.set.sites.head(site) == Some(site))
    );
}

#[test]
fn cosmetic_edits_are_no_change_and_are_named() {
    let edits: [(&str, &str); 6] = [
        ("int sum = 0;", "/* nothing yet */ int sum\n    = 0;"),
        ("static int clamp", "\n\n// cut\nstatic int clamp"),
        (
            "int weight = items[i].weight;\n    if (weight < 0)",
            "int w = items[i].weight;\n    if (w < 0)",
        ),
        ("clamp(weight)", "clamp(w)"),
        ("{1, 2}, {3, argc}", "{1,  2},\n   {3, argc}"),
        ("#define LIMIT 10", "#define LIMIT (5 + 5)"),
    ];
    let mut head = BASE.to_owned();
    for (from, to) in edits {
        assert!(head.contains(from), "{from}");
        head = head.replacen(from, to, 1);
    }
    let pair = Pair::new(BASE, &head);
    assert!(pair.set.changes.is_empty(), "{:#?}", pair.set.changes);
    assert!(pair.set.hunks.len() >= 5);
    assert_eq!(pair.set.quiet_hunks().count(), pair.set.hunks.len());
}

#[test]
fn an_assertion_on_another_line_is_no_change() {
    let with = |comment: &str| {
        let text = BASE.replacen("int mode = 1;", "int mode = 1;\n  assert(argc > 0);", 1);
        format!("{comment}#include <assert.h>\n{text}")
    };
    let pair = Pair::new(&with(""), &with("/* new */\n"));
    assert!(pair.set.changes.is_empty(), "{:#?}", pair.set.changes);
    let other = with("").replace("argc > 0", "argc > 1");
    assert_eq!(Pair::new(&with(""), &other).set.changes.len(), 1);
}

#[test]
fn moving_a_function_is_no_change() {
    let start = BASE.find("static int clamp").expect("clamp");
    let end = BASE.find("static int total").expect("total");
    let clamp = &BASE[start..end];
    let declared = "static int clamp(int value);\n";
    let head = format!("{}{declared}{}{clamp}", &BASE[..start], &BASE[end..]);
    let pair = Pair::new(BASE, &head);
    assert!(pair.set.changes.is_empty(), "{:#?}", pair.set.changes);
    assert!(pair.set.hunks.len() >= 2);
}

#[test]
fn a_renamed_function_is_found_and_its_calls_are_no_change() {
    let pair = Pair::new(
        BASE,
        &BASE
            .replace("clamp(", "limited(")
            .replace("total(", "sum_up("),
    );
    assert!(pair.set.changes.is_empty(), "{:#?}", pair.set.changes);
    assert!(pair.set.added.is_empty() && pair.set.deleted.is_empty());
    let renamed = pair
        .set
        .functions
        .iter()
        .filter(|f| f.reason == Reason::Similarity);
    assert_eq!(renamed.count(), 2);
}

#[test]
fn a_changed_condition_is_one_change_on_its_line() {
    let pair = changed("weight < 0", "weight <= 0");
    let change = pair.only();
    assert_eq!(change.kind, ChangeKind::Modified);
    assert_eq!(
        (pair.base_lines(change), pair.head_lines(change)),
        ((18, 1), (18, 1))
    );
    assert_eq!(change.head.modified.len(), 1);
    let site = change.head.modified[0];
    assert!(matches!(
        pair.head.instruction(site).operation,
        Operation::Compare(_)
    ));
    assert_eq!(pair.set.sites.base(site), Some(change.base.modified[0]));
    assert_eq!(change.head.entry, Some(site));
    assert_eq!(change.incoming.len(), 1);
    assert_eq!(change.outgoing.len(), 1);
}

#[test]
fn a_constant_that_only_a_phi_sees_is_found_with_its_line() {
    let pair = changed("mode = 4;", "mode = 5;");
    let change = pair.only();
    assert_eq!(
        (pair.base_lines(change), pair.head_lines(change)),
        ((28, 1), (28, 1))
    );
    let operation = &pair.head.instruction(change.head.modified[0]).operation;
    assert!(matches!(operation, Operation::Phi { .. }), "{operation:?}");
}

#[test]
fn an_insertion_has_an_anchor_in_base() {
    let pair = changed(
        "    sum +=",
        "    if (weight == 7)\n      return -1;\n    sum +=",
    );
    let change = pair.only();
    assert_eq!(change.kind, ChangeKind::Added);
    assert_eq!(
        (pair.base_lines(change), pair.head_lines(change)),
        ((20, 0), (20, 2))
    );
    assert!(lines_of(&pair.head, &change.head.modified).contains(&20));
    let entry = change.base.entry.expect("an anchor");
    assert!(change.base.region_contains(entry));
    assert!(!change.incoming.is_empty());
    assert!(
        change
            .incoming
            .iter()
            .all(|&(_, to, target)| { to == entry && Some(target) == change.head.entry })
    );
    // The unchanged code behind it still corresponds.
    let sum = pair.base.function_named("total").expect("total");
    let multiplies = pair.base.function(sum).sites().filter(|&site| {
        matches!(&pair.base.instruction(site).operation, Operation::Binary(op, _) if *op == changeling_program::BinaryOp::Mul)
    });
    let partners: Vec<_> = multiplies.map(|site| pair.set.sites.head(site)).collect();
    assert!(partners.len() == 1 && partners[0].is_some());
}

#[test]
fn a_deletion_is_the_mirror_image() {
    let pair = changed("    if (weight < 0)\n      continue;\n", "");
    let change = pair.only();
    assert_eq!(change.kind, ChangeKind::Deleted);
    assert_eq!(
        (pair.base_lines(change), pair.head_lines(change)),
        ((18, 2), (18, 0))
    );
    assert!(lines_of(&pair.base, &change.base.modified).contains(&18));
    assert!(change.head.entry.is_some());
}

#[test]
fn two_places_are_two_changes() {
    let head = BASE
        .replacen("weight < 0", "weight < 1", 1)
        .replacen("return 0;", "return 3;", 1);
    let pair = Pair::new(BASE, &head);
    let lines: Vec<_> = pair
        .set
        .changes
        .iter()
        .map(|change| pair.head_lines(change).0)
        .collect();
    assert_eq!(lines, [18, 33]);
}

/// Where it was, there is other code now, which the lines of base have nothing to do with.
#[test]
fn a_function_that_moved_to_another_file_is_compared_with_itself() {
    let limit = "\
int limit(int n) {
  if (n < 0)
    return -1;
  if (n > 10)
    return 10;
  return n;
}
";
    let twice = "int twice(int n) {\n  if (n & 1)\n    n *= 2;\n  return n * 3;\n}\n";
    let main = "int main(int argc, char **argv) {\n  return limit(argc);\n}\n";
    let base = format!("int last;\n{limit}{main}");
    let head = format!(
        "#include \"limit.c\"\nint last;\n{twice}{}",
        main.replacen("limit(argc)", "twice(limit(argc))", 1)
    );
    let moved = format!("/* alone */\n{}", limit.replacen("n > 10", "n > 12", 1));
    let pair = Pair::of_files(
        &[("program.c", &base)],
        &[("program.c", &head), ("limit.c", &moved)],
    );
    let function = pair.head.function_named("limit");
    let changes = pair.set.changes.iter();
    let own: Vec<_> = changes
        .filter(|change| change.head.function == function)
        .collect();
    let [change] = own[..] else {
        panic!("one change expected: {own:#?}");
    };
    assert_eq!(pair.base_lines(change), (5, 1));
    assert_eq!(pair.head_lines(change), (5, 1));
    let file = change.head.lines.expect("lines").file;
    assert!(pair.head.file(file).path().ends_with("limit.c"));
}

#[test]
fn a_string_is_part_of_the_call() {
    let pair = changed("\"few\"", "\"less\"");
    let change = pair.only();
    assert_eq!(pair.head_lines(change), (30, 1));
    assert!(
        pair.head
            .instruction(change.head.modified[0])
            .call()
            .is_some()
    );
}

#[test]
fn all_hunks_of_a_long_call_are_changes() {
    let long = |first: &str, last: &str| {
        let text = format!("puts(\n      \"{first};\"\n      \"and\"\n      \"{last}\");");
        BASE.replacen("puts(\"few\");", &text, 1)
    };
    let pair = Pair::new(&long("one", "two"), &long("three", "four"));
    let lines: Vec<_> = pair
        .set
        .changes
        .iter()
        .map(|change| pair.head_lines(change).0)
        .collect();
    assert_eq!(lines, [31, 33]);
    assert_eq!(pair.set.quiet_hunks().count(), 0);
}

#[test]
fn two_assignments_that_meet_in_one_instruction_are_two_changes() {
    let head =
        BASE.replacen("int mode = 1;", "int mode = 2;", 1)
            .replacen("mode = 4;", "mode = 5;", 1);
    let pair = Pair::new(BASE, &head);
    let lines: Vec<_> = pair
        .set
        .changes
        .iter()
        .map(|change| pair.head_lines(change).0)
        .collect();
    assert_eq!(lines, [26, 28]);
}

#[test]
fn a_new_parameter_changes_body_and_calls() {
    let head = BASE
        .replacen("clamp(int value)", "clamp(int lowest, int value)", 1)
        .replacen(
            "if (value > LIMIT)",
            "if (value < lowest)\n    return lowest;\n  if (value > LIMIT)",
            1,
        )
        .replacen("clamp(weight)", "clamp(2, weight)", 1);
    let pair = Pair::new(BASE, &head);
    let clamp = pair
        .set
        .functions
        .iter()
        .find(|f| f.reason == Reason::NameOnly)
        .expect("clamp");
    assert_eq!(pair.base.function(clamp.base).name, "clamp");
    let functions: Vec<_> = pair
        .set
        .changes
        .iter()
        .filter_map(|c| c.head.function)
        .collect();
    assert_eq!(functions.len(), 2, "{:#?}", pair.set.changes);
    // `value` moved from first to second place: its uses are no change.
    let inside = pair
        .set
        .changes
        .iter()
        .find(|c| c.head.function == Some(clamp.head))
        .expect("change");
    assert!(
        !lines_of(&pair.head, &inside.head.modified).contains(&14),
        "{inside:#?}"
    );
}

#[test]
fn an_added_function_shows_at_its_call() {
    let head = BASE
        .replacen(
            "int main",
            "static int spare(int n) { return n * 3 + 1; }\nint main",
            1,
        )
        .replacen("result * mode", "spare(result) * mode", 1);
    let pair = Pair::new(BASE, &head);
    assert_eq!(
        pair.set.added,
        [pair.head.function_named("spare").expect("spare")]
    );
    let change = pair.only();
    assert_eq!(pair.head_lines(change), (33, 1));
}

#[test]
fn without_sources_changes_still_have_lines() {
    let (base, _) = common::compile(BASE);
    let (head, _) = common::compile(&BASE.replacen("weight < 0", "weight < 1", 1));
    let set = changeling_changes::compare(&base, &head, &changeling_changes::Sources::default());
    assert_eq!(set.changes.len(), 1);
    let lines = set.changes[0].head.lines.expect("lines");
    assert_eq!((lines.first, lines.count), (18, 1));
    assert!(set.hunks.is_empty());
}
