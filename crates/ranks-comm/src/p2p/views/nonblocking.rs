//! Nonblocking operations on the elements that layouts select.
//!
//! A message is received into memory of its own, and unpacked by the wait: its length must be known
//! before (see `mpi/layout.rs`), and nobody may touch the slice until then in any case.
#![allow(unsafe_code)]

use crate::call::record::IN_PROCESS;
use crate::communicator::Communicator;
use crate::data::element::Pod;
use crate::data::layout::{Layout, Taken, View};
use crate::data::owned::{RecvBuffer, SendBuffer};
use crate::data::raw_slice::{Element, RawSlice, RecvTarget, receive_view_of};
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::op::request::Request;
use crate::result::{Result, can_be_counted};
use crate::transport::backend::Backend;
use crate::transport::in_process::Sent;
use crate::transport::mpi::{self, SendMode};
use crate::transport::pending_op::PendingOp;
use crate::transport::scatter::{Scatter, Spread};

impl Communicator {
    /// As [`isend`](Self::isend), of the elements that a [layout](crate::layout) selects in
    /// `buffer`.
    ///
    /// For a borrowed slice, or fields of structs, see
    /// [`Scope::isend_view`](crate::Scope::isend_view).
    ///
    /// # Errors
    /// As [`isend`](Self::isend) and [`Layout::of`]; nothing was started then.
    ///
    /// MPI 5.0 §3.7.2 (`MPI_Isend` of a derived datatype).
    #[doc(alias = "MPI_Isend")]
    pub fn isend_layout<B>(
        &self,
        buffer: B,
        layout: &Layout,
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<Request<B>>
    where
        B: SendBuffer + Send + 'static,
    {
        Request::begin(self, buffer, |buffer| {
            let view = layout.of(buffer.as_slice())?;
            // SAFETY: the request keeps the buffer until the operation is complete, and a
            // `SendBuffer` stays where it is.
            unsafe { self.begin_send_view(&view, dest, tag) }
        })
    }

    /// As [`irecv`](Self::irecv), into the elements that a [layout](crate::layout) selects in
    /// `buffer`; others are not touched.
    ///
    /// A shorter message fills the first elements, in the order of the layout. The message is
    /// unpacked by the wait, and lies in other memory until then.
    ///
    /// For a borrowed slice, or fields of structs, see
    /// [`Scope::irecv_view`](crate::Scope::irecv_view).
    ///
    /// # Errors
    /// As [`irecv`](Self::irecv) and [`Layout::of_mut`]; nothing was started then.
    ///
    /// MPI 5.0 §3.7.2 (`MPI_Irecv` of a derived datatype).
    #[doc(alias = "MPI_Irecv")]
    pub fn irecv_layout<B>(
        &self,
        buffer: B,
        layout: &Layout,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Request<B>>
    where
        B: RecvBuffer + Send + 'static,
    {
        Request::begin(self, buffer, |buffer| {
            let view = layout.of_mut(buffer.as_mut_slice())?;
            // SAFETY: the request keeps the buffer until the operation is complete, and a
            // `RecvBuffer` stays where it is.
            let span = unsafe { RawSlice::of(view.data) };
            self.begin_recv_view::<B::Element>(span, view.taken, source, tag)
        })
    }

    /// # Safety
    /// Until the operation is complete, the slice of `data` stays where it is and does not change.
    pub(crate) unsafe fn begin_send_view<T: Pod>(
        &self,
        data: &View<'_, T>,
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<PendingOp> {
        const { can_be_counted::<T>() };
        let role = SendMode::Standard.role();
        let dest = self.destination(role.operation, dest)?;
        self.check_tag(role.operation, tag)?;
        self.dispatch(
            role.operation,
            // SAFETY: by this function's contract.
            |comm| unsafe { comm.isend_view(data, dest, tag) },
            |comm| {
                let mut payload = Vec::new();
                data.gather(role.operation, &mut payload)?;
                let sent = Sent::with(&payload, Element::of::<T>());
                comm.isend(role, sent, dest, tag, false)
            },
        )
    }

    /// Starts a receive into the selected elements of `T`, all of which are inside of the span.
    pub(crate) fn begin_recv_view<T: Pod>(
        &self,
        span: RawSlice,
        taken: Taken,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<PendingOp> {
        let flight = self.begin_landing(receive_view_of::<T>(), RecvTarget::New(1), source, tag)?;
        let scatter = Scatter {
            place: Spread { span, taken },
            check: Taken::fits::<T>,
            library: match self.backend() {
                Backend::Mpi(_) => mpi::library(),
                Backend::InProcess(_) => IN_PROCESS,
            },
        };
        Ok(PendingOp::Scattered(Box::new((flight, scatter))))
    }
}
