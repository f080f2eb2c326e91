//! Where something stands in a Rust file is no change, unless the program looks at it.

mod common;

use common::Pair;

const BASE: &str = "\
#[no_mangle] pub extern \"C\" fn main() -> i32 { 0 }
pub static ENTRY: (&str, u32, u32) = (\"main.rs\", 3, 4);
#[inline(never)] pub fn entry() -> &'static (&'static str, u32, u32) { std::hint::black_box(&ENTRY) }
/* here */
#[inline(never)] pub fn first(bytes: &[u8]) -> u8 { bytes.first().copied().expect(\"a byte\") }
";

/// Functions that look at places.
const READERS: [&str; 4] = [
    "#[track_caller] #[inline(never)] pub fn line() -> u32 { std::panic::Location::caller().line() }",
    "#[track_caller] #[inline(never)] pub fn text() -> String { std::panic::Location::caller().to_string() }",
    "#[derive(Debug)] pub struct At(&'static std::panic::Location<'static>);
     #[track_caller] #[inline(never)] pub fn at() -> String { format!(\"{:?}\", At(std::panic::Location::caller())) }",
    "#[inline(never)] pub fn hook() { std::panic::set_hook(Box::new(|_| ())); }",
];

fn moved(base: &str) -> Pair {
    Pair::of_rust(base, &base.replace("/* here */", "/* here */\n\n"))
}

#[test]
fn other_lines_are_no_change_where_only_panics_tell_them() {
    let pair = moved(BASE);
    assert!(pair.set.changes.is_empty(), "{:#?}", pair.set.changes);
}

#[test]
fn a_table_of_files_and_numbers_is_no_place() {
    let pair = Pair::of_rust(BASE, &BASE.replace("3, 4", "3, 5"));
    assert!(!pair.set.changes.is_empty());
}

#[test]
fn other_lines_are_a_change_where_the_program_looks_at_them() {
    for reader in READERS {
        let base = format!("{reader}\n{BASE}");
        let pair = moved(&base);
        assert!(!pair.set.changes.is_empty(), "{reader}");
        // And they are the same where they are the same.
        let pair = Pair::of_rust(&base, &base);
        assert!(pair.set.changes.is_empty(), "{reader}");
    }
}
