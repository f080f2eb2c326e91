//! Source lines with their marks.

use super::{LineRange, Side};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The lines of one file that are worth showing, ascending; gaps are elided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    pub version: Side,
    /// Relative to the root of the sources.
    pub path: String,
    pub lines: Vec<SourceLine>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLine {
    pub number: u32,
    pub text: String,
    /// Belongs to a change.
    #[serde(default, skip_serializing_if = "is_false")]
    pub changed: bool,
    /// Whether a run executed it; none if the line has no code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered: Option<bool>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl SourceFile {
    /// Keeps the changed lines and `context` lines around each change.
    /// `executable` are the lines with code, `covered` those executed.
    pub fn around_changes(
        version: Side,
        path: &str,
        text: &[u8],
        changed: &[LineRange],
        executable: &BTreeSet<u32>,
        covered: &BTreeSet<u32>,
        context: u32,
    ) -> SourceFile {
        let text = String::from_utf8_lossy(text);
        let near = |line: u32| {
            changed.iter().any(|range| {
                line.saturating_add(context) >= range.first
                    && line <= range.last.saturating_add(context)
            })
        };
        let lines = text
            .lines()
            .zip(1u32..)
            .filter(|(_, number)| near(*number))
            .map(|(line, number)| SourceLine {
                number,
                text: line.to_owned(),
                changed: changed.iter().any(|range| range.contains(number)),
                covered: executable
                    .contains(&number)
                    .then(|| covered.contains(&number)),
            })
            .collect();
        SourceFile {
            version,
            path: path.to_owned(),
            lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_far_from_changes_are_left_out() {
        let text: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let file = SourceFile::around_changes(
            Side::Head,
            "a.c",
            text.as_bytes(),
            &[LineRange::new(5, 6), LineRange::new(15, 15)],
            &BTreeSet::from([5, 6]),
            &BTreeSet::from([5]),
            1,
        );
        let numbers: Vec<u32> = file.lines.iter().map(|line| line.number).collect();
        assert_eq!(numbers, [4, 5, 6, 7, 14, 15, 16]);
        let marks: Vec<_> = file
            .lines
            .iter()
            .map(|line| (line.changed, line.covered))
            .collect();
        assert_eq!(marks[1..3], [(true, Some(true)), (true, Some(false))]);
        assert_eq!(marks[5], (true, None));
    }
}
