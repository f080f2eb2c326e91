//! What this machine offers for running hostile programs.

use crate::cage::Cage;
use crate::environment::Options;
use crate::protocol::Layers;
use crate::{ExecError, Limits};

/// One layer of protection or determinism.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    pub name: &'static str,
    pub in_force: bool,
    /// What it does, or what takes its place and how to get it.
    pub detail: String,
}

/// Builds a cage as a run would and tells what is in force.
pub fn capabilities() -> Result<Vec<Capability>, ExecError> {
    let cage = Cage::start(None, &Limits::default(), &Options::default(), None)?;
    Ok(describe(cage.in_force(), cage.landlock_version()))
}

fn describe(layers: Layers, landlock: i32) -> Vec<Capability> {
    const USER_HINT: &str = "allow user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns) or run as root";
    let has = |layer| layers.contains(layer);
    let capability = |name, layer, yes: String, no: String| Capability {
        name,
        in_force: has(layer),
        detail: if has(layer) { yes } else { no },
    };
    let scopes = if landlock >= 6 {
        "signals stay inside"
    } else {
        "signals can leave"
    };
    vec![
        capability(
            "user namespace",
            Layers::USER,
            "programs have no privileges outside".into(),
            format!("programs keep the caller's identity without privileges; {USER_HINT}"),
        ),
        capability(
            "process namespace",
            Layers::PID,
            "programs see and signal only their own processes, and all of them end with the run".into(),
            format!("processes are found through /proc and killed one by one; {USER_HINT}"),
        ),
        capability(
            "file system of its own",
            Layers::MOUNT,
            "the working directory is in memory and at the same path in every run".into(),
            format!("the working directory is on disk below TMPDIR; {USER_HINT}"),
        ),
        capability(
            "read-only mounts",
            Layers::READ_ONLY,
            "nothing outside the working directory can be changed".into(),
            "only Landlock confines writing, and it lets programs change modes and times of the caller's files; Linux 5.12 has recursive read-only mounts".into(),
        ),
        capability(
            "Landlock",
            Layers::LANDLOCK,
            format!("version {landlock}: writes stay in the working directory, {scopes}"),
            "not in this kernel (Linux 5.13, `lsm=landlock`)".into(),
        ),
        capability(
            "network namespace",
            Layers::NETWORK,
            "no network".into(),
            if has(Layers::SECCOMP) {
                "internet sockets are refused by a system-call filter instead".into()
            } else {
                format!("the network can be reached; {USER_HINT}")
            },
        ),
        capability(
            "IPC namespace",
            Layers::IPC,
            "shared memory and semaphores are removed after each run".into(),
            "System V objects may survive a run".into(),
        ),
        capability(
            "system-call filter",
            Layers::SECCOMP,
            "keyrings, nested namespaces and kernel tracing are refused".into(),
            "not in this kernel (CONFIG_SECCOMP_FILTER)".into(),
        ),
        capability(
            "process limit",
            Layers::PROCESS_LIMIT,
            "counted by the kernel for each sandbox".into(),
            "counted by the supervisor every few milliseconds".into(),
        ),
        capability(
            "same process ids",
            Layers::PID_RESET,
            "set before each run".into(),
            "the shim answers for getpid; other ids may differ between runs".into(),
        ),
        capability(
            "own /proc",
            Layers::PROC,
            "shows the program's processes only".into(),
            "the fork server is started anew for every traced run, which is slower".into(),
        ),
        capability(
            "fixed addresses",
            Layers::FIXED_ADDRESSES,
            "address space randomisation is off for programs".into(),
            "`personality` is refused, so printed addresses differ between runs and tracing may fail; allow it in the container's seccomp profile".into(),
        ),
        capability(
            "fixed host name",
            Layers::HOST_NAME,
            "the same on every machine".into(),
            "the shim answers for gethostname and uname".into(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_says_what_takes_its_place() {
        let all = describe(Layers::ALL, 7);
        assert!(all.iter().all(|capability| capability.in_force));
        let none = describe(Layers(0), 0);
        assert_eq!(all.len(), none.len());
        assert!(
            none.iter()
                .all(|capability| !capability.in_force && !capability.detail.is_empty())
        );
        let network = none
            .iter()
            .find(|capability| capability.name == "network namespace")
            .unwrap();
        assert!(network.detail.contains("can be reached"));
    }
}
