//! The name of a machine, and the part of its kernel that a process sees.

use std::fs;
use std::path::Path;

use crate::machine::files::device;

/// The namespaces in which processes of one container are together.
const NAMESPACES: [&str; 4] = ["uts", "ipc", "net", "pid"];

/// A text that is the same for processes which see the same host name, network, processes and
/// shared memory, and another for others of the same kernel.
pub(super) fn container(root: &Path) -> String {
    let mut parts: Vec<String> = NAMESPACES
        .iter()
        .filter_map(|name| {
            let link = fs::read_link(root.join("proc/self/ns").join(name)).ok()?;
            Some(link.to_string_lossy().into_owned())
        })
        .collect();
    if let Some(shared) = device(&root.join("dev/shm")) {
        parts.push(format!("shm:[{shared}]"));
    }
    parts.join(" ")
}

/// The name of a machine that has no file with it.
#[cfg(unix)]
pub(super) fn name() -> Option<String> {
    nix::unistd::gethostname().ok()?.into_string().ok()
}

#[cfg(not(unix))]
pub(super) fn name() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}
