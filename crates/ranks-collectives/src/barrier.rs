//! Barrier: no data, only the wait.

use ranks_comm::backend::{Begun, MpiComm, Role};
use ranks_comm::record::{self, Class, Kind};
use ranks_comm::{Communicator, Result};

use crate::agreement::{Call, begin};
use crate::in_time::carry_out_in_time;
use crate::trial::kept;
use crate::{in_process, mpi};

const NAME: &str = "MPI_Barrier";
pub(crate) static IBARRIER: Role = Role::of("MPI_Ibarrier");
pub(crate) static BARRIER_INIT: Role = Role::of("MPI_Barrier_init");

#[inline]
pub(crate) fn barrier(comm: &Communicator) -> Result<()> {
    let call = record::Call::of(const { &Kind::of(Class::Collective, NAME) });
    match comm.express_collective(1) {
        Some(over) => mpi::barrier(comm.recorded(over, call)),
        None => in_full(comm),
    }
}

#[cold]
#[inline(never)]
fn in_full(comm: &Communicator) -> Result<()> {
    carry_out_in_time(
        comm,
        Call::of(NAME),
        Ok(()),
        |comm, ()| mpi::barrier(comm),
        Some((&IBARRIER, |comm: &MpiComm, _| mpi::ibarrier(comm))),
        |comm, ()| in_process::barrier(comm),
    )
}

pub(crate) fn ibarrier(comm: &Communicator) -> Result<Begun> {
    begin(
        comm,
        Call::of(IBARRIER.operation()),
        Ok(()),
        |comm, ()| mpi::ibarrier(comm),
        |comm, ()| in_process::ibarrier(comm),
    )
}

/// What the library has made, not started; nothing where that cannot be relied on.
pub(crate) fn barrier_init(comm: &Communicator) -> Result<Option<Begun>> {
    let call = Call::of(BARRIER_INIT.operation());
    kept(comm, call, Ok(()), |comm, ()| mpi::barrier_init(comm))
}
