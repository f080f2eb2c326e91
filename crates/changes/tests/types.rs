//! Types and namespaces that have another name now: no change, unless the program shows the name.

mod common;

use changeling_changes::{ChangeSet, Reason};
use common::Pair;

const CPP: &str = "\
#include <cstdio>
#include <typeinfo>
namespace shop {
struct Base { virtual ~Base() = default; virtual int step(int) = 0; };
struct Counter : Base {
  int k = 3;
  static int made;
  int step(int x) override { return full() ? x : x + k; }
  bool full() const { return k == 7; }
};
struct Timer : Base {
  int k = 5;
  int step(int x) override { return x * k; }
};
int Counter::made = 4;
template <class T> struct Box { T inside; T &get() { return inside; } };
template <class T> int twice(T &t) { return t.step(2); }
}
int main(int argc, char **argv) {
  shop::Counter counter;
  shop::Box<shop::Timer> box;
  shop::Base *base = argc > 1 ? (shop::Base *)&counter : &box.get();
  if (dynamic_cast<shop::Timer *>(base)) std::puts(\"timer\");
  /* more */
  return base->step(argc) + shop::twice(counter) + shop::Counter::made;
}
";

const NAMES: [(&str, &str); 5] = [
    ("shop", "store"),
    ("Counter", "Tally"),
    ("Timer", "Stopwatch"),
    ("Box", "Container"),
    ("twice", "two_times"),
];

fn renamed(text: &str) -> String {
    let renamed = |text: String, (old, new): (&str, &str)| text.replace(old, new);
    NAMES.into_iter().fold(text.to_owned(), renamed)
}

fn pair(base: &str, head: &str) -> Pair {
    Pair::of_files(&[("main.cpp", base)], &[("main.cpp", head)])
}

fn assert_is_no_change(set: &ChangeSet) {
    assert!(set.changes.is_empty(), "{:#?}", set.changes);
    assert!(set.added.is_empty() && set.deleted.is_empty(), "{set:#?}");
}

#[test]
fn classes_templates_and_namespaces_may_be_renamed() {
    let Pair { set, base, .. } = pair(CPP, &renamed(CPP));
    assert_is_no_change(&set);
    let reasons = set.functions.iter();
    let renamed = reasons.filter(|pair| pair.reason == Reason::Renamed);
    let symbols: Vec<&str> = renamed
        .map(|pair| base.function(pair.base).symbol.as_str())
        .collect();
    for symbol in ["_ZN4shop7Counter4stepEi", "_ZNK4shop7Counter4fullEv"] {
        assert!(symbols.contains(&symbol), "{symbols:?}");
    }
}

#[test]
fn what_else_is_changed_in_a_renamed_class_is_seen() {
    let head = renamed(CPP).replace("return x * k;", "return x * k + 1;");
    let pair = pair(CPP, &head);
    let change = pair.only();
    assert_eq!(pair.head_lines(change), (13, 1));
    let head = renamed(CPP).replace("made = 4", "made = 5");
    let pair = self::pair(CPP, &head);
    // With the template below, whose name is another one too.
    assert_eq!(pair.head_lines(pair.only()), (15, 3));
}

/// By asking for it, or by an exception that nobody catches.
#[test]
fn names_that_a_program_shows_count() {
    for shows in [
        "std::puts(typeid(*base).name());",
        "if (argc == 3) throw counter;",
        "if (argc == 3) return typeid(*base).hash_code() & 1;",
    ] {
        let base = CPP.replace("/* more */", shows);
        let set = pair(&base, &renamed(&base)).set;
        let names: Vec<String> = set.changes.iter().map(|one| format!("{one:?}")).collect();
        let is_shown = |text: &String| text.contains("_ZTSN5store5TallyE");
        assert!(names.iter().any(is_shown), "{shows}: {names:#?}");
    }
}

/// Functions and types of a library have their names there: other ones are others, though what the program makes of them
/// looks the same.
#[test]
fn another_type_of_a_library_is_a_change() {
    let clock = "\
#include <chrono>
using std::chrono::steady_clock;
static int parts(steady_clock::time_point at) { return (int)at.time_since_epoch().count() & 1; }
int main() {
  return parts(steady_clock::now());
}
";
    let caught = "\
#include <stdexcept>
#include <string>
static int code(const std::out_of_range &) { return 10; }
int main(int, char **argv) {
  try { return std::stoi(argv[1]); }
  catch (const std::out_of_range &error) { return code(error); }
  catch (...) { return 11; }
}
";
    let bases = "\
#include <stdexcept>
struct Failure : std::runtime_error { using std::runtime_error::runtime_error; };
int main(int argc, char **) {
  if (argc > 1) throw Failure(\"x\");
  return 0;
}
";
    let pairs = [
        (clock, "steady_clock", "system_clock", 5),
        (caught, "out_of_range", "invalid_argument", 6),
        (bases, "runtime_error", "logic_error", 2),
    ];
    for (base, old, new, line) in pairs {
        let pair = pair(base, &base.replace(old, new));
        let mut changes = pair.set.changes.iter();
        assert!(
            changes.any(|change| pair.head_lines(change).0 == line),
            "{old}: {:#?}",
            pair.set.changes
        );
    }
}

#[test]
fn types_of_rust_may_be_renamed() {
    let text = "\
pub trait Step { fn step(&mut self, by: u32) -> u32; }
pub struct Counter { value: u32, name: String }
impl Step for Counter {
    fn step(&mut self, by: u32) -> u32 { if self.full() { 0 } else { self.value += by; self.value } }
}
impl Counter {
    pub fn new(value: u32) -> Counter { Counter { value, name: String::from(\"c\") } }
    pub fn full(&self) -> bool { self.value == 7 }
}
pub fn run(value: u32) -> u32 {
    let mut all: Vec<Box<dyn Step>> = vec![Box::new(Counter::new(value))];
    all.iter_mut().map(|one| one.step(2)).sum()
}
#[unsafe(no_mangle)]
pub extern \"C\" fn main(argc: i32) -> i32 { run(argc as u32) as i32 }
";
    let pair = Pair::of_rust(text, &text.replace("Counter", "Tally"));
    assert_is_no_change(&pair.set);
}
