//! Between two groups, as a way to do any operation that has it.

use std::marker::PhantomData;

use bytemuck::Pod;
use ranks_comm::backend::{InProcessComm, StartedOp};
use ranks_comm::{Communicator, Result};

use crate::arguments::crossing::must_fit;
use crate::arguments::reducing::{Reducing, Share};
use crate::arguments::transfer::Transfer;
use crate::in_flight::stable::{Slices, Stable};
use crate::in_process;
use crate::mpi::functions::{Allreduce, Named};
use crate::operation::reductions::Reducer;
use crate::ops::Reduction;

/// The operation between two groups.
pub(crate) enum BetweenGroups<M> {
    #[expect(dead_code, reason = "it is a name of types")]
    Of(PhantomData<M>),
}

impl<M: Named> Named for BetweenGroups<M> {
    const BLOCKING: &'static str = M::BLOCKING;
    const NONBLOCKING: &'static str = M::NONBLOCKING;
    const INIT: &'static str = M::INIT;
}

impl Reducer for BetweenGroups<Allreduce> {
    type Functions = Allreduce;
    type With<'a> = ();

    fn prove<'a, 'w: 'a, T>(
        operation: &'static str,
        comm: &Communicator,
        slices: Slices<'a, T>,
        (): Self::With<'w>,
    ) -> Result<Transfer<'a, T>> {
        must_fit(operation, comm)?;
        Transfer::equal(operation, slices.send, slices.recv)
    }

    fn share<'a>(_: &Communicator, (): ()) -> Share<'a> {
        Share::Whole
    }

    fn root((): ()) -> Option<usize> {
        None
    }

    fn in_process<T: Pod, O: Reduction<T>>(
        comm: &InProcessComm,
        op: &O,
        reducing: Reducing<'_, T>,
    ) -> Result<()> {
        in_process::allreduce_between(comm, op, reducing)
    }

    fn nonblocking_in_process<T: Pod, O: Reduction<T> + Send + 'static>(
        comm: &InProcessComm,
        op: O,
        reducing: Stable<Reducing<'_, T>>,
    ) -> Result<StartedOp> {
        in_process::iallreduce_between(comm, op, reducing)
    }
}
