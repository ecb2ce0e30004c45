//! A thread that ends what nobody else can end at its limit, over MPI, and answers other ranks who ask.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::in_time::over_mpi;
use super::report::{Report, State};
use super::{Limit, OnTimeLimit, STATUS, has_passed, lock};
use crate::mpi::{abort_for_sure, end_now, roll_call};
use crate::run::last_words;
use crate::under_way::UnderWay;

thread_local! {
    static IS_WATCHDOG: Cell<bool> = const { Cell::new(false) };
}

/// Whether this is its thread.
pub(crate) fn is_watchdog() -> bool {
    IS_WATCHDOG.get()
}

/// How often it looks.
const PERIOD: Duration = Duration::from_millis(20);

/// How much longer than its limit an operation may take that somebody else looks at, and longer still while that one asks others.
const MORE: Duration = Duration::from_millis(500);
const MORE_TO_ASK: Duration = Duration::from_secs(2);

/// How long asking takes at most.
const MOST: Duration = Duration::from_millis(700);

/// How long the library may take to begin to send a question when the job is to be aborted anyway.
const HASTY: Duration = Duration::from_millis(150);

#[derive(PartialEq, Eq)]
enum Phase {
    Absent,
    Running,
    Stopping,
}

static PHASE: Mutex<Phase> = Mutex::new(Phase::Absent);
static CHANGED: Condvar = Condvar::new();

/// Starts it, if it does not run.
pub(crate) fn watch() {
    let mut phase = lock(&PHASE);
    if *phase != Phase::Absent {
        return;
    }
    let thread = thread::Builder::new().name("ranks-limit".to_owned());
    // Without it what can end with an error still does.
    if thread.spawn(run).is_ok() {
        *phase = Phase::Running;
    }
}

/// Ends it; from then on it calls nothing.
pub(crate) fn stop() {
    let mut phase = lock(&PHASE);
    if *phase == Phase::Running {
        *phase = Phase::Stopping;
        CHANGED.notify_all();
        while *phase == Phase::Stopping {
            phase = CHANGED.wait(phase).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn run() {
    IS_WATCHDOG.set(true);
    let mut phase = lock(&PHASE);
    while *phase == Phase::Running {
        drop(phase);
        roll_call::listen();
        let all = over_mpi();
        if let Some(rank) = roll_call::stuck(roll_call::STUCK) {
            all.iter()
                .filter(|one| is_over(one))
                .for_each(|late| end_stuck(late, rank));
        } else {
            all.iter().filter(|one| is_late(one)).for_each(end);
        }
        phase = lock(&PHASE);
        if *phase == Phase::Running {
            phase = CHANGED
                .wait_timeout(phase, PERIOD)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
    *phase = Phase::Absent;
    CHANGED.notify_all();
}

fn is_late(one: &UnderWay) -> bool {
    let more = match one.is_looked_at.load(Ordering::Relaxed) {
        true if roll_call::is_asking() || one.is_told.load(Ordering::Relaxed) => MORE_TO_ASK,
        true => MORE,
        false => Duration::ZERO,
    };
    has_passed_by(one, more)
}

/// Whether its limit has passed, whoever looks at it.
fn is_over(one: &UnderWay) -> bool {
    has_passed_by(one, Duration::ZERO)
}

fn has_passed_by(one: &UnderWay, more: Duration) -> bool {
    one.limit
        .is_some_and(|limit| one.started.elapsed() >= limit.duration.saturating_add(more))
        && !one.is_reported.load(Ordering::Relaxed)
}

/// Ends what is late also if this thread does not return from asking: by another one.
fn see_to_the_end_of(late: &Arc<UnderWay>) {
    let late = Arc::clone(late);
    let look = move || {
        let begun = Instant::now();
        while begun.elapsed() < MOST {
            thread::sleep(PERIOD);
            let stuck = roll_call::stuck(HASTY);
            if let Some(rank) = stuck.filter(|_| is_over(&late) && late.goes_on()) {
                return end_stuck(&late, rank);
            }
        }
    };
    // Without it a library that returns from nothing is left to whoever has started the job.
    let _ = thread::Builder::new()
        .name("ranks-limit end".to_owned())
        .spawn(look);
}

/// Says what is late while its thread does not return from asking `rank`, and ends this process if that was not chosen to go
/// on: the library is not called any more.
fn end_stuck(late: &UnderWay, rank: usize) {
    let Some(limit) = late.limit else { return };
    report(
        late,
        limit,
        &[(rank, State::Unheard)],
        "the library does not return from asking that rank, and the process ends",
    );
    if limit.then != OnTimeLimit::Warn {
        end_now(STATUS);
    }
}

/// Says what is late, and ends the job if that was not chosen to go on.
fn end(late: &Arc<UnderWay>) {
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

/// Says what is late and, if that was not chosen to go on, what happens then.
fn report(late: &UnderWay, limit: Limit, states: &[(usize, State)], then: &str) {
    late.is_reported.store(true, Ordering::Relaxed);
    has_passed(limit);
    let report = Report {
        of: late,
        limit,
        states,
    };
    late.dump(limit, &report);
    match limit.then {
        OnTimeLimit::Warn => eprintln!("ranks: {report}; it goes on"),
        OnTimeLimit::Abort | OnTimeLimit::Error => last_words(format_args!("{report}; {then}")),
    }
}
