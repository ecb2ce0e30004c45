//! Collectives that return at once.

use ranks_comm::backend::{Backend, InProcessComm, MpiComm, StartedOp};
use ranks_comm::record::{Kind, Over};
use ranks_comm::{Communicator, Result};

use super::{CallSignature, compared, offered, recorded, told};
use crate::arguments::proven::Proven;

/// Begins a collective of that kind, and with that root, on whichever backend this is, if this
/// thread may. `is_in_order` is one whose operands the library may not swap. `prove` is called
/// where it is known which way is taken: the fast path has what it makes in registers.
#[inline(always)]
pub(crate) fn begin<P: Proven>(
    comm: &Communicator,
    kind: &'static Kind,
    root: Option<usize>,
    is_in_order: bool,
    prove: impl FnOnce() -> Result<P>,
    over_mpi: impl FnOnce(&MpiComm, P) -> Result<StartedOp>,
    in_process: impl FnOnce(&InProcessComm, P) -> Result<StartedOp>,
) -> Result<StartedOp> {
    let Some(over) = comm.fast_path_collective(1) else {
        let call = CallSignature::like(kind, root).in_order(is_in_order);
        let begun = begin_slow(comm, call, prove, over_mpi, in_process)?;
        return Ok(begun);
    };
    let proven = prove()?;
    let over = comm.recorded(over, recorded(kind, root, proven.elements()));
    let begun = over_mpi(&over, proven);
    over.over();
    begun
}

#[cold]
#[inline(never)]
fn begin_slow<P: Proven>(
    comm: &Communicator,
    call: CallSignature,
    prove: impl FnOnce() -> Result<P>,
    over_mpi: impl FnOnce(&MpiComm, P) -> Result<StartedOp>,
    in_process: impl FnOnce(&InProcessComm, P) -> Result<StartedOp>,
) -> Result<StartedOp> {
    let proven = prove();
    let elements = proven.as_ref().map_or(0, Proven::elements);
    let mut entered = comm.enter(call.recorded(elements))?;
    let begun = comparing(comm, call, proven, |proven| match comm.backend() {
        Backend::Mpi(comm) => over_mpi(comm, proven),
        Backend::InProcess(comm) => in_process(comm, proven),
    });
    entered.note(&begun);
    begun
}

/// Begins what `begin` does, and where ranks compare their calls, to compare this one: nobody waits
/// for anybody, and who waits for the end of it waits for both.
fn comparing<P: Proven>(
    comm: &Communicator,
    call: CallSignature,
    proven: Result<P>,
    begin: impl FnOnce(P) -> Result<StartedOp>,
) -> Result<StartedOp> {
    if comm.may_overrun() {
        // What would be written past a slice must be known before.
        return compared(comm, call, proven).and_then(begin);
    }
    if !comm.compares_calls() {
        return proven.and_then(begin);
    }
    let proven = proven.and_then(|proven| offered(comm, call, proven));
    comm.comes_in_step(call.operation())?;
    let told = told(call, proven.as_ref().map(|proven| proven as _)).beginning();
    let compared = comm.begin_comparing(call.operation(), &told)?;
    match proven.and_then(begin) {
        Ok(begun) => Ok(StartedOp::Compared(Box::new((begun, compared)))),
        Err(error) => {
            comm.leave_comparing(compared);
            Err(error)
        }
    }
}
