//! Operations that nobody waits for any more, with the memory that they work on.
//!
//! They end when they end. Each time another one comes, and before MPI is finalized, the library is asked which have.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ranks_mpi_sys::MPI_Comm;

use super::claims::Claims;
use super::flight::Native;
use super::session::{GATE, Session};
use crate::error::{Error, ErrorKind, Result};
use crate::flight::Pause;
use crate::in_flight::{KeepAlive, Over};

/// How long `MPI_Finalize` is put off for them.
const PATIENCE: Duration = Duration::from_secs(5);

/// An operation, its memory, and the communicator that it is on.
type Orphan = (Native, KeepAlive, MPI_Comm);

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
    /// Keeps `memory` until the operation is over.
    pub(super) fn adopt(&self, comm: MPI_Comm, native: Native, memory: KeepAlive) {
        lock(&self.orphans.requests).push((native, memory, comm));
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
    pub(super) fn sweep(&self) -> usize {
        let mut over = Vec::new();
        let mut requests = lock(&self.requests);
        let mut index = 0;
        while index < requests.len() {
            if requests[index].0.is_over() {
                over.push(requests.swap_remove(index));
            } else {
                index += 1;
            }
        }
        let left = requests.len();
        drop(requests);
        let mut idle = std::mem::take(&mut *lock(&self.idle));
        // What is not freed is only lost. Dropping may run anything of the program's, so the lists are not locked now.
        for native in &mut idle {
            let _ = native.release();
        }
        for (mut native, memory, _) in over {
            native.let_go();
            // SAFETY: the library has said that the operation is over.
            memory.free(unsafe { Over::new() });
        }
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

    /// What has not ended, as the library or `claims` know it.
    fn names(&self) -> Vec<&'static str> {
        let requests = lock(&self.requests);
        let mut names: Vec<_> = requests.iter().map(|orphan| orphan.0.operation()).collect();
        for claims in lock(&self.claims).iter() {
            claims.add_names(&mut names);
        }
        names
    }

    /// That the memory of those that have not ended is kept for ever, for the end of a text; nothing if there are none.
    #[cold]
    pub(super) fn kept_for_ever(&self) -> String {
        let names = self.names();
        if names.is_empty() {
            return String::new();
        }
        let (count, names) = (names.len(), names.join(", "));
        format!("; {count} operations that nobody waits for ({names}) keep their memory for ever")
    }

    #[cold]
    fn never_ended(&self) -> Error {
        Error::new(
            ErrorKind::PeerFailed,
            "MPI_Finalize",
            format_args!(
                "not called, because what was begun has not ended{}; a rank that sends must be received from",
                self.kept_for_ever()
            ),
        )
    }
}
