//! What a run put out, with the parts that depend on the input as expressions,
//! and the question whether two runs' outputs can differ.

use crate::normalise::Normaliser;
use crate::number::{self, Format};
use crate::runner::TracedRun;
use crate::terms::{self, TermError};
use changeling_solver::{Arena, Expr, ImportMap};
use changeling_trace::layout::run_flags;
use changeling_trace::{Event, EventKind};
use std::collections::{BTreeMap, BTreeSet};

/// The pieces of all streams of output. On other inputs that take the same path
/// texts stay as they are and expressions get other values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    streams: BTreeMap<Channel, Vec<Piece>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Channel {
    Descriptor(u8),
    Observed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    /// Distance to the next expression in a stream whose text is compared
    /// elsewhere (files).
    Skip(i64),
    Byte {
        value: Expr,
        concrete: u64,
    },
    Number {
        format: Format,
        value: Expr,
        concrete: u64,
        text: Vec<u8>,
    },
    /// `observe(name, value)`
    Observed {
        name: Vec<u8>,
        value: Expr,
        concrete: u64,
    },
}

/// Reads the output events of a run. The flag says that output was seen which
/// the trace does not account for.
pub fn read(
    arena: &mut Arena,
    run: &TracedRun<'_>,
    imported: &ImportMap,
) -> Result<(Output, bool), TermError> {
    let mut streams: BTreeMap<Channel, Vec<Piece>> = BTreeMap::new();
    let mut untracked = escaped(run);
    for descriptor in [1u8, 2] {
        let captured = captured(run, descriptor).unwrap_or_default();
        let (pieces, consistent) = text_stream(arena, run, imported, descriptor, captured);
        untracked |= !consistent;
        streams.insert(Channel::Descriptor(descriptor), pieces);
    }
    for (index, event) in run.trace.events.iter().enumerate() {
        let Some(expression) = imported.get(event.label) else {
            if event.kind == EventKind::Observe as u8 {
                let value = arena.constant(64, event.value)?;
                observe(&mut streams, run, event, value);
            }
            continue;
        };
        match EventKind::from_u8(event.kind) {
            Some(EventKind::Observe) => observe(&mut streams, run, event, expression),
            Some(EventKind::OutputByte | EventKind::OutputValue) if event.flags > 2 => {
                let pieces = streams.entry(Channel::Descriptor(event.flags)).or_default();
                pieces.push(Piece::Skip(event.value as i64));
                pieces.push(if event.kind == EventKind::OutputByte as u8 {
                    byte_piece(run, index, expression)
                } else {
                    number_piece(run, index, expression, Vec::new())
                });
            }
            _ => {}
        }
    }
    relative_skips(&mut streams);
    Ok((Output { streams }, untracked))
}

fn observe(
    streams: &mut BTreeMap<Channel, Vec<Piece>>,
    run: &TracedRun<'_>,
    event: &Event,
    value: Expr,
) {
    let name = string(run.trace.strings, event.aux).to_vec();
    let piece = Piece::Observed {
        name,
        value,
        concrete: event.value,
    };
    streams.entry(Channel::Observed).or_default().push(piece);
}

/// Offsets depend on how long numbers print; distances less so.
fn relative_skips(streams: &mut BTreeMap<Channel, Vec<Piece>>) {
    for pieces in streams.values_mut() {
        let mut end = 0i64;
        let mut offset = 0i64;
        for piece in pieces {
            match piece {
                Piece::Skip(at) => {
                    offset = *at;
                    *at -= end;
                }
                Piece::Byte { .. } => end = offset + 1,
                Piece::Number { text, .. } => end = offset + text.len() as i64,
                Piece::Text(_) | Piece::Observed { .. } => {}
            }
        }
    }
}

fn captured<'a>(run: &'a TracedRun<'_>, descriptor: u8) -> Option<&'a [u8]> {
    match descriptor {
        1 => Some(&run.observation.stdout),
        2 => Some(&run.observation.stderr),
        _ => None,
    }
}

/// Whether more was captured than the traced program is known to have written.
/// A program that is killed may lose what it had buffered, so less is no sign.
fn escaped(run: &TracedRun<'_>) -> bool {
    let finished = run.trace.run_flags & run_flags::FINISHED != 0;
    let mapped = run.trace.run_flags & run_flags::MAPPED != 0;
    let escaped = [1u8, 2].into_iter().any(|descriptor| {
        let known = run.trace.output_totals[usize::from(descriptor)];
        let seen = captured(run, descriptor).unwrap_or_default().len() as u64;
        !run.observation.truncated && (seen > known || finished && seen < known)
    });
    mapped || escaped
}

fn text_stream(
    arena: &Arena,
    run: &TracedRun<'_>,
    imported: &ImportMap,
    descriptor: u8,
    captured: &[u8],
) -> (Vec<Piece>, bool) {
    let mut symbolic: Vec<(usize, usize)> = Vec::new();
    for (index, event) in run.trace.events.iter().enumerate() {
        let is_output =
            event.kind == EventKind::OutputByte as u8 || event.kind == EventKind::OutputValue as u8;
        let offset = usize::try_from(event.value).unwrap_or(usize::MAX);
        let constant = imported
            .get(event.label)
            .is_none_or(|e| arena.constant_value(e).is_some());
        if is_output && event.flags == descriptor && offset < captured.len() && !constant {
            symbolic.push((offset, index));
        }
    }
    symbolic.sort_unstable();
    let mut pieces = Vec::new();
    let mut consistent = true;
    let mut position = 0;
    for (offset, index) in symbolic {
        let event = &run.trace.events[index];
        let Some(expression) = imported.get(event.label) else {
            continue;
        };
        if offset < position {
            consistent = false;
            continue;
        }
        if offset > position {
            pieces.push(Piece::Text(captured[position..offset].to_vec()));
        }
        if event.kind == EventKind::OutputByte as u8 {
            let value = run.trace.nodes[event.label as usize].value;
            consistent &= captured[offset] == value as u8;
            pieces.push(byte_piece(run, index, expression));
            position = offset + 1;
        } else {
            let length = extent(run, index).min(captured.len() - offset);
            let text = captured[offset..offset + length].to_vec();
            pieces.push(number_piece(run, index, expression, text));
            position = offset + length;
        }
    }
    if position < captured.len() {
        pieces.push(Piece::Text(captured[position..].to_vec()));
    }
    (pieces, consistent)
}

/// The printed length is in the event behind a number's.
fn extent(run: &TracedRun<'_>, index: usize) -> usize {
    match run.trace.events.get(index + 1) {
        Some(next) if next.kind == EventKind::OutputExtent as u8 => next.aux as usize,
        _ => 0,
    }
}

fn byte_piece(run: &TracedRun<'_>, index: usize, value: Expr) -> Piece {
    let event = &run.trace.events[index];
    Piece::Byte {
        value,
        concrete: run.trace.nodes[event.label as usize].value,
    }
}

fn number_piece(run: &TracedRun<'_>, index: usize, value: Expr, text: Vec<u8>) -> Piece {
    let event = &run.trace.events[index];
    let format = Format::parse(string(run.trace.strings, event.aux));
    let concrete = run.trace.nodes[event.label as usize].value;
    Piece::Number {
        format,
        value,
        concrete,
        text,
    }
}

fn string(strings: &[u8], offset: u32) -> &[u8] {
    let text = strings.get(offset as usize..).unwrap_or_default();
    let end = text
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(text.len());
    &text[..end]
}

/// What can be said about the outputs of two runs whose texts are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Holds for every input on which the outputs differ, and for some on which
    /// they do not: different values can print alike, and outputs that do not
    /// match piece by piece can still be the same text. None: never.
    pub differ: Option<Expr>,
    /// False if the outputs could not be matched piece by piece.
    pub matched: bool,
}

/// Compares two outputs piece by piece, over all inputs that take both paths.
pub fn compare(
    arena: &mut Arena,
    normaliser: &Normaliser,
    base: &Output,
    head: &Output,
) -> Result<Comparison, TermError> {
    let mut differences = Vec::new();
    let mut matched = true;
    let channels: BTreeSet<Channel> = base
        .streams
        .keys()
        .chain(head.streams.keys())
        .copied()
        .collect();
    for channel in channels {
        let base = base
            .streams
            .get(&channel)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let head = head
            .streams
            .get(&channel)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let (base, head) = level(normaliser, base, head);
        if !streams(arena, &base, &head, &mut differences)? {
            // As long as no value changes, the texts stay as equal as they are.
            matched = false;
            for piece in base.iter().chain(&head) {
                differences.extend(changed(arena, piece)?);
            }
        }
    }
    Ok(Comparison {
        differ: either(arena, differences)?,
        matched,
    })
}

/// Holds for every input on which some value that is put out is not what it is
/// in these two runs.
pub fn moved(arena: &mut Arena, base: &Output, head: &Output) -> Result<Option<Expr>, TermError> {
    let mut changes = Vec::new();
    for piece in base.streams.values().chain(head.streams.values()).flatten() {
        changes.extend(changed(arena, piece)?);
    }
    either(arena, changes)
}

fn either(arena: &mut Arena, mut conditions: Vec<Expr>) -> Result<Option<Expr>, TermError> {
    conditions.sort_unstable();
    conditions.dedup();
    let either = arena.any(&conditions)?;
    Ok((arena.truth(either) != Some(false)).then_some(either))
}

fn changed(arena: &mut Arena, piece: &Piece) -> Result<Option<Expr>, TermError> {
    match piece {
        Piece::Byte { value, concrete }
        | Piece::Number {
            value, concrete, ..
        }
        | Piece::Observed {
            value, concrete, ..
        } => {
            let same = terms::equals(arena, *value, *concrete)?;
            Ok(Some(arena.not(same)))
        }
        Piece::Text(_) | Piece::Skip(_) => Ok(None),
    }
}

/// Texts that differ only in what normalisation removes become equal, if the
/// streams have the same form. What the user's own rules hide is left alone:
/// they may look at more than one piece.
fn level(normaliser: &Normaliser, base: &[Piece], head: &[Piece]) -> (Vec<Piece>, Vec<Piece>) {
    let (mut base, mut head) = (base.to_vec(), head.to_vec());
    if base == head || base.len() != head.len() {
        return (base, head);
    }
    let whole = base
        .iter()
        .chain(&head)
        .all(|piece| matches!(piece, Piece::Text(_)));
    for (a, b) in base.iter_mut().zip(&mut head) {
        if let (Piece::Text(a), Piece::Text(b)) = (a, b)
            && a != b
            && (whole || !normaliser.has_user_rules())
            && normaliser.text(a) == normaliser.text(b)
        {
            b.clone_from(a);
        }
    }
    (base, head)
}

/// Collects the conditions under which two streams differ; false if they do not
/// fit together.
fn streams(
    arena: &mut Arena,
    base: &[Piece],
    head: &[Piece],
    differences: &mut Vec<Expr>,
) -> Result<bool, TermError> {
    let mut base = Cursor::new(base);
    let mut head = Cursor::new(head);
    loop {
        let (a, b) = match (base.peek(), head.peek()) {
            (None, None) => return Ok(true),
            (Some(a), Some(b)) => (a, b),
            _ => return Ok(false),
        };
        match (a, b) {
            (View::Text(a), View::Text(b)) => {
                let length = a.len().min(b.len());
                if a[..length] != b[..length] {
                    return Ok(false);
                }
                base.advance(length);
                head.advance(length);
            }
            (View::Piece(a), View::Piece(b)) => {
                if !pieces(arena, a, b, differences)? {
                    return Ok(false);
                }
                base.advance(0);
                head.advance(0);
            }
            (View::Piece(piece), View::Text(text)) => {
                let Some(length) = against_text(arena, piece, text, differences)? else {
                    return Ok(false);
                };
                base.advance(0);
                head.advance(length);
            }
            (View::Text(text), View::Piece(piece)) => {
                let Some(length) = against_text(arena, piece, text, differences)? else {
                    return Ok(false);
                };
                base.advance(length);
                head.advance(0);
            }
        }
    }
}

fn pieces(
    arena: &mut Arena,
    base: &Piece,
    head: &Piece,
    differences: &mut Vec<Expr>,
) -> Result<bool, TermError> {
    match (base, head) {
        (Piece::Skip(a), Piece::Skip(b)) => Ok(a == b),
        (Piece::Byte { value: a, .. }, Piece::Byte { value: b, .. }) => {
            differences.push(terms::differ(arena, *a, *b)?);
            Ok(true)
        }
        (
            Piece::Number {
                format: f,
                value: a,
                ..
            },
            Piece::Number {
                format: g,
                value: b,
                ..
            },
        ) => {
            let Some(differ) = number::differ(arena, (f, *a), (g, *b))? else {
                return Ok(false);
            };
            differences.push(differ);
            Ok(true)
        }
        (
            Piece::Observed {
                name: n, value: a, ..
            },
            Piece::Observed {
                name: m, value: b, ..
            },
        ) => {
            if n != m {
                return Ok(false);
            }
            differences.push(terms::differ_extended(arena, *a, *b)?);
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Compares a symbolic piece with constant text; the length of text it stands
/// for, if it fits.
fn against_text(
    arena: &mut Arena,
    piece: &Piece,
    text: &[u8],
    differences: &mut Vec<Expr>,
) -> Result<Option<usize>, TermError> {
    match piece {
        Piece::Byte { value, .. } => {
            let equal = terms::equals(arena, *value, text[0].into())?;
            differences.push(arena.not(equal));
            Ok(Some(1))
        }
        Piece::Number {
            value,
            concrete,
            text: printed,
            ..
        } if text.starts_with(printed) => {
            let equal = terms::equals(arena, *value, *concrete)?;
            differences.push(arena.not(equal));
            Ok(Some(printed.len()))
        }
        _ => Ok(None),
    }
}

/// A place in a stream, possibly inside a text.
struct Cursor<'a> {
    pieces: &'a [Piece],
    within: usize,
}

enum View<'a> {
    Text(&'a [u8]),
    Piece(&'a Piece),
}

impl<'a> Cursor<'a> {
    fn new(pieces: &'a [Piece]) -> Cursor<'a> {
        Cursor { pieces, within: 0 }
    }

    fn peek(&self) -> Option<View<'a>> {
        self.pieces.first().map(|piece| match piece {
            Piece::Text(text) => View::Text(&text[self.within..]),
            piece => View::Piece(piece),
        })
    }

    fn advance(&mut self, length: usize) {
        self.within += length;
        let at_end = match self.pieces.first() {
            Some(Piece::Text(text)) => self.within == text.len(),
            _ => true,
        };
        if at_end {
            self.pieces = &self.pieces[1..];
            self.within = 0;
        }
    }
}
