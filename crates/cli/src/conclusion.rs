//! The end of `changeling run`: what is printed, also if it comes before the search has begun.

use crate::config::Said;
use crate::exit::Code;
use crate::progress::{Mode, say};
use crate::recorder::Concluded;
use changeling_build::end_builds;
use changeling_report::directory::OutputDirectory;
use changeling_report::results::{self, Results};
use changeling_report::terminal::{self, Style};
use changeling_report::wording;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// What is printed of the result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Printing {
    Summary,
    Verdict,
    JsonLines,
}

impl Printing {
    /// Whether `--quiet` and `--json-lines` were given goes before what the file says.
    pub fn choose(given: (bool, bool), said: &Said) -> Printing {
        match given {
            (true, _) => Printing::Verdict,
            (_, true) => Printing::JsonLines,
            _ if said.json_lines => Printing::JsonLines,
            _ if said.quiet => Printing::Verdict,
            _ => Printing::Summary,
        }
    }

    pub fn mode(self) -> Mode {
        Mode::choose(self == Printing::Verdict, self == Printing::JsonLines)
    }
}

/// For programs that read along: nothing comes after it.
pub fn print_end(printing: Printing, results: &Results, out: &Path) {
    if printing != Printing::JsonLines {
        return;
    }
    let mut event = serde_json::json!({
        "event": "end",
        "verdict": results.verdict,
        "inconclusive": results.inconclusive,
        "differences": results.differences.len(),
        "stats": results.stats,
        "out": out,
    });
    if let Some(error) = &results.error {
        event["error"] = serde_json::json!(error);
    }
    say(&format!("{event}\n"));
}

pub fn print(printing: Printing, concluded: &Concluded) {
    let (results, out) = (&concluded.results, concluded.out.path());
    if printing == Printing::JsonLines {
        print_end(printing, results, out);
    } else if printing == Printing::Verdict {
        let accepted = match results.accepted.count {
            0 => String::new(),
            _ => format!(
                "; accepted before: {}",
                wording::accepted(&results.accepted)
            ),
        };
        say(&format!("{}{accepted}\n", wording::verdict(results)));
    } else {
        let shown = out.display().to_string();
        let summary = terminal::summary(results, &shown, Style::detect());
        let report = match &concluded.unwritten {
            None => format!("\nreport: {}\n", out.join("report.html").display()),
            Some(_) => String::new(),
        };
        say(&format!("{summary}{report}"));
    }
}

/// What is left behind if the run is stopped before its search begins: builds may take long.
#[derive(Clone)]
pub struct Unbegun(Arc<Mutex<Option<(OutputDirectory, Results, Printing)>>>);

impl Unbegun {
    pub fn new(out: OutputDirectory, results: Results, printing: Printing) -> Unbegun {
        Unbegun(Arc::new(Mutex::new(Some((out, results, printing)))))
    }

    /// From now on it is the search that is stopped.
    pub fn is_over(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Leaves a report and ends everything, if the search has not begun.
    pub fn end(&self) {
        // Held until the end, so that the search does not begin in the meantime.
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((out, mut results, printing)) = place.take() else {
            return;
        };
        end_builds();
        results.stopped = results::Stopped::Interrupted;
        if results.differences.is_empty() {
            results.inconclusive = Some("it was stopped before the search began".into());
        } else {
            results.verdict = results::Verdict::Differences;
        }
        let ended = serde_json::json!({
            "event": "end",
            "stopped": results.stopped,
            "verdict": results.verdict,
            "runs": 0,
        });
        let log = out.log().and_then(|mut log| Ok(log.append(&ended)?));
        let unwritten = log.and(out.write_reports(&results)).err();
        let concluded = Concluded {
            results,
            out,
            unwritten: unwritten.map(|error| error.to_string()),
        };
        print(printing, &concluded);
        std::process::exit(match &concluded.unwritten {
            None => concluded.results.exit_code().into(),
            Some(what) => {
                eprintln!("error: {what}");
                Code::UNWRITTEN.0.into()
            }
        });
    }
}
