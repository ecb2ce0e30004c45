//! Jobs that end badly, each in its way: the dumps that ranks leave, and that `ranks postmortem`
//! names what they were in.

use std::error::Error;
use std::fmt;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::str::FromStr;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal::{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ranks::prelude::*;
use ranks::{Checks, Runtime};
use serde_json::Value;

use crate::faults;
use crate::on_mpi::{named, own_folder, with};
use crate::{Failure, RANKS, Scratch, bare, said};

mod ends;

use ends::{Called, ENDS, End};

/// How the job is to end, where this program is the job.
const JOB: &str = "RANKS_CLI_TEST_DUMPS";

/// Jobs of an MPI that are started at once: ranks that wait keep their cores, and those of more
/// jobs would come too late to their first barrier.
const AT_ONCE: usize = 4;

/// The limit that one rank comes to, long enough for the other to start, as text too; the one that
/// it sets itself; and one that none comes to.
const LIMIT: &str = "4s";
const OWN_LIMIT: Duration = Duration::from_secs(2);
const LONG: Duration = Duration::from_secs(60);

/// An error as applications make them: what they were about, and the cause beside it.
#[derive(Debug)]
struct InContext(&'static str, ranks::Error);

impl fmt::Display for InContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match f.alternate() {
            true => write!(f, "{}: {}", self.0, self.1),
            false => f.write_str(self.0),
        }
    }
}

impl Error for InContext {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.1)
    }
}

/// The job. It is a test so that this program can be started as it.
#[test]
fn job() {
    if let Ok(how) = std::env::var(JOB) {
        if how == "broken memory, with a handler" {
            faults::handle_broken_memory();
        }
        let builder = Runtime::builder().checks(Checks::Local);
        builder.run(|world| end(&world, &how)).unwrap();
    }
}

/// Rank 1 does its part, and waits for a message that does not come.
fn end(world: &Communicator, how: &str) -> Result<(), Failure> {
    world.barrier()?;
    let is_first = world.rank() == 0;
    let mut never = [0_i32];
    match how {
        "error" if is_first => {
            world.recv(&mut [0_i32; 2], 1, 0)?;
        }
        "error in a context" if is_first => {
            let outcome = world.recv(&mut [0_i32; 2], 1, 0);
            outcome.map_err(|error| InContext("exchanging the mesh", error))?;
        }
        "error" | "error in a context" => world.send(&[0_i32; 9], 0, 0)?,
        "panic" if is_first => panic!("out of luck"),
        "abort" if is_first => world.abort(3),
        "stack overflow" if is_first => drop(overflow(1)),
        "write to null" if is_first => faults::write_to_null(),
        "file that was cut" if is_first => faults::read_what_was_cut(),
        "broken memory, with a handler" if is_first => faults::broken_memory(),
        "illegal instruction" if is_first => faults::illegal_instruction(),
        "abort of the process" if is_first => std::process::abort(),
        "panic that cannot unwind" if is_first => cannot_unwind(),
        "abort with a lock" if is_first => {
            // It cannot say that it cannot write.
            let folder = std::env::var("RANKS_DUMP")?;
            fs::remove_dir(&folder)?;
            fs::write(&folder, "")?;
            let _lock = std::io::stderr().lock();
            std::process::abort();
        }
        "exit" if is_first => std::process::exit(3),
        "blocked signals" if is_first => {
            let faults =
                [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT].map(|signal| 1 << (signal as u8 - 1));
            let blocked = loop {
                // It has its name when it has begun.
                if let Some(signals) = blocked_by("ranks faults")? {
                    break signals;
                }
            };
            let all = faults.iter().all(|fault| blocked & fault != 0);
            std::process::exit(if all { 3 } else { 4 });
        }
        "SIGTERM" | "SIGFPE" if is_first => {
            let mine = [i32::try_from(std::process::id())?];
            world.sendrecv(&mine, 1, 0, &mut never, 1, 0)?;
        }
        // Rank 0 is in the call that has brought the number.
        "SIGTERM" | "SIGFPE" => {
            let mut process = [0];
            world.recv(&mut process, 0, 0)?;
            kill(Pid::from_raw(process[0]), Signal::from_str(how)?)?;
        }
        "time limit" if is_first => {
            world.allreduce_one(1.5_f64, Sum)?;
        }
        "time limit of a receive" if is_first => {
            world.recv(&mut [0_i32; 2], 1, 7)?;
        }
        "limit of its own" if is_first => {
            world.within(OWN_LIMIT, |world| world.recv(&mut [0_i32; 2], 1, 7))?;
        }
        // It is rank 0 that comes to the limit.
        "time limit" | "time limit of a receive" => {
            world.within(LONG, |world| world.recv(&mut never, 0, 9))?;
        }
        _ => {}
    }
    if is_first {
        return Err("it has not ended".into());
    }
    world.recv(&mut never, 0, 9)?;
    Ok(())
}

/// The signals that a thread of this process blocks, a bit each, if there is one of that name.
fn blocked_by(thread: &str) -> Result<Option<u64>, Failure> {
    for task in fs::read_dir("/proc/self/task")? {
        let task = task?.path();
        if fs::read_to_string(task.join("comm"))?.trim_end() == thread {
            let status = fs::read_to_string(task.join("status"))?;
            let mut lines = status.lines();
            let blocked = lines.find_map(|line| line.strip_prefix("SigBlk:"));
            let blocked = blocked.ok_or("no signals in its status")?;
            return Ok(Some(u64::from_str_radix(blocked.trim(), 16)?));
        }
    }
    Ok(None)
}

/// Needs more of the stack than there is.
#[expect(unconditional_recursion, reason = "it is to overflow")]
fn overflow(depth: u64) -> u64 {
    let room = std::hint::black_box([depth; 64]);
    room[0] + overflow(depth + 1)
}

extern "C" fn cannot_unwind() {
    panic!("in a callback");
}

/// Insists on what is told of a job that ended so; `start` is what starts it.
fn check(name: &str, end: &End, mut start: Command) {
    let scratch = Scratch::new(&format!("dumps-{name}-{}", end.how.replace(' ', "-")));
    let folder = scratch.path().join("dumps");
    start
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "dumps::job", "--nocapture"])
        .env(JOB, end.how)
        .env("RANKS_DUMP", &folder);
    if end.reason.starts_with("SIG") {
        start.env("RANKS_DUMP_SIGNALS", "1");
    }
    if end.how.starts_with("time limit") {
        start.env("RANKS_TIMEOUT", LIMIT);
    }
    let job = said(&mut start);
    let whole = format!("{name}, {}: {}{}", end.how, job.text, job.errors);
    assert_ne!(job.status, Some(0), "{whole}");
    assert_ne!(job.status, Some(124), "{whole}");

    let postmortem = |flags: &[&str]| {
        let mut command = Command::new(RANKS);
        said(command.arg("postmortem").arg(&folder).args(flags))
    };
    let report = postmortem(&["--json"]);
    let whole = format!("{whole}\n{}{}", report.text, report.errors);
    let value: Value = serde_json::from_str(&report.text).expect(&whole);
    assert_eq!(value["size"], 2, "{whole}");
    let of_rank_0 = |list: &Value| {
        let list = list.as_array().into_iter().flatten();
        list.filter(|one| one["rank"] == 0)
            .cloned()
            .collect::<Vec<_>>()
    };
    let [left] = &of_rank_0(&value["ranks"])[..] else {
        panic!("no dump of rank 0: {whole}");
    };
    assert_eq!(left["reason"], end.reason, "{whole}");
    let error = left["error"].as_str().unwrap_or_default();
    assert!(error.contains(end.error), "{whole}");
    let waits = of_rank_0(&value["waits"]);
    let is = |told: &Value, call: &str| {
        let told = told.as_str();
        assert!(told.is_some_and(|told| told.starts_with(call)), "{whole}");
    };
    match (&end.call, &waits[..]) {
        (Called::In(call), [wait]) => {
            is(&wait["call"], call);
            assert_eq!(
                (&wait["over"], &left["failed_in"]),
                (&false.into(), &Value::Null)
            );
        }
        (Called::Waited(call), [wait]) => {
            is(&wait["call"], call);
            is(&left["failed_in"], call);
            assert_eq!(wait["over"], true, "{whole}");
        }
        (Called::Failed(call), []) => is(&left["failed_in"], call),
        (Called::Nothing, []) => assert_eq!(left["failed_in"], Value::Null, "{whole}"),
        _ => panic!("rank 0 is in other calls: {whole}"),
    }
    let world = &value["communicators"][0];
    let progress = of_rank_0(&world["progress"]);
    let last = progress[0]["last"].as_str().unwrap_or_default();
    assert!(last.starts_with(end.collective), "{whole}");

    // What a person reads names the same.
    let report = postmortem(&[]);
    let call = match end.call {
        Called::In(call) | Called::Failed(call) | Called::Waited(call) => call,
        Called::Nothing => "",
    };
    report.tells(&[end.collective, call, end.error]);
    comes_first(name, end, &report.text);
}

/// Insists on the end of rank 0 as the first trouble of the report; ranks that are threads end
/// together.
fn comes_first(name: &str, end: &End, report: &str) {
    let how = match end.reason {
        "error" => "returned an error: ",
        "panic" => "panicked: out of luck",
        "abort" => "aborted with code 3",
        "exit" => "ended with exit",
        "SIGTERM" | "time limit" => return,
        signal => &format!("ended by {signal}"),
    };
    let first = report.lines().find(|line| line.starts_with("TROUBLE"));
    let first = first.unwrap_or_default();
    let of_process =
        name == "in process" && ["exit", "ended by"].iter().any(|end| how.contains(end));
    let of_rank_0 = first.starts_with("TROUBLE  rank 0 ") || of_process;
    assert!(
        of_rank_0 && first.contains(how),
        "{name}, {}: {report}",
        end.how
    );
}

#[test]
fn of_threads() {
    for end in &ENDS {
        let mut start = bare();
        start.args(["run", "-n", "2", "--mpi", "none", "--time-limit", "60s"]);
        check("in process", end, start);
    }
}

#[test]
#[ignore = "needs an MPI"]
fn of_processes_of_each_mpi() {
    for installation in named() {
        let name = &installation.name;
        // Those that wait for a limit are the last of the list, and begin first.
        let ends = Mutex::new(ENDS.iter().rev());
        let next = || ends.lock().unwrap().next();
        thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    while let Some(end) = next() {
                        let mut start = with(&installation, own_folder(&installation));
                        start.args(["run", "-n", "2", "--mpi", name, "--time-limit", "60s"]);
                        check(name, end, start);
                    }
                });
            }
        });
    }
}

/// The job, started alone.
fn alone(how: &str, folder: &Path) -> Command {
    let mut start = Command::new(std::env::current_exe().unwrap());
    start
        .args(["--exact", "dumps::job", "--nocapture"])
        .env("RANKS_BACKEND", "inprocess")
        .env("RANKS_NP", "2")
        .env("RANKS_DUMP", folder)
        .env(JOB, how);
    start
}

#[test]
fn a_handler_leaves_the_end_of_a_process_as_it_was() {
    for how in [
        "stack overflow",
        "write to null",
        "file that was cut",
        "broken memory, with a handler",
        "illegal instruction",
        "abort of the process",
        "exit",
    ] {
        let scratch = Scratch::new(&format!("ends-{}", how.replace(' ', "-")));
        let end = |signals| {
            let folder = scratch.path().join(format!("dumps-{signals}"));
            let start = alone(how, &folder)
                .env("RANKS_DUMP_SIGNALS", signals)
                .output();
            let output = start.unwrap();
            let left = folder.join("rank-0.json").exists();
            let last = String::from_utf8_lossy(&output.stderr).into_owned();
            (
                output.status,
                last.contains("has overflowed its stack"),
                left,
            )
        };
        let (before, with) = (end("0"), end("1"));
        assert_eq!((before.0, before.1), (with.0, with.1), "{how}");
        let told = how == "broken memory, with a handler";
        let handled = before.0.code() == Some(faults::HANDLED);
        assert_eq!(handled, told, "{how}: {}", before.0);
        assert_eq!((before.2, with.2), (how == "exit", true), "{how}");
    }
}

/// The thread that writes needs a lock that the one that has faulted holds for ever.
#[test]
fn a_fault_that_leaves_a_lock_behind_ends_all_the_same() {
    let scratch = Scratch::new("locked");
    let folder = scratch.path().join("dumps");
    let output = alone("abort with a lock", &folder)
        .env("RANKS_DUMP_SIGNALS", "1")
        .output()
        .unwrap();
    assert_eq!(output.status.signal(), Some(Signal::SIGABRT as i32));
}

/// A signal that is sent to the process reaches any thread that does not block it.
#[test]
#[cfg(target_os = "linux")]
fn a_signal_that_the_thread_that_writes_took_left_no_dump() {
    let scratch = Scratch::new("blocked");
    let mut job = alone("blocked signals", &scratch.path().join("dumps"));
    let ended = said(job.env("RANKS_DUMP_SIGNALS", "1"));
    assert_eq!(ended.status, Some(3), "{}{}", ended.text, ended.errors);
}

#[test]
fn a_panic_that_aborts_left_no_dump() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = root.join("target/panics");
    let build = Command::new(env!("CARGO"))
        .current_dir(&root)
        .args([
            "build",
            "--quiet",
            "--offline",
            "--package",
            "panics",
            "--target-dir",
        ])
        .arg(&target)
        .args(["--config", "profile.dev.panic='abort'"])
        .status();
    assert!(build.unwrap().success());
    let scratch = Scratch::new("panic-aborts");
    let ended = Command::new(target.join("debug/panics"))
        .env("RANKS_BACKEND", "inprocess")
        .env("RANKS_NP", "2")
        .env("RANKS_DUMP", scratch.path())
        .output()
        .unwrap();
    assert_eq!(ended.status.signal(), Some(Signal::SIGABRT as i32));
    let dump = fs::read_to_string(scratch.path().join("rank-0.json")).unwrap();
    assert!(dump.contains(r#""reason":"panic","error":""#), "{dump}");
    assert!(dump.contains("out of luck"), "{dump}");
}
