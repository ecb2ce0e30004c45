//! Threads of one process that tell each other something, with no communicator and no library.

use std::mem::take;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ranks_comm::backend::{MOST_THREADS, RankList};
use ranks_comm::{Error, ErrorKind, Result};

use super::Bootstrap;

const OPERATION: &str = "ThreadBootstrap::exchange";

/// Ranks that are threads of one process: each thread takes one of what [`of`](Self::of) gives.
///
/// ```
/// use std::time::Duration;
/// use ranks::bootstrap::{Bootstrap, ThreadBootstrap};
///
/// let ranks = ThreadBootstrap::of(2, Duration::from_secs(10))?;
/// std::thread::scope(|scope| {
///     for rank in ranks {
///         scope.spawn(move || {
///             let all = rank.exchange(format!("rank {}", rank.rank()).as_bytes());
///             assert_eq!(all.unwrap(), [b"rank 0".to_vec(), b"rank 1".to_vec()]);
///         });
///     }
/// });
/// # Ok::<(), ranks::Error>(())
/// ```
///
/// A thread that drops its own before it has done its part, or panics, makes the exchange of the
/// others fail.
#[derive(Debug)]
pub struct ThreadBootstrap {
    rank: usize,
    limit: Duration,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// The number of exchanges that are complete.
    over: u64,
    /// The contributions of the ranks to the one in progress.
    given: Vec<Option<Vec<u8>>>,
    /// Ranks that a thread is in [`exchange`](Bootstrap::exchange) for.
    within: Vec<bool>,
    /// Their contributions to the last that is complete. They are replaced only after all have
    /// passed something to the next one, and so have taken them: a rank that is still within this
    /// one passes nothing.
    last: Arc<Vec<Vec<u8>>>,
    /// Ranks whose handle is gone, and what is to be said of them.
    gone: Vec<Option<&'static str>>,
    /// The reason why no exchange can be made any more.
    failed: Option<(ErrorKind, String)>,
}

impl State {
    fn of(ranks: usize) -> State {
        State {
            over: 0,
            given: (0..ranks).map(|_| None).collect(),
            within: vec![false; ranks],
            last: Arc::default(),
            gone: vec![None; ranks],
            failed: None,
        }
    }

    /// Ranks that have passed nothing to the exchange under way.
    fn missing(&self) -> impl Iterator<Item = usize> {
        let nothing = |(rank, given): (usize, &Option<Vec<u8>>)| given.is_none().then_some(rank);
        self.given.iter().enumerate().filter_map(nothing)
    }

    /// Ends the exchange under way if all have done their part, or fails it if somebody never will.
    fn settle(&mut self) {
        if self.failed.is_some() {
            return;
        }
        if self.missing().next().is_none() {
            let given = self
                .given
                .iter_mut()
                .map(|given| take(given).unwrap_or_default());
            self.last = Arc::new(given.collect());
            self.over += 1;
            return;
        }
        // Those who wait for an exchange are told; where nobody has begun one, whoever begins is.
        let begun = self.given.iter().any(Option::is_some);
        let lost = self
            .missing()
            .find_map(|rank| Some((rank, self.gone[rank]?)));
        if let Some((rank, how)) = lost.filter(|_| begun) {
            self.failed = Some((ErrorKind::PeerFailed, format!("rank {rank} {how}")));
        }
    }
}

impl ThreadBootstrap {
    /// One for each of `ranks` threads. An exchange in which a rank has not come after `limit`
    /// fails on all that have.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for no thread, or more than 8192, which a process has no room for.
    pub fn of(ranks: usize, limit: Duration) -> Result<Vec<ThreadBootstrap>> {
        if ranks == 0 || ranks > MOST_THREADS {
            let text = format_args!(
                "{ranks} ranks were asked for; each is a thread of this process, of which there may be 1 to {MOST_THREADS}: \
                 let more ranks be processes, over a TcpStore or an MPI"
            );
            return Err(Error::new(ErrorKind::Argument, "ThreadBootstrap::of", text));
        }
        let shared = Arc::new(Shared {
            state: Mutex::new(State::of(ranks)),
            changed: Condvar::new(),
        });
        let one = |rank| ThreadBootstrap {
            rank,
            limit,
            shared: Arc::clone(&shared),
        };
        Ok((0..ranks).map(one).collect())
    }

    /// No code of anybody else's runs under this lock, and every change is whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn error((kind, text): &(ErrorKind, String)) -> Error {
        Error::new(*kind, OPERATION, text)
    }
}

impl Bootstrap for ThreadBootstrap {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.lock().given.len()
    }

    fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        // A limit that no clock can tell is none.
        let end = Instant::now().checked_add(self.limit);
        let mut state = self.lock();
        if state.within[self.rank] {
            return Err(Error::new(
                ErrorKind::Argument,
                OPERATION,
                format_args!(
                    "rank {} is in an exchange already: one thread a rank",
                    self.rank
                ),
            ));
        }
        if let Some(failed) = &state.failed {
            return Err(Self::error(failed));
        }
        let number = state.over;
        state.within[self.rank] = true;
        state.given[self.rank] = Some(mine.to_vec());
        state.settle();
        self.shared.changed.notify_all();
        loop {
            if state.over != number {
                state.within[self.rank] = false;
                let all = Arc::clone(&state.last);
                drop(state);
                return Ok(all.to_vec());
            }
            if let Some(failed) = &state.failed {
                let error = Self::error(failed);
                state.within[self.rank] = false;
                return Err(error);
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            state = match left {
                None => self
                    .shared
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => {
                    let missing: RankList = state.missing().collect();
                    let text = format!("timed out after {:?}: {missing} did not come", self.limit);
                    state.failed = Some((ErrorKind::TimedOut, text));
                    self.shared.changed.notify_all();
                    state
                }
                Some(left) => {
                    let waited = self.shared.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

impl Drop for ThreadBootstrap {
    fn drop(&mut self) {
        let how = if std::thread::panicking() {
            "panicked"
        } else {
            "has dropped its ThreadBootstrap"
        };
        let mut state = self.lock();
        state.gone[self.rank] = Some(how);
        state.settle();
        drop(state);
        self.shared.changed.notify_all();
    }
}
