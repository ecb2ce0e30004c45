//! What `ranks postmortem` says of the dumps that the ranks of a job have left.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

/// What is told of a rank that has left a dump.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Dump {
    /// Why it was written.
    pub(super) reason: String,
    /// The call that the rank was in.
    pub(super) waits_in: Option<String>,
    /// The last collective of the world that it has called.
    pub(super) last: Option<String>,
}

impl Dump {
    /// Returns `true` if the operation is named that the rank was in, or called last.
    pub(super) fn names(&self, operation: &str) -> bool {
        let called = self.waits_in.as_deref().or(self.last.as_deref());
        called.is_some_and(|called| called.split(' ').next() == Some(operation))
    }

    /// Returns `true` if it was written since that operation came to its limit.
    pub(super) fn is_of_limit(&self, operation: &str) -> bool {
        let waits = self.waits_in.is_some();
        self.reason == "time limit" && waits && self.names(operation)
    }

    pub(super) fn line(&self) -> String {
        let called = match (&self.waits_in, &self.last) {
            (Some(call), _) => format!("in {call}"),
            (None, Some(last)) => format!("after {last}"),
            (None, None) => "in nothing".to_owned(),
        };
        format!("{}, {called}", self.reason)
    }
}

/// As far as it is looked at, what `ranks postmortem --json` writes.
#[derive(Deserialize)]
struct Report {
    ranks: Vec<Left>,
    communicators: Vec<Story>,
    waits: Vec<Wait>,
}

#[derive(Deserialize)]
struct Left {
    rank: usize,
    reason: String,
}

#[derive(Deserialize)]
struct Story {
    communicator: String,
    progress: Vec<Progress>,
}

#[derive(Deserialize)]
struct Progress {
    rank: usize,
    last: Option<String>,
}

#[derive(Deserialize)]
struct Wait {
    rank: usize,
    call: String,
}

/// Reads a folder of dumps by the command `ranks`; one that is not there has none.
pub(super) fn read(command: &Path, folder: &Path) -> Result<BTreeMap<usize, Dump>, String> {
    if !folder.exists() {
        return Ok(BTreeMap::new());
    }
    let mut postmortem = Command::new(command);
    postmortem.args(["postmortem", "--json"]).arg(folder);
    let output = postmortem
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", command.display()))?;
    let why = String::from_utf8_lossy(&output.stderr);
    parse(&output.stdout).map_err(|error| format!("ranks postmortem: {error}: {}", why.trim()))
}

fn parse(json: &[u8]) -> Result<BTreeMap<usize, Dump>, serde_json::Error> {
    let report: Report = serde_json::from_slice(json)?;
    let mut dumps: BTreeMap<usize, Dump> = BTreeMap::new();
    for Left { rank, reason } in report.ranks {
        dumps.entry(rank).or_default().reason = reason;
    }
    let world = |story: &Story| story.communicator == "MPI_COMM_WORLD";
    for story in report.communicators.into_iter().filter(world) {
        for Progress { rank, last } in story.progress {
            dumps.entry(rank).or_default().last = last;
        }
    }
    for Wait { rank, call } in report.waits {
        dumps.entry(rank).or_default().waits_in.get_or_insert(call);
    }
    Ok(dumps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_command_says_is_told_by_rank() {
        let json = br#"{"size": 4, "ranks": [{"rank": 0, "reason": "time limit", "host": "n0"}, {"rank": 1, "reason": "SIGTERM"}],
            "communicators": [{"communicator": "MPI_COMM_WORLD", "progress": [{"rank": 0, "begun": 3, "ended": 2, "last": "MPI_Allreduce of 1 u64 by Sum"},
                {"rank": 1, "last": "MPI_Allreduce of 1 u64 by Sum"}]}, {"communicator": "other", "progress": [{"rank": 0, "last": "MPI_Barrier"}]}],
            "waits": [{"rank": 0, "call": "MPI_Allreduce of 1 u64 by Sum", "seconds": null}]}"#;
        let dumps = parse(json).unwrap();
        assert!(dumps[&0].is_of_limit("MPI_Allreduce"), "{dumps:?}");
        assert!(!dumps[&0].is_of_limit("MPI_Allred"), "{dumps:?}");
        // Between two calls, and ended by another.
        assert!(dumps[&1].names("MPI_Allreduce") && !dumps[&1].is_of_limit("MPI_Allreduce"));
        assert_eq!(
            dumps[&1].line(),
            "SIGTERM, after MPI_Allreduce of 1 u64 by Sum"
        );
        assert!(parse(b"no dump").is_err());
    }
}
