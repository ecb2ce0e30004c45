//! Groups: what a thread calls between `ncclGroupStart` and the outermost `ncclGroupEnd` is begun
//! at its end, together.
//!
//! A call outside of a group is a group of one. Where a communicator is not blocking, a thread of
//! its own does the work, and the call returns `ncclInProgress`.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use super::abi;
use super::comm::Comm;
use super::failure::{Failure, Outcome, tell};
use super::hooks;
use super::launch;
use super::lock;
use super::operation::Task;

/// What hosts do together, such as making a communicator.
pub(crate) type Work = Box<dyn FnOnce(&Background) -> Outcome + Send>;

struct Job {
    comms: Vec<Arc<Comm>>,
    work: Work,
}

/// What this thread has called since its group began.
#[derive(Default)]
struct Group {
    depth: usize,
    failure: Option<Failure>,
    blocking: Option<bool>,
    jobs: Vec<Job>,
    tasks: Vec<(Arc<Comm>, Vec<Task>)>,
}

thread_local! {
    static GROUP: RefCell<Group> = RefCell::default();
}

/// A group that goes on in the background.
#[derive(Default)]
pub(crate) struct Background {
    /// One of its communicators is aborted: all of it stops.
    pub(crate) stop: AtomicBool,
    over: Mutex<bool>,
    changed: Condvar,
}

impl Background {
    fn finish(&self) {
        *lock(&self.over) = true;
        self.changed.notify_all();
    }

    pub(crate) fn wait(&self) {
        let mut over = lock(&self.over);
        while !*over {
            over = self
                .changed
                .wait(over)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The number of threads of this library.
pub(crate) static THREADS: AtomicUsize = AtomicUsize::new(0);

/// `ncclGroupStart`
pub(crate) fn start() {
    GROUP.with_borrow_mut(|group| group.depth += 1);
}

/// `ncclGroupEnd`
pub(crate) fn end() -> Outcome {
    match leave()? {
        Some(group) => group.begin(),
        None => Ok(()),
    }
}

/// Ends the group without beginning anything: `ncclGroupSimulateEnd`.
pub(crate) fn forget() -> Outcome<bool> {
    match leave()? {
        Some(Group {
            failure: Some(failure),
            ..
        }) => Err(failure),
        group => Ok(group.is_some()),
    }
}

/// Goes one level up; the whole group, if it was the outermost one.
fn leave() -> Outcome<Option<Group>> {
    GROUP.with_borrow_mut(|group| match group.depth {
        0 => Err(Failure::usage("ncclGroupEnd: not in a group call.")),
        1 => Ok(Some(std::mem::take(group))),
        _ => {
            group.depth -= 1;
            Ok(None)
        }
    })
}

/// Runs a call as a part of the group: its failure is the group's.
fn within(body: impl FnOnce() -> Outcome) -> Outcome {
    start();
    let outcome = body();
    if let Err(failure) = &outcome {
        GROUP.with_borrow_mut(|group| {
            group.failure.get_or_insert_with(|| failure.clone());
        });
    }
    let ended = end();
    outcome.and(ended)
}

fn agree(group: &mut Group, blocking: bool) -> Outcome {
    if *group.blocking.get_or_insert(blocking) == blocking {
        return Ok(());
    }
    Err(Failure::argument(
        "Blocking and nonblocking communicators are not allowed in the same group",
    ))
}

/// Adds what `make` makes to what is enqueued on a communicator at the end of the group. Nothing,
/// if it makes nothing.
pub(crate) fn enqueue(comm: &Arc<Comm>, make: impl FnOnce() -> Outcome<Option<Task>>) -> Outcome {
    within(|| {
        comm.ready_for_operations()?;
        let Some(task) = make()? else {
            return Ok(());
        };
        GROUP.with_borrow_mut(|group| {
            agree(group, comm.wishes.is_blocking())?;
            let same = |(other, _): &&mut (Arc<Comm>, Vec<Task>)| Arc::ptr_eq(other, comm);
            match group.tasks.iter_mut().find(same) {
                Some((_, tasks)) => tasks.push(task),
                None => group.tasks.push((Arc::clone(comm), vec![task])),
            }
            Ok(())
        })
    })
}

/// Adds what hosts do together for these communicators.
pub(crate) fn join(comms: Vec<Arc<Comm>>, blocking: bool, work: Work) -> Outcome {
    within(|| {
        GROUP.with_borrow_mut(|group| {
            agree(group, blocking)?;
            group.jobs.push(Job { comms, work });
            Ok(())
        })
    })
}

impl Group {
    /// Begins everything, or leaves it to a thread.
    fn begin(self) -> Outcome {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let background = Arc::new(Background::default());
        if self.blocking != Some(false) {
            return self.carry_out(&background);
        }
        let jobs = self.jobs.iter().flat_map(|job| &job.comms);
        let comms: Vec<_> = jobs
            .chain(self.tasks.iter().map(|(comm, _)| comm))
            .collect();
        let comms: Vec<_> = comms.into_iter().map(Arc::clone).collect();
        for comm in &comms {
            comm.begin();
            *lock(&comm.background) = Some(Arc::clone(&background));
        }
        let in_thread = Arc::clone(&background);
        let of_thread = comms.clone();
        let body = move || {
            hooks::delay(&in_thread.stop);
            let code = match self.carry_out(&in_thread) {
                Ok(()) => abi::SUCCESS,
                Err(failure) => {
                    tell(&failure.text);
                    failure.code
                }
            };
            for comm in &of_thread {
                comm.end(code);
            }
            in_thread.finish();
            THREADS.fetch_sub(1, Ordering::AcqRel);
        };
        THREADS.fetch_add(1, Ordering::AcqRel);
        let thread = thread::Builder::new().name("nccl-double".into());
        if thread.spawn(body).is_err() {
            THREADS.fetch_sub(1, Ordering::AcqRel);
            for comm in &comms {
                comm.end(abi::SYSTEM_ERROR);
            }
            background.finish();
            return Err(Failure::system("pthread_create"));
        }
        Err(Failure::in_progress())
    }

    /// Jobs side by side, since each may wait for another; then all that is enqueued.
    fn carry_out(self, background: &Background) -> Outcome {
        let Self {
            mut jobs, tasks, ..
        } = self;
        let last = jobs.pop();
        thread::scope(|scope| {
            let others: Vec<_> = jobs
                .into_iter()
                .map(|job| scope.spawn(|| (job.work)(background)))
                .collect();
            let mut outcome = last.map_or(Ok(()), |job| (job.work)(background));
            for other in others {
                let panicked = |_| Err(Failure::new(abi::INTERNAL_ERROR, "a job has panicked"));
                outcome = outcome.and(other.join().unwrap_or_else(panicked));
            }
            outcome
        })?;
        for (comm, tasks) in tasks {
            launch::enqueue(&comm, tasks)?;
        }
        Ok(())
    }
}
