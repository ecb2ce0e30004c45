//! What `ranks postmortem` says of a job that really failed.

use std::path::Path;
use std::process::Command;

use ranks::prelude::*;

use crate::{RANKS, Scratch, said};

/// Set where this program is the job.
const JOB: &str = "RANKS_CLI_TEST_JOB";

/// The job: after one barrier, rank 1 calls something else than rank 0 does. It is a test so that
/// this program can be started as it.
#[test]
fn job() {
    if std::env::var_os(JOB).is_none() {
        return;
    }
    let ran = ranks::run(|world| {
        world.barrier()?;
        if world.rank() == 0 {
            world.allreduce_one(1.5_f64, Sum)?;
        } else {
            world.bcast(&mut [1_i32, 2], 0)?;
        }
        Ok::<(), ranks::Error>(())
    });
    assert!(ran.is_err());
}

fn postmortem(folder: &Path, flags: &[&str]) -> crate::Said {
    said(
        Command::new(RANKS)
            .arg("postmortem")
            .arg(folder)
            .args(flags),
    )
}

#[test]
fn the_collective_in_which_ranks_of_a_job_differ() {
    let scratch = Scratch::new("postmortem");
    let folder = scratch.path().join("dumps");
    let mut job = Command::new(std::env::current_exe().unwrap());
    job.args(["--exact", "postmortem::job"])
        .env(JOB, "1")
        .env("RANKS_DUMP", &folder)
        .env("RANKS_BACKEND", "inprocess")
        .env("RANKS_NP", "2");
    let job = said(&mut job);
    assert_eq!(job.status, Some(0), "{}{}", job.text, job.errors);

    let report = postmortem(&folder, &[]);
    assert_eq!(report.status, Some(1), "{}{}", report.text, report.errors);
    let first: Vec<&str> = report.text.lines().take(24).collect();
    let first = first.join("\n");
    for part in [
        "2 of 2 ranks left a dump",
        "TROUBLE  MPI_COMM_WORLD, collective number 1: the ranks disagree about the collective",
        "rank 0       MPI_Allreduce of 1 f64 by Sum",
        "rank 1       MPI_Bcast of 2 i32, root 0",
    ] {
        assert!(first.contains(part), "{part}: {}", report.text);
    }
    // Both have come to it, and were told: of the one that fails first that is known.
    let failed = [
        "2 begun, 1 done, failed in MPI_Allreduce of 1 f64 by Sum",
        "2 begun, 1 done, failed in MPI_Bcast of 2 i32, root 0",
    ];
    let told = failed.iter().filter(|line| report.text.contains(**line));
    assert_eq!(told.count(), 1, "{}", report.text);
    assert!(!report.text.contains(": waits for"), "{}", report.text);

    // A file that was not written to its end is named, and the others are still read.
    std::fs::write(folder.join("rank-1.json"), "{\"rank\": 1, \"si").unwrap();
    let report = postmortem(&folder, &["--json"]);
    assert_eq!(report.status, Some(1), "{}{}", report.text, report.errors);
    let value: serde_json::Value = serde_json::from_str(&report.text).unwrap();
    assert_eq!(value["unreadable"][0]["file"], "rank-1.json", "{value}");
    assert_eq!(value["missing"][0][0], 1, "{value}");
    assert_eq!(value["ranks"][0]["rank"], 0, "{value}");
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let report = postmortem(Path::new("/nonexistent/dumps"), &[]);
    assert_eq!(report.status, Some(1));
    report.complains(&["/nonexistent/dumps cannot be read"]);
}
