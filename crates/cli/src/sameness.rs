//! Which differences a reader would call the same thing.

use changeling_report::results::{Difference, Outcome};

/// The same small input, or the same changes entered with the same outcome on
/// both sides, whatever the numbers in it: where exactly the paths part then
/// tells a reader nothing new.
pub fn is_same(one: &Difference, other: &Difference) -> bool {
    one.kind == other.kind
        && (one.input == other.input
            || !one.changes.is_empty()
                && numbers_of_changes(one) == numbers_of_changes(other)
                && is_alike(&one.base, &other.base)
                && is_alike(&one.head, &other.head))
}

fn numbers_of_changes(difference: &Difference) -> Vec<u32> {
    difference.changes.iter().map(|change| change.id).collect()
}

fn is_alike(one: &Outcome, other: &Outcome) -> bool {
    one.end == other.end && one.finding == other.finding && texts(one) == texts(other)
}

/// Everything that was written, by name.
fn texts(outcome: &Outcome) -> Vec<(&str, Vec<u8>)> {
    let streams = [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)];
    let files = outcome
        .files
        .iter()
        .map(|file| (file.name.as_str(), &file.bytes));
    let written = streams
        .into_iter()
        .chain(files)
        .map(|(name, bytes)| (name, without_numbers(&bytes.0)));
    let observed = outcome.observed.iter().map(|observed| {
        let value = without_numbers(observed.value.as_bytes());
        (observed.name.as_str(), value)
    });
    written.chain(observed).collect()
}

/// Each number as one mark.
fn without_numbers(text: &[u8]) -> Vec<u8> {
    let mut shape = Vec::with_capacity(text.len());
    let mut in_number = false;
    for &byte in text {
        let is_digit = byte.is_ascii_digit();
        if !is_digit {
            shape.push(byte);
        } else if !in_number {
            shape.push(b'0');
        }
        in_number = is_digit;
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;
    use changeling_report::results::{Bytes, End};

    fn outcome(stdout: &str, code: i32) -> Outcome {
        Outcome {
            stdout: Bytes(stdout.into()),
            end: End::Exit(code),
            ..Outcome::default()
        }
    }

    #[test]
    fn outcomes_are_alike_up_to_numbers() {
        let total = outcome("total 17\n", 0);
        assert!(is_alike(&total, &outcome("total 4\n", 0)));
        assert!(!is_alike(&total, &outcome("total 4 4\n", 0)));
        assert!(!is_alike(&total, &outcome("sum 17\n", 0)));
        assert!(!is_alike(&total, &outcome("total 17\n", 1)));
    }
}
