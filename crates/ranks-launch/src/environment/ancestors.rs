//! The launcher among the ancestors of this process, found through `/proc`.

use std::path::{Path, PathBuf};
use std::{fs, iter};

use crate::family::Family;

/// The number of levels to look up: a launcher's daemons, wrappers and a shell or two lie between,
/// never more.
const LEVELS: usize = 12;

/// The beginnings of the file names of launchers and of their daemons.
const LAUNCHERS: [&str; 9] = [
    "hydra", "mpiexec", "mpirun", "mpispawn", "orterun", "orted", "prterun", "prte", "ompirun",
];

/// A launcher, or a daemon of one, that is an ancestor of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ancestor {
    /// Its process id.
    pub pid: u32,
    /// Its executable.
    pub file: PathBuf,
}

impl Ancestor {
    /// The nearest one above this process; `None` where there is none or the system has no `/proc`.
    pub fn find() -> Option<Ancestor> {
        Self::find_in(Path::new("/proc"), std::process::id())
    }

    /// Finds it in another folder laid out like `/proc`, from the process `pid` upwards.
    pub(crate) fn find_in(proc: &Path, pid: u32) -> Option<Ancestor> {
        for pid in ancestors(proc, pid) {
            // Another user's process, such as a scheduler's daemon, hides its executable: go on
            // above it.
            let Ok(file) = fs::read_link(proc.join(pid.to_string()).join("exe")) else {
                continue;
            };
            let name = file
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            if LAUNCHERS.iter().any(|launcher| name.starts_with(launcher)) {
                return Some(Ancestor { pid, file });
            }
        }
        None
    }

    /// The folder above the one of the executable: `/usr` for `/usr/bin/mpiexec`.
    pub fn prefix(&self) -> Option<&Path> {
        self.file.parent()?.parent()
    }

    /// The family that it belongs to, where its name tells.
    pub(crate) fn family(&self) -> Option<Family> {
        Family::of_launcher(&self.file)
    }
}

/// Returns `true` if the nearest ancestor without the variable `own` has `outer`: what has set
/// `own` was then started by a process that had `outer` already.
pub(crate) fn is_within(proc: &Path, pid: u32, own: &str, outer: &str) -> bool {
    for pid in ancestors(proc, pid) {
        // Another user's process hides its variables.
        let Some(variables) = VariablesOf::process(&proc.join(pid.to_string())) else {
            continue;
        };
        if variables.get(own).is_none() {
            return variables.get(outer).is_some();
        }
    }
    false
}

/// The environment that a process was started with.
pub(crate) struct VariablesOf(Vec<u8>);

impl VariablesOf {
    /// Reads those of the process that lies at `folder`; `None` if it is gone, or another user's.
    pub(crate) fn process(folder: &Path) -> Option<VariablesOf> {
        fs::read(folder.join("environ")).ok().map(VariablesOf)
    }

    /// The value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&[u8]> {
        let mut entries = self.0.split(|&byte| byte == 0);
        entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
    }
}

/// The processes above `pid`, the nearest first, as far as is looked.
fn ancestors(proc: &Path, pid: u32) -> impl Iterator<Item = u32> {
    let above = |&pid: &u32| parent(proc, pid).filter(|&parent| parent > 0);
    iter::successors(Some(pid), above).skip(1).take(LEVELS)
}

/// The parent of `pid`: the second field after the name, which stands in brackets and may hold
/// anything.
pub(crate) fn parent(proc: &Path, pid: u32) -> Option<u32> {
    parent_in(&fs::read(proc.join(pid.to_string()).join("stat")).ok()?)
}

/// Reads the parent from the bytes of `stat`.
pub(crate) fn parent_in(stat: &[u8]) -> Option<u32> {
    field(stat, 1)?.parse().ok()
}

/// A field after the name, from the bytes of `stat`.
pub(crate) fn field(stat: &[u8], index: usize) -> Option<String> {
    let stat = String::from_utf8_lossy(stat);
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(index).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A `/proc` of (pid, parent, name, executable).
    fn proc(name: &str, processes: &[(u32, u32, &str, &str)]) -> PathBuf {
        let root =
            std::env::temp_dir().join(format!("ranks-launch-proc-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for (pid, parent, comm, exe) in processes {
            let folder = root.join(pid.to_string());
            fs::create_dir_all(&folder).unwrap();
            fs::write(
                folder.join("stat"),
                format!("{pid} ({comm}) S {parent} 1 1 0 -1 4194560"),
            )
            .unwrap();
            if !exe.is_empty() {
                symlink(exe, folder.join("exe")).unwrap();
            }
        }
        root
    }

    #[test]
    fn the_nearest_launcher_is_found_through_wrappers_and_hidden_processes() {
        let root = proc(
            "near",
            &[
                (1, 0, "init", "/sbin/init"),
                (10, 1, "mpiexec", "/opt/a/bin/mpiexec.hydra"),
                (11, 10, "hydra_pmi_proxy", "/opt/b/bin/hydra_pmi_proxy"),
                (12, 11, "odd) S 99 (name", "/bin/sh"),
                (13, 12, "hidden", ""),
                (14, 13, "prog", "/home/u/prog"),
            ],
        );
        let found = Ancestor::find_in(&root, 14).unwrap();
        assert_eq!(found.pid, 11);
        assert_eq!(found.prefix(), Some(Path::new("/opt/b")));
        assert_eq!(found.family(), Some(Family::Mpich));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn the_outer_of_two_launchers_is_told_by_the_variables_of_ancestors() {
        let root = proc(
            "within",
            &[
                (1, 0, "init", ""),
                (10, 1, "slurmstepd", ""),
                (11, 10, "torchrun", ""),
                (12, 11, "worker", ""),
                (13, 12, "program", ""),
                (20, 1, "torchrun", ""),
                (21, 20, "worker", ""),
                (22, 21, "mpiexec", ""),
                (23, 22, "program", ""),
            ],
        );
        let set = |pid: u32, variables: &str| {
            fs::write(root.join(pid.to_string()).join("environ"), variables).unwrap();
        };
        set(11, "SLURM_PROCID=0\0A=T=\0");
        set(12, "SLURM_PROCID=0\0T=none\0");
        set(20, "HOME=/\0");
        set(21, "T=none\0");
        set(22, "T=none\0");
        let within = |pid| is_within(&root, pid, "T", "SLURM_PROCID");
        assert_eq!(
            (within(13), within(12), within(23), within(10)),
            (true, true, false, false)
        );
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn without_a_launcher_there_is_none() {
        let root = proc(
            "none",
            &[
                (1, 0, "init", "/sbin/init"),
                (7, 1, "sh", "/bin/sh"),
                (8, 7, "p", "/p"),
            ],
        );
        assert_eq!(Ancestor::find_in(&root, 8), None);
        assert_eq!(Ancestor::find_in(&root, 4711), None);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn names_tell_families() {
        for (file, family) in [
            ("/usr/bin/orterun", Some(Family::OpenMpi)),
            ("/x/bin/prted", Some(Family::OpenMpi)),
            ("/x/bin/ompirun_wrapper", Some(Family::OpenMpi)),
            ("/x/bin/hydra_bstrap_proxy", Some(Family::Mpich)),
            ("/x/bin/mpiexec", None),
            ("/x/bin/mpispawn", None),
        ] {
            assert_eq!(
                Ancestor {
                    pid: 1,
                    file: file.into()
                }
                .family(),
                family,
                "{file}"
            );
        }
    }
}
