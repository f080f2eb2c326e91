//! Two streams side by side, with the differing part marked.

use crate::{escape, view};
use similar::{Algorithm, DiffOp};
use std::time::{Duration, Instant};

/// A piece of a line in printable form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub marked: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    Same(Vec<Span>),
    /// None: the other side has a line that this one has not.
    Different {
        base: Option<Vec<Span>>,
        head: Option<Vec<Span>>,
    },
    /// So many equal lines are left out.
    Skipped(usize),
    /// So many rows are left out at the end, equal or not.
    Cut(usize),
}

/// How much to show.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// Equal lines around each difference.
    pub context: usize,
    pub rows: usize,
    /// Characters of a line.
    pub width: usize,
}

/// Rows for two streams. Empty if the streams are equal.
pub fn rows(base: &[u8], head: &[u8], amount: Amount) -> Vec<Row> {
    if base == head {
        return Vec::new();
    }
    let text = view::is_text(base) && view::is_text(head);
    let base = lines(base, text);
    let head = lines(head, text);
    // Long outputs with little in common would take quadratic time.
    let deadline = Some(Instant::now() + Duration::from_millis(500));
    let ops = similar::capture_diff_slices_deadline(Algorithm::Myers, &base, &head, deadline);
    let mut rows = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        match *op {
            DiffOp::Equal { old_index, len, .. } => {
                let before = if at == 0 { 0 } else { amount.context };
                let after = if at + 1 == ops.len() {
                    0
                } else {
                    amount.context
                };
                let same = &base[old_index..old_index + len];
                push_equal(&mut rows, same, before, after, amount.width);
            }
            DiffOp::Delete {
                old_index, old_len, ..
            } => {
                push_pairs(
                    &mut rows,
                    &base[old_index..old_index + old_len],
                    &[],
                    amount.width,
                );
            }
            DiffOp::Insert {
                new_index, new_len, ..
            } => {
                push_pairs(
                    &mut rows,
                    &[],
                    &head[new_index..new_index + new_len],
                    amount.width,
                );
            }
            DiffOp::Replace {
                old_index,
                old_len,
                new_index,
                new_len,
            } => push_pairs(
                &mut rows,
                &base[old_index..old_index + old_len],
                &head[new_index..new_index + new_len],
                amount.width,
            ),
        }
    }
    if rows.len() > amount.rows {
        let cut = rows.len() - amount.rows;
        rows.truncate(amount.rows);
        rows.push(Row::Cut(cut));
    }
    rows
}

/// Lines with their line breaks, so that a missing last one is a difference.
fn lines(bytes: &[u8], text: bool) -> Vec<Vec<u8>> {
    if text {
        return bytes
            .split_inclusive(|&byte| byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
    }
    bytes
        .chunks(16)
        .enumerate()
        .map(|(number, chunk)| {
            let mut row = view::hex_row(number * 16, chunk).into_bytes();
            row.push(b'\n');
            row
        })
        .collect()
}

fn push_equal(rows: &mut Vec<Row>, same: &[Vec<u8>], before: usize, after: usize, width: usize) {
    let show = |bytes: &Vec<u8>| {
        let line = Line::new(bytes);
        Row::Same(line.spans(line.units.len(), 0, false, width))
    };
    // Hiding one line would take as much room as showing it.
    if same.len() <= before + after + 1 {
        rows.extend(same.iter().map(show));
        return;
    }
    rows.extend(same[..before].iter().map(show));
    rows.push(Row::Skipped(same.len() - before - after));
    rows.extend(same[same.len() - after..].iter().map(show));
}

fn push_pairs(rows: &mut Vec<Row>, base: &[Vec<u8>], head: &[Vec<u8>], width: usize) {
    for at in 0..base.len().max(head.len()) {
        rows.push(match (base.get(at), head.get(at)) {
            (Some(base), Some(head)) => {
                let (base, head) = (Line::new(base), Line::new(head));
                let (a, b) = (&base.units, &head.units);
                let prefix = a.iter().zip(b).take_while(|(a, b)| a == b).count();
                let rest = a.len().min(b.len()) - prefix;
                let suffix = a.iter().rev().zip(b.iter().rev()).take(rest);
                let suffix = suffix.take_while(|(a, b)| a == b).count();
                let end = base.ended != head.ended;
                Row::Different {
                    base: Some(base.spans(prefix, suffix, end, width)),
                    head: Some(head.spans(prefix, suffix, end, width)),
                }
            }
            (base, head) => {
                let whole = |bytes: &Vec<u8>| Line::new(bytes).spans(0, 0, true, width);
                Row::Different {
                    base: base.map(whole),
                    head: head.map(whole),
                }
            }
        });
    }
}

/// A line's printable characters, and whether it has its line break.
struct Line {
    units: Vec<String>,
    ended: bool,
}

impl Line {
    fn new(bytes: &[u8]) -> Line {
        let body = bytes.strip_suffix(b"\n");
        let units = escape::units(body.unwrap_or(bytes))
            .map(|unit| unit.text)
            .collect();
        Line {
            units,
            ended: body.is_some(),
        }
    }

    /// All between `prefix` and `suffix` is marked. A missing line break shows as
    /// a sign of its own, marked if `end` says so.
    fn spans(&self, prefix: usize, suffix: usize, end: bool, width: usize) -> Vec<Span> {
        let units = &self.units;
        let room = width.max(8) - usize::from(!self.ended);
        // A long common start is shortened, so that the marked part is in view.
        let long = units.len() > room && prefix < units.len();
        let skip = if long {
            prefix.saturating_sub(room / 4)
        } else {
            0
        };
        let stop = (skip + room).min(units.len());
        let mut out = Vec::new();
        let mut push = |from: usize, to: usize, marked: bool| {
            let (from, to) = (from.max(skip), to.min(stop));
            if from < to {
                out.push(Span {
                    text: units[from..to].concat(),
                    marked,
                });
            }
        };
        push(0, prefix, false);
        push(prefix, units.len() - suffix, true);
        push(units.len() - suffix, units.len(), false);
        if skip > 0 {
            out.insert(
                0,
                Span {
                    text: "…".into(),
                    marked: false,
                },
            );
        }
        if stop < units.len() {
            out.push(Span {
                text: "…".into(),
                marked: false,
            });
        }
        if !self.ended {
            out.push(Span {
                text: "⊣".into(),
                marked: end,
            });
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: Amount = Amount {
        context: 1000,
        rows: 100_000,
        width: 100_000,
    };

    fn span(text: &str, marked: bool) -> Span {
        Span {
            text: text.into(),
            marked,
        }
    }

    #[test]
    fn the_differing_part_of_a_line_is_marked() {
        let rows = rows(b"x\ntotal 12 ok\n", b"x\ntotal 17 ok\n", ALL);
        assert_eq!(rows[0], Row::Same(vec![span("x", false)]));
        let expected = Row::Different {
            base: Some(vec![
                span("total 1", false),
                span("2", true),
                span(" ok", false),
            ]),
            head: Some(vec![
                span("total 1", false),
                span("7", true),
                span(" ok", false),
            ]),
        };
        assert_eq!(rows[1..], [expected]);
    }

    #[test]
    fn a_missing_line_break_shows() {
        let rows = rows(b"a\n", b"a", ALL);
        let expected = Row::Different {
            base: Some(vec![span("a", false)]),
            head: Some(vec![span("a", false), span("⊣", true)]),
        };
        assert_eq!(rows, [expected]);
    }

    #[test]
    fn equal_lines_far_away_are_counted() {
        let same: String = (0..20).map(|n| format!("{n}\n")).collect();
        let amount = Amount {
            context: 2,
            rows: 100,
            width: 80,
        };
        let rows = rows(
            format!("{same}a\n").as_bytes(),
            format!("{same}b\n").as_bytes(),
            amount,
        );
        assert_eq!(rows[0], Row::Skipped(18));
        assert_eq!(rows.len(), 4);
    }

    #[test]
    fn a_long_line_shows_its_differing_part() {
        let long = "a".repeat(500);
        let amount = Amount {
            context: 0,
            rows: 9,
            width: 40,
        };
        let rows = rows(
            format!("{long}X\n").as_bytes(),
            format!("{long}Y\n").as_bytes(),
            amount,
        );
        let Row::Different {
            base: Some(base), ..
        } = &rows[0]
        else {
            panic!("{rows:?}")
        };
        assert!(base.contains(&span("X", true)), "{base:?}");
    }

    proptest! {
        /// Nothing but equal text is ever left out when there is room for all.
        #[test]
        fn both_sides_are_whole(base in "[ab\n]{0,12}", head in "[ab\n]{0,12}") {
            let rows = rows(base.as_bytes(), head.as_bytes(), ALL);
            prop_assert_eq!(rows.is_empty(), base == head);
            if base == head {
                return Ok(());
            }
            let mut sides = [String::new(), String::new()];
            for row in &rows {
                let (left, right) = match row {
                    Row::Same(spans) => (Some(spans), Some(spans)),
                    Row::Different { base, head } => (base.as_ref(), head.as_ref()),
                    other => panic!("{other:?}"),
                };
                for (side, spans) in sides.iter_mut().zip([left, right]) {
                    if let Some(spans) = spans {
                        side.extend(spans.iter().map(|span| span.text.as_str()));
                        if side.ends_with('⊣') { side.pop(); } else { side.push('\n'); }
                    }
                }
            }
            prop_assert_eq!(sides, [base, head]);
        }

        #[test]
        fn any_bytes_give_tame_rows(base: Vec<u8>, head: Vec<u8>) {
            for row in rows(&base, &head, ALL) {
                let (Row::Same(spans) | Row::Different { base: Some(spans), .. }) = row else {
                    continue;
                };
                prop_assert!(!spans.iter().any(|s| s.text.chars().any(escape::is_deceptive)));
            }
        }
    }
}
