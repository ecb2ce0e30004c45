//! Slurm on the hosts of a cluster: its controller in the head, and one daemon on each host.
//!
//! Who is who it believes without a proof (`auth/none`), so that no daemon for that is needed:
//! nobody but the maker of the cluster reaches its network.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::super::names;
use super::super::state::State;

/// What is to be installed where something is missing.
const PACKAGES: &str = "on Debian: apt-get install --no-install-recommends slurm-wlm libpmi2-0";

/// Where the daemons are that are in no folder for commands of everybody.
const FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/opt/slurm/sbin"];

/// How long all hosts may take to be ready: they are within half a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// CPUs that each host seems to have: Slurm counts by them and binds nothing.
const CPUS: usize = 16;

/// Memory that each host seems to have, and what a task is given for each CPU, in MiB.
const MEMORY: (usize, usize) = (4000, 100);

/// Starts Slurm on all hosts; returns when it takes jobs. How long that took comes back.
pub(in super::super) fn start(state: &State) -> Result<Duration, String> {
    let [controller, of_host] = here()?;
    let started = Instant::now();
    let uid = nix::unistd::geteuid();
    let user = match nix::unistd::User::from_uid(uid) {
        Ok(Some(user)) => user.name,
        _ => {
            return Err(format!(
                "Slurm wants to know its user by name, and {uid} has none in /etc/passwd"
            ));
        }
    };
    let file = state.slurm();
    let hosts = state.hosts();
    fs::write(&file, settings(state.folder(), hosts.len(), &user))
        .map_err(|error| format!("{}: {error}", file.display()))?;
    let script = "mkdir -p /tmp/slurmctld && exec \"$0\" -i -f \"$1\"";
    let words = ["sh", "-c", script, text(&controller), text(&file)];
    let failed = |host: &str, why: String| {
        let log = state.folder().join(format!("slurm.{host}.log"));
        let log = fs::read_to_string(log).unwrap_or_default();
        let last: Vec<&str> = log.lines().rev().take(5).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        format!("{why}\n{}", last.join("\n")).trim_end().to_owned()
    };
    state
        .output(names::HEAD, &words, false)
        .map_err(|why| failed(names::HEAD, why))?;
    thread::scope(|scope| {
        let all: Vec<_> = hosts
            .iter()
            .map(|host| {
                let words = [text(&of_host), "-f", text(&file), "-N", host];
                scope.spawn(move || state.output(host, &words, false))
            })
            .collect();
        hosts.iter().zip(all).try_for_each(|(host, one)| {
            let started = one
                .join()
                .unwrap_or_else(|_| Err("a thread ended".to_owned()));
            started.map(drop).map_err(|why| failed(host, why))
        })
    })?;
    loop {
        let nodes = state.output(names::HEAD, &["sinfo", "-h", "-N", "-o", "%N %T"], false);
        let idle = nodes.as_deref().unwrap_or_default();
        if idle.lines().filter(|line| line.ends_with(" idle")).count() == hosts.len() {
            return Ok(started.elapsed());
        }
        if started.elapsed() > PATIENCE {
            let seen = nodes.unwrap_or_else(|why| why);
            return Err(failed(
                names::HEAD,
                format!("Slurm is not ready after {PATIENCE:?}: {}", seen.trim()),
            ));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The daemons of the controller and of hosts, if all of Slurm is here.
pub(in super::super) fn here() -> Result<[PathBuf; 2], String> {
    let daemons = [daemon("slurmctld")?, daemon("slurmd")?];
    for command in ["srun", "salloc", "sbatch", "sinfo"] {
        found(command, &path()).ok_or_else(|| missing(command))?;
    }
    Ok(daemons)
}

/// All that Slurm is told. What a host has for itself lies in its own `/tmp`.
fn settings(folder: &Path, hosts: usize, user: &str) -> String {
    let (address, head) = (names::HEAD_ADDRESS, names::HEAD);
    let folder = folder.display();
    let last = hosts.saturating_sub(1);
    let (memory, each) = MEMORY;
    format!(
        "ClusterName=ranks\n\
         SlurmctldHost={head}({address})\n\
         SlurmUser={user}\n\
         SlurmdUser={user}\n\
         AuthType=auth/none\n\
         CredType=cred/none\n\
         StateSaveLocation=/tmp/slurmctld\n\
         SlurmctldPidFile=/tmp/slurmctld.pid\n\
         SlurmctldLogFile={folder}/slurm.{head}.log\n\
         SlurmdSpoolDir=/tmp/slurmd\n\
         SlurmdPidFile=/tmp/slurmd.pid\n\
         SlurmdLogFile={folder}/slurm.%n.log\n\
         SlurmdParameters=config_overrides\n\
         SlurmdTimeout=10\n\
         KillWait=5\n\
         ReturnToService=2\n\
         ProctrackType=proctrack/linuxproc\n\
         TaskPlugin=task/none\n\
         SelectType=select/cons_tres\n\
         SelectTypeParameters=CR_Core_Memory\n\
         SchedulerParameters=batch_sched_delay=0\n\
         DefMemPerCPU={each}\n\
         NodeName=n[0-{last}] CPUs={CPUS} Boards=1 SocketsPerBoard=1 CoresPerSocket={CPUS} ThreadsPerCore=1 RealMemory={memory}\n\
         PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
    )
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}

fn path() -> Vec<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect()
}

fn daemon(name: &str) -> Result<PathBuf, String> {
    let folders: Vec<PathBuf> = path()
        .into_iter()
        .chain(FOLDERS.map(PathBuf::from))
        .collect();
    found(name, &folders).ok_or_else(|| missing(name))
}

fn found(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let files = folders.iter().map(|folder| folder.join(name));
    files.into_iter().find(|file| file.is_file())
}

fn missing(name: &str) -> String {
    format!("Slurm is not here: no {name} is found; {PACKAGES}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_is_a_node() {
        let text = settings(Path::new("/run/c"), 3, "me");
        assert!(text.contains("\nNodeName=n[0-2] CPUs=16 "), "{text}");
        assert!(
            text.contains("\nSlurmctldHost=head(10.232.0.254)\n"),
            "{text}"
        );
        assert!(
            text.contains("\nSlurmdLogFile=/run/c/slurm.%n.log\n"),
            "{text}"
        );
        assert!(text.contains("\nSlurmUser=me\n"), "{text}");
    }

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let why = missing("slurmd");
        assert!(
            why.contains("no slurmd") && why.contains("slurm-wlm"),
            "{why}"
        );
        assert_eq!(found("sh", &[]), None);
    }
}
