//! Nonblocking receives.
#![allow(unsafe_code)]

use crate::call::record::{Call, Kind};
use crate::communicator::Communicator;
use crate::data::element::Pod;
use crate::data::in_flight::InFlight;
use crate::data::owned::{RecvBuffer, SendBuffer};
use crate::data::raw_slice::{OpInfo, RawSlice, RecvTarget, receive_of};
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::op::request::Request;
use crate::op::request::request_op::RequestOp;
use crate::result::Result;
use crate::transport::mpi::{Comm as MpiComm, SendMode};
use crate::transport::pending_op::PendingOp;

impl Communicator {
    /// Starts a nonblocking receive of a message of at most the length of `buffer`, which the
    /// request owns until it is complete.
    ///
    /// [`Request::wait`] gives the buffer back; the status has the number of elements received. A
    /// message that is too long writes nothing past the buffer, on any library.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`](crate::ErrorKind::Rank), [`ErrorKind::Tag`](crate::ErrorKind::Tag), or
    /// what the library reports; nothing was started then.
    ///
    /// MPI 5.0 §3.7.2 (`MPI_Irecv`).
    #[doc(alias = "MPI_Irecv")]
    #[doc(alias = "MPI_Irecv_c")]
    #[inline(always)]
    pub fn irecv<B>(
        &self,
        buffer: B,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Request<B>>
    where
        B: RecvBuffer + Send + 'static,
    {
        let role = receive_of::<B::Element>();
        let source = self.source(role.operation, source)?;
        let tag = self.tag(role.operation, tag)?;
        let bytes = size_of_val(buffer.as_slice());
        if source != Source::Null
            && let Some(comm) = self.fast_path_receive(1, bytes)
        {
            return self.irecv_fast(comm.0, buffer, source, tag);
        }
        // Moved here, where it is cold: the fast path has what it makes in registers.
        let request = Request::begin(self, buffer, |buffer| {
            // SAFETY: the request keeps the buffer until the operation is complete, and a
            // `RecvBuffer` stays where it is.
            let span = unsafe { RawSlice::of(buffer.as_mut_slice()) };
            self.begin_recv::<B::Element>(span, source, tag)
        })?;
        Ok(request)
    }

    /// Starts a receive on the fast path: nothing is built in memory before the request itself.
    #[inline(always)]
    fn irecv_fast<B>(
        &self,
        comm: &MpiComm,
        buffer: B,
        source: Source,
        tag: Tag,
    ) -> Result<Request<B>>
    where
        B: RecvBuffer + Send + 'static,
    {
        let role = receive_of::<B::Element>();
        let capacity = buffer.length();
        let (buffer, begun) = InFlight::begun(buffer, |buffer| {
            // SAFETY: the request keeps the buffer until the operation is complete, and a
            // `RecvBuffer` stays where it is.
            let span = unsafe { RawSlice::of(buffer.as_mut_slice()) };
            let call = Call::of(const { &Kind::message::<B::Element>("MPI_Irecv") })
                .count_u32(capacity)
                .from(source, tag);
            self.recorder().messages.post(call);
            comm.irecv_begun(role, capacity, span, source, tag)
        })?;
        Ok(match begun {
            Ok(cell) => Request::of(self, RequestOp::plain(cell, role, capacity), buffer),
            Err(error) => Request::of(self, RequestOp::of(PendingOp::Over(Err(error))), buffer),
        })
    }

    /// Starts a nonblocking receive of a message of any length into a new `Vec`.
    ///
    /// The message is matched by a wait or a test after it has arrived; on most libraries a send
    /// that waits for its match is not complete before that.
    ///
    /// # Errors
    /// As [`irecv`](Self::irecv).
    ///
    /// MPI 5.0 §3.8.2 (`MPI_Improbe` and `MPI_Imrecv`).
    #[doc(alias = "MPI_Imrecv")]
    #[doc(alias = "MPI_Imrecv_c")]
    pub fn irecv_vec<T: Pod + Send>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Request<Vec<T>>> {
        let role = const { &OpInfo::receiving::<T>("MPI_Imrecv") };
        let flight = self.begin_landing(role, RecvTarget::New(align_of::<T>()), source, tag)?;
        Ok(Request::of_any_length(self, flight))
    }

    /// Starts a nonblocking send of one buffer and receive into another: one request for both, with
    /// the status of the receive.
    ///
    /// # Errors
    /// As [`isend`](Self::isend) and [`irecv`](Self::irecv).
    ///
    /// MPI 5.0 §3.10 (`MPI_Isendrecv`).
    #[doc(alias = "MPI_Isendrecv")]
    #[doc(alias = "MPI_Isendrecv_c")]
    pub fn isendrecv<S, R>(
        &self,
        send: S,
        dest: impl Into<Destination>,
        send_tag: i32,
        recv: R,
        source: impl Into<Source>,
        recv_tag: impl Into<Tag>,
    ) -> Result<Request<(S, R)>>
    where
        S: SendBuffer + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        const OPERATION: &str = "MPI_Isendrecv";
        // Checked before anything is started: half of the operation could not be undone.
        let dest = self.destination(OPERATION, dest)?;
        self.check_tag(OPERATION, send_tag)?;
        // Two operations, of which the second may fail when the first is pending.
        let mut failed = None;
        let mut request = Request::begin(self, (send, recv), |(send, recv)| {
            let data = send.as_slice();
            // SAFETY: the request keeps the buffers until the operation is complete, and a
            // `RecvBuffer` stays where it is.
            let span = unsafe { RawSlice::of(recv.as_mut_slice()) };
            let receiving = self.begin_recv::<R::Element>(span, source, recv_tag)?;
            // SAFETY: as above, for a `SendBuffer`.
            match unsafe { self.begin_send(SendMode::Standard, data, dest, send_tag) } {
                Ok(sending) => Ok(PendingOp::Pair(OPERATION, Box::new((sending, receiving)))),
                Err(error) => {
                    failed = Some(error);
                    Ok(receiving)
                }
            }
        })?;
        match failed {
            None => Ok(request),
            Some(error) => {
                // A receive that could not be cancelled is left to the runtime with its buffers.
                let _ = request.cancel();
                Err(error)
            }
        }
    }

    /// Starts a receive of elements of `T` into a span.
    pub(crate) fn begin_recv<T: Pod>(
        &self,
        span: RawSlice,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<PendingOp> {
        self.begin_landing(receive_of::<T>(), RecvTarget::Into(span), source, tag)
    }

    pub(crate) fn begin_landing(
        &self,
        role: &'static OpInfo,
        landing: RecvTarget,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<PendingOp> {
        let source = self.source(role.operation, source)?;
        let tag = self.tag(role.operation, tag)?;
        let call = Call::of(Kind::receive(role.operation)).from(source, tag);
        if let (RecvTarget::Into(span), Some(element)) = (&landing, role.element)
            && source != Source::Null
            && let Some(comm) = self.fast_path_receive_posted(call, span.bytes())
        {
            return comm.0.irecv_fast(role, element, *span, source, tag);
        }
        self.dispatch(
            call,
            |comm| comm.irecv(role, landing, source, tag),
            |comm| Ok(comm.irecv(role, landing, source, tag)),
        )
    }
}
