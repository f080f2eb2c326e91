//! Random inputs that put an exhausted search to the test.
//!
//! "Nothing is left to explore" rests on every trace telling all that its run
//! depended on. An input from outside the search must therefore take a pair of
//! paths that is known already; one that does not shows that something was
//! missed, and then there is no proof.

use crate::frontier::Random;
use changeling_trace::input::Input;

/// How many inputs are tried before "equivalent" is said.
const PROBES: usize = 32;

/// Some inputs of random length and contents, and some that differ little from
/// inputs which the search has made.
pub fn inputs(shape: &Input, corpus: &[&Input], seed: u64) -> Vec<Input> {
    let mut random = Random::new(seed);
    (0..PROBES)
        .map(|number| {
            let near = corpus.get(random.below(corpus.len()));
            let mut input = match near {
                Some(near) if number % 2 == 0 => mutated(near, &mut random),
                _ => anything(shape, &mut random),
            };
            input.normalise();
            input
        })
        .collect()
}

fn anything(shape: &Input, random: &mut Random) -> Input {
    let mut input = shape.clone();
    for stream in &mut input.streams {
        let length = random.below(stream.capacity + 1);
        stream.bytes = (0..length).map(|_| random.draw() as u8).collect();
    }
    input
}

fn mutated(near: &Input, random: &mut Random) -> Input {
    let mut input = near.clone();
    for stream in &mut input.streams {
        if stream.capacity == 0 {
            continue;
        }
        if random.below(3) == 0 {
            let length = random.below(stream.capacity + 1);
            stream.bytes.resize_with(length, || random.draw() as u8);
        }
        if let Some(byte) = pick(&mut stream.bytes, random) {
            *byte = random.draw() as u8;
        }
    }
    input
}

fn pick<'a>(bytes: &'a mut [u8], random: &mut Random) -> Option<&'a mut u8> {
    let at = random.below(bytes.len());
    bytes.get_mut(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use changeling_trace::input::{Stream, StreamKind};

    #[test]
    fn probes_stay_within_the_bound_and_repeat_for_a_seed() {
        let shape = Input {
            streams: vec![Stream {
                kind: StreamKind::Stdin,
                name: String::new(),
                capacity: 3,
                bytes: Vec::new(),
            }],
            arguments: Vec::new(),
        };
        let first = inputs(&shape, &[&shape], 7);
        assert_eq!(first, inputs(&shape, &[&shape], 7));
        assert_ne!(first, inputs(&shape, &[&shape], 8));
        assert!(first.iter().all(|input| input.streams[0].bytes.len() <= 3));
        let lengths: std::collections::BTreeSet<usize> = first
            .iter()
            .map(|input| input.streams[0].bytes.len())
            .collect();
        assert_eq!(lengths, [0, 1, 2, 3].into());
    }
}
