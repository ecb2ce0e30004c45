//! What is still to be done with the result of a reduction that returned at once, when all ranks have taken part.

use std::fmt;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{Begun, Deferred, InFlight, InProcessComm, Keep};

use crate::lasting::{Lasting, Left, Slices};
use crate::ops::Reduction;

/// Calls [`finish`](crate::ops::description::Describe::finish) when the operation is over, each time that it is.
pub(crate) struct Finishing<T, O> {
    op: O,
    ranks: usize,
    left: Left<T>,
}

impl<T: Pod, O: Reduction<T> + Send + 'static> Finishing<T, O> {
    /// For an operation that will combine the contributions of so many `ranks` into the `recv` of `slices`, all of it;
    /// `None` if there is nothing to do then. Called before it is begun.
    pub(crate) fn of(slices: &mut Lasting<Slices<'_, T>>, op: O, ranks: usize) -> Option<Self> {
        O::FINISHES.then(|| Self {
            op,
            ranks,
            left: slices.left(),
        })
    }

    /// What was `begun`, and this when it is over.
    pub(crate) fn after(finishing: Option<Self>, begun: Begun) -> Begun {
        let Some(mut finishing) = finishing else {
            return begun;
        };
        match begun {
            Begun::Mpi(cell) => Begun::MpiKeeping(cell, InFlight::new(Box::new(finishing))),
            Begun::MpiKeeping(cell, keep) => {
                Begun::MpiKeeping(cell, keep.after(Box::new(finishing)))
            }
            Begun::InProcess(deferred) => Begun::InProcess(Box::new(Then(deferred, finishing))),
            Begun::Over => {
                finishing.finish();
                begun
            }
            // The operation, and the comparison of what ranks call.
            Begun::Both(both) => {
                let (begun, comparing) = *both;
                Begun::Both(Box::new((Self::after(Some(finishing), begun), comparing)))
            }
            Begun::Failed(_) => begun,
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

/// What there was to do among threads, and then that.
struct Then<T, O>(Box<dyn Deferred>, Finishing<T, O>);

impl<T: Pod, O: Reduction<T> + Send + 'static> Deferred for Then<T, O> {
    fn advance(&mut self, comm: &InProcessComm, wait: bool) -> Result<bool> {
        let over = self.0.advance(comm, wait)?;
        if over {
            self.1.finish();
        }
        Ok(over)
    }
}

impl<T, O> fmt::Debug for Then<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
