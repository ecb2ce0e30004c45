//! Barrier: no data, only the wait.

use ranks_comm::backend::MpiComm;
use ranks_comm::record::{self, Class, Kind};
use ranks_comm::{Communicator, Result};

use crate::agreement::Call;
use crate::in_time::carry_out_in_time;
use crate::{in_process, mpi, nonblocking};

const NAME: &str = "MPI_Barrier";

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
        Some((&nonblocking::IBARRIER, |comm: &MpiComm, _| {
            mpi::ibarrier(comm)
        })),
        |comm, ()| in_process::barrier(comm),
    )
}
