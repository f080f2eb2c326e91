//! Running a built version: sandbox, limits, fork server, observations, and reading traces in place.
//!
//! [`Plain`] runs a native binary, [`Traced`] one that was built for tracing. Both live in a *cage*: namespaces, a
//! read-only view of the file system, a working directory in memory, no network, fixed time and randomness. What the
//! kernel offers of this is told by [`capabilities`]. `docs/sandbox.md` describes the whole.
//!
//! Absent on purpose: a second version, what a trace means, and which input comes next. One run of one program is told as it was.

mod binary;
mod cage;
mod capabilities;
mod environment;
mod error;
mod limits;
mod observation;
mod plain;
mod protocol;
mod scratch;
mod shared;
mod system;
mod traced;
mod view;
mod workdir;

pub use binary::{Binary, Linkage};
pub use capabilities::{Capability, capabilities};
pub use environment::Options;
pub use error::ExecError;
pub use limits::{Capacities, Limits};
pub use observation::{End, Observation};
pub use plain::Plain;
pub use protocol::Layers;
pub use traced::Traced;
pub use view::{Happening, Table, Trace};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runners_can_move_between_threads() {
        fn movable<T: Send>() {}
        movable::<Plain>();
        movable::<Traced>();
    }
}
