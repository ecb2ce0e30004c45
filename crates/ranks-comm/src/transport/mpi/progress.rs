//! Progress on receives that wait for their message while their owner is busy elsewhere.
//!
//! A posted receive is matched by the library whenever it is called. One that waits in `claims` is
//! matched by this crate, and its owner may block in a call that ends only when the message is
//! received: in a send to a rank that itself blocks in a send to this one, say. So one thread makes
//! progress at intervals, as long as any receive waits. It runs only where the library lets several
//! threads call.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::claims::Claims;
use crate::call::background;
use crate::call::lock::lock;

static WATCH: Mutex<Watch> = Mutex::new(Watch {
    claims: Vec::new(),
    thread: None,
    stop: false,
});
static CHANGED: Condvar = Condvar::new();

struct Watch {
    claims: Vec<Arc<Claims>>,
    thread: Option<JoinHandle<()>>,
    stop: bool,
}

/// Makes progress on these until none of them waits.
pub(crate) fn watch(claims: &Arc<Claims>) {
    let mut watch = lock(&WATCH);
    if watch.stop {
        return;
    }
    if !watch.claims.iter().any(|known| Arc::ptr_eq(known, claims)) {
        watch.claims.push(Arc::clone(claims));
        CHANGED.notify_one();
    }
    if watch.thread.is_none() {
        // Without the thread receives still progress in the calls of those that wait for them.
        watch.thread = background::start("ranks-progress", run).ok();
    }
}

/// Ends the thread: it makes no calls of MPI afterwards.
pub(crate) fn stop() {
    let thread = {
        let mut watch = lock(&WATCH);
        watch.stop = true;
        watch.claims.clear();
        CHANGED.notify_one();
        watch.thread.take()
    };
    if let Some(thread) = thread.filter(|other| other.thread().id() != thread::current().id()) {
        // It does not panic; and if it did, nothing is left to be done.
        let _ = thread.join();
    }
    lock(&WATCH).stop = false;
}

fn run() {
    const SHORTEST: Duration = Duration::from_micros(20);
    const LONGEST: Duration = Duration::from_millis(1);
    let mut pause = SHORTEST;
    let mut watch = lock(&WATCH);
    while !watch.stop {
        if watch.claims.is_empty() {
            pause = SHORTEST;
            watch = CHANGED.wait(watch).unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        let claims = watch.claims.clone();
        drop(watch);
        claims.into_iter().for_each(|claims| claims.look_if_free());
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST);
        watch = lock(&WATCH);
        watch.claims.retain(|claims| claims.is_busy());
    }
}
