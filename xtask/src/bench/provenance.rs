//! The machine, the libraries and the versions that a run was made with.

use std::fs;
use std::process::Command;

use ranks_harness::place::{Place, cores};
use ranks_harness::workspace;

use super::times::peers::MPI4PY;
use crate::command::succeeded;

/// The average number of processes that ran or were to run in the last minute.
pub(super) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// Sentences about the machine and the libraries.
pub(super) fn machine(places: &[Place]) -> Vec<String> {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name"));
    let model = model
        .unwrap_or("unknown")
        .trim_start_matches(['\t', ' ', ':']);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut facts = vec![format!(
        "{model}, {} cores; Linux {}",
        cores(),
        kernel.trim()
    )];
    for place in places {
        let library = place.library();
        let (name, version, abi) = (library.name, library.version, library.abi);
        facts.push(format!("{}: {name} {version}, {abi} ABI", place.name));
    }
    facts
}

/// Sentences about the peers, and what built and ran them.
pub(super) fn peers() -> [String; 2] {
    let crates = format!("{}, {}", crates().join(", "), MPI4PY.replace("==", " "));
    [crates, versions(&["rustc", "cc", "python3"])]
}

/// The versions that programs tell of themselves.
pub(super) fn versions(programs: &[&str]) -> String {
    let versions = programs.iter().map(|program| {
        let said = succeeded(Command::new(program).arg("--version")).unwrap_or_default();
        said.lines().next().unwrap_or_default().to_owned()
    });
    versions.collect::<Vec<_>>().join("; ")
}

/// The crates that are peers, in the versions that were built.
fn crates() -> Vec<String> {
    let lock = workspace::root().join("benches/peers/Cargo.lock");
    let lock = fs::read_to_string(lock).unwrap_or_default();
    let lock: toml::Table = lock.parse().unwrap_or_default();
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let peers = packages.into_iter().flatten().filter_map(|package| {
        let (name, version) = (package.get("name")?, package.get("version")?);
        let (name, version) = (name.as_str()?, version.as_str()?);
        match name {
            "mpi" => Some(format!("rsmpi (crate mpi) {version}")),
            "crossbeam-channel" | "ferrompi" | "rayon" => Some(format!("{name} {version}")),
            _ => None,
        }
    });
    peers.collect()
}
