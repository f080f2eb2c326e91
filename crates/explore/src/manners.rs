//! In which manner runs end: which are like many others.
//!
//! Most inputs that are put together do little more than earn an error message. What a change does shows
//! where a run came through, and those are few: one run of a rare manner is worth as much as
//! all runs of a common one.

use crate::Observation;
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Number of a manner to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Manner(pub u32);

/// Every manner that was seen.
#[derive(Default)]
pub struct Manners {
    numbers: HashMap<u64, Manner>,
}

/// Bytes of an output that are looked at.
const MOST_BYTES: usize = 4_096;

impl Manners {
    pub fn of(&mut self, observation: &Observation) -> Manner {
        let next = Manner(self.numbers.len() as u32);
        *self.numbers.entry(likeness(observation)).or_insert(next)
    }
}

/// Equal for runs that end alike and say the same things, however often and with whichever
/// numbers.
fn likeness(observation: &Observation) -> u64 {
    let mut hasher = DefaultHasher::new();
    observation.end.hash(&mut hasher);
    for output in [&observation.stdout, &observation.stderr] {
        let seen = &output[..output.len().min(MOST_BYTES)];
        let mut lines: Vec<u64> = seen.split(|byte| *byte == b'\n').map(of_line).collect();
        lines.sort_unstable();
        lines.dedup();
        lines.hash(&mut hasher);
    }
    hasher.finish()
}

fn of_line(line: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut in_number = false;
    for &byte in line {
        let digit = byte.is_ascii_digit();
        if !(digit && in_number) {
            (if digit { b'0' } else { byte }).hash(&mut hasher);
        }
        in_number = digit;
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::nothing_seen;

    fn outcome(stdout: &str) -> Observation {
        Observation {
            stdout: stdout.into(),
            ..nothing_seen()
        }
    }

    #[test]
    fn runs_that_say_the_same_things_are_alike() {
        let mut manners = Manners::default();
        let first = manners.of(&outcome("12\n3\nsyntax error\n"));
        assert_eq!(first, manners.of(&outcome("syntax error\n4\n")));
        assert_ne!(first, manners.of(&outcome("12\n")));
    }
}
