//! What a user sees while the search runs.

use changeling_explore::outcome::Progress;
use changeling_report::wording;
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
            Mode::Live => self.overwrite(&line(progress)),
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
            println!("{event}");
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
        let _ = std::io::stderr().write_all(format!("\r\x1b[K{text}").as_bytes());
    }
}

fn line(progress: &Progress) -> String {
    let sample = &progress.sample;
    format!(
        "{}  {} runs ({:.0}/s)  {} pairs of paths  {} queries  {} waiting  {} differences",
        wording::duration(sample.seconds),
        wording::grouped(sample.runs),
        progress.runs_per_second,
        wording::grouped(sample.pairs),
        wording::grouped(sample.queries),
        wording::grouped(progress.waiting),
        wording::grouped(sample.differences),
    )
}
