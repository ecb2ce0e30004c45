//! The parts of this crate that its sibling crates see.

use bytemuck::Pod;
use ranks_comm::{Communicator, Result};

use crate::agreement::{CallSignature, carry_out, in_any_case};
use crate::arguments::root::Root;
use crate::in_process::fold::combine_each;
use crate::ops::user_op::Panicked;
use crate::{Op, Reduction};

pub use crate::arguments::lengths::{Holders, block_of, one_of_each, unequal};

/// The same error on every rank unless all of them are about to call `operation` (the C name);
/// asked only where ranks compare their collective calls. Collective.
///
/// # Errors
/// [`ErrorKind::Mismatch`](ranks_comm::ErrorKind::Mismatch), naming both sides.
pub fn agree(comm: &Communicator, operation: &'static str) -> Result<()> {
    agree_on(comm, operation, CallSignature::of)
}

/// As [`agree`], for a reduction by `O`.
///
/// # Errors
/// As [`agree`].
pub fn agree_on_reduction<T, O>(comm: &Communicator, operation: &'static str) -> Result<()> {
    agree_on(comm, operation, CallSignature::reducing::<T, O>)
}

fn agree_on(
    comm: &Communicator,
    operation: &'static str,
    call: impl FnOnce(&'static str) -> CallSignature,
) -> Result<()> {
    if !comm.compares_calls() {
        return comm.enter_unrecorded(operation).map(drop);
    }
    carry_out(comm, call(operation), Ok(()), Ok)
}

/// Combines elements of lower ranks with those of a higher one, as a part of `operation`, and
/// replaces them.
///
/// # Errors
/// [`ErrorKind::Argument`](ranks_comm::ErrorKind::Argument) if a closure of the program's panics.
pub fn combine<T: Pod, O: Op<T>>(
    operation: &'static str,
    op: &O,
    lower: &mut [T],
    higher: &[T],
) -> Result<()> {
    Panicked::caught_of::<T, O>(operation, || combine_each(op, lower, higher))
}

/// Returns `true` if the library has the operation, and computes it rightly: it may be given memory
/// of a device then.
pub fn is_predefined<T: Pod, O: Reduction<T>>() -> bool {
    crate::mpi::predefined::<T, O>().is_some()
}

/// As [`agree`], whether ranks compare their collective calls or not: for what the memory of others
/// rests on.
///
/// # Errors
/// As [`agree`].
pub fn agree_in_any_case(comm: &Communicator, operation: &'static str) -> Result<()> {
    if comm.size() == 1 {
        return Ok(());
    }
    in_any_case(comm, CallSignature::of(operation))
}

/// Returns `true` if this rank is the root of `operation` (the C name).
///
/// # Errors
/// [`ErrorKind::Root`](ranks_comm::ErrorKind::Root) if `root` is not in `comm`.
pub fn is_root(operation: &'static str, comm: &Communicator, root: usize) -> Result<bool> {
    Ok(Root::new(operation, comm, root)?.rank == comm.rank())
}
