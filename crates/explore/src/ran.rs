//! Inputs that were run, and what is remembered of it.

use crate::frontier::Bucket;
use crate::guide::Context;
use crate::manners::Manner;
use crate::parts::Part;
use crate::tree::NodeId;
use changeling_trace::input::Input;
use std::sync::Arc;

/// An input that was run.
pub(crate) struct Ran {
    pub input: Arc<Input>,
    /// Where its pair of paths ends.
    pub end: NodeId,
    pub seen: [u64; 2],
    /// The numbers of the differences that it counts with: what it does, and what sanitizers find.
    pub shows: Vec<u32>,
    /// Whether plain builds ran it too.
    pub checked: bool,
    /// At the end of both paths.
    pub contexts: [Context; 2],
    /// The changes that head entered, in order.
    pub sequence: Vec<u32>,
    /// Where they came furthest.
    pub furthest: [Context; 2],
    pub parting: Option<[u32; 2]>,
    /// The last decision before something that hides what changes did, if anything does.
    pub mask: Option<u32>,
    /// It is right for longer than the run that it was made from.
    pub mended: bool,
    /// So much of a stream was right before that.
    pub right: Option<(u32, u32)>,
    /// The sites of that decision, and of the call around it.
    pub masked_at: [u32; 4],
    /// The same for runs that came to the changes alike.
    pub history: u64,
    pub origin: Option<Bucket>,
    /// How it ended, in head.
    pub manner: Manner,
    /// Head ended with success.
    pub well: bool,
    /// What calls have read of its input, if it is worth varying.
    pub parts: Vec<Part>,
}

impl Ran {
    /// Bytes of all its streams.
    pub fn length(&self) -> usize {
        let streams = self.input.streams.iter();
        streams.map(|stream| stream.bytes.len()).sum()
    }
}
