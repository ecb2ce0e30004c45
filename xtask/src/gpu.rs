//! `cargo xtask gpu`: what ranks does on the GPUs of this machine, case by case.

mod kit;
pub(crate) mod libraries;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use ranks_harness::workspace;

use crate::Outcome;
use crate::command::ends_as;

/// What lets several ranks share a GPU, from NCCL 2.30 on: leave to do so, few blocks for each, and
/// nothing of a network.
const SHARED: [(&str, &str); 4] = [
    ("NCCL_MULTI_RANK_GPU_ENABLE", "1"),
    ("NCCL_MAX_CTAS", "2"),
    ("NCCL_NET_GDR_LEVEL", "LOC"),
    ("NCCL_SOCKET_IFNAME", "lo"),
];

/// The machine to run on.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The GPU of each rank; the same number twice for two ranks on one. [default: one rank on the
    /// first GPU]
    devices: Vec<usize>,
    /// Downloads nothing: takes the libraries that `RANKS_NCCL` and `RANKS_NVSHMEM` name, that were
    /// fetched before, or that the machine has.
    #[arg(long)]
    offline: bool,
    /// Runs nothing: makes a folder that runs by one script on a machine with a GPU, which needs
    /// neither Rust nor a network.
    #[arg(long, value_name = "DIR", conflicts_with = "devices")]
    kit: Option<PathBuf>,
}

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    if let Some(folder) = &arguments.kit {
        kit::make(folder, !arguments.offline)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut command = workspace::cargo();
    command
        .args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "ranks-gpu",
            "--",
        ])
        .args(arguments.devices.iter().map(usize::to_string));
    if std::env::var_os("RANKS_NCCL").is_none() {
        match libraries::nccl(!arguments.offline) {
            Ok(library) => {
                command.env("RANKS_NCCL", library);
            }
            // Then the machine may have one.
            Err(_) if arguments.offline => {}
            Err(why) => return Err(why.into()),
        }
    }
    if std::env::var_os("RANKS_NVSHMEM").is_none() {
        // That of the machine's PyTorch fits its driver.
        match of_python().map_or_else(
            || libraries::nvshmem(libraries::NVSHMEM[0], !arguments.offline),
            Ok,
        ) {
            Ok(library) => {
                command.env("RANKS_NVSHMEM", library);
            }
            // Then the machine may have one.
            Err(_) if arguments.offline => {}
            Err(why) => return Err(why.into()),
        }
    }
    if shares_a_device(&arguments.devices) {
        for (name, value) in SHARED {
            if std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
    }
    ends_as(&mut command)
}

/// The NVSHMEM of the packages that `python3` sees: PyTorch brings one.
fn of_python() -> Option<PathBuf> {
    const ASK: &str = "import nvidia.nvshmem as found; print(list(found.__path__)[0])";
    let said = Command::new("python3").args(["-c", ASK]).output().ok()?;
    let folder = String::from_utf8(said.stdout).ok()?;
    let library = PathBuf::from(folder.trim()).join("lib/libnvshmem_host.so.3");
    library.is_file().then_some(library)
}

fn shares_a_device(devices: &[usize]) -> bool {
    let mut sorted = devices.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).any(|pair| pair[0] == pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_named_twice_is_shared() {
        assert!(shares_a_device(&[0, 1, 0]));
        assert!(!shares_a_device(&[2, 1, 0]));
        assert!(!shares_a_device(&[]));
    }
}
