//! Random inputs that put an exhausted search to the test.
//!
//! "Nothing is left to explore" rests on every trace telling all that its run
//! depended on. An input from outside the search must therefore take a pair of
//! paths that is known already; one that does not shows that something was
//! missed, and then there is no proof. Where something is known to have been missed,
//! more of them may still show a difference, and all of them if they are few.

use crate::frontier::Random;
use changeling_trace::input::Input;

/// How many inputs are tried before "equivalent" is said.
pub const FOR_PROOF: usize = 32;
/// How many are tried where there is no proof.
pub const FOR_LUCK: usize = 256;
/// So many inputs are few.
const FEW: usize = 1024;

/// All inputs within the bound, if they are few: the shortest first.
pub fn every(shape: &Input) -> Option<Vec<Input>> {
    let mut all = vec![shape.clone()];
    for (at, stream) in shape.streams.iter().enumerate() {
        let contents = contents(stream.capacity, FEW / all.len())?;
        let with = |input: &Input| -> Vec<Input> {
            let inputs = contents.iter().map(|bytes| {
                let mut input = input.clone();
                input.streams[at].bytes.clone_from(bytes);
                input
            });
            inputs.collect()
        };
        all = all.iter().flat_map(with).collect();
    }
    for input in &mut all {
        input.normalise();
    }
    Some(all)
}

/// All contents of up to so many bytes, if these are not more than `most`.
fn contents(capacity: usize, most: usize) -> Option<Vec<Vec<u8>>> {
    let mut all = vec![Vec::new()];
    let mut longest: Vec<Vec<u8>> = all.clone();
    for _ in 0..capacity {
        if all.len() + longest.len() * 256 > most {
            return None;
        }
        let longer = |text: &Vec<u8>| {
            let text = text.clone();
            (0..=u8::MAX).map(move |byte| [&text[..], &[byte]].concat())
        };
        longest = longest.iter().flat_map(longer).collect();
        all.extend_from_slice(&longest);
    }
    Some(all)
}

/// Some inputs of random length and contents, and some that differ little from
/// inputs which the search has made.
pub fn inputs(shape: &Input, corpus: &[&Input], seed: u64, count: usize) -> Vec<Input> {
    let mut random = Random::new(seed);
    (0..count)
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
        let first = inputs(&shape, &[&shape], 7, FOR_PROOF);
        assert_eq!(first, inputs(&shape, &[&shape], 7, FOR_PROOF));
        assert_ne!(first, inputs(&shape, &[&shape], 8, FOR_PROOF));
        assert!(first.iter().all(|input| input.streams[0].bytes.len() <= 3));
        let lengths: std::collections::BTreeSet<usize> = first
            .iter()
            .map(|input| input.streams[0].bytes.len())
            .collect();
        assert_eq!(lengths, [0, 1, 2, 3].into());
    }

    #[test]
    fn few_inputs_are_all_tried() {
        let stream = |capacity| Stream {
            kind: StreamKind::Stdin,
            name: String::new(),
            capacity,
            bytes: Vec::new(),
        };
        let count = |capacities: &[usize]| {
            let shape = Input {
                streams: capacities
                    .iter()
                    .map(|capacity| stream(*capacity))
                    .collect(),
                arguments: Vec::new(),
            };
            let all: std::collections::HashSet<Vec<Vec<u8>>> = every(&shape)?
                .into_iter()
                .map(|input| input.streams.into_iter().map(|s| s.bytes).collect())
                .collect();
            Some(all.len())
        };
        assert_eq!(count(&[]), Some(1));
        assert_eq!(count(&[1]), Some(257));
        assert_eq!(count(&[0, 1]), Some(257));
        assert_eq!(count(&[1, 1]), None);
        assert_eq!(count(&[2]), None);
    }
}
