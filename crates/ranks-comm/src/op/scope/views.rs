//! Operations of a scope on the elements that a layout selects.
#![allow(unsafe_code)]

use super::{Scope, ScopedRequest};
use crate::data::element::Pod;
use crate::data::layout::{View, ViewMut};
use crate::data::raw_slice::RawSlice;
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::result::Result;

impl<'scope> Scope<'scope, '_> {
    /// As [`isend`](Self::isend), of the elements that a [layout](crate::layout) selects.
    ///
    /// ```
    /// # use ranks::{Communicator, Layout, Result};
    /// /// The first column of a matrix of `rows` × `columns` goes to the rank before.
    /// fn shift(world: &Communicator, grid: &[f64], ghost: &mut [f64], rows: usize, columns: usize) -> Result<()> {
    ///     let (rank, size) = (world.rank(), world.size());
    ///     let column = Layout::vector(rows, 1, columns);
    ///     world.scope(|s| {
    ///         s.irecv_view(column.at(columns - 1).of_mut(ghost)?, (rank + 1) % size, 0)?;
    ///         s.isend_view(column.of(grid)?, (rank + size - 1) % size, 0)?;
    ///         Ok(())
    ///     })
    /// }
    /// # ranks::run(|world| shift(&world, &[1.0; 6], &mut [0.0; 6], 2, 3)).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`isend`](Self::isend).
    ///
    /// MPI 5.0 §3.7.2 (`MPI_Isend` of a derived datatype).
    #[doc(alias = "MPI_Isend")]
    pub fn isend_view<T: Pod>(
        &'scope self,
        data: View<'scope, T>,
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<ScopedRequest<'scope, &'scope [T]>> {
        let comm = self.inner.comm;
        // SAFETY: the slice is borrowed for the scope, whose operations are over when it ends.
        let begin = || unsafe { comm.begin_send_view(&data, dest, tag) };
        let place = self.inner.begin(begin)?;
        let (start, length) = (data.data.as_ptr().cast_mut().cast(), data.data.len());
        Ok(self.request(place, start, length))
    }

    /// As [`irecv`](Self::irecv), into the elements that a [layout](crate::layout) selects; the
    /// request gives the whole slice back.
    ///
    /// A shorter message fills the first elements, in the order of the layout. The message is
    /// unpacked by the wait, or when the scope ends, and lies in other memory until then.
    ///
    /// # Errors
    /// As [`irecv`](Self::irecv).
    ///
    /// MPI 5.0 §3.7.2 (`MPI_Irecv` of a derived datatype).
    #[doc(alias = "MPI_Irecv")]
    pub fn irecv_view<T: Pod>(
        &'scope self,
        buf: ViewMut<'scope, T>,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        let length = buf.data.len();
        // SAFETY: the slice is borrowed for the scope, whose operations are over when it ends.
        let span = unsafe { RawSlice::of(buf.data) };
        let comm = self.inner.comm;
        let begin = || comm.begin_recv_view::<T>(span, buf.taken, source, tag);
        let place = self.inner.begin(begin)?;
        Ok(self.request(place, span.start().cast(), length))
    }
}
