//! Numbers that stand for observations, inputs and paths.

use crate::normalise::Normaliser;
use crate::path::Path;
use crate::{End, Observation};
use changeling_trace::input::Input;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// A number that stands for what an observation shows after normalisation.
pub(crate) fn digest(normaliser: &Normaliser, observation: &Observation) -> u64 {
    let mut hasher = DefaultHasher::new();
    if observation.end == End::TimedOut {
        observation.end.hash(&mut hasher);
    } else {
        normaliser.observation(observation).hash(&mut hasher);
    }
    hasher.finish()
}

pub(crate) fn fingerprint(input: &Input) -> u64 {
    let mut hasher = DefaultHasher::new();
    for stream in &input.streams {
        stream.bytes.hash(&mut hasher);
    }
    hasher.finish()
}

pub(crate) fn path_fingerprint(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    for test in &path.tests {
        (test.site, test.outcome).hash(&mut hasher);
    }
    hasher.finish()
}
