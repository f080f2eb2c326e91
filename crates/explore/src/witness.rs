//! The witness rule: a difference counts only if plain native builds show it,
//! twice.

use crate::difference::{Kind, classify};
use crate::normalise::Normaliser;
use crate::runner::{PairRunner, RunError, Side, Variant};
use crate::{End, Observation};
use changeling_trace::input::Input;

/// What the plain builds say about an input on which the traced ones differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Testimony {
    Confirmed {
        kind: Kind,
        seen: [Observation; 2],
    },
    /// It vanishes when memory that the program should not rely on starts with
    /// other contents.
    Undefined {
        kind: Kind,
        seen: [Observation; 2],
        reason: String,
    },
    /// A version does not agree with itself.
    Unstable {
        side: Side,
        seen: [Observation; 2],
    },
    /// The plain builds do not show it.
    Suspected {
        reason: String,
        seen: [Observation; 2],
    },
}

/// Replays an input until it is clear what its difference is worth.
pub fn hear(
    runner: &mut dyn PairRunner,
    normaliser: &Normaliser,
    input: &Input,
) -> Result<Testimony, RunError> {
    let mut seen = [
        plain(runner, Side::Base, input)?,
        plain(runner, Side::Head, input)?,
    ];
    let at_first = classify(normaliser, &seen[0], &seen[1]);
    for side in Side::BOTH {
        if at_first == Some(Kind::Hang { side }) {
            // Its second run is the one that gets more time.
            continue;
        }
        let again = plain(runner, side, input)?;
        let first = &seen[side.index()];
        if classify(normaliser, first, &again).is_some() {
            return Ok(Testimony::Unstable {
                side,
                seen: [first.clone(), again],
            });
        }
    }
    let Some(mut kind) = at_first else {
        let reason = "the plain builds behave alike".into();
        return Ok(Testimony::Suspected { reason, seen });
    };
    if let Kind::Hang { side } = kind {
        let Some(patient) = runner.replay(side, Variant::Patient, input)? else {
            let reason = "the time limit could not be raised to confirm the hang".into();
            return Ok(Testimony::Suspected { reason, seen });
        };
        if patient.end != End::TimedOut {
            // It was only slow: judge it by what it does in the end, twice.
            let again = runner.replay(side, Variant::Patient, input)?;
            if let Some(again) = again
                && classify(normaliser, &patient, &again).is_some()
            {
                let seen = [patient, again];
                return Ok(Testimony::Unstable { side, seen });
            }
            seen[side.index()] = patient;
            match classify(normaliser, &seen[0], &seen[1]) {
                Some(other) => kind = other,
                None => {
                    let reason = "one version only takes longer than the time limit".into();
                    return Ok(Testimony::Suspected { reason, seen });
                }
            }
        }
    }
    if let Some(reason) = rests_on_memory(runner, normaliser, input)? {
        return Ok(Testimony::Undefined { kind, seen, reason });
    }
    Ok(Testimony::Confirmed { kind, seen })
}

/// Whether both versions still show the same kind of difference; used while an
/// input is made smaller.
pub fn still(
    runner: &mut dyn PairRunner,
    normaliser: &Normaliser,
    input: &Input,
    kind: &Kind,
) -> Result<bool, RunError> {
    if let Kind::Sanitizer { .. } = kind {
        let heard = hear_sanitizers(runner, input)?;
        return Ok(matches!(heard, Some(Sanitized::OnlyOne { kind: found, .. }) if found == *kind));
    }
    if let Kind::Hang { side } = kind {
        // Most inputs make both hang, or neither: one of two slow runs tells the first.
        let other = plain(runner, side.other(), input)?;
        return Ok(other.end != End::TimedOut && plain(runner, *side, input)?.end == End::TimedOut);
    }
    let base = plain(runner, Side::Base, input)?;
    let head = plain(runner, Side::Head, input)?;
    Ok(classify(normaliser, &base, &head).as_ref() == Some(kind))
}

/// What builds with sanitizers say about an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sanitized {
    /// Both versions, or neither, make a sanitizer speak.
    Alike,
    OnlyOne {
        kind: Kind,
        seen: [Observation; 2],
    },
    /// A version makes it speak in one run and not in the next.
    Unstable {
        side: Side,
        seen: [Observation; 2],
    },
}

/// Replays an input on builds with sanitizers, twice if one of them alone finds something; none if there are no such
/// builds.
pub fn hear_sanitizers(
    runner: &mut dyn PairRunner,
    input: &Input,
) -> Result<Option<Sanitized>, RunError> {
    let mut runs = Vec::with_capacity(2);
    for side in Side::BOTH {
        match runner.replay(side, Variant::Sanitized, input)? {
            Some(seen) => runs.push(seen),
            None => return Ok(None),
        }
    }
    let Ok(seen) = <[Observation; 2]>::try_from(runs) else {
        return Ok(None);
    };
    let Some(side) = found_by_one(&seen) else {
        return Ok(Some(Sanitized::Alike));
    };
    for version in Side::BOTH {
        let Some(again) = runner.replay(version, Variant::Sanitized, input)? else {
            return Ok(None);
        };
        let first = &seen[version.index()];
        if finding(first).is_some() != finding(&again).is_some() {
            return Ok(Some(Sanitized::Unstable {
                side: version,
                seen: [first.clone(), again],
            }));
        }
    }
    let kind = Kind::Sanitizer { side };
    Ok(Some(Sanitized::OnlyOne { kind, seen }))
}

/// The version in which a sanitizer found something, if it did so in one only.
fn found_by_one(seen: &[Observation; 2]) -> Option<Side> {
    match seen.each_ref().map(finding) {
        [None, Some(_)] => Some(Side::Head),
        [Some(_), None] => Some(Side::Base),
        _ => None,
    }
}

/// The line in which a sanitizer says what it found.
pub fn finding(observation: &Observation) -> Option<String> {
    let text = String::from_utf8_lossy(&observation.stderr);
    let line = text.lines().find(|line| {
        line.contains(": runtime error: ")
            || (line.contains("ERROR: ") && line.contains("Sanitizer"))
            || (line.contains("WARNING: ") && line.contains("Sanitizer"))
    })?;
    Some(line.to_owned())
}

/// Whether what a version does depends on what is in memory that it has not written.
pub fn reads_unwritten(
    runner: &mut dyn PairRunner,
    normaliser: &Normaliser,
    side: Side,
    input: &Input,
) -> Result<bool, RunError> {
    let zeros = runner.replay(side, Variant::Zeroed, input)?;
    let pattern = runner.replay(side, Variant::Patterned, input)?;
    Ok(match (zeros, pattern) {
        (Some(zeros), Some(pattern)) => classify(normaliser, &zeros, &pattern).is_some(),
        _ => false,
    })
}

fn rests_on_memory(
    runner: &mut dyn PairRunner,
    normaliser: &Normaliser,
    input: &Input,
) -> Result<Option<String>, RunError> {
    let fillings = [
        (Variant::Zeroed, "zeros"),
        (Variant::Patterned, "a pattern"),
    ];
    for (variant, name) in fillings {
        let (Some(base), Some(head)) = (
            runner.replay(Side::Base, variant, input)?,
            runner.replay(Side::Head, variant, input)?,
        ) else {
            continue;
        };
        if classify(normaliser, &base, &head).is_none() {
            return Ok(Some(format!(
                "vanishes when uninitialised memory is filled with {name}"
            )));
        }
    }
    Ok(None)
}

fn plain(runner: &mut dyn PairRunner, side: Side, input: &Input) -> Result<Observation, RunError> {
    runner
        .replay(side, Variant::Plain, input)?
        .ok_or_else(|| RunError {
            message: "there is no plain build to replay a difference on".into(),
        })
}
