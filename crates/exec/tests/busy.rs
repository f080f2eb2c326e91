//! Time limits on a machine that has much else to do.

mod support;

use changeling_exec::{End, Limits, Plain};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use support::{arguments, compile, named, small_limits};

const LIMIT: Duration = Duration::from_millis(500);

/// Loops that keep every processor busy several times over.
struct Load {
    loops: Vec<Child>,
    /// Two loads at the same time would be more than is meant.
    _alone: MutexGuard<'static, ()>,
}

static ALONE: Mutex<()> = Mutex::new(());

impl Load {
    fn start() -> Load {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        let program = compile("hostile.c");
        let spin = |_| {
            let mut command = Command::new(&program);
            command.arg("loop").stdout(Stdio::null());
            // SAFETY: one system call, which may be made between fork and exec. Linux shares processors
            // between sessions first, so loops of one session would count as one.
            unsafe {
                command.pre_exec(|| {
                    libc::setsid();
                    Ok(())
                });
            }
            command.spawn().unwrap()
        };
        let loops = (0..processors * 2).map(spin).collect();
        Load { loops, _alone }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.loops {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn program(name: &str) -> Plain {
    let limits = Limits {
        time: LIMIT,
        ..small_limits()
    };
    named(&compile("hostile.c"), name, limits)
}

#[test]
fn a_slow_program_beside_others_does_not_hang() {
    let load = Load::start();
    for mode in ["work", "work-in-child"] {
        let mut plain = program(mode);
        // Six tenths of its time, if nobody else were there.
        let observation = plain.run(&arguments(&[mode, "300"])).unwrap();
        assert_eq!(observation.end, End::Exit(0), "{mode}");
        let elapsed = plain.elapsed();
        assert!(elapsed > LIMIT, "{mode}: there was no load ({elapsed:?})");
    }
    drop(load);
}

#[test]
fn a_loop_beside_others_hangs() {
    let load = Load::start();
    let mut plain = program("loop");
    let observation = plain.run(&arguments(&["loop"])).unwrap();
    assert_eq!(observation.end, End::TimedOut);
    drop(load);
}

#[test]
fn waiting_for_ever_is_a_hang_and_takes_no_longer_than_the_limit() {
    let mut plain = program("wait");
    let observation = plain.run(&arguments(&["wait"])).unwrap();
    assert_eq!(observation.end, End::TimedOut);
    let elapsed = plain.elapsed();
    assert!(elapsed >= LIMIT && elapsed < LIMIT * 4, "{elapsed:?}");
}
