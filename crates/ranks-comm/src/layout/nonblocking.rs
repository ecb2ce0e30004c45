//! Nonblocking operations on the elements that layouts select.
//!
//! A message is received into memory of its own, and unpacked by the wait: its
//! length must be known before (see `mpi/layout.rs`), and nobody may touch the slice until then in any case.
#![allow(unsafe_code)]

use super::view::Taken;
use super::{Element, Layout, View};
use crate::backend::Backend;
use crate::communicator::Communicator;
use crate::element::Pod;
use crate::error::{self, Result};
use crate::in_process::{self, Sent};
use crate::irecv::receive_of;
use crate::mpi::{self, SendMode};
use crate::owned::{RecvBuffer, SendBuffer};
use crate::pending_op::{Landed, PendingOp};
use crate::raw_slice::{RawSlice, RecvTarget};
use crate::request::Request;
use crate::source::{Destination, Source};
use crate::tag::Tag;

impl Communicator {
    /// As [`isend`](Self::isend), of the elements that a [layout](crate::layout) selects in `buffer`.
    ///
    /// For a borrowed slice, or fields of structs, see [`Scope::isend_view`](crate::Scope::isend_view).
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
            // SAFETY: the request keeps the buffer until the operation is complete, and a `SendBuffer` stays where it is.
            unsafe { self.begin_send_view(&view, dest, tag) }
        })
    }

    /// As [`irecv`](Self::irecv), into the elements that a [layout](crate::layout) selects in `buffer`; others are not touched.
    ///
    /// A shorter message fills the first elements, in the order of the layout. The message is unpacked by the
    /// wait, and lies in other memory until then.
    ///
    /// For a borrowed slice, or fields of structs, see [`Scope::irecv_view`](crate::Scope::irecv_view).
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
            // SAFETY: the request keeps the buffer until the operation is complete, and a `RecvBuffer` stays where it is.
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
                Ok(comm.isend(role, Sent::bytes(&payload), dest, tag, false))
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
        // The element type is checked when the message is unpacked.
        let flight = self.begin_landing(receive_of::<u8>(), RecvTarget::New(1), source, tag)?;
        let scatter = Scatter {
            place: Spread { span, taken },
            check: Taken::check_whole::<T>,
            library: match self.backend() {
                Backend::Mpi(_) => mpi::library(),
                Backend::InProcess(_) => in_process::LIBRARY,
            },
        };
        Ok(PendingOp::Scattered(Box::new((flight, scatter))))
    }
}

/// The selected elements of memory that an operation may use while it is pending.
#[derive(Debug)]
pub struct Spread {
    span: RawSlice,
    taken: Taken,
}

impl Spread {
    /// The elements that `layout`, which fits it, selects in a span of elements of `T`.
    #[must_use]
    pub fn of<T: Pod>(span: RawSlice, layout: &Layout) -> Self {
        let (layout, element) = (layout.clone(), Element::whole::<T>());
        let taken = Taken { layout, element };
        Self { span, taken }
    }

    /// The number of bytes, without the gaps.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.taken.bytes()
    }

    /// Copies `payload` to the selected places, up to the end of the shorter one.
    pub fn fill(&self, payload: &[u8]) {
        let mut rest = payload;
        self.taken.for_each_range(&mut |start, length| {
            let (now, later) = rest.split_at(length.min(rest.len()));
            self.span.part(start, length).fill(now);
            rest = later;
            !rest.is_empty()
        });
    }
}

/// The destination that a complete message is unpacked to.
#[derive(Debug)]
pub(crate) struct Scatter {
    place: Spread,
    check: fn(&Taken, &'static str, usize) -> Result<()>,
    library: &'static str,
}

impl Scatter {
    /// Unpacks a received message, if it fits.
    pub(crate) fn put(&self, landed: Landed) -> Result<Landed> {
        let operation = receive_of::<u8>().operation();
        let Some(room) = landed.room else {
            return Ok(landed);
        };
        let message = room.into_initialised::<u8>();
        let taken = &self.place.taken;
        if message.len() > taken.bytes() {
            let (capacity, width) = (taken.layout.elements(), taken.element.bytes());
            let arrived = Some(message.len());
            return Err(error::truncated(
                operation,
                arrived,
                capacity,
                width,
                self.library,
            ));
        }
        (self.check)(taken, operation, message.len())?;
        self.place.fill(&message);
        Ok(Landed::plain(landed.status))
    }
}
