//! Blocking sends of the elements that a layout selects.

use crate::communicator::Communicator;
use crate::data::element::Pod;
use crate::data::layout::View;
use crate::data::source::Destination;
use crate::result::{Result, can_be_counted};
use crate::transport::mpi::SendMode;

impl Communicator {
    /// As [`send`](Self::send), of the elements that a [layout](crate::layout) selects.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    ///
    /// MPI 5.0 §3.2.1 (`MPI_Send` of a derived datatype).
    #[doc(alias = "MPI_Send")]
    pub fn send_view<T: Pod>(
        &self,
        data: &View<'_, T>,
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<()> {
        self.send_view_in(SendMode::Standard, data, dest, tag)
    }

    /// As [`ssend`](Self::ssend), of the elements that a [layout](crate::layout) selects.
    ///
    /// # Errors
    /// As [`ssend`](Self::ssend).
    ///
    /// MPI 5.0 §3.4 (`MPI_Ssend` of a derived datatype).
    #[doc(alias = "MPI_Ssend")]
    pub fn ssend_view<T: Pod>(
        &self,
        data: &View<'_, T>,
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<()> {
        self.send_view_in(SendMode::Synchronous, data, dest, tag)
    }

    fn send_view_in<T: Pod>(
        &self,
        mode: SendMode,
        data: &View<'_, T>,
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<()> {
        const { can_be_counted::<T>() };
        let operation = mode.name();
        let dest = self.destination(operation, dest)?;
        self.check_tag(operation, tag)?;
        self.dispatch(
            operation,
            |comm| comm.send_view(mode, data, dest, tag),
            |comm| comm.send_view(mode, data, dest, tag),
        )
    }
}
