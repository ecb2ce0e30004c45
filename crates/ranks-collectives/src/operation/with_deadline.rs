//! Blocking collectives under a time limit, or in a job that goes on after the loss of a rank, over
//! MPI: as operations that return at once, on copies of the slices, which are left to the runtime
//! if the limit comes first.

use ranks_comm::backend::{Backend, InProcessComm, MpiComm, OpInfo, StartedOp};
use ranks_comm::{Communicator, Result};

use crate::agreement::{CallSignature, carry_out};
use crate::arguments::proven::Movable;
use crate::in_flight::stable::{self, Stable};

/// As [`carry_out`], where a time limit or a loss can end the call: by
/// `begin`, which begins it under the name of `role`. `None` if all ranks know that it cannot be
/// begun.
pub(crate) fn carry_out_in_time<'a, P: Movable<'a>>(
    comm: &Communicator,
    call: CallSignature,
    proven: Result<P>,
    over_mpi: impl FnOnce(&MpiComm, P) -> Result<()>,
    begin: Option<(
        &'static OpInfo,
        impl FnOnce(&MpiComm, Stable<P>) -> Result<StartedOp>,
    )>,
    in_process: impl FnOnce(&InProcessComm, P) -> Result<()>,
) -> Result<()> {
    carry_out(comm, call, proven, |proven| match comm.backend() {
        Backend::Mpi(over) => match begin.filter(|_| comm.begins_collectives()) {
            Some((role, begin)) => {
                let done = stable::on_copies(comm, role, proven, |proven| begin(over, proven));
                // The program has not called the operation that returns at once.
                done.map_err(|error| error.of(call.operation()))
            }
            None => over_mpi(over, proven),
        },
        Backend::InProcess(among) => {
            comm.keeping_step(call.operation(), || in_process(among, proven))
        }
    })
}
