//! What was put, and has not arrived: it stays under way until somebody waits for it, or for a
//! while. What no fence parts arrives in any order: the last comes first.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use super::pe::Pe;
use super::{fatal, hooks, lock};

#[derive(Default)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Held while parcels are delivered, so that whoever finds none knows that all have arrived.
    delivering: Mutex<()>,
}

#[derive(Default)]
struct Queue {
    parcels: Vec<Parcel>,
    /// The number of fences so far.
    fences: u64,
    closed: bool,
}

/// What makes something arrive.
pub(crate) type Delivery = Box<dyn FnOnce(&Pe) + Send>;

/// How far something is.
pub(crate) enum Stage {
    /// What is put is not read yet.
    Unread(Box<dyn FnOnce(&Pe) -> Delivery + Send>),
    /// What is put is read; or it is a get.
    Read(Delivery),
}

struct Parcel {
    fences: u64,
    due: Instant,
    stage: Stage,
}

impl Outbox {
    /// The number of fences before an operation is called.
    pub(crate) fn fences(&self) -> u64 {
        lock(&self.queue).fences
    }

    /// Something is under way from now on, that was called after so many fences.
    pub(crate) fn post(&self, fences: u64, stage: Stage) {
        let due = Instant::now() + hooks::delay();
        let parcel = Parcel { fences, due, stage };
        lock(&self.queue).parcels.push(parcel);
        self.changed.notify_all();
    }

    /// What is called from now on arrives after what was called before.
    pub(crate) fn fence(&self) {
        lock(&self.queue).fences += 1;
    }

    /// Everything arrives.
    pub(crate) fn quiet(&self, pe: &Pe) {
        self.deliver(pe, u64::MAX);
    }

    /// What was called before so many fences arrives.
    pub(crate) fn deliver(&self, pe: &Pe, fences: u64) {
        let _alone = lock(&self.delivering);
        let mut queue = lock(&self.queue);
        let all = std::mem::take(&mut queue.parcels);
        let (mut now, later) = all
            .into_iter()
            .partition::<Vec<_>, _>(|parcel| parcel.fences < fences);
        queue.parcels = later;
        drop(queue);
        now.reverse();
        now.sort_by_key(|parcel| parcel.fences);
        for parcel in now {
            match parcel.stage {
                Stage::Unread(read) => read(pe)(pe),
                Stage::Read(deliver) => deliver(pe),
            }
        }
    }

    /// What is put has been read.
    pub(crate) fn flush(&self, pe: &Pe) {
        let _alone = lock(&self.delivering);
        for parcel in &mut lock(&self.queue).parcels {
            let stage = std::mem::replace(&mut parcel.stage, Stage::Read(Box::new(|_| ())));
            parcel.stage = match stage {
                Stage::Unread(read) => Stage::Read(read(pe)),
                read @ Stage::Read(_) => read,
            };
        }
    }

    /// Starts the thread that delivers what nobody waits for.
    pub(crate) fn start(pe: &Arc<Pe>) {
        let pe = Arc::clone(pe);
        let thread = std::thread::Builder::new().name("nvshmem-double".into());
        let started = thread.spawn(move || while pe.outbox.carry(&pe) {});
        if started.is_err() {
            fatal::exit("no thread can be started");
        }
    }

    /// Waits until something is due, and delivers it. False at the end.
    fn carry(&self, pe: &Pe) -> bool {
        let mut queue = lock(&self.queue);
        loop {
            if queue.closed {
                return false;
            }
            let now = Instant::now();
            match queue.parcels.iter().map(|parcel| parcel.due).min() {
                Some(due) if due <= now => break,
                Some(due) => {
                    let waited = self.changed.wait_timeout(queue, due - now);
                    queue = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                None => {
                    let waited = self.changed.wait(queue);
                    queue = waited.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
        drop(queue);
        self.quiet(pe);
        true
    }

    /// Nothing comes any more.
    pub(crate) fn close(&self) {
        lock(&self.queue).closed = true;
        self.changed.notify_all();
    }
}
