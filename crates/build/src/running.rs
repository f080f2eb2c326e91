//! Commands that run in process groups of their own, and their end when this process ends before them.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The leaders of all groups that run.
static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn running() -> MutexGuard<'static, BTreeSet<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A command, and whatever it starts: a build command starts compilers, and these start others.
pub struct Group(Child);

impl Group {
    pub fn start(command: &mut Command) -> std::io::Result<Group> {
        // Held while it starts, so that none is missed.
        let mut running = running();
        let child = command.process_group(0).spawn()?;
        running.insert(child.id());
        Ok(Group(child))
    }

    pub fn end(&mut self) {
        kill(&[self.0.id()]);
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Deref for Group {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Group {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        running().remove(&self.0.id());
    }
}

/// Ends what builds have started, for a process that is about to end itself. None can start after that, and nobody
/// hears that theirs has failed.
pub fn end_builds() {
    let running = running();
    let groups: Vec<u32> = running.iter().copied().collect();
    if !groups.is_empty() {
        kill(&groups);
    }
    std::mem::forget(running);
}

/// The `kill` program rather than the system call: this crate has no unsafe code.
fn kill(groups: &[u32]) {
    let groups = groups.iter().map(|leader| format!("-{leader}"));
    let _ = Command::new("kill")
        .args(["-KILL", "--"])
        .args(groups)
        .stderr(Stdio::null())
        .status();
}
