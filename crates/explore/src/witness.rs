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
    for side in Side::BOTH {
        let again = plain(runner, side, input)?;
        let first = &seen[side.index()];
        if classify(normaliser, first, &again).is_some() {
            return Ok(Testimony::Unstable {
                side,
                seen: [first.clone(), again],
            });
        }
    }
    let Some(mut kind) = classify(normaliser, &seen[0], &seen[1]) else {
        let reason = "the plain builds behave alike".into();
        return Ok(Testimony::Suspected { reason, seen });
    };
    if let Kind::Hang { side } = kind {
        let Some(patient) = runner.replay(side, Variant::Patient, input)? else {
            let reason = "the time limit could not be raised to confirm the hang".into();
            return Ok(Testimony::Suspected { reason, seen });
        };
        if patient.end != End::TimedOut {
            // It was only slow: judge it by what it does in the end.
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
        return Ok(sanitizer(runner, input)?.is_some_and(|(found, _)| found == *kind));
    }
    let base = plain(runner, Side::Base, input)?;
    let head = plain(runner, Side::Head, input)?;
    Ok(classify(normaliser, &base, &head).as_ref() == Some(kind))
}

/// A sanitizer finding in one version only, if there are such builds.
pub fn sanitizer(
    runner: &mut dyn PairRunner,
    input: &Input,
) -> Result<Option<(Kind, [Observation; 2])>, RunError> {
    let Some(base) = runner.replay(Side::Base, Variant::Sanitized, input)? else {
        return Ok(None);
    };
    let Some(head) = runner.replay(Side::Head, Variant::Sanitized, input)? else {
        return Ok(None);
    };
    let side = match (finding(&base), finding(&head)) {
        (None, Some(_)) => Side::Head,
        (Some(_), None) => Side::Base,
        _ => return Ok(None),
    };
    Ok(Some((Kind::Sanitizer { side }, [base, head])))
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
