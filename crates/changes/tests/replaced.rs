//! One function or type used in place of another one that both versions have: the change is where it is used.

mod common;

use common::Pair;

const C: &str = "\
#include <stdio.h>
static int slow(int x) { int r = 0; for (int i = 0; i < x; i++) r += i * 2; return r; }
static int fast(int x) { int r = 1; for (int i = 0; i < x; i++) r += i * 3; return r; }
static int same(int x) { int r = 0; for (int i = 0; i < x; i++) r += i * 2; return r; }
int main(int argc, char **argv) {
  printf(\"%d\\n\", slow(argc));
  return 0;
}
";

const CPP: &str = "\
#include <cstdio>
struct Ten { static constexpr int n = 10; static int more(int x) { return x + n; } };
struct Six { static constexpr int n = 6; static int more(int x) { return x + n; } };
template <class T> static int scale(int x) { return T::n * x + T::more(x) * x - x / T::n; }
int main(int argc, char **argv) {
  std::printf(\"%d\\n\", scale<Ten>(argc));
  return 0;
}
";

const RUST: &str = "\
pub trait Shape { fn area(&self) -> u32; fn corners(&self) -> u32; }
pub struct Square(u32);
pub struct Circle(u32);
impl Shape for Square { fn area(&self) -> u32 { self.0 * self.0 } fn corners(&self) -> u32 { 4 } }
impl Shape for Circle { fn area(&self) -> u32 { self.0 * self.0 * 3 } fn corners(&self) -> u32 { 0 } }
#[inline(never)]
fn show<T: Shape>(shape: &T) -> u32 { shape.area() + shape.corners() }
#[unsafe(no_mangle)]
pub extern \"C\" fn main(argc: i32) -> i32 {
    show(&Square(argc as u32)) as i32
}
";

fn lines(pair: &Pair) -> Vec<u32> {
    let changes = pair.set.changes.iter();
    changes.map(|change| pair.head_lines(change).0).collect()
}

#[test]
fn what_is_used_in_place_of_another_is_a_change_there() {
    let pairs = [
        ("program.c", C, "slow(argc)", "fast(argc)"),
        ("program.cpp", CPP, "scale<Ten>", "scale<Six>"),
    ];
    for (file, base, old, new) in pairs {
        let head = base.replace(old, new);
        let pair = Pair::of_files(&[(file, base)], &[(file, &head)]);
        assert_eq!(lines(&pair), [6], "{new}: {:#?}", pair.set.changes);
        assert_eq!(pair.set.quiet_hunks().count(), 0);
    }
    let pair = Pair::of_rust(RUST, &RUST.replace("&Square(", "&Circle("));
    assert_eq!(lines(&pair), [10], "{:#?}", pair.set.changes);
    assert_eq!(pair.set.quiet_hunks().count(), 0);
}

#[test]
fn what_does_the_same_is_no_change() {
    let pair = Pair::new(C, &C.replace("slow(argc)", "same(argc)"));
    assert!(pair.set.changes.is_empty());
}
