//! What Ctrl-C and its like do.

use crate::conclusion::Unbegun;
use changeling_build::end_builds;
use changeling_explore::budget::Cancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The first signal ends the search in a report, the second ends everything.
pub fn cancel_on_signals(cancel: &Cancel, unbegun: &Unbegun) {
    let (cancel, unbegun) = (cancel.clone(), unbegun.clone());
    on_signals(move |signal| {
        unbegun.end();
        if cancel.is_cancelled() {
            end_builds();
            std::process::exit(128 + signal);
        }
        cancel.cancel();
    });
}

/// This process ends as ever, and what it builds ends with it.
pub fn end_on_signals() {
    on_signals(|signal| {
        end_builds();
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    });
}

fn on_signals(act: impl Fn(i32) + Send + 'static) {
    let mut wanted = vec![SIGINT, SIGTERM];
    if !is_ignored(SIGHUP) {
        wanted.push(SIGHUP);
    }
    let Ok(mut signals) = Signals::new(wanted) else {
        return;
    };
    std::thread::spawn(move || signals.forever().for_each(act));
}

/// Whoever has started this process wants it to survive the signal, as `nohup` does.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
