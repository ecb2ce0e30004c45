//! Barrier: no data, only the wait.

use ranks_comm::backend::{MpiComm, OpInfo, StartedOp};
use ranks_comm::record::{self, Class, Kind};
use ranks_comm::{Communicator, Persistent, Request, Result};

use crate::agreement::{CallSignature, begin};
use crate::in_flight::stable::{Shape, owned, prepared};
use crate::operation::trial::kept;
use crate::operation::with_deadline::carry_out_in_time;
use crate::{in_process, mpi};

/// The operation.
pub(crate) enum Barrier {}

const NAME: &str = "MPI_Barrier";
const IBARRIER: &str = "MPI_Ibarrier";
static IBARRIER_ROLE: OpInfo = OpInfo::of(IBARRIER);
static BARRIER_INIT: OpInfo = OpInfo::of("MPI_Barrier_init");

#[inline]
pub(crate) fn barrier(comm: &Communicator) -> Result<()> {
    let call = record::Call::of(const { &Kind::of(Class::Collective, NAME) });
    match comm.fast_path_collective(1) {
        Some(over) => mpi::barrier(comm.recorded(over, call)),
        None => slow_path(comm),
    }
}

#[cold]
#[inline(never)]
fn slow_path(comm: &Communicator) -> Result<()> {
    carry_out_in_time(
        comm,
        CallSignature::of(NAME),
        Ok(()),
        |comm, ()| mpi::barrier(comm),
        Some((&IBARRIER_ROLE, |comm: &MpiComm, _| mpi::ibarrier(comm))),
        |comm, ()| in_process::barrier(comm),
    )
}

/// Nonblocking.
#[inline]
pub(crate) fn nonblocking(comm: &Communicator) -> Result<Request<()>> {
    owned(comm, &IBARRIER_ROLE, (), Shape::none(), |_| ibarrier(comm))
}

#[inline(always)]
fn ibarrier(comm: &Communicator) -> Result<StartedOp> {
    begin(
        comm,
        const { &Kind::of(Class::Collective, IBARRIER) },
        None,
        false,
        || Ok(()),
        |comm, ()| mpi::ibarrier(comm),
        |comm, ()| in_process::ibarrier(comm),
    )
}

/// Persistent.
#[inline]
pub(crate) fn persistent(comm: &Communicator) -> Result<Persistent<()>> {
    let call = CallSignature::of(BARRIER_INIT.operation());
    prepared(
        comm,
        &BARRIER_INIT,
        (),
        Shape::none(),
        |_| kept::<Barrier, _>(comm, call, Ok(()), |comm, ()| mpi::barrier_init(comm)),
        |comm, _| ibarrier(comm),
    )
}
