//! The ranks that are other processes, as a limit that has passed asks them.

use std::sync::OnceLock;
use std::time::Duration;

use super::report::RankState;

/// The ranks of the job over MPI.
pub(crate) trait Processes: Sync {
    /// Asks the ranks, among which this one is not, for their states: sends its own state, and
    /// waits briefly for their answers.
    fn ask(&self, ranks: &[usize], own: &RankState) -> Vec<(usize, RankState)>;

    /// Returns `true` if a thread asks.
    fn is_asking(&self) -> bool;

    /// Answers questions; for the watchdog, which does not wait while another thread asks.
    fn listen(&self);

    /// The rank to which another thread is sending a question, if the library has not returned from
    /// that for so long.
    fn stuck(&self, patience: Duration) -> Option<usize>;
}

static PROCESSES: OnceLock<&'static dyn Processes> = OnceLock::new();

/// Sets by what the ranks of the job are asked; once.
pub(crate) fn answer_by(processes: &'static dyn Processes) {
    PROCESSES.get_or_init(|| processes);
}

/// The ranks of the job, once they can be asked.
pub(super) fn processes() -> Option<&'static dyn Processes> {
    PROCESSES.get().copied()
}
