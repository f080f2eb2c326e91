//! `junit.xml`: one test case per group of differences.

use crate::escape::{printable_str, visible, xml};
use crate::results::{Difference, Results, Verdict};
use crate::terminal::Style;
use crate::{terminal, wording};

pub fn document(results: &Results) -> String {
    let failures = results.differences.len();
    let errors = usize::from(results.verdict == Verdict::CouldNotRun);
    let inconclusive = usize::from(results.inconclusive.is_some());
    let skipped = results.suspected.len() + inconclusive;
    // A suite without test cases counts as broken in most viewers.
    let tests = (failures + errors + skipped).max(1);
    let seconds = results.stats.seconds;
    let counts = format!(
        "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{seconds:.3}\""
    );
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"changeling\" {counts}>\n\
         <testsuite name=\"{} to {}\" {counts}>\n",
        xml(&printable_str(&results.versions.base.label)),
        xml(&printable_str(&results.versions.head.label))
    );
    for difference in &results.differences {
        push_failure(&mut text, difference, results);
    }
    for suspected in &results.suspected {
        text.push_str(&format!(
            "<testcase classname=\"changeling.suspected\" name=\"{}\"><skipped message=\"{}\"/></testcase>\n",
            xml(&printable_str(&suspected.title)),
            xml(&printable_str(&suspected.reason))
        ));
    }
    if let Some(reason) = &results.inconclusive {
        text.push_str(&format!(
            "<testcase classname=\"changeling\" name=\"search\"><skipped message=\"{}\"/></testcase>\n",
            xml(&printable_str(reason))
        ));
    }
    let verdict = xml(&wording::verdict(results));
    if errors > 0 {
        let lines: Vec<String> = results
            .error
            .iter()
            .flat_map(|error| error.lines())
            .map(visible)
            .collect();
        text.push_str(&format!(
            "<testcase classname=\"changeling\" name=\"run\"><error message=\"{verdict}\">{}</error></testcase>\n",
            xml(&lines.join("\n"))
        ));
    } else if failures + skipped == 0 {
        text.push_str(&format!(
            "<testcase classname=\"changeling\" name=\"{verdict}\"/>\n"
        ));
    }
    text.push_str("</testsuite>\n</testsuites>\n");
    text
}

fn push_failure(text: &mut String, difference: &Difference, results: &Results) {
    let title = xml(&printable_str(&difference.title));
    let place = difference.changes.first().map_or(String::new(), |change| {
        format!(
            " file=\"{}\" line=\"{}\"",
            xml(&printable_str(&wording::user_path(results, &change.file))),
            change.lines.first
        )
    });
    text.push_str(&format!(
        "<testcase classname=\"changeling.{}\" name=\"{} {title}\"{place} time=\"{:.3}\">\
         <failure type=\"{}\" message=\"{title}\">{}</failure></testcase>\n",
        difference.kind.name(),
        xml(&printable_str(&difference.id)),
        difference.seconds,
        difference.kind.name(),
        xml(&terminal::difference(difference, Style::plain(100)))
    ));
}
