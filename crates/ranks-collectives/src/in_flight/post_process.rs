//! Work on the result of a nonblocking or persistent reduction that is left to its end.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{Deferred, InFlight, InProcessComm, Keep, StartedOp};

use crate::in_flight::stable::{Left, Slices, Stable};
use crate::ops::Reduction;

/// Calls [`finish`](crate::ops::description::Describe::finish) when the operation is over, each
/// time that it is.
pub(crate) struct Finishing<T, O> {
    op: O,
    ranks: usize,
    left: Left<T>,
}

impl<T: Pod, O: Reduction<T> + Send + 'static> Finishing<T, O> {
    /// For an operation that will combine the contributions of so many `ranks` into the `recv` of
    /// `slices`, all of it; `None` if there is nothing to do then. Called before it is begun.
    pub(crate) fn of(slices: &mut Stable<Slices<'_, T>>, op: O, ranks: usize) -> Option<Self> {
        O::FINISHES.then(|| Self {
            op,
            ranks,
            left: slices.left(),
        })
    }

    /// The operation that was started, and this when it is complete.
    pub(crate) fn after(finishing: Option<Self>, begun: StartedOp) -> StartedOp {
        match finishing {
            Some(finishing) => at_the_end(begun, Box::new(finishing)),
            None => begun,
        }
    }

    fn finish(&mut self) {
        self.op.finish(self.left.elements(), self.ranks);
    }
}

impl<T: Pod, O: Reduction<T> + Send + 'static> Keep for Finishing<T, O> {
    fn ended(&mut self, _: &'static str) -> Result<()> {
        self.finish();
        Ok(())
    }
}

impl<T, O> fmt::Debug for Finishing<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finishing").finish_non_exhaustive()
    }
}

/// The operation that was started, and a call once all of it is complete.
fn at_the_end(begun: StartedOp, mut last: Box<dyn Keep>) -> StartedOp {
    match (parts_of(&begun), &begun) {
        (0, StartedOp::Over) => match last.ended("") {
            Ok(()) => begun,
            Err(error) => StartedOp::Failed(error),
        },
        (parts, _) => {
            let all = Parts {
                parts,
                under_way: parts,
                last,
            };
            let part = Part(Arc::new(Mutex::new(all)));
            keeping(begun, &|| Box::new(Part(Arc::clone(&part.0))))
        }
    }
}

/// The number of operations in flight that it is made of.
fn parts_of(begun: &StartedOp) -> usize {
    match begun {
        StartedOp::Mpi(_) | StartedOp::MpiKeeping(..) | StartedOp::InProcess(_) => 1,
        StartedOp::Both(both) => parts_of(&both.0) + parts_of(&both.1),
        StartedOp::Compared(both) => parts_of(&both.0),
        StartedOp::Over | StartedOp::Failed(_) => 0,
    }
}

/// The operation that was started, and something that is kept until it ends by each operation in
/// flight that it is made of.
pub(crate) fn keeping(begun: StartedOp, keep: &dyn Fn() -> Box<dyn Keep>) -> StartedOp {
    match begun {
        StartedOp::Mpi(cell) => StartedOp::MpiKeeping(cell, InFlight::new(keep())),
        StartedOp::MpiKeeping(cell, first) => StartedOp::MpiKeeping(cell, first.after(keep())),
        StartedOp::InProcess(deferred) => StartedOp::InProcess(Box::new(Then(deferred, keep()))),
        StartedOp::Both(both) => {
            let (one, other) = *both;
            StartedOp::Both(Box::new((keeping(one, keep), keeping(other, keep))))
        }
        // The comparison has nothing to do with the result.
        StartedOp::Compared(both) => {
            let (begun, comparing) = *both;
            StartedOp::Compared(Box::new((keeping(begun, keep), comparing)))
        }
        StartedOp::Over | StartedOp::Failed(_) => begun,
    }
}

/// Operations that make one.
struct Parts {
    parts: usize,
    /// The number of them that are in flight.
    under_way: usize,
    /// The work that the last of them calls.
    last: Box<dyn Keep>,
}

/// One of them.
struct Part(Arc<Mutex<Parts>>);

impl Keep for Part {
    fn ended(&mut self, operation: &'static str) -> Result<()> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.under_way -= 1;
        if all.under_way > 0 {
            return Ok(());
        }
        // They may be begun again.
        all.under_way = all.parts;
        all.last.ended(operation)
    }
}

/// The operation among threads, and then that.
struct Then(Box<dyn Deferred>, Box<dyn Keep>);

impl fmt::Debug for Then {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Then").field(&self.0).finish_non_exhaustive()
    }
}

impl Deferred for Then {
    fn advance(&mut self, comm: &InProcessComm, wait: bool) -> Result<bool> {
        let over = self.0.advance(comm, wait)?;
        if over {
            self.1.ended("")?;
        }
        Ok(over)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use ranks_comm::Runtime;
    use ranks_comm::backend::Backend;

    use super::*;

    /// Over when it is asked.
    #[derive(Debug)]
    struct Soon;

    impl Deferred for Soon {
        fn advance(&mut self, _: &InProcessComm, _: bool) -> Result<bool> {
            Ok(true)
        }
    }

    #[derive(Debug)]
    struct Counts(Arc<AtomicUsize>);

    impl Keep for Counts {
        fn ended(&mut self, _: &'static str) -> Result<()> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    fn end(begun: StartedOp, comm: &InProcessComm) {
        match begun {
            StartedOp::InProcess(mut deferred) => assert!(deferred.advance(comm, true).unwrap()),
            other => panic!("not among threads: {other:?}"),
        }
    }

    #[test]
    fn an_average_in_pieces_was_divided_when_the_first_of_them_was_over() {
        let runtime = Runtime::builder().backend(ranks_comm::Backend::InProcess);
        let outcome = runtime.ranks(1).run(|world| {
            let Backend::InProcess(comm) = world.backend() else {
                unreachable!("threads were asked for")
            };
            let soon = || StartedOp::InProcess(Box::new(Soon));
            let both = |one, other| StartedOp::Both(Box::new((one, other)));
            let count = Arc::new(AtomicUsize::new(0));
            let pieces = both(both(soon(), soon()), soon());
            let pieces = at_the_end(pieces, Box::new(Counts(Arc::clone(&count))));
            let StartedOp::Both(pieces) = pieces else {
                unreachable!("they were two")
            };
            let (StartedOp::Both(first), last) = *pieces else {
                unreachable!("they were three")
            };
            end(last, comm);
            end(first.0, comm);
            assert_eq!(count.load(Ordering::Relaxed), 0);
            end(first.1, comm);
            assert_eq!(count.load(Ordering::Relaxed), 1);
            Ok::<_, ranks_comm::Error>(())
        });
        outcome.unwrap();
    }
}
