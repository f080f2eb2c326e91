//! What stands in tables: the numbers that were stored there, put together again from their bytes.

use crate::arena::{Arena, Expr, TableId};
use crate::facts::trailing;
use changeling_trace::Op;
use rustc_hash::{FxHashMap, FxHashSet};

/// Expressions looked at for one question.
const MOST_EXPRESSIONS: usize = 4_000;
/// Places of a table.
const MOST_PLACES: u64 = 64;
/// Reads that are remembered.
const MOST_READS: usize = 5_000;

/// By the expression that reads: the places that it can lead to, in order, with what stands there.
#[derive(Default)]
pub(super) struct Reads {
    known: FxHashMap<Expr, Vec<(u64, Expr)>>,
}

impl Reads {
    pub fn clear(&mut self) {
        self.known.clear();
    }

    /// Looks at all reads that an expression is made of.
    pub fn look(&mut self, arena: &mut Arena, e: Expr) {
        if self.known.len() > MOST_READS {
            self.known.clear();
        }
        let mut seen = FxHashSet::default();
        let mut todo = vec![e];
        while let Some(next) = todo.pop() {
            // Most expressions have none.
            if !arena.reads(next) || seen.len() >= MOST_EXPRESSIONS || !seen.insert(next) {
                continue;
            }
            let term = *arena.term(next);
            let (operands, count) = term.operands();
            todo.extend(&operands[..count]);
            if term.op == Op::Read {
                let places = self.known.entry(next);
                let places = places.or_insert_with(|| places_of(arena, next));
                todo.extend(places.iter().map(|(_, number)| number));
            }
        }
    }

    /// What is read at a place, if that is known.
    pub fn number(&self, read: Expr, at: u64) -> Option<Expr> {
        let places = self.known.get(&read)?;
        let found = places.binary_search_by_key(&at, |(place, _)| *place).ok()?;
        Some(places[found].1)
    }
}

/// None if there are many.
fn places_of(arena: &mut Arena, read: Expr) -> Vec<(u64, Expr)> {
    let term = *arena.term(read);
    let size = usize::from(term.width) / 8;
    let table = &arena.tables[term.b.index()];
    let index = *arena.facts(term.a);
    let stride = 1u64 << trailing(index).min(16);
    let Some(last) = table.bytes.len().checked_sub(size) else {
        return Vec::new();
    };
    let (first, last) = (
        index.low.next_multiple_of(stride),
        index.high.min(last as u64),
    );
    if size > 8 || last < first || (last - first) / stride >= MOST_PLACES {
        return Vec::new();
    }
    let places = (first..=last).step_by(stride as usize);
    let table = TableId(term.b.0);
    places
        .map(|at| (at, arena.read_at(table, at, size)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What has no read in it is not walked through, however much it is: the read beside it is found.
    #[test]
    fn reads_are_found_beside_large_expressions_without_one() {
        let mut arena = Arena::new();
        let byte = |arena: &mut Arena, offset| {
            let byte = arena.input(0, offset);
            arena.zext(byte, 64).unwrap()
        };
        let three = arena.constant(64, 3).unwrap();
        let mut large = byte(&mut arena, 0);
        for offset in 1..=MOST_EXPRESSIONS as u32 {
            let other = byte(&mut arena, offset % 100);
            let product = arena.binary(Op::Mul, large, three).unwrap();
            large = arena.binary(Op::Xor, product, other).unwrap();
        }
        assert!(!arena.reads(large));
        let index = byte(&mut arena, 0);
        let index = arena.binary(Op::And, index, three).unwrap();
        let table = arena.add_table(&[5, 7, 11, 13], None).unwrap();
        let read = arena.read(table, index, 8).unwrap();
        let wide = arena.zext(read, 64).unwrap();
        for (a, b) in [(large, wide), (wide, large)] {
            let sum = arena.binary(Op::Sub, a, b).unwrap();
            assert!(arena.reads(sum));
            let mut reads = Reads::default();
            reads.look(&mut arena, sum);
            let found = reads.number(read, 2).expect("a place of the table");
            assert_eq!(arena.small(found), Some(11));
        }
    }
}
