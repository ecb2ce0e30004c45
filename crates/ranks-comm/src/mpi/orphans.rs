//! Operations that nobody waits for any more, with the memory that they work on.
//!
//! They end when they end. Each time another one comes, and before MPI is finalized, the library is asked which have.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ranks_mpi_sys::MPI_Comm;

use super::claims::Claims;
use super::flight::Native;
use super::session::{GATE, Session};
use crate::error::{Error, ErrorKind, Result};
use crate::flight::Pause;

/// How long `MPI_Finalize` is put off for them.
const PATIENCE: Duration = Duration::from_secs(5);

/// An operation, its memory, and the communicator that it is on.
type Orphan = (Native, Box<dyn Any + Send>, MPI_Comm);

/// What was left behind.
#[derive(Default)]
pub(super) struct Orphans {
    requests: Mutex<Vec<Orphan>>,
    claims: Mutex<Vec<Arc<Claims>>>,
    /// Persistent requests that are not started, to be freed by a thread that may.
    idle: Mutex<Vec<Native>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    /// Keeps `keep` until the operation is over.
    pub(super) fn adopt(&self, comm: MPI_Comm, native: Native, keep: Box<dyn Any + Send>) {
        lock(&self.orphans.requests).push((native, keep, comm));
        // Only if this thread may call; otherwise somebody else will ask.
        if let Ok(_entered) = GATE.enter("MPI_Test") {
            self.orphans.sweep();
        }
    }
}

impl Session {
    /// Keeps a persistent request that is not started until it can be freed.
    pub(super) fn retire_later(&self, native: Native) {
        lock(&self.orphans.idle).push(native);
    }
}

impl Orphans {
    /// Keeps an eye on what a communicator that was dropped still receives.
    pub(super) fn remember(&self, claims: &Arc<Claims>) {
        lock(&self.claims).push(Arc::clone(claims));
    }

    /// Lets go of those that are over; how many are left.
    fn sweep(&self) -> usize {
        let mut over = Vec::new();
        let mut requests = lock(&self.requests);
        let mut index = 0;
        while index < requests.len() {
            if requests[index].0.test().is_some() {
                over.push(requests.swap_remove(index));
            } else {
                index += 1;
            }
        }
        let left = requests.len();
        drop(requests);
        let mut idle = std::mem::take(&mut *lock(&self.idle));
        let ended = over.iter_mut().map(|(native, ..)| native);
        for native in ended.chain(&mut idle) {
            // What is not freed is only lost.
            let _ = native.release();
        }
        // Dropping may run anything, so the list is not locked now.
        drop(over);
        // A look may drop as well.
        let claims = lock(&self.claims).clone();
        claims.iter().for_each(|claims| claims.look_now());
        let mut claims = lock(&self.claims);
        claims.retain(|claims| claims.is_under_way());
        left + claims.len()
    }

    /// Whether any of them is on that communicator and not over.
    pub(super) fn are_on(&self, comm: MPI_Comm) -> bool {
        self.any_on(comm) && {
            self.sweep();
            self.any_on(comm)
        }
    }

    fn any_on(&self, comm: MPI_Comm) -> bool {
        lock(&self.requests).iter().any(|(_, _, on)| *on == comm)
            || lock(&self.claims)
                .iter()
                .any(|claims| claims.comm() == comm)
    }

    /// Cancels the receives on a communicator that is about to be freed all the same: nobody can send to them on purpose
    /// any more, and MPICH 4.0.2 gives their context to another communicator, whose messages they would take.
    pub(super) fn cancel_on(&self, comm: MPI_Comm) {
        let claims = lock(&self.claims).clone();
        let of_it = claims.iter().filter(|claims| claims.comm() == comm);
        of_it.for_each(|claims| claims.close());
        let mut any = false;
        for (native, _, on) in lock(&self.requests).iter_mut() {
            if *on == comm {
                any = true;
                // What cannot be cancelled may still end by itself.
                let _ = native.cancel();
            }
        }
        if any {
            self.sweep();
        }
    }

    /// Ends them before MPI ends: receives are cancelled, sends have a little time, and no more than `limit`.
    pub(super) fn settle(&self, limit: Duration) -> Result<()> {
        let claims = lock(&self.claims).clone();
        claims.iter().for_each(|claims| claims.close());
        for (native, ..) in lock(&self.requests).iter_mut() {
            // What cannot be cancelled may still end by itself.
            let _ = native.cancel();
        }
        if Pause::until(limit.min(PATIENCE), || Ok(self.sweep() == 0))? {
            Ok(())
        } else {
            Err(self.never_ended())
        }
    }

    #[cold]
    fn never_ended(&self) -> Error {
        let requests = std::mem::take(&mut *lock(&self.requests));
        let names: Vec<&str> = requests
            .iter()
            .map(|(native, ..)| native.operation())
            .collect();
        let (count, names) = (names.len(), names.join(", "));
        // The library may still read them.
        std::mem::forget(requests);
        Error::new(
            ErrorKind::PeerFailed,
            "MPI_Finalize",
            format_args!(
                "not called, because {count} operations that nobody waits for have not ended ({names}); \
                 a rank that sends must be received from"
            ),
        )
    }
}
