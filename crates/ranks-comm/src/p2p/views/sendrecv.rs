//! Combined send and receive with layouts, which cannot deadlock.

use crate::communicator::Communicator;
use crate::data::element::Pod;
use crate::data::layout::{Layout, View, ViewMut};
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::result::{Error, ErrorKind, Result, Status, can_be_counted};
use crate::transport::mpi::SendMode;

const OPERATION: &str = "MPI_Sendrecv";

impl Communicator {
    /// As [`sendrecv`](Self::sendrecv), of the elements that [layouts](crate::layout) select in two
    /// slices.
    ///
    /// # Errors
    /// As [`send_view`](Self::send_view) and [`recv_view`](Self::recv_view).
    ///
    /// MPI 5.0 §3.10 (`MPI_Sendrecv` of derived datatypes).
    #[doc(alias = "MPI_Sendrecv")]
    pub fn sendrecv_view<S: Pod, R: Pod>(
        &self,
        send: &View<'_, S>,
        dest: impl Into<Destination>,
        send_tag: i32,
        recv: &mut ViewMut<'_, R>,
        source: impl Into<Source>,
        recv_tag: impl Into<Tag>,
    ) -> Result<Status> {
        const { can_be_counted::<S>() };
        let ends = self.ends(OPERATION, (dest, send_tag), (source, recv_tag))?;
        self.dispatch_with(
            OPERATION,
            recv,
            |comm, recv| comm.sendrecv_view(send, recv, ends),
            |comm, recv| {
                comm.send_view(SendMode::Standard, send, ends.dest, ends.send_tag)?;
                comm.recv_view(OPERATION, recv, ends.source, ends.recv_tag)
            },
        )
    }

    /// Sends the elements that one layout selects in `data` and receives into those that another
    /// one selects; as in the exchange of a [halo](crate::layout::Halo).
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if the two layouts select a common element, for which all that lies
    /// between the ends of a layout counts that selects more elements than lie there; as
    /// [`Layout::of`] and [`Layout::of_mut`]; as [`sendrecv_view`](Self::sendrecv_view).
    ///
    /// MPI 5.0 §3.10 (`MPI_Sendrecv` of derived datatypes).
    #[doc(alias = "MPI_Sendrecv")]
    #[expect(clippy::too_many_arguments, reason = "as many as MPI_Sendrecv has")]
    pub fn sendrecv_within<T: Pod>(
        &self,
        data: &mut [T],
        send: &Layout,
        dest: impl Into<Destination>,
        send_tag: i32,
        recv: &Layout,
        source: impl Into<Source>,
        recv_tag: impl Into<Tag>,
    ) -> Result<Status> {
        const { can_be_counted::<T>() };
        let ends = self.ends(OPERATION, (dest, send_tag), (source, recv_tag))?;
        let send = send.of(data)?.taken;
        if send.bytes() > 0 && !send.layout.is_apart(recv) {
            let why = "the elements to send and those to receive into overlap; use layouts that have none in common";
            return Err(Error::new(ErrorKind::Argument, OPERATION, why));
        }
        let mut recv = recv.of_mut(data)?;
        self.dispatch_with(
            OPERATION,
            &mut recv,
            |comm, recv| comm.sendrecv_within(&send, recv, ends),
            |comm, recv| {
                let send = View {
                    data: &*recv.data,
                    taken: send.clone(),
                };
                comm.send_view(SendMode::Standard, &send, ends.dest, ends.send_tag)?;
                comm.recv_view(OPERATION, recv, ends.source, ends.recv_tag)
            },
        )
    }
}
