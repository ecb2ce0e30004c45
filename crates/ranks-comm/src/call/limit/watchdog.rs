//! The watchdog: a thread that aborts the job when a call over MPI that cannot be left times out,
//! and that answers other ranks.

use std::cell::Cell;
use std::convert::Infallible;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::in_time::over_mpi;
use super::last_resort::{abort_for_sure, end_now};
use super::processes::{is_asking, listen, stuck};
use super::report::RankState;
use super::{Limit, OnTimeLimit, STATUS, lock};
use crate::call::background;
use crate::call::inflight_calls::CallInFlight;
use crate::call::last_words::last_words;

thread_local! {
    static IS_WATCHDOG: Cell<bool> = const { Cell::new(false) };
}

/// Returns `true` on the thread of the watchdog.
pub(crate) fn is_watchdog() -> bool {
    IS_WATCHDOG.get()
}

/// The interval of its checks.
const PERIOD: Duration = Duration::from_millis(20);

/// The extra time of a call, whose own thread ends it if it can, but may not have a core at once;
/// and the extra time while ranks are asked.
const MORE: Duration = Duration::from_millis(500);
const MORE_TO_ASK: Duration = Duration::from_secs(2);

/// The longest time that asking takes.
const MOST: Duration = Duration::from_millis(700);

/// The time for the library to start sending a question when the job is to be aborted anyway.
const HASTY: Duration = Duration::from_millis(150);

/// The time for the library to start sending one: it has to return immediately, but Intel's does
/// not while a host cannot be reached.
const STUCK: Duration = Duration::from_millis(300);

/// The thread, and what ends it when it is dropped.
static THREAD: Mutex<Option<(Sender<Infallible>, JoinHandle<()>)>> = Mutex::new(None);

/// Starts it, unless it runs.
pub(crate) fn watch() {
    let mut thread = lock(&THREAD);
    if thread.is_none() {
        let (end, ended) = mpsc::channel();
        // Without it, calls that can end with an error still do.
        let started = background::start("ranks-limit", move || run(&ended)).ok();
        *thread = started.map(|started| (end, started));
    }
}

/// Ends it; it makes no calls afterwards.
pub(crate) fn stop() {
    let thread = lock(&THREAD).take();
    if let Some((end, thread)) = thread {
        drop(end);
        // It does not panic; and if it did, nothing is left to be done.
        let _ = thread.join();
    }
}

fn run(ended: &Receiver<Infallible>) {
    IS_WATCHDOG.set(true);
    loop {
        listen();
        let all = over_mpi();
        if let Some(rank) = stuck(STUCK) {
            all.iter()
                .filter(|one| is_over(one))
                .for_each(|late| end_stuck(late, rank));
        } else {
            all.iter().filter(|one| is_late(one)).for_each(end);
        }
        if ended.recv_timeout(PERIOD) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

fn is_late(one: &CallInFlight) -> bool {
    let asks = is_asking() || one.is_told.load(Ordering::Relaxed);
    has_passed_by(one, if asks { MORE_TO_ASK } else { MORE })
}

/// Returns `true` if its limit has passed, with no extra time.
fn is_over(one: &CallInFlight) -> bool {
    has_passed_by(one, Duration::ZERO)
}

fn has_passed_by(one: &CallInFlight, more: Duration) -> bool {
    one.limit
        .is_some_and(|limit| one.started.elapsed() >= limit.duration.saturating_add(more))
        && !one.is_reported.load(Ordering::Relaxed)
}

/// Has another thread abort the job if this one does not return from asking.
fn see_to_the_end_of(late: &Arc<CallInFlight>) {
    let late = Arc::clone(late);
    let look = move || {
        let begun = Instant::now();
        while begun.elapsed() < MOST {
            thread::sleep(PERIOD);
            if let Some(rank) = stuck(HASTY).filter(|_| is_over(&late) && late.goes_on()) {
                return end_stuck(&late, rank);
            }
        }
    };
    // Without it, a library that never returns is left to the user who started the job.
    let _ = background::start("ranks-limit end", look);
}

/// Reports a call that has timed out while its thread does not return from asking `rank`, and ends
/// this process unless the effect is a warning: the library is not called any more.
fn end_stuck(late: &CallInFlight, rank: usize) {
    let Some(limit) = late.limit else { return };
    report(
        late,
        limit,
        &[(rank, RankState::Unheard)],
        "the library does not return from asking that rank, and the process ends",
    );
    if limit.then != OnTimeLimit::Warn {
        end_now(STATUS);
    }
}

/// Reports a call that has timed out, and aborts the job unless the effect is a warning.
fn end(late: &Arc<CallInFlight>) {
    let Some(limit) = late.limit else { return };
    see_to_the_end_of(late);
    let states = late.states();
    if !late.goes_on() {
        return;
    }
    let then = match limit.then {
        OnTimeLimit::Warn | OnTimeLimit::Abort => "the job is aborted",
        OnTimeLimit::Error => "the job is aborted, because the library has no other way out of it",
    };
    report(late, limit, &states, then);
    if limit.then != OnTimeLimit::Warn {
        abort_for_sure(STATUS);
    }
}

/// Reports a call that has timed out and, unless the effect is a warning, what happens then.
fn report(late: &CallInFlight, limit: Limit, states: &[(usize, RankState)], then: &str) {
    late.is_reported.store(true, Ordering::Relaxed);
    let report = late.report(limit, states);
    match limit.then {
        OnTimeLimit::Warn => report.warn(),
        OnTimeLimit::Abort | OnTimeLimit::Error => last_words(format_args!("{report}; {then}")),
    }
}
