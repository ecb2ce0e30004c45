//! The operation and the datatype of a reduction: for the length of one call, or until it is
//! complete.

use std::ffi::c_int;

use bytemuck::Pod;
use ranks_comm::backend::{Keep, check_collective, is_wrong_extreme};
use ranks_comm::{Error, ErrorKind, Result};
use ranks_mpi_sys::{MPI_Count, MPI_Datatype, MPI_Op, native};

use super::user_op::Registered;
use crate::ops::Reduction;

/// The most that `int` counts: the length of a piece of a reduction that goes piece by piece.
pub(super) const PIECE: usize = c_int::MAX.unsigned_abs() as usize;

/// MPI's own operation and the datatype that it takes elements as; `None` if MPI has no such
/// operation, or the library computes it wrong.
#[inline(always)]
pub(crate) fn predefined<T: Pod, O: Reduction<T>>() -> Option<(MPI_Op, MPI_Datatype)> {
    O::predefined().filter(|&(op, datatype)| !is_wrong_extreme(op, datatype))
}

/// The operation of a blocking reduction. An item of the datatype is an element, and of its size.
pub(super) struct Operation<'o> {
    pub(super) op: MPI_Op,
    pub(super) datatype: MPI_Datatype,
    /// The function that the library calls back, if the operation is none of its own.
    registered: Option<Registered<'o>>,
}

impl<'o> Operation<'o> {
    #[inline(always)]
    pub(super) fn of<T: Pod, O: Reduction<T>>(op: &'o O) -> Result<Self> {
        match predefined::<T, O>() {
            Some((op, datatype)) => Ok(Self {
                op,
                datatype,
                registered: None,
            }),
            None => Self::registered::<T, O>(op),
        }
    }

    #[cold]
    #[inline(never)]
    fn registered<T: Pod, O: Reduction<T>>(op: &'o O) -> Result<Self> {
        let registered = Registered::new::<T, O>(op)?;
        Ok(Self {
            op: registered.op(),
            datatype: registered.datatype(),
            registered: Some(registered),
        })
    }

    /// Both in the library's own form.
    #[inline(always)]
    pub(super) fn native(&self) -> (native::Op, native::Datatype) {
        native(self.op, self.datatype)
    }

    /// Ends the call `name`, which returned `code`.
    ///
    /// # Errors
    /// Errors of the library, and the panic of the program's operation.
    #[inline(always)]
    pub(super) fn end(self, code: c_int, name: &'static str) -> Result<()> {
        check_collective(code, name)?;
        match self.registered {
            None => Ok(()),
            Some(registered) => registered.end(name),
        }
    }
}

/// The operation of a reduction that is nonblocking or persistent.
pub(crate) struct OwnedOperation {
    pub(super) op: MPI_Op,
    pub(super) datatype: MPI_Datatype,
    /// The function that the library calls back until the reduction is complete or freed, if the
    /// operation is none of its own.
    pub(super) keep: Option<Box<dyn Keep>>,
}

impl OwnedOperation {
    /// An operation for blocks that an `int` can count.
    #[inline]
    pub(crate) fn of<T: Pod, O: Reduction<T> + Send + 'static>(op: O) -> Result<Self> {
        if let Some((op, datatype)) = predefined::<T, O>() {
            let keep = None;
            return Ok(Self { op, datatype, keep });
        }
        let registered = Registered::keeping::<T, O>(op)?;
        Ok(Self {
            op: registered.op(),
            datatype: registered.datatype(),
            keep: Some(Box::new(registered)),
        })
    }

    /// One of MPI's own, which can be for longer blocks.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] of `name` if the operation is the program's own: libraries call
    /// it with an `int`.
    pub(crate) fn predefined<T: Pod, O: Reduction<T>>(name: &'static str) -> Result<Self> {
        let keep = None;
        match predefined::<T, O>() {
            Some((op, datatype)) => Ok(Self { op, datatype, keep }),
            None => Err(Error::new(
                ErrorKind::NotInLibrary,
                name,
                "a nonblocking reduction of 2³¹ elements or more is not possible with an operation of the \
                 program's own; use the blocking one, or several calls",
            )),
        }
    }

    /// Both in the library's own form.
    #[inline]
    pub(super) fn native(&self) -> (native::Op, native::Datatype) {
        native(self.op, self.datatype)
    }
}

#[inline(always)]
fn native(op: MPI_Op, datatype: MPI_Datatype) -> (native::Op, native::Datatype) {
    // SAFETY: the library is loaded: this is called by operations on a `Comm` only.
    let op = unsafe { native::op(op) };
    // SAFETY: as above.
    let datatype = unsafe { native::datatype(datatype) };
    (op, datatype)
}

/// A block of `elements`, each an item, which an `int` can say, as the caller knows. Elements of no
/// size are none.
///
/// Were it not so, the library would be told of fewer items than there are, or of a negative
/// number, which it refuses: never of memory that is not there.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "what is cut off makes the count smaller, see above"
)]
pub(super) fn count<T>(elements: usize) -> c_int {
    match size_of::<T>() {
        0 => 0,
        _ => elements as c_int,
    }
}

/// A block of so many elements, each an item.
pub(super) fn large_count<T>(elements: usize) -> MPI_Count {
    // An item has a byte at least, so that elements of no size are no items; of others a slice has
    // at most isize::MAX.
    match size_of::<T>() {
        0 => 0,
        _ => MPI_Count::try_from(elements).unwrap_or(0),
    }
}

/// Returns `true` if an `int` can say how many `elements` there are.
pub(super) fn is_small<T>(elements: usize) -> bool {
    elements <= PIECE || size_of::<T>() == 0
}
