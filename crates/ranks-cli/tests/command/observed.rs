//! What is seen of a job: the statistics at its end, and the timeline that is made of its ranks'
//! files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::on_mpi::{named, own_folder, with};
use crate::{RANKS, Said, Scratch, bare, said};

/// One job that both tests look at: `ranks self-test`, on so many ranks.
fn observe(command: &mut Command, folder: &Path) -> Said {
    command
        .env("RANKS_STATS", "1")
        .env("RANKS_TIMELINE", folder);
    said(command)
}

/// The cells of a line of the table at the end.
fn line<'a>(text: &'a str, operation: &str, communicator: &str) -> Vec<&'a str> {
    let found = text.lines().find_map(|line| {
        // Before it a launcher may have written whose line it is.
        let at = line.find(operation)?;
        let cells: Vec<&str> = line[at..].split_whitespace().collect();
        (cells.get(..2) == Some(&[operation, communicator])).then_some(cells)
    });
    found.unwrap_or_else(|| panic!("no line of {operation} on {communicator}:\n{text}"))
}

/// Insists on the lines of the table; how many barriers each rank was in.
fn check_statistics(name: &str, job: &Said, ranks: usize) -> usize {
    let whole = format!("{name}: {}{}", job.text, job.errors);
    assert_eq!(job.status, Some(0), "{whole}");
    let barriers = line(&job.errors, "MPI_Barrier", "MPI_COMM_WORLD");
    assert_eq!(barriers[2], ranks.to_string(), "{whole}");
    // As many on each rank, one before each case at least.
    let all: usize = barriers[3].parse().unwrap();
    assert!(all >= 7 * ranks && all.is_multiple_of(ranks), "{whole}");
    let exchanges = line(&job.errors, "MPI_Sendrecv", "MPI_COMM_WORLD");
    assert_eq!(exchanges[3], (100 * ranks).to_string(), "{whole}");
    assert_eq!(
        exchanges[4..6],
        [(800 * ranks).to_string(), "B".to_owned()],
        "{whole}"
    );
    assert_eq!(whole.matches("of it in calls").count(), 1, "{whole}");
    assert!(!whole.contains("missing:"), "{whole}");
    all / ranks
}

/// A slice of the trace: begin and end in nanoseconds.
type Slice = (f64, f64);

fn check_timeline(name: &str, folder: &Path, ranks: usize, barriers: usize) {
    let made = said(Command::new(RANKS).arg("timeline").arg(folder));
    let whole = format!("{name}: {}{}", made.text, made.errors);
    assert_eq!(made.status, Some(0), "{whole}");
    assert_eq!(made.errors, "", "{whole}");
    let file = folder.join("timeline.svg");
    let drawn = said(
        Command::new(RANKS)
            .arg("timeline")
            .arg(folder)
            .arg("-o")
            .arg(&file),
    );
    assert_eq!((drawn.status, drawn.errors.as_str()), (Some(0), ""));
    let drawing = fs::read_to_string(file).unwrap();
    assert!(drawing.contains(&format!(">rank {}</text>", ranks - 1)));
    assert!(drawing.matches("<title>MPI_Barrier,").count() >= barriers * ranks);
    assert!(drawing.contains("marker-end") && drawing.ends_with("</svg>\n"));
    let trace = fs::read_to_string(folder.join("timeline.json")).unwrap();
    let trace: Value = serde_json::from_str(&trace).unwrap();
    let errors: Vec<f64> = trace["otherData"]["clocks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|clock| clock["error_ns"].as_f64().unwrap())
        .collect();
    assert_eq!(errors.len(), ranks, "{name}");
    // The clocks are those of one machine; half a second is more than any answer takes.
    assert!(
        errors.iter().all(|&error| error < 5e8),
        "{name}: {errors:?}"
    );

    // By rank and thread; and by operation and number, what each rank did.
    let mut threads: BTreeMap<(u64, u64), Vec<Slice>> = BTreeMap::new();
    let mut together: BTreeMap<(String, u64), Vec<(usize, Slice)>> = BTreeMap::new();
    for entry in trace["traceEvents"].as_array().unwrap() {
        if entry["ph"] != "X" {
            continue;
        }
        let number = |value: &Value| value.as_u64().unwrap();
        let begin = entry["ts"].as_f64().unwrap() * 1e3;
        let slice = (begin, begin + entry["dur"].as_f64().unwrap() * 1e3);
        let (rank, thread) = (number(&entry["pid"]), number(&entry["tid"]));
        threads.entry((rank, thread)).or_default().push(slice);
        let operation = entry["name"].as_str().unwrap().to_owned();
        if operation == "MPI_Barrier" && entry["args"]["communicator"] == "MPI_COMM_WORLD" {
            let key = (operation, number(&entry["args"]["number"]));
            together
                .entry(key)
                .or_default()
                .push((usize::try_from(rank).unwrap(), slice));
        }
    }
    for slices in threads.values_mut() {
        assert_nested(name, slices);
    }
    assert_eq!(together.len(), barriers, "{name}: {together:?}");
    for (which, slices) in together {
        assert_eq!(slices.len(), ranks, "{name}: {which:?}");
        for (one, (begun, _)) in &slices {
            for (other, (_, ended)) in &slices {
                // Nobody leaves a barrier that somebody has not come to.
                let error = errors[*one] + errors[*other] + 2.0;
                assert!(
                    ended + error >= *begun,
                    "{name}: {which:?}, {slices:?}, {errors:?}"
                );
            }
        }
    }
}

/// Slices of a thread are one after the other, or one within the other.
fn assert_nested(name: &str, slices: &mut [Slice]) {
    slices.sort_by(|one, other| one.0.total_cmp(&other.0).then(other.1.total_cmp(&one.1)));
    let mut open: Vec<Slice> = Vec::new();
    for &(begin, end) in slices.iter() {
        // Times are rounded to nanoseconds, and then written as microseconds.
        while open.last().is_some_and(|last| last.1 <= begin + 1.0) {
            open.pop();
        }
        if let Some(around) = open.last() {
            assert!(
                end <= around.1 + 1.0,
                "{name}: {around:?} and {begin} to {end}"
            );
        }
        open.push((begin, end));
    }
}

#[test]
fn a_job_in_process() {
    let scratch = Scratch::new("observed");
    let folder = scratch.path().join("timeline");
    let mut command = bare();
    command
        .env("RANKS_BACKEND", "inprocess")
        .env("RANKS_NP", "3")
        .arg("self-test");
    let job = observe(&mut command, &folder);
    let barriers = check_statistics("in process", &job, 3);
    check_timeline("in process", &folder, 3, barriers);
}

#[test]
fn statistics_in_a_file_have_sizes_too() {
    let scratch = Scratch::new("statistics");
    let file = scratch.path().join("statistics.txt");
    let mut command = bare();
    command
        .env("RANKS_BACKEND", "inprocess")
        .env("RANKS_STATS", &file)
        .arg("self-test");
    let job = said(&mut command);
    assert_eq!((job.status, job.errors.as_str()), (Some(0), ""));
    let report = fs::read_to_string(file).unwrap();
    assert!(report.contains("bytes a call"), "{report}");
}

#[test]
fn a_folder_without_timelines_is_an_error_that_says_how_to_make_them() {
    let scratch = Scratch::new("no-timeline");
    let made = said(Command::new(RANKS).arg("timeline").arg(scratch.path()));
    assert_eq!(made.status, Some(1));
    made.complains(&["run the program with RANKS_TIMELINE="]);
    scratch.put("rank-0.timeline", "nonsense");
    let made = said(Command::new(RANKS).arg("timeline").arg(scratch.path()));
    made.complains(&["rank-0.timeline: line 1 is not the head"]);
}

/// The timeline of the rank was lost.
#[test]
fn a_timeline_is_not_written_over_by_its_trace() {
    let scratch = Scratch::new("timeline-over");
    let head = "{\"ranks_timeline\":1,\"rank\":0,\"size\":1,\"job\":\"1\",\"host\":\"h\",\"pid\":1,\"library\":\"x\",\"lost\":0,\
        \"communicators\":[]}\n";
    let file = scratch.put("rank-0.timeline", head);
    let mut timeline = Command::new(RANKS);
    timeline.arg("timeline").arg(scratch.path());
    let made = said(timeline.arg("--output").arg(&file));
    assert_eq!(made.status, Some(1), "{}", made.text);
    made.complains(&["rank-0.timeline is the timeline of a rank: name another file"]);
    assert_eq!(fs::read_to_string(file).unwrap(), head);
}

#[test]
fn a_pipe_among_timelines_was_waited_for() {
    let scratch = Scratch::new("pipe-timeline");
    let pipe = scratch.path().join("rank-0.timeline");
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let zeros = scratch.path().join("rank-1.timeline");
    std::os::unix::fs::symlink("/dev/zero", zeros).unwrap();
    let head = "{\"ranks_timeline\":1,\"rank\":2,\"size\":3,\"job\":\"1\",\"host\":\"h\",\"pid\":1,\"library\":\"x\",\"lost\":0,\
                \"communicators\":[]}\n{\"op\":\"MPI_Bar";
    scratch.put("rank-2.timeline", head);
    let made = said(Command::new(RANKS).arg("timeline").arg(scratch.path()));
    assert_eq!(made.status, Some(0), "{}", made.errors);
    made.complains(&[
        "rank-0.timeline: it is no ordinary file; it is left out",
        "rank-1.timeline: it is no ordinary file; it is left out",
        "the file of rank 2 ends within a line",
        "2 of 3 ranks have written no file, rank 0 first of them",
    ]);
}

#[test]
#[ignore = "needs an MPI"]
fn a_job_on_each_mpi() {
    for installation in named() {
        let name = &installation.name;
        let scratch = Scratch::new(&format!("observed-{name}"));
        let mut command = with(&installation, own_folder(&installation));
        // The clock of rank 3 is read by way of rank 2.
        command.args(["run", "-n", "4", "--mpi", name, RANKS, "self-test"]);
        let job = observe(&mut command, scratch.path());
        let barriers = check_statistics(name, &job, 4);
        check_timeline(name, scratch.path(), 4, barriers);
    }
}
