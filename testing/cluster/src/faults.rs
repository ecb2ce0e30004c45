//! What is done to a job while it runs on hosts: ranks and hosts are killed or stopped, links are
//! cut.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;
use std::{fmt, fs};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::names;
use super::state::State;

/// Something that is done once to a cluster, so long after its job has begun to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) what: What,
    pub(super) after: Duration,
}

/// What is done, and to which rank or host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// A rank ends by SIGKILL.
    Kill(usize),
    /// A host ends with everything on it; connections to it are closed.
    KillHost(usize),
    /// A link carries nothing any more, and nobody is told: as of a host that has lost its power,
    /// or its network.
    Cut(usize),
    Heal(usize),
    /// Everything on a host stops, its connections stay.
    Freeze(usize),
    Thaw(usize),
}

impl What {
    /// The host that is lost by it, if one is.
    pub(super) fn loses(self) -> Option<usize> {
        match self {
            What::KillHost(host) | What::Cut(host) | What::Freeze(host) => Some(host),
            What::Kill(_) | What::Heal(_) | What::Thaw(_) => None,
        }
    }

    /// Does it; `program` is what ranks are processes of, if that is known.
    pub(super) fn carry_out(self, state: &State, program: Option<&Path>) -> Result<(), String> {
        match self {
            What::Kill(number) => kill_rank(state, number, program),
            What::KillHost(host) => state.end(&names::host(host)),
            What::Cut(host) => link(state, host, "down"),
            What::Heal(host) => link(state, host, "up"),
            What::Freeze(host) => state.signal(&names::host(host), Signal::SIGSTOP),
            What::Thaw(host) => state.signal(&names::host(host), Signal::SIGCONT),
        }
    }
}

fn kill_rank(state: &State, number: usize, program: Option<&Path>) -> Result<(), String> {
    let mut processes = ranks(state, program);
    processes.retain(|rank| rank.number == number);
    if processes.is_empty() {
        return Err(format!("rank {number} does not run"));
    }
    // A shell that the program was started by is one too.
    for rank in processes {
        kill(rank.process, Signal::SIGKILL).map_err(|error| format!("rank {number}: {error}"))?;
    }
    Ok(())
}

fn link(state: &State, host: usize, to: &str) -> Result<(), String> {
    let link = names::link(host);
    state
        .read(names::HEAD, &["ip", "link", "set", &link, to])
        .map(drop)
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Kill(rank) => write!(f, "kill:{rank}"),
            What::KillHost(host) => write!(f, "kill-host:n{host}"),
            What::Cut(host) => write!(f, "cut:n{host}"),
            What::Heal(host) => write!(f, "heal:n{host}"),
            What::Freeze(host) => write!(f, "freeze:n{host}"),
            What::Thaw(host) => write!(f, "thaw:n{host}"),
        }
    }
}

impl FromStr for Fault {
    type Err = String;

    /// Reads `cut:n1@2s`, `kill:3@0.5s`; without a time it is done as soon as the job works.
    fn from_str(text: &str) -> Result<Fault, String> {
        let (what, after) = text.split_once('@').unwrap_or((text, "0s"));
        let wrong = || {
            format!(
                "{text} is none of kill:RANK@2s, kill-host:n1@2s, cut:n1@2s, heal:n1@5s, freeze:n1@2s, thaw:n1@5s"
            )
        };
        let (what, whom) = what.split_once(':').ok_or_else(wrong)?;
        let host = || names::number(whom).ok_or_else(wrong);
        let what = match what {
            "kill" => What::Kill(whom.parse().map_err(|_| wrong())?),
            "kill-host" => What::KillHost(host()?),
            "cut" => What::Cut(host()?),
            "heal" => What::Heal(host()?),
            "freeze" => What::Freeze(host()?),
            "thaw" => What::Thaw(host()?),
            _ => return Err(wrong()),
        };
        let after = ranks_launch::any_duration(after)?;
        Ok(Fault { what, after })
    }
}

/// A process that is a rank of a job on a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rank {
    pub(super) number: usize,
    process: Pid,
    /// As the kernel has it: `T` of one that is stopped, `R` or `S` of one that runs.
    pub(super) state: char,
}

/// The ranks that there are, of a program or of any on a cluster, in their order.
pub(super) fn ranks(state: &State, program: Option<&Path>) -> Vec<Rank> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut ranks: Vec<Rank> = entries
        .filter_map(|entry| rank(&entry.path(), state, program))
        .collect();
    ranks.sort_by_key(|rank| rank.number);
    ranks
}

fn rank(folder: &Path, state: &State, program: Option<&Path>) -> Option<Rank> {
    /// What launchers tell a rank its number by.
    const NUMBERS: [&str; 3] = ["PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"];
    let process = folder.file_name()?.to_str()?.parse().ok()?;
    let words = fs::read(folder.join("cmdline")).ok()?;
    // Launchers have the program in their words too, behind their own.
    let first = words.split(|byte| *byte == 0).next()?;
    if program.is_some_and(|program| first != program.as_os_str().as_encoded_bytes()) {
        return None;
    }
    let environment = fs::read(folder.join("environ")).ok()?;
    let variable = |name: &str| {
        let of = |variable: &[u8]| {
            let text = String::from_utf8_lossy(variable).into_owned();
            let (found, value) = text.split_once('=')?;
            (found == name).then(|| value.to_owned())
        };
        environment.split(|byte| *byte == 0).find_map(of)
    };
    if variable("RANKS_CLUSTER").map(PathBuf::from)? != state.folder() {
        return None;
    }
    let number = NUMBERS
        .iter()
        .find_map(|name| variable(name)?.parse().ok())?;
    // Behind the name, which may hold anything, in brackets.
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    let state = stat.rsplit_once(") ")?.1.chars().next()?;
    (state != 'Z').then_some(Rank {
        number,
        process: Pid::from_raw(process),
        state,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_as_they_are_written() {
        let read = |text: &str| {
            let fault: Fault = text.parse().unwrap();
            (fault.what.to_string(), fault.after)
        };
        for what in [
            "kill:3",
            "kill-host:n1",
            "cut:n1",
            "heal:n0",
            "freeze:n12",
            "thaw:n1",
        ] {
            assert_eq!(read(what), (what.to_owned(), Duration::ZERO));
            let later = format!("{what}@1.5s");
            assert_eq!(read(&later), (what.to_owned(), Duration::from_millis(1500)));
        }
    }

    #[test]
    fn what_is_no_fault_is_told_what_one_is() {
        for text in [
            "",
            "cut",
            "cut:1@2s",
            "kill:n1",
            "melt:n1@2s",
            "cut:n1@x",
            "cut:n1@",
        ] {
            let fault: Result<Fault, String> = text.parse();
            assert!(fault.is_err(), "{text}");
        }
        let fault: Result<Fault, String> = "melt:n1@2s".parse();
        assert!(fault.unwrap_err().contains("freeze:n1@2s"));
    }
}
