//! The ranks that are other processes, as a limit that has passed asks them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::lock;
use super::report::RankState;

/// Ranks with their states.
pub(crate) type States = Vec<(usize, RankState)>;

/// The ranks of the job over MPI.
pub(crate) struct Processes {
    /// Asks ranks, among which this one is not, for their states: sends its own state, and waits
    /// briefly for their answers. `None` if this thread must not.
    pub(crate) ask: fn(&[usize], &RankState) -> Option<States>,
    /// Answers questions; for the watchdog, which does not wait while another thread asks.
    pub(crate) listen: fn(),
}

static PROCESSES: OnceLock<Processes> = OnceLock::new();

/// The number of threads that ask.
static ASKING: AtomicUsize = AtomicUsize::new(0);

/// The rank that a question is being sent to, and since when.
static SENDING: Mutex<Option<(Instant, usize)>> = Mutex::new(None);

/// Sets by what the ranks of the job are asked; once.
pub(crate) fn answer_by(processes: Processes) {
    PROCESSES.get_or_init(|| processes);
}

/// Asks ranks for their states.
pub(super) fn ask(ranks: &[usize], own: &RankState) -> States {
    ASKING.fetch_add(1, Ordering::Relaxed);
    let states = PROCESSES.get().and_then(|all| (all.ask)(ranks, own));
    ASKING.fetch_sub(1, Ordering::Relaxed);
    let unknown = ranks.iter().map(|&rank| (rank, RankState::Unknown));
    states.unwrap_or_else(|| unknown.collect())
}

/// Returns `true` if a thread asks.
pub(super) fn is_asking() -> bool {
    ASKING.load(Ordering::Relaxed) > 0
}

/// Answers questions of other ranks.
pub(super) fn listen() {
    if let Some(all) = PROCESSES.get() {
        (all.listen)();
    }
}

/// Notes the rank that a question is about to be sent to, or that all are sent.
pub(crate) fn sends(to: Option<usize>) {
    *lock(&SENDING) = to.map(|rank| (Instant::now(), rank));
}

/// The rank to which another thread is sending a question, if the library has not returned from
/// that for so long.
pub(super) fn stuck(patience: Duration) -> Option<usize> {
    let (since, rank) = (*lock(&SENDING))?;
    (since.elapsed() >= patience).then_some(rank)
}
