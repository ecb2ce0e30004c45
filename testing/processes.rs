//! Tests that have processes to themselves: the program starts itself anew, once for each rank.
//! Included by the tests of several crates.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ranks_bootstrap::Bootstrap;
use ranks_comm::{Error, ErrorKind, Result};

/// How long anything may take that is to end well: no test waits for it.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// Says to a process which test it is to do, and as which rank.
const INSIDE: &str = "RANKS_TEST_INSIDE";

/// Where processes leave what they have to tell each other.
const FOLDER: &str = "RANKS_TEST_FOLDER";

/// Says to a process by which of its test's calls of [`together`] it was started.
const ROUND: &str = "RANKS_TEST_ROUND";

/// The number of calls of [`together`] that each test has made so far.
static ROUNDS: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

/// What a process says when its test is done.
const DONE: &str = "the test came to its end";

/// The file of a double, which cargo builds beside this program.
pub(crate) fn file_of(double: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    here.parent().unwrap().join(format!("lib{double}.so"))
}

/// Returns `true` if this process does one test alone.
pub(crate) fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Does a test on ranks that are processes, with `variables` for each of them.
pub(crate) fn together(test: &str, variables: &[&[(&str, &str)]], body: impl FnOnce(&Folder)) {
    let size = variables.len();
    let round = next_round(test).to_string();
    if is_inside() {
        if std::env::var(ROUND).unwrap() == round {
            body(&Folder::of_this_process(size));
            done();
        }
        return;
    }
    let name = test.replace(':', "-");
    let folder = std::env::temp_dir().join(format!("ranks-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.to_str().unwrap();
    let begin = |(rank, variables): (usize, &&[(&str, &str)])| {
        let variables = [*variables, &[(FOLDER, path), (ROUND, &round)]].concat();
        again(test, rank, &variables)
    };
    let ranks = variables.iter().enumerate().map(begin).collect();
    let outcome = catch_unwind(AssertUnwindSafe(|| finish(ranks)));
    fs::remove_dir_all(&folder).unwrap();
    outcome.unwrap_or_else(|panic| resume_unwind(panic));
}

/// Which call of [`together`] this is in its test, from 0.
fn next_round(test: &str) -> usize {
    let mut rounds = ROUNDS.lock().unwrap_or_else(PoisonError::into_inner);
    let round = rounds.entry(test.to_owned()).or_default();
    *round += 1;
    *round - 1
}

/// Says that the test was done, by this process at least.
#[allow(
    clippy::print_stdout,
    reason = "this is what the parent process looks for"
)]
pub(crate) fn done() {
    println!("{DONE}");
}

/// Starts a test anew, in a process of its own.
fn again(test: &str, rank: usize, variables: &[(&str, &str)]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--include-ignored", "--nocapture"])
        .env(INSIDE, rank.to_string())
        .envs(variables.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for processes to end well, and kills all of them when they do not in time.
fn finish(mut children: Vec<Child>) {
    let end = Instant::now() + 2 * LONG;
    let mut running = true;
    while running && Instant::now() < end {
        thread::sleep(Duration::from_millis(2));
        running = children
            .iter_mut()
            .any(|child| child.try_wait().unwrap().is_none());
    }
    let mut complaints = String::new();
    for (rank, mut child) in children.into_iter().enumerate() {
        if running {
            // One that has ended meanwhile is as good as killed.
            let _ = child.kill();
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        if !said.contains(DONE) {
            let errors = String::from_utf8_lossy(&output.stderr);
            complaints += &format!("process {rank}: {}\n{said}{errors}\n", output.status);
        }
    }
    assert!(!running, "it took too long\n{complaints}");
    assert!(complaints.is_empty(), "{complaints}");
}

/// Processes that tell each other something by files in a folder: to be seen whole, each is renamed
/// when it is written.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    rank: usize,
    size: usize,
    exchanges: Cell<usize>,
}

impl Folder {
    fn of_this_process(size: usize) -> Self {
        let rank = std::env::var(INSIDE).unwrap().parse().unwrap();
        let path = std::env::var_os(FOLDER).unwrap().into();
        let exchanges = Cell::new(0);
        Self {
            path,
            rank,
            size,
            exchanges,
        }
    }
}

impl Bootstrap for Folder {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        let number = self.exchanges.replace(self.exchanges.get() + 1);
        let of = |rank: usize| self.path.join(format!("{number}-{rank}"));
        let hidden = of(self.rank).with_extension("new");
        fs::write(&hidden, mine).unwrap();
        fs::rename(&hidden, of(self.rank)).unwrap();
        let end = Instant::now() + LONG;
        let read = |rank| loop {
            match fs::read(of(rank)) {
                Ok(words) => return Ok(words),
                Err(_) if Instant::now() < end => thread::sleep(Duration::from_micros(200)),
                Err(_) => {
                    let text = format_args!("rank {rank} does not come");
                    return Err(Error::new(ErrorKind::TimedOut, "exchange", text));
                }
            }
        };
        (0..self.size).map(read).collect()
    }
}
