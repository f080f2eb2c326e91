//! What a user sees while the search runs.

use changeling_explore::outcome::Progress;
use changeling_report::{terminal, wording};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How much is said, and to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A line that is written over, on a terminal.
    Live,
    /// One JSON object per line on standard output.
    JsonLines,
    Silent,
}

impl Mode {
    pub fn choose(quiet: bool, json_lines: bool) -> Mode {
        if json_lines {
            Mode::JsonLines
        } else if quiet || !std::io::stderr().is_terminal() {
            Mode::Silent
        } else {
            Mode::Live
        }
    }
}

/// On standard output. A reader who has seen enough does not end the search: the report and the exit code are still wanted.
pub fn say(text: &str) {
    let mut output = std::io::stdout().lock();
    let _ = output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush());
}

pub struct Display {
    mode: Mode,
    shown: bool,
    last_line: Option<Instant>,
}

const JSON_PAUSE: Duration = Duration::from_secs(1);

impl Display {
    pub fn new(mode: Mode) -> Display {
        Display {
            mode,
            shown: false,
            last_line: None,
        }
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub fn status(&mut self, text: &str) {
        if self.mode == Mode::Live {
            self.overwrite(text);
        }
    }

    /// Something that takes a while, in the middle of a search.
    pub fn announce(&mut self, text: &str) {
        self.status(text);
        self.event(&serde_json::json!({ "event": "waiting", "for": text }));
    }

    pub fn progress(&mut self, progress: &Progress) {
        match self.mode {
            Mode::Live => self.overwrite(&line(progress, columns())),
            Mode::JsonLines => {
                if self
                    .last_line
                    .is_none_or(|last| last.elapsed() >= JSON_PAUSE)
                {
                    self.last_line = Some(Instant::now());
                    let sample = &progress.sample;
                    self.event(&serde_json::json!({
                        "event": "progress",
                        "seconds": sample.seconds,
                        "runs": sample.runs,
                        "pairs": sample.pairs,
                        "paths": progress.paths,
                        "queries": sample.queries,
                        "differences": sample.differences,
                        "waiting": progress.waiting,
                    }));
                }
            }
            Mode::Silent => {}
        }
    }

    pub fn event(&self, event: &serde_json::Value) {
        if self.mode == Mode::JsonLines {
            say(&format!("{event}\n"));
        }
    }

    /// Leaves the line empty for what comes after.
    pub fn clear(&mut self) {
        if self.shown {
            let _ = std::io::stderr().write_all(b"\r\x1b[K");
            self.shown = false;
        }
    }

    fn overwrite(&mut self, text: &str) {
        self.shown = true;
        let fitting: String = text.chars().take(columns()).collect();
        let _ = std::io::stderr().write_all(format!("\r\x1b[K{fitting}").as_bytes());
    }
}

/// Room for a line that is written over: one that wraps cannot be.
fn columns() -> usize {
    terminal::error_columns().map_or(usize::MAX, |columns| columns.saturating_sub(1).max(1))
}

/// As much of it as fits, the most important first.
fn line(progress: &Progress, columns: usize) -> String {
    let sample = &progress.sample;
    let parts = [
        wording::duration(sample.seconds),
        format!(
            "{} ({:.0}/s)",
            wording::count(sample.runs, "run"),
            progress.runs_per_second
        ),
        wording::count(sample.differences, "difference"),
        wording::pairs(sample.pairs),
        wording::plural(sample.queries, "query", "queries"),
        format!("{} waiting", wording::grouped(progress.waiting)),
    ];
    let mut text = String::new();
    for part in parts {
        let gap = if text.is_empty() { "" } else { "  " };
        if text.len() + gap.len() + part.len() > columns {
            break;
        }
        text = text + gap + &part;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use changeling_explore::outcome::Sample;

    #[test]
    fn the_line_fits_the_terminal() {
        let progress = Progress {
            sample: Sample {
                seconds: 12.34,
                runs: 1234,
                pairs: 56,
                queries: 7890,
                differences: 1,
                ..Sample::default()
            },
            waiting: 3,
            runs_per_second: 99.6,
            ..Progress::default()
        };
        let whole =
            "12.3 s  1,234 runs (100/s)  1 difference  56 pairs of paths  7,890 queries  3 waiting";
        assert_eq!(line(&progress, usize::MAX), whole);
        assert_eq!(
            line(&progress, 45),
            "12.3 s  1,234 runs (100/s)  1 difference"
        );
        assert_eq!(line(&progress, 3), "");
    }
}
