//! Free memory of this machine for a process on it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use ranks_comm::backend::{digest, host};
use ranks_launch::{ControlGroups, Meminfo};

use super::Amount;
use super::file_system::{device, free_in, is_writable};

/// Folder in which libraries put shared memory, if they may write there.
const SHARED: &str = "/dev/shm";

/// Free memory of a machine.
#[derive(Debug)]
pub(super) struct Room {
    host: String,
    machine: u64,
    limits: Vec<Limit>,
}

/// One of the things that memory is taken from.
#[derive(Debug)]
struct Limit {
    free: u64,
    of: Source,
}

#[derive(Debug)]
enum Source {
    /// The file system of a folder.
    Folder(PathBuf),
    /// A control group.
    Group(PathBuf),
    /// The machine itself.
    Machine,
}

impl Room {
    /// Looks; at the folder of shared memory as well, if it is to lie in one.
    pub(super) fn here(in_folder: bool) -> Self {
        let host = Some(host()).filter(|name| !name.is_empty());
        let host = host.unwrap_or_else(|| "this one".to_owned());
        let mut limits = Vec::new();
        let mut shared_on = 0;
        if in_folder {
            let folder = folder();
            shared_on = device(&folder).unwrap_or(0);
            limits.extend(free_in(&folder).map(|free| Limit {
                free,
                of: Source::Folder(folder),
            }));
        }
        limits.extend(
            ControlGroups::of_this_process()
                .memory_left()
                .map(|(free, group)| Limit {
                    free,
                    of: Source::Group(group),
                }),
        );
        limits.extend(available(&Meminfo::read()).map(|free| Limit {
            free,
            of: Source::Machine,
        }));
        Self {
            machine: machine_number(&host, shared_on),
            host,
            limits,
        }
    }

    /// A number that is the same for all processes that share this memory.
    pub(super) fn machine(&self) -> u64 {
        self.machine
    }

    /// Number of free bytes; as many as there can be if nothing is known.
    pub(super) fn free(&self) -> u64 {
        self.least().map_or(u64::MAX, |limit| limit.free)
    }

    fn least(&self) -> Option<&Limit> {
        self.limits.iter().min_by_key(|limit| limit.free)
    }

    /// Explains why `need` bytes are too many, and what to do about it.
    pub(super) fn refusal(&self, need: u64) -> String {
        let mut text = format!(
            "the ranks on node {} need {} of memory together, and ",
            self.host,
            Amount(need)
        );
        // Writing to a string does not fail.
        let _ = match self.least() {
            None => write!(text, "it has less"),
            Some(Limit { free, of }) => match of {
                Source::Folder(folder) if folder == Path::new(SHARED) => write!(
                    text,
                    "{SHARED} has {} free; enlarge it (docker run --shm-size=…, mount -o remount,size=… {SHARED}), ask for less, \
                     or choose a backend that does not need it",
                    Amount(*free)
                ),
                Source::Folder(folder) => write!(
                    text,
                    "{} has {} free; make {SHARED} writable, choose a folder with more room (TMPDIR; of Open MPI the MCA \
                     parameter osc_sm_backing_directory), ask for less, or choose a backend that does not need it",
                    folder.display(),
                    Amount(*free)
                ),
                Source::Group(group) => write!(
                    text,
                    "their control group {} has {} left; raise its limit (docker run --memory=…, Slurm's --mem=…), ask for less, \
                     or use more nodes",
                    group.display(),
                    Amount(*free)
                ),
                Source::Machine => write!(
                    text,
                    "it has {} available (/proc/meminfo); ask for less, or use more nodes",
                    Amount(*free)
                ),
            },
        };
        text
    }
}

/// The folder that libraries put shared memory in.
fn folder() -> PathBuf {
    let chosen = std::env::var_os("OMPI_MCA_osc_sm_backing_directory").map(PathBuf::from);
    if let Some(chosen) = chosen.filter(|folder| folder.is_dir()) {
        return chosen;
    }
    let usual = PathBuf::from(SHARED);
    if is_writable(&usual) {
        return usual;
    }
    std::env::temp_dir()
}

/// Memory that the kernel takes to be available to programs.
fn available(table: &Meminfo) -> Option<u64> {
    let swap = table.bytes("SwapFree").unwrap_or(0);
    Some(table.bytes("MemAvailable")?.saturating_add(swap))
}

/// Containers of one machine have names of their own, and machines that were copied have started
/// together; those that share memory have the same device for it.
fn machine_number(host: &str, device: u64) -> u64 {
    let boot = read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let bytes = host.bytes().chain(boot.bytes());
    digest(bytes.map(u64::from).chain([device]))
}

/// A file of one line.
fn read(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim_end().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_available_counts_swap() {
        let available = |text: &str| available(&Meminfo::of(text));
        let text = "MemTotal:  100 kB\nMemAvailable:   40 kB\nSwapTotal: 9 kB\nSwapFree: 2 kB\n";
        assert_eq!(available(text), Some(42 * 1024));
        assert_eq!(available("MemAvailable: 40 kB\n"), Some(40 * 1024));
        assert_eq!(available("MemTotal: 40 kB\n"), None);
        assert_eq!(available("MemAvailable: many\n"), None);
    }

    #[test]
    fn a_refusal_names_the_tightest_limit_and_the_remedy() {
        let limit = |free, of| Limit { free, of };
        let mut room = Room {
            host: "n7".to_owned(),
            machine: 1,
            limits: vec![
                limit(64 << 20, Source::Folder(SHARED.into())),
                limit(1 << 30, Source::Machine),
            ],
        };
        let text = room.refusal(1 << 28);
        for part in [
            "node n7 need 268435456 bytes (256.0 MiB)",
            "/dev/shm has 67108864 bytes (64.0 MiB) free",
            "--shm-size",
        ] {
            assert!(text.contains(part), "{text}");
        }
        room.limits[0].of = Source::Folder("/scratch".into());
        assert!(room.refusal(1 << 28).contains("TMPDIR"));
        room.limits[0].of = Source::Group("/sys/fs/cgroup/job".into());
        let text = room.refusal(1 << 28);
        assert!(text.contains("/sys/fs/cgroup/job") && text.contains("--mem="));
    }
}
