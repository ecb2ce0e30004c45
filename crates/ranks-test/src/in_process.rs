//! A test in this process: a thread a rank, and a time limit for all of them.

use std::fmt;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ranks_comm::{Backend, Communicator, Error, Runtime};

use crate::outcome::Outcome;
use crate::test::Test;

mod exit;

/// The time that the other ranks have to end after one failed.
const FAILED_LIMIT: Duration = Duration::from_secs(5);

/// The interval at which the ranks are looked at. Miri takes about as long for one look.
const TICK: Duration = Duration::from_millis(if cfg!(miri) { 1000 } else { 20 });

/// The progress of a rank.
#[derive(Clone, Debug)]
enum State {
    NotBegun,
    Within,
    Passed,
    Failed(String),
}

/// The ranks of a test, shared between their threads and the one that waits.
#[derive(Clone, Debug)]
struct States(Arc<Mutex<Vec<State>>>);

impl States {
    fn set(&self, rank: usize, state: State) {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = states.get_mut(rank) {
            *place = state;
        }
    }

    fn any(&self, what: impl Fn(&State) -> bool) -> bool {
        let states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        states.iter().any(what)
    }
}

impl fmt::Display for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (rank, state) in states.iter().enumerate() {
            match state {
                State::NotBegun => write!(f, "\n  rank {rank} did not begin")?,
                State::Within => write!(f, "\n  rank {rank} has not ended")?,
                State::Passed => write!(f, "\n  rank {rank} passed")?,
                State::Failed(why) => write!(f, "\n  rank {rank} {why}")?,
            }
        }
        Ok(())
    }
}

/// The reason why a rank failed, for the runtime; the states hold it for the report.
#[derive(Debug)]
struct RankError(String);

impl std::error::Error for RankError {}

impl From<Error> for RankError {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for RankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Runs the test, and gives why it failed with a line a rank.
pub(crate) fn run<R: Outcome>(
    test: &'static Test,
    body: fn(Communicator) -> R,
) -> Result<(), String> {
    let _running = exit::RunningTest::new(test.name());
    let states = States(Arc::new(Mutex::new(vec![State::NotBegun; test.ranks])));
    let (ended, end) = channel();
    let shared = states.clone();
    // Not joined when the test has timed out: a thread cannot be ended from outside, and the
    // process will end it.
    std::thread::Builder::new()
        .name(test.name().to_owned())
        .spawn(move || {
            let outcome = Runtime::builder()
                .backend(Backend::InProcess)
                .ranks(test.ranks)
                .thread_level(test.threads)
                .run(|world| rank(test, body, &shared, world));
            // The receiver is gone if the test timed out.
            let _ = ended.send(outcome.map_err(|error| error.to_string()));
        })
        .map_err(|error| format!("no thread could be started: {error}"))?;

    let (began, limit) = (Instant::now(), test.limit());
    let mut failed: Option<Instant> = None;
    loop {
        let why = match end.recv_timeout(TICK) {
            Ok(Ok(())) if !states.any(|state| !matches!(state, State::Passed)) => return Ok(()),
            Ok(Ok(())) => "not every rank ran the test".to_owned(),
            Ok(Err(error)) if states.any(|state| matches!(state, State::Failed(_))) => {
                drop(error);
                "a rank failed".to_owned()
            }
            Ok(Err(error)) => error,
            Err(RecvTimeoutError::Disconnected) => "the runtime panicked".to_owned(),
            Err(RecvTimeoutError::Timeout) => {
                if failed.is_none() && states.any(|state| matches!(state, State::Failed(_))) {
                    failed = Some(Instant::now());
                }
                if failed.is_some_and(|when| when.elapsed() > FAILED_LIMIT) {
                    "a rank failed, and others did not end".to_owned()
                } else if began.elapsed() > limit {
                    format!("no end after {} s", limit.as_secs())
                } else {
                    continue;
                }
            }
        };
        return Err(format!("{why}{states}"));
    }
}

/// One rank.
fn rank<R: Outcome>(
    test: &Test,
    body: fn(Communicator) -> R,
    states: &States,
    world: Communicator,
) -> Result<(), RankError> {
    let me = world.rank();
    exit::is_rank_of(test.name());
    states.set(me, State::Within);
    let result = test.attempt(|| {
        if world.size() != test.ranks {
            return Err(format!("is one of {}, not of {}", world.size(), test.ranks));
        }
        body(world).into_result()
    });
    match result {
        Ok(()) => {
            states.set(me, State::Passed);
            Ok(())
        }
        Err(why) => {
            states.set(me, State::Failed(why.clone()));
            Err(RankError(format!("rank {me} {why}")))
        }
    }
}
