//! Makes the input of a difference smaller and simpler while it stays one of the
//! same group.

use changeling_trace::input::Input;

/// Fewer bytes first, then simpler bytes. `keeps` says whether a candidate still
/// shows the difference; at most `tries` candidates are asked about.
pub fn reduce<E>(
    input: &Input,
    tries: usize,
    mut keeps: impl FnMut(&Input) -> Result<bool, E>,
) -> Result<Input, E> {
    let mut reduction = Reduction {
        best: input.clone(),
        left: tries,
        keeps: &mut keeps,
    };
    loop {
        let before = reduction.best.clone();
        for stream in 0..input.streams.len() {
            reduction.shorten(stream)?;
        }
        if reduction.best == before || reduction.left == 0 {
            break;
        }
    }
    for stream in 0..input.streams.len() {
        reduction.simplify(stream)?;
    }
    Ok(reduction.best)
}

pub fn size(input: &Input) -> usize {
    input.streams.iter().map(|stream| stream.bytes.len()).sum()
}

/// A few large steps, to see whether an input is worth more: streams are left out, or their later halves.
pub fn halve<E>(
    input: &Input,
    mut keeps: impl FnMut(&Input) -> Result<bool, E>,
) -> Result<Input, E> {
    let mut reduction = Reduction {
        best: input.clone(),
        left: usize::MAX,
        keeps: &mut keeps,
    };
    for stream in 0..input.streams.len() {
        for kept in [0, reduction.bytes(stream).len() / 2] {
            if kept < reduction.bytes(stream).len() {
                let mut candidate = reduction.best.clone();
                candidate.streams[stream].bytes.truncate(kept);
                reduction.accept(candidate)?;
            }
        }
    }
    Ok(reduction.best)
}

struct Reduction<'a, E> {
    best: Input,
    left: usize,
    keeps: &'a mut dyn FnMut(&Input) -> Result<bool, E>,
}

impl<E> Reduction<'_, E> {
    /// Leaves out ever smaller pieces, from the end to the front: what comes
    /// late is most often without effect.
    fn shorten(&mut self, stream: usize) -> Result<(), E> {
        let mut size = self.bytes(stream).len();
        while size > 0 {
            let mut end = self.bytes(stream).len();
            while end > 0 {
                let start = end.saturating_sub(size);
                let mut candidate = self.best.clone();
                candidate.streams[stream].bytes.drain(start..end);
                self.accept(candidate)?;
                end = start;
            }
            size /= 2;
        }
        Ok(())
    }

    fn simplify(&mut self, stream: usize) -> Result<(), E> {
        for at in 0..self.bytes(stream).len() {
            for &simple in SIMPLE {
                let current = self.bytes(stream)[at];
                if rank(simple) >= rank(current) {
                    continue;
                }
                let mut candidate = self.best.clone();
                candidate.streams[stream].bytes[at] = simple;
                if self.accept(candidate)? {
                    break;
                }
            }
        }
        Ok(())
    }

    fn bytes(&self, stream: usize) -> &[u8] {
        &self.best.streams[stream].bytes
    }

    fn accept(&mut self, candidate: Input) -> Result<bool, E> {
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        let kept = (self.keeps)(&candidate)?;
        if kept {
            self.best = candidate;
        }
        Ok(kept)
    }
}

/// Bytes that a reader takes for "nothing special", best first.
const SIMPLE: &[u8] = b"0a \n";

fn rank(byte: u8) -> usize {
    let known = SIMPLE.iter().position(|&simple| simple == byte);
    known.unwrap_or(match byte {
        b'!'..=b'~' => SIMPLE.len(),
        _ => SIMPLE.len() + 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use changeling_trace::input::{Stream, StreamKind};
    use std::convert::Infallible;

    fn stdin(bytes: &[u8]) -> Input {
        let stream = Stream {
            kind: StreamKind::Stdin,
            name: String::new(),
            capacity: 64,
            bytes: bytes.to_vec(),
        };
        Input {
            streams: vec![stream],
            arguments: Vec::new(),
        }
    }

    fn reduced(bytes: &[u8], tries: usize, keeps: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        let result = reduce(&stdin(bytes), tries, |candidate| {
            Ok::<bool, Infallible>(keeps(&candidate.streams[0].bytes))
        });
        result.unwrap().streams[0].bytes.clone()
    }

    #[test]
    fn only_what_matters_is_left() {
        let needs = |bytes: &[u8]| bytes.contains(&b'[') && bytes.ends_with(b"*");
        assert_eq!(reduced(b"abc[def{ghi<jkl*", 1000, needs), b"[*");
    }

    #[test]
    fn bytes_become_simple_where_they_may() {
        let needs = |bytes: &[u8]| bytes.len() == 3 && bytes[1] == 0xff;
        assert_eq!(reduced(&[7, 0xff, b'x'], 1000, needs), [b'0', 0xff, b'0']);
    }

    #[test]
    fn the_number_of_tries_is_kept() {
        let mut asked = 0;
        let result = reduce(&stdin(&[b'x'; 60]), 10, |_| {
            asked += 1;
            Ok::<bool, Infallible>(false)
        });
        assert_eq!(result.unwrap(), stdin(&[b'x'; 60]));
        assert_eq!(asked, 10);
    }
}
