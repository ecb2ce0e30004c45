//! Detached operations: pending operations that nobody waits for, with the memory that they work
//! on.
//!
//! When others are added, and before MPI is finalized, they are tested for completion.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ranks_launch::Count;
use ranks_mpi_sys::MPI_Comm;

use super::claims::Claims;
use super::pending_op::Native;
use super::session::Session;
use crate::call::hold::Hold;
use crate::call::limit::Pause;
use crate::call::lock::lock;
use crate::call::thread_guard::THREAD_GUARD;
use crate::data::in_flight::{KeepAlive, Over};
use crate::result::{Error, ErrorKind, Result};

/// The time for which `MPI_Finalize` is delayed for them.
const PATIENCE: Duration = Duration::from_secs(5);

/// Up to so many are tested each time another one is added; more only when their number has
/// doubled, so that what each one costs does not grow with it.
const FEW: usize = 64;

/// An operation, its memory, and the communicator that it is on.
type DetachedOp = (Native, KeepAlive, MPI_Comm);

/// Work for a thread that may call, and the hold by which it is seen.
type Left = (Box<dyn FnOnce() + Send>, Hold);

/// The detached operations of a session.
#[derive(Default)]
pub(crate) struct DetachedOps {
    requests: Mutex<Vec<DetachedOp>>,
    /// The number of requests at which they are tested next.
    next_sweep: AtomicUsize,
    claims: Mutex<Vec<Arc<Claims>>>,
    /// Persistent requests that are inactive, to be freed by a thread that may.
    idle: Mutex<Vec<Native>>,
    /// Work that handles have left which were dropped by threads that may not call.
    left: Mutex<Vec<Left>>,
}

impl Session {
    /// Keeps `memory` until the operation is complete.
    pub(crate) fn adopt(&self, comm: MPI_Comm, mut native: Native, memory: KeepAlive) {
        // If this thread may not call, another one will test.
        if let Ok(_entered) = THREAD_GUARD.enter("MPI_Test") {
            if native.is_over() {
                return free(native, memory);
            }
            self.detached.sweep_if_due();
        }
        lock(&self.detached.requests).push((native, memory, comm));
    }

    /// Keeps a persistent request that is inactive until it can be freed.
    pub(crate) fn retire_later(&self, native: Native) {
        lock(&self.detached.idle).push(native);
    }

    /// Leaves `work` to the next call of a thread that may, which is seen there by the hold.
    pub(crate) fn later(&self, work: impl FnOnce() + Send + 'static) {
        lock(&self.detached.left).push((Box::new(work), Hold::new()));
    }
}

/// Frees the memory of a complete operation. That may run code of the program.
fn free(mut native: Native, memory: KeepAlive) {
    native.let_go();
    // SAFETY: the library has said that the operation is over.
    memory.free(unsafe { Over::new() });
}

impl DetachedOps {
    /// Keeps the receives that are pending on a dropped communicator; they are ended before MPI is.
    pub(crate) fn remember(&self, claims: Arc<Claims>) {
        lock(&self.claims).push(claims);
    }

    /// Does what threads that may not call have left. The caller has entered the library.
    pub(crate) fn do_what_is_left(&self) {
        let left = std::mem::take(&mut *lock(&self.left));
        for (work, _) in left {
            work();
        }
    }

    /// Releases those that are complete, if there are so many that it is time to.
    fn sweep_if_due(&self) {
        let count = lock(&self.requests).len();
        if count >= self.next_sweep.load(Ordering::Relaxed) {
            self.sweep();
        }
    }

    /// Releases those that are complete; returns the number of those that are left.
    pub(crate) fn sweep(&self) -> usize {
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
        let next = if left < FEW { 0 } else { 2 * left };
        self.next_sweep.store(next, Ordering::Relaxed);
        drop(requests);
        let mut idle = std::mem::take(&mut *lock(&self.idle));
        // A request that is not freed only leaks. Dropping may run code of the program, so the
        // lists are not locked now.
        for native in &mut idle {
            let _ = native.release();
        }
        for (native, memory, _) in over {
            free(native, memory);
        }
        self.do_what_is_left();
        // Progress may drop as well.
        let claims = lock(&self.claims).clone();
        if claims.is_empty() {
            return left;
        }
        claims.iter().for_each(|claims| claims.look_at_all());
        let mut claims = lock(&self.claims);
        claims.retain(|claims| claims.is_under_way());
        left + claims.len()
    }

    /// Returns `true` if an operation of that name is pending on that communicator.
    pub(crate) fn any_of(&self, operation: &str, comm: MPI_Comm) -> bool {
        let requests = lock(&self.requests);
        let mut on_it = requests.iter().filter(|(_, _, on)| *on == comm);
        on_it.any(|(native, ..)| native.operation() == operation)
    }

    /// Returns `true` if any of them is pending on that communicator, as far as tests have found
    /// out.
    pub(crate) fn any_on(&self, comm: MPI_Comm) -> bool {
        lock(&self.requests).iter().any(|(_, _, on)| *on == comm)
            || lock(&self.claims).iter().any(|claims| claims.comm == comm)
    }

    /// Cancels the receives on a communicator that is about to be freed all the same: no message
    /// for them can be sent on purpose any more, and MPICH 4.0.2 gives their context to another
    /// communicator, whose messages they would match.
    pub(crate) fn cancel_on(&self, comm: MPI_Comm) {
        let claims = lock(&self.claims).clone();
        let of_it = claims.iter().filter(|claims| claims.comm == comm);
        of_it.for_each(|claims| claims.close());
        self.cancel_posted_on(comm);
    }

    /// Cancels those that the library has. The caller has entered it.
    pub(crate) fn cancel_posted_on(&self, comm: MPI_Comm) {
        let mut any = false;
        for (native, _, on) in lock(&self.requests).iter_mut() {
            if *on == comm {
                any = true;
                // A receive that cannot be cancelled may still complete by itself.
                let _ = native.cancel();
            }
        }
        if any {
            self.sweep();
        }
    }

    /// Completes them before MPI ends: receives are cancelled, sends have a short time, and no more
    /// than `limit`.
    pub(crate) fn settle(&self, limit: Duration) -> Result<()> {
        let claims = lock(&self.claims).clone();
        claims.iter().for_each(|claims| claims.close());
        for (native, ..) in lock(&self.requests).iter_mut() {
            // A receive that cannot be cancelled may still complete by itself.
            let _ = native.cancel();
        }
        if Pause::until(limit.min(PATIENCE), &mut || Ok(self.sweep() == 0))? {
            Ok(())
        } else {
            Err(self.never_ended())
        }
    }

    /// The names of the pending operations.
    fn names(&self) -> Vec<&'static str> {
        let requests = lock(&self.requests);
        let mut names: Vec<_> = requests.iter().map(|orphan| orphan.0.operation()).collect();
        for claims in lock(&self.claims).iter() {
            claims.add_names(&mut names);
        }
        names
    }

    /// The names of the receives that are still pending.
    pub(crate) fn receives(&self) -> Vec<&'static str> {
        self.sweep();
        let mut names = self.names();
        names.retain(|name| name.to_ascii_lowercase().contains("recv"));
        names
    }

    /// A text for the end of an error: the memory of the pending operations is leaked; empty if
    /// there are none.
    #[cold]
    pub(crate) fn kept_for_ever(&self) -> String {
        let names = self.names();
        if names.is_empty() {
            return String::new();
        }
        let (operations, names) = (Count(names.len(), "operation"), names.join(", "));
        format!("; the memory of {operations} that nobody waits for ({names}) is kept for ever")
    }

    #[cold]
    fn never_ended(&self) -> Error {
        Error::new(
            ErrorKind::PeerFailed,
            "MPI_Finalize",
            format_args!(
                "not called, because what was begun has not ended{}; {}",
                self.kept_for_ever(),
                remedies(&self.names())
            ),
        )
    }
}

/// The acts of other ranks by which operations of these names end.
fn remedies(names: &[&str]) -> String {
    const ACCESSES: [&str; 4] = [
        "MPI_Raccumulate",
        "MPI_Rget",
        "MPI_Rget_accumulate",
        "MPI_Rput",
    ];
    let is_message = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.contains("send") || name.contains("recv")
    };
    let is_access = |name: &str| ACCESSES.contains(&name);
    let any = |is: &dyn Fn(&str) -> bool| names.iter().any(|name| is(name));
    let needed = [
        (any(&is_message), "a message must be both sent and received"),
        (
            any(&is_access),
            "an access to a window must be waited for within its epoch",
        ),
        (
            any(&|name| !is_message(name) && !is_access(name)),
            "a collective must be called by all ranks of its communicator",
        ),
    ];
    let needed = needed.into_iter().filter(|(is_needed, _)| *is_needed);
    let texts: Vec<&str> = needed.map(|(_, text)| text).collect();
    texts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::remedies;

    /// Whatever was pending, messages were to be received.
    #[test]
    fn each_kind_of_operation_has_its_own_remedy() {
        let message = "a message must be both sent and received";
        assert_eq!(remedies(&["MPI_Isend", "MPI_Precv_init"]), message);
        let collective = "a collective must be called by all ranks of its communicator";
        assert_eq!(
            remedies(&["MPI_Iallreduce", "the comparison of a call"]),
            collective
        );
        let all = remedies(&["MPI_Ibarrier", "MPI_Rget", "MPI_Issend"]);
        assert!(
            all.starts_with(message) && all.ends_with(collective),
            "{all}"
        );
        assert!(all.contains("; an access to a window"), "{all}");
    }
}
