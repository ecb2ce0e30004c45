//! The operation and the datatype of a reduction, for the length of one call.

use std::ffi::c_int;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::check;
use ranks_mpi_sys::{MPI_Datatype, MPI_Op, native};

use super::user_op::Registered;
use crate::ops::Reduction;

/// What `int` counts at most: the length of a piece of a reduction that goes piece by piece.
pub(super) const PIECE: usize = c_int::MAX.unsigned_abs() as usize;

/// What a reduction hands to the library. An item of the datatype is an element, and of its size.
pub(super) struct Operation<'o> {
    pub(super) op: MPI_Op,
    pub(super) datatype: MPI_Datatype,
    /// What the library calls back, if the operation is none of its own.
    registered: Option<Registered<'o>>,
}

impl<'o> Operation<'o> {
    #[inline(always)]
    pub(super) fn of<T: Pod, O: Reduction<T>>(op: &'o O) -> Result<Self> {
        match O::predefined() {
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

    /// The operation in the library's own form.
    #[inline(always)]
    pub(super) fn native_op(&self) -> native::Op {
        // SAFETY: the library is loaded: this is called by operations on a `Comm` only.
        unsafe { native::op(self.op) }
    }

    /// The datatype in the library's own form.
    #[inline(always)]
    pub(super) fn native_datatype(&self) -> native::Datatype {
        // SAFETY: as above.
        unsafe { native::datatype(self.datatype) }
    }

    /// Ends the call `name`, which returned `code`.
    ///
    /// # Errors
    /// What the library says, or that the program's operation panicked.
    #[inline(always)]
    pub(super) fn end(self, code: c_int, name: &'static str) -> Result<()> {
        check(code, name)?;
        match self.registered {
            None => Ok(()),
            Some(registered) => registered.end(name),
        }
    }
}

/// A block of `elements`, each an item, which an `int` can say, as the caller knows. Elements of no size are none.
///
/// Were it not so, the library would be told of fewer items than there are, or of a negative number, which it
/// refuses: never of memory that is not there.
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

/// Whether an `int` can say how many `elements` there are.
pub(super) fn is_small<T>(elements: usize) -> bool {
    elements <= PIECE || size_of::<T>() == 0
}
