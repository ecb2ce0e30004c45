//! The states of all ranks, asked for in `internal_comm` when a rank has timed out.
//!
//! A rank that asks sends its own state, so that ranks which time out together need not ask twice.
//! Answers come from the watchdog of `limit`, where the library lets it call, or from a thread that
//! asks at the same time.

use std::collections::HashMap;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use ranks_mpi_sys as sys;
use ranks_mpi_sys::MPI_Comm;

use super::begun::{Begun, test};
use super::error::check;
use super::internal_comm::{self, RANK_QUERIES as TAG};
use crate::call::checks::{get_text, put_text};
use crate::call::limit::{self, Processes, RankState, States};
use crate::call::lock::lock;
use crate::call::thread_guard::THREAD_GUARD;
use crate::call::thread_level::ThreadLevel;
use crate::data::in_flight::Over;
use crate::data::source::Source;
use crate::result::Result;

/// The time for ranks to answer.
const GRACE: Duration = Duration::from_millis(500);

/// The length of a message: its kind, the time that its sender has been in its call in
/// microseconds, and the name of that.
const LENGTH: usize = 128;

const QUESTION: u8 = 1;
const ANSWER: u8 = 2;

/// The communicator, and the messages that were received on it.
struct RankQueries {
    comm: MPI_Comm,
    /// The last state of each rank that has sent one, and the time of its arrival.
    heard: HashMap<usize, (Instant, RankState)>,
    /// The sends that are pending.
    sending: Vec<Begun<Vec<u8>>>,
}

static RANK_QUERIES: Mutex<Option<RankQueries>> = Mutex::new(None);

/// Makes the ranks ready to be asked. Collective over all ranks.
pub(crate) fn open() -> Result<()> {
    limit::answer_by(Processes { ask, listen });
    *lock(&RANK_QUERIES) = Some(RankQueries {
        comm: internal_comm::open()?,
        heard: HashMap::new(),
        sending: Vec::new(),
    });
    Ok(())
}

/// Ends questions and answers.
pub(crate) fn close() {
    *lock(&RANK_QUERIES) = None;
}

/// Returns `true` if this thread may call the library while another one is in a call.
fn lets_watchdogs_call() -> bool {
    THREAD_GUARD.level() == ThreadLevel::Multiple
}

/// Answers questions, on a thread that may call the library.
pub(crate) fn answer() {
    if let Ok(mut queries) = RANK_QUERIES.try_lock()
        && let Some(queries) = &mut *queries
    {
        queries.listen();
    }
}

/// Asks ranks for their states.
fn ask(ranks: &[usize], own: &RankState) -> Option<States> {
    if limit::is_watchdog() && !lets_watchdogs_call() {
        return None;
    }
    let begin = Instant::now();
    // Ranks that have asked before have sent their states.
    let since = begin.checked_sub(GRACE).unwrap_or(begin);
    if let Some(queries) = &mut *lock(&RANK_QUERIES) {
        for &rank in ranks {
            limit::sends(Some(rank));
            queries.send(QUESTION, rank, own);
        }
        limit::sends(None);
    }
    loop {
        let mut queries = lock(&RANK_QUERIES);
        let open = queries.as_mut()?;
        open.listen();
        let heard = |&rank: &usize| match open.heard.get(&rank) {
            Some((when, state)) if *when >= since => (rank, state.clone()),
            _ => (rank, RankState::Unheard),
        };
        let states: States = ranks.iter().map(heard).collect();
        let all = states.iter().all(|(_, state)| *state != RankState::Unheard);
        if all || begin.elapsed() >= GRACE {
            return Some(states);
        }
        // Other threads ask and answer between two looks.
        drop(queries);
        thread::sleep(Duration::from_millis(1));
    }
}

/// Answers questions, on the thread of the watchdog.
fn listen() {
    if lets_watchdogs_call() {
        answer();
    }
}

/// Waits for all ranks to come to the end; if they do not in time, on after `late` if that is no
/// error. Collective.
pub(crate) fn all_come(limit: Duration, late: impl FnOnce() -> Result<()>) -> Result<()> {
    let mut request = sys::MPI_REQUEST_NULL;
    {
        let Some(queries) = &*lock(&RANK_QUERIES) else {
            return Ok(());
        };
        // SAFETY: MPI is alive, and so is the communicator; the request is ours, and a barrier has
        // no memory.
        let code = unsafe { sys::MPI_Ibarrier(queries.comm, &raw mut request) };
        check(code, "MPI_Ibarrier")?;
    }
    let mut all_come = || {
        answer();
        test(&mut request)
    };
    if !limit::Pause::until(limit, &mut all_come)? {
        late()?;
        limit::Pause::until(Duration::MAX, &mut all_come)?;
    }
    Ok(())
}

impl RankQueries {
    /// Sends a message. A failure is the same as an answer that does not come.
    fn send(&mut self, what: u8, dest: usize, state: &RankState) {
        for mut sending in std::mem::take(&mut self.sending) {
            match test(&mut sending.request) {
                // SAFETY: the library has said that it is over.
                Ok(true) => drop(sending.memory.give_back(unsafe { Over::new() })),
                Ok(false) => self.sending.push(sending),
                // It may still be pending.
                Err(_) => drop(sending),
            }
        }
        let message = encoded(what, state).to_vec();
        self.sending
            .extend(internal_comm::send(self.comm, dest, TAG, message));
    }

    /// Receives all messages that have arrived, and answers.
    fn listen(&mut self) {
        while let Some((source, message)) = self.receive() {
            let Some((what, state)) = decoded(&message) else {
                continue;
            };
            self.heard.insert(source, (Instant::now(), state));
            if what == QUESTION {
                self.send(ANSWER, source, &limit::own_state());
            }
        }
    }

    fn receive(&self) -> Option<(usize, [u8; LENGTH])> {
        let (bytes, status) = internal_comm::take(self.comm, Source::Any, TAG).ok()??;
        Some((status.source()?, bytes.try_into().ok()?))
    }
}

fn encoded(what: u8, state: &RankState) -> [u8; LENGTH] {
    let mut message = [0u8; LENGTH];
    message[0] = what;
    if let RankState::Waits(operation, since) = state {
        let since = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
        message[1..9].copy_from_slice(&since.to_le_bytes());
        put_text(&mut message[9..], operation);
    }
    message
}

fn decoded(message: &[u8; LENGTH]) -> Option<(u8, RankState)> {
    let (what, rest) = message.split_first()?;
    let (since, text) = rest.split_first_chunk()?;
    let state = match get_text(text) {
        "" => RankState::Idle,
        operation => {
            let since = Duration::from_micros(u64::from_le_bytes(*since));
            RankState::Waits(operation.to_owned(), since)
        }
    };
    Some((*what, state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let waits = RankState::Waits("MPI_Barrier".to_owned(), Duration::from_micros(1500));
        for state in [waits, RankState::Idle] {
            assert_eq!(decoded(&encoded(QUESTION, &state)), Some((QUESTION, state)));
        }
    }
}
