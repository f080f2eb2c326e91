//! Which elements of two sequences correspond: long common subsequences.

use std::collections::HashMap;

/// Beyond this many cells the exact algorithm is too slow, and rare elements
/// decide alone.
const TABLE_LIMIT: usize = 1 << 22;

/// Pairs of positions with equal elements, ascending on both sides. Elements
/// that occur once on each side are fixed first; between them the pairing is a
/// longest one as long as the pieces are small.
pub fn matching(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut work = vec![Piece {
        a: (0, a.len()),
        b: (0, b.len()),
        window: 1,
    }];
    while let Some(mut piece) = work.pop() {
        piece.trim(a, b, &mut pairs);
        if piece.is_empty() {
            continue;
        }
        let anchors = anchors(
            &a[piece.a.0..piece.a.1],
            &b[piece.b.0..piece.b.1],
            piece.window,
        );
        if !anchors.is_empty() {
            work.extend(piece.split(&anchors));
            pairs.extend(anchors.iter().map(|&(i, j)| (piece.a.0 + i, piece.b.0 + j)));
        } else if piece.cells() <= TABLE_LIMIT {
            let exact = longest(&a[piece.a.0..piece.a.1], &b[piece.b.0..piece.b.1]);
            pairs.extend(
                exact
                    .into_iter()
                    .map(|(i, j)| (piece.a.0 + i, piece.b.0 + j)),
            );
        } else if piece.window < 64 {
            // Nothing is unique alone; look at more and more of the surroundings.
            work.push(Piece {
                window: piece.window * 2,
                ..piece
            });
        }
    }
    pairs.sort_unstable();
    pairs
}

#[derive(Clone, Copy)]
struct Piece {
    a: (usize, usize),
    b: (usize, usize),
    window: usize,
}

impl Piece {
    fn is_empty(&self) -> bool {
        self.a.0 == self.a.1 || self.b.0 == self.b.1
    }

    fn cells(&self) -> usize {
        (self.a.1 - self.a.0).saturating_mul(self.b.1 - self.b.0)
    }

    /// Takes equal elements off both ends.
    fn trim(&mut self, a: &[u64], b: &[u64], pairs: &mut Vec<(usize, usize)>) {
        while !self.is_empty() && a[self.a.0] == b[self.b.0] {
            pairs.push((self.a.0, self.b.0));
            self.a.0 += 1;
            self.b.0 += 1;
        }
        while !self.is_empty() && a[self.a.1 - 1] == b[self.b.1 - 1] {
            self.a.1 -= 1;
            self.b.1 -= 1;
            pairs.push((self.a.1, self.b.1));
        }
    }

    fn split(&self, anchors: &[(usize, usize)]) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(anchors.len() + 1);
        let (mut i, mut j) = (self.a.0, self.b.0);
        for &(next_i, next_j) in anchors {
            let (next_i, next_j) = (self.a.0 + next_i, self.b.0 + next_j);
            pieces.push(Piece {
                a: (i, next_i),
                b: (j, next_j),
                window: 1,
            });
            (i, j) = (next_i + 1, next_j + 1);
        }
        pieces.push(Piece {
            a: (i, self.a.1),
            b: (j, self.b.1),
            window: 1,
        });
        pieces
    }
}

/// Longest ascending chain of elements that, with their surroundings, are
/// unique on each side.
fn anchors(a: &[u64], b: &[u64], window: usize) -> Vec<(usize, usize)> {
    let mut seen: HashMap<&[u64], (u32, usize, u32, usize)> = HashMap::new();
    for (i, key) in a.windows(window).enumerate() {
        let entry = seen.entry(key).or_default();
        entry.0 += 1;
        entry.1 = i;
    }
    for (j, key) in b.windows(window).enumerate() {
        if let Some(entry) = seen.get_mut(key) {
            entry.2 += 1;
            entry.3 = j;
        }
    }
    let mut unique: Vec<(usize, usize)> = seen
        .into_values()
        .filter(|&(in_a, _, in_b, _)| in_a == 1 && in_b == 1)
        .map(|(_, i, _, j)| (i, j))
        .collect();
    unique.sort_unstable();
    longest_ascending(&unique)
}

/// The longest chain with ascending second parts, of pairs sorted by the first.
fn longest_ascending(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut tails: Vec<usize> = Vec::new();
    let mut before = vec![usize::MAX; pairs.len()];
    for (index, &(_, j)) in pairs.iter().enumerate() {
        let place = tails.partition_point(|&tail| pairs[tail].1 < j);
        if place > 0 {
            before[index] = tails[place - 1];
        }
        match tails.get_mut(place) {
            Some(tail) => *tail = index,
            None => tails.push(index),
        }
    }
    let mut chain = Vec::with_capacity(tails.len());
    let mut at = tails.last().copied().unwrap_or(usize::MAX);
    while at != usize::MAX {
        chain.push(pairs[at]);
        at = before[at];
    }
    chain.reverse();
    chain
}

/// A longest common subsequence, by the table.
fn longest(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let width = b.len() + 1;
    let mut table = vec![0u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            table[i * width + j] = if a[i] == b[j] {
                table[(i + 1) * width + j + 1] + 1
            } else {
                table[(i + 1) * width + j].max(table[i * width + j + 1])
            };
        }
    }
    let mut pairs = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            pairs.push((i, j));
            i += 1;
            j += 1;
        } else if table[(i + 1) * width + j] >= table[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sequences_match_whole() {
        let a: Vec<u64> = (0..50).map(|n| n % 7).collect();
        assert_eq!(
            matching(&a, &a),
            (0..50).map(|n| (n, n)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn insertion_deletion_and_both() {
        assert_eq!(
            matching(&[1, 2, 3], &[1, 9, 2, 3]),
            [(0, 0), (1, 2), (2, 3)]
        );
        assert_eq!(
            matching(&[1, 5, 5, 3], &[1, 5, 3]),
            [(0, 0), (1, 1), (3, 2)]
        );
        assert_eq!(matching(&[1, 4, 3], &[1, 6, 3]), [(0, 0), (2, 2)]);
        assert_eq!(matching(&[], &[1]), []);
    }

    #[test]
    fn pairs_are_equal_and_ascending_on_random_sequences() {
        let mut state = 7u64;
        let mut random = move |bound: u64| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) % bound
        };
        for round in 0..300 {
            let alphabet = 1 + round % 12;
            let a: Vec<u64> = (0..random(40)).map(|_| random(alphabet)).collect();
            let b: Vec<u64> = (0..random(40)).map(|_| random(alphabet)).collect();
            let pairs = matching(&a, &b);
            assert!(pairs.iter().all(|&(i, j)| a[i] == b[j]));
            assert!(pairs.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1));
        }
    }

    #[test]
    fn large_monotonous_sequences_end() {
        let a: Vec<u64> = (0..20_000).map(|n| n % 3).collect();
        let mut b = a.clone();
        b.insert(10_000, 77);
        let pairs = matching(&a, &b);
        assert_eq!(pairs.len(), 20_000);
    }
}
