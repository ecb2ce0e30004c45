//! In place, as a way to do any operation that has it: the one slice holds the input and gets the
//! output.

use std::marker::PhantomData;

use bytemuck::Pod;
use ranks_comm::backend::{InProcessComm, MpiComm, StartedOp};
use ranks_comm::{Communicator, Result};

use crate::arguments::reducing::{Reducing, Share};
use crate::arguments::transfer::Transfer;
use crate::in_flight::stable::{Slices, Stable};
use crate::mpi::functions::Named;
use crate::operation::moves::{InPlaceMover, Mover};
use crate::operation::reductions::{InPlaceReducer, Reducer};
use crate::ops::Reduction;

/// The operation on the slice that it receives into, and no other.
pub(crate) enum InPlace<M> {
    #[expect(dead_code, reason = "it is a name of types")]
    Of(PhantomData<M>),
}

impl<M: Named> Named for InPlace<M> {
    const BLOCKING: &'static str = M::BLOCKING;
    const NONBLOCKING: &'static str = M::NONBLOCKING;
    const INIT: &'static str = M::INIT;
}

impl<M: InPlaceMover> Mover for InPlace<M> {
    type With<'a> = M::With<'a>;
    type Proven<'a, T: Pod> = M::Proven<'a, T>;

    fn prove<'a, 'w: 'a, T: Pod>(
        operation: &'static str,
        comm: &Communicator,
        slices: Slices<'a, T>,
        with: Self::With<'w>,
    ) -> Result<Self::Proven<'a, T>> {
        M::prove_in_place(operation, comm, slices.recv, with)
    }

    fn root(with: Self::With<'_>) -> Option<usize> {
        M::root(with)
    }

    fn over_mpi<T: Pod>(comm: &MpiComm, proven: Self::Proven<'_, T>) -> Result<()> {
        M::over_mpi(comm, proven)
    }

    fn nonblocking_over_mpi<T: Pod>(
        comm: &MpiComm,
        proven: Stable<Self::Proven<'_, T>>,
    ) -> Result<StartedOp> {
        M::nonblocking_over_mpi(comm, proven)
    }

    fn init_over_mpi<T: Pod>(
        comm: &MpiComm,
        proven: Stable<Self::Proven<'_, T>>,
    ) -> Result<Option<StartedOp>> {
        M::init_over_mpi(comm, proven)
    }

    fn in_process<T: Pod>(comm: &InProcessComm, proven: Self::Proven<'_, T>) -> Result<()> {
        M::in_process(comm, proven)
    }

    fn nonblocking_in_process<T: Pod>(
        comm: &InProcessComm,
        proven: Stable<Self::Proven<'_, T>>,
    ) -> Result<StartedOp> {
        M::nonblocking_in_process(comm, proven)
    }
}

impl<R: InPlaceReducer> Reducer for InPlace<R> {
    const IN_PLACE: bool = true;

    type Functions = R::Functions;
    type With<'a> = R::With<'a>;

    fn prove<'a, 'w: 'a, T>(
        operation: &'static str,
        comm: &Communicator,
        slices: Slices<'a, T>,
        with: Self::With<'w>,
    ) -> Result<Transfer<'a, T>> {
        R::prove_in_place(operation, comm, slices.recv, with)
    }

    fn share<'a>(comm: &Communicator, with: Self::With<'a>) -> Share<'a> {
        R::share(comm, with)
    }

    fn root(with: Self::With<'_>) -> Option<usize> {
        R::root(with)
    }

    fn in_process<T: Pod, O: Reduction<T>>(
        comm: &InProcessComm,
        op: &O,
        reducing: Reducing<'_, T>,
    ) -> Result<()> {
        R::in_process(comm, op, reducing)
    }

    fn nonblocking_in_process<T: Pod, O: Reduction<T> + Send + 'static>(
        comm: &InProcessComm,
        op: O,
        reducing: Stable<Reducing<'_, T>>,
    ) -> Result<StartedOp> {
        R::nonblocking_in_process(comm, op, reducing)
    }
}
