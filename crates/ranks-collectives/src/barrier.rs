//! Barrier: no data, only the wait.

use ranks_comm::backend::{MpiComm, OpInfo, StartedOp};
use ranks_comm::record::{self, Class, Kind};
use ranks_comm::{Communicator, Result};

use crate::agreement::{Call, begin};
use crate::trial::kept;
use crate::with_deadline::carry_out_in_time;
use crate::{in_process, mpi};

const NAME: &str = "MPI_Barrier";
pub(crate) static IBARRIER: OpInfo = OpInfo::of("MPI_Ibarrier");
pub(crate) static BARRIER_INIT: OpInfo = OpInfo::of("MPI_Barrier_init");

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
        Call::of(NAME),
        Ok(()),
        |comm, ()| mpi::barrier(comm),
        Some((&IBARRIER, |comm: &MpiComm, _| mpi::ibarrier(comm))),
        |comm, ()| in_process::barrier(comm),
    )
}

pub(crate) fn ibarrier(comm: &Communicator) -> Result<StartedOp> {
    begin(
        comm,
        Call::of(IBARRIER.operation()),
        Ok(()),
        |comm, ()| mpi::ibarrier(comm),
        |comm, ()| in_process::ibarrier(comm),
    )
}

/// The request that the library has made, not started; nothing where that cannot be relied on.
pub(crate) fn barrier_init(comm: &Communicator) -> Result<Option<StartedOp>> {
    let call = Call::of(BARRIER_INIT.operation());
    kept(comm, call, Ok(()), |comm, ()| mpi::barrier_init(comm))
}
