//! How near the runs come to what is aimed at.

use std::sync::{Arc, Mutex, PoisonError};

/// How near the runs of a search came to its target, to be read beside it.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<Step>>>);

/// A run that came nearer than those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub run: u64,
    /// Goals that were left, the target included.
    pub left: u32,
}

impl Log {
    pub fn steps(&self) -> Vec<Step> {
        let steps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        steps.clone()
    }

    /// Adds a run if it came nearer.
    pub fn note(&self, step: Step) {
        let mut steps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if steps.last().is_none_or(|last| step.left < last.left) {
            steps.push(step);
        }
    }
}
