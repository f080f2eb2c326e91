//! What has a say in code without being an operation or an operand of it: alignments, places, leave that the compiler was
//! given.

mod common;

use changeling_changes::{ChangeSet, Sources, compare};
use common::{Compiled, compile};

const TEXT: &str = "\
#include <xmmintrin.h>
#include <stdint.h>
#include <stdio.h>
struct pair { long first; int second; };
static /*table*/ char table[3] = {1, 2, 3};
/*function*/ int own(int *p, int *q) { *p = 1; *q = 2; return *p; }
__attribute__((noinline)) static float sum(const float *p) {
  __m128 v = _mm_loadu_ps(p);
  return v[0] + v[3];
}
static int second(struct pair *pair) { return pair->second; }
int main(int argc, char **argv) {
  /*local*/ volatile char near[3];
  float numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  struct pair pair = {argc, 2};
  int a = 0, b = 0;
  near[argc] = table[argc];
  printf(\"%d %p %d\\n\", near[1], (void *)&own, own(&a, &b));
  return (int)sum(numbers + argc) + second(&pair);
}
";

/// What is made of it by replacing some of it.
fn changed((base, sources): &Compiled, changes: &[(&str, &str)]) -> ChangeSet {
    let mut head = TEXT.to_owned();
    for (from, to) in changes {
        assert!(TEXT.contains(from), "nothing to replace: {from}");
        head = head.replace(from, to);
    }
    let (head, head_sources) = compile(&head);
    let sources = Sources {
        base: sources.clone(),
        head: head_sources,
    };
    compare(base, &head, &sources)
}

#[test]
fn what_other_code_is_made_of_is_a_change() {
    let base = compile(TEXT);
    for changes in [
        &[("/*table*/", "_Alignas(64)")][..],
        &[("/*local*/", "_Alignas(64)")],
        &[("/*function*/", "__attribute__((aligned(256)))")],
        &[("/*function*/", "__attribute__((section(\"own\")))")],
        &[("/*function*/", "__attribute__((target(\"fma\")))")],
        &[("int *p, int *q", "int *restrict p, int *restrict q")],
        &[("_mm_loadu_ps(p)", "*(const __m128 *)p")],
        &[(
            "_mm_loadu_ps(p)",
            "_mm_loadu_ps(__builtin_assume_aligned(p, 16))",
        )],
    ] {
        let set = changed(&base, changes);
        assert!(!set.changes.is_empty(), "{changes:?}");
    }
}

/// The compiler knows less about an address that was computed before, and that makes no other code.
#[test]
fn what_makes_no_other_code_is_none() {
    let base = compile(TEXT);
    for changes in [
        &[("/*table*/", "_Alignas(1)")][..],
        &[("/*function*/", "__attribute__((aligned(16)))")],
        &[("return pair->second;", "int *p = &pair->second; return *p;")],
    ] {
        let set = changed(&base, changes);
        assert!(set.changes.is_empty(), "{changes:?}: {:#?}", set.changes);
    }
}
