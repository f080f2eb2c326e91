//! Bytes as lines a person can read.

use crate::escape;
use crate::results::InputView;

/// Whether escapes would be rare enough to read through.
pub fn is_text(bytes: &[u8]) -> bool {
    let mut strange = 0;
    let mut all = 0;
    for unit in escape::units(bytes) {
        all += 1;
        strange += usize::from(unit.text.len() > 2 && unit.text.starts_with('\\'));
    }
    strange * 4 <= all || strange <= 2
}

/// On one line: printable text with escapes, cut after `limit` characters.
pub fn line(bytes: &[u8], limit: usize) -> String {
    let mut out = String::new();
    let mut width = 0;
    let mut done = 0;
    for unit in escape::units(bytes) {
        let more = unit.text.chars().count();
        if width + more > limit {
            out.push_str(&format!("… ({} bytes in all)", bytes.len()));
            return out;
        }
        width += more;
        done += unit.length;
        out.push_str(&unit.text);
    }
    debug_assert_eq!(done, bytes.len());
    out
}

/// How an input is shown: quoted text on one line, or a hexdump.
pub fn input(bytes: &[u8], limit: usize) -> Vec<String> {
    if bytes.is_empty() {
        return vec!["(empty)".into()];
    }
    if is_text(bytes) {
        return vec![format!("\"{}\"", line(bytes, limit))];
    }
    hexdump(bytes, limit.div_ceil(5).max(4))
}

/// All streams of an input on one line, each with its name.
pub fn inline(input: &InputView) -> String {
    let streams = input.streams.iter().map(|stream| {
        let label = escape::printable_str(&stream.label);
        format!("{label} \"{}\"", line(&stream.bytes, 80))
    });
    streams.collect::<Vec<_>>().join(", ")
}

/// Offset, sixteen bytes, the printable ones once more.
pub fn hexdump(bytes: &[u8], max_rows: usize) -> Vec<String> {
    let mut rows: Vec<String> = bytes
        .chunks(16)
        .take(max_rows)
        .enumerate()
        .map(|(number, chunk)| hex_row(number * 16, chunk))
        .collect();
    if bytes.len() > max_rows * 16 {
        rows.push(format!("… ({} bytes in all)", bytes.len()));
    }
    rows
}

pub(crate) fn hex_row(offset: usize, chunk: &[u8]) -> String {
    let mut hex = String::new();
    for (at, byte) in chunk.iter().enumerate() {
        hex.push_str(&format!("{byte:02x} "));
        if at == 7 {
            hex.push(' ');
        }
    }
    let text: String = chunk
        .iter()
        .map(|&byte| {
            if (b' '..=b'~').contains(&byte) {
                byte as char
            } else {
                '.'
            }
        })
        .collect();
    format!("{offset:06x}  {hex:<49} {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text_and_binary_becomes_a_dump() {
        assert_eq!(input(b"a\n\xff", 80), ["\"a\\n\\xff\""]);
        assert_eq!(input(b"", 80), ["(empty)"]);
        let dump = input(
            &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 65],
            80,
        );
        let first = "000000  00 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f  ................";
        assert_eq!(dump[0], first);
        assert!(dump[1].starts_with("000010  41 ") && dump[1].ends_with(" A"));
    }

    #[test]
    fn long_lines_say_how_long() {
        assert_eq!(line(b"abcdef", 3), "abc… (6 bytes in all)");
        assert_eq!(line(b"abc", 3), "abc");
    }
}
