//! The part of a kernel that a process sees.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

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
    if let Ok(shared) = fs::metadata(root.join("dev/shm")) {
        parts.push(format!("shm:[{}]", shared.dev()));
    }
    parts.join(" ")
}
