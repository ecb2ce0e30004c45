//! Blocking receives into the elements that a layout selects.

use crate::communicator::Communicator;
use crate::data::element::Pod;
use crate::data::layout::ViewMut;
use crate::data::source::Source;
use crate::data::tag::Tag;
use crate::result::{Result, Status};

impl Communicator {
    /// As [`recv`](Self::recv), into the elements that a [layout](crate::layout) selects; others
    /// are not touched.
    ///
    /// A shorter message fills the first elements, in the order of the layout.
    ///
    /// # Errors
    /// As [`recv`](Self::recv); [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) if the
    /// message is longer than the layout, [`ErrorKind::Type`](crate::ErrorKind::Type) if it is not
    /// a whole number of elements, or of their fields.
    ///
    /// MPI 5.0 §3.2.4 (`MPI_Recv` of a derived datatype).
    #[doc(alias = "MPI_Recv")]
    pub fn recv_view<T: Pod>(
        &self,
        buf: &mut ViewMut<'_, T>,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Status> {
        const OPERATION: &str = "MPI_Recv";
        let source = self.source(OPERATION, source)?;
        let tag = self.tag(OPERATION, tag)?;
        self.dispatch_with(
            OPERATION,
            buf,
            |comm, buf| comm.recv_view(buf, source, tag),
            |comm, buf| comm.recv_view(OPERATION, buf, source, tag),
        )
    }
}
