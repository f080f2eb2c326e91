//! What ranks or discards flips. Guides are pure: what they know about the
//! programs is theirs, what they learn about the search they are told.

use crate::frontier::Bucket;
use crate::merge::Owner;
use crate::path::TestKind;

/// A side not taken, as a guide sees it.
#[derive(Clone, Copy, Debug)]
pub struct Flip<'a> {
    pub owner: Owner,
    pub kind: TestKind,
    /// Sites in base and head, 0 where the version has no part in it.
    pub sites: [u32; 2],
    /// 0 or 1, or the target block of a switch.
    pub outcome: u64,
    /// A decision that only one version takes lies before it.
    pub after_difference: bool,
    /// The marks that the run reached, by version.
    pub marks: [&'a [u32]; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Smaller is sooner. The bucket may be one that only guides can fill.
    Try { rank: u32, bucket: Option<Bucket> },
    /// No difference can come from there (a sound rule).
    Discard,
    /// Not worth it (not a proof): the verdict can no longer be "equivalent".
    LeaveOut,
}

/// What a run did, for guides that learn.
#[derive(Clone, Copy, Debug)]
pub struct RunFacts<'a> {
    /// One byte per block and version, not 0 if executed.
    pub coverage: [&'a [u8]; 2],
    pub marks: [&'a [u32]; 2],
    pub differs: bool,
}

pub trait Guide: Send {
    fn advise(&mut self, flip: &Flip<'_>) -> Advice;

    fn learn(&mut self, _run: &RunFacts<'_>) {}
}

/// The search without guidance.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoGuide;

impl Guide for NoGuide {
    fn advise(&mut self, _flip: &Flip<'_>) -> Advice {
        Advice::Try {
            rank: 0,
            bucket: None,
        }
    }
}
