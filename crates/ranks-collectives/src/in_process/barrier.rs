//! Barrier: rank 0 hears from all, then lets all go.

use ranks_comm::Result;
use ranks_comm::backend::InProcessComm as Comm;

use super::call::{Call, Outcome};

pub(crate) fn barrier(comm: &Comm) -> Result<()> {
    let call = Call {
        comm,
        operation: "MPI_Barrier",
        width: 0,
    };
    if call.rank() != 0 {
        call.send(0, &[])?;
        return call.receive(0, &mut []);
    }
    let mut outcome = Outcome::default();
    for rank in call.others() {
        outcome.note(call.receive(rank, &mut []));
    }
    for rank in call.others() {
        outcome.note(call.send(rank, &[]));
    }
    outcome.result()
}
