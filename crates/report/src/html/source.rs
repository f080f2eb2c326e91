//! Source files with changed and covered lines marked.

use super::{printable, shown};
use crate::results::{Results, Side, SourceFile};
use crate::wording;

/// Files beyond this many stay closed, so that the page stays short.
const OPEN: usize = 4;

pub(super) fn files(results: &Results) -> String {
    let mut out = String::new();
    let mut open = 0;
    for (number, file) in results.sources.iter().enumerate() {
        // Base is there to look up; head is what is read.
        let shown = file.version == Side::Head && open < OPEN;
        open += usize::from(shown);
        push_file(&mut out, number, file, shown);
    }
    out
}

/// Where a line of head is, if it is on the page.
pub(super) fn anchor(results: &Results, file: &str, line: u32) -> Option<String> {
    let number = results
        .sources
        .iter()
        .position(|source| source.version == Side::Head && source.path == file)?;
    let lines = &results.sources[number].lines;
    lines
        .iter()
        .any(|found| found.number == line)
        .then(|| id(number, line))
}

fn id(file: usize, line: u32) -> String {
    format!("source-{file}-{line}")
}

fn push_file(out: &mut String, number: usize, file: &SourceFile, open: bool) {
    let side = file.version.name();
    let changed = file.lines.iter().filter(|line| line.changed).count() as u64;
    let open = if open { " open" } else { "" };
    out.push_str(&format!(
        "<details class=\"source of-{side}\"{open}><summary><b class=\"is-{side}\">{side}</b> \
         <code>{}</code><span class=\"number\">{}</span></summary><table>\n",
        printable(&file.path),
        wording::count(changed, "changed line")
    ));
    let mut next = file.lines.first().map_or(1, |line| line.number);
    for line in &file.lines {
        if line.number > next {
            let hidden = wording::count(u64::from(line.number - next), "line");
            out.push_str(&format!(
                "<tr class=\"gap\"><td colspan=\"3\">{hidden}</td></tr>\n"
            ));
        }
        next = line.number.saturating_add(1);
        let changed = if line.changed { " changed" } else { "" };
        let (covered, mark, title) = match line.covered {
            Some(true) => (" yes", "✓", " title=\"executed\""),
            Some(false) => (" no", "✗", " title=\"not executed\""),
            None => ("", "", ""),
        };
        out.push_str(&format!(
            "<tr id=\"{}\" class=\"line{changed}{covered}\"><td class=\"n\">{}</td>\
             <td class=\"m\"{title}>{mark}</td><td class=\"t\">{}</td></tr>\n",
            id(number, line.number),
            line.number,
            shown(&line.text)
        ));
    }
    out.push_str("</table></details>\n");
}
