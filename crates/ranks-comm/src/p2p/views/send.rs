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
        const OPERATION: &str = "MPI_Send";
        const { can_be_counted::<T>() };
        let dest = self.destination(OPERATION, dest)?;
        self.check_tag(OPERATION, tag)?;
        self.dispatch(
            OPERATION,
            |comm| comm.send_view(SendMode::Standard, data, dest, tag),
            |comm| comm.send_view(OPERATION, data, dest, tag),
        )
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
        const OPERATION: &str = "MPI_Ssend";
        const { can_be_counted::<T>() };
        let dest = self.destination(OPERATION, dest)?;
        self.check_tag(OPERATION, tag)?;
        self.dispatch(
            OPERATION,
            |comm| comm.send_view(SendMode::Synchronous, data, dest, tag),
            |comm| comm.ssend_view(OPERATION, data, dest, tag),
        )
    }
}
