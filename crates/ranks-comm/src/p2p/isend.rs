//! Nonblocking sends.
#![allow(unsafe_code)]

use crate::call::record::Call;
use crate::communicator::Communicator;
use crate::data::datatype::TypeOf;
use crate::data::element::Pod;
use crate::data::in_flight::InFlight;
use crate::data::owned::SendBuffer;
use crate::data::source::Destination;
use crate::op::request::Request;
use crate::op::request::request_op::RequestOp;
use crate::result::Result;
use crate::transport::backend::Backend;
use crate::transport::in_process::Sent;
use crate::transport::mpi::{Comm as MpiComm, SendMode};
use crate::transport::pending_op::PendingOp;

impl Communicator {
    /// Starts a nonblocking send of `buffer`, which the request owns until it is complete.
    ///
    /// Wait for the request, or hand it to [`Requests`](crate::Requests). To send borrowed memory,
    /// see [`scope`](Self::scope).
    ///
    /// # Errors
    /// [`ErrorKind::Rank`](crate::ErrorKind::Rank), [`ErrorKind::Tag`](crate::ErrorKind::Tag), or
    /// what the library reports; nothing was started then.
    ///
    /// MPI 5.0 §3.7.2 (`MPI_Isend`).
    #[doc(alias = "MPI_Isend")]
    #[doc(alias = "MPI_Isend_c")]
    #[inline(always)]
    pub fn isend<B>(&self, buffer: B, dest: impl Into<Destination>, tag: i32) -> Result<Request<B>>
    where
        B: SendBuffer + Send + 'static,
    {
        const OPERATION: &str = "MPI_Isend";
        let dest = self.destination(OPERATION, dest)?;
        self.check_tag(OPERATION, tag)?;
        let items = buffer.length() * TypeOf::<B::Element>::items();
        match self.fast_path(items) {
            Some(comm) => self.isend_fast(comm, buffer, dest, tag),
            // Moved here, where it is cold: the fast path has what it makes in registers.
            // SAFETY: a standard send promises nothing.
            None => Ok(unsafe { self.any_isend(SendMode::Standard, buffer, dest, tag)? }),
        }
    }

    /// As [`isend`](Self::isend), but synchronous: complete only when the matching receive has
    /// started.
    ///
    /// # Errors
    /// As [`isend`](Self::isend).
    ///
    /// MPI 5.0 §3.7.2 (`MPI_Issend`).
    #[doc(alias = "MPI_Issend")]
    #[doc(alias = "MPI_Issend_c")]
    pub fn issend<B>(&self, buffer: B, dest: impl Into<Destination>, tag: i32) -> Result<Request<B>>
    where
        B: SendBuffer + Send + 'static,
    {
        // SAFETY: a synchronous send promises nothing.
        unsafe { self.any_isend(SendMode::Synchronous, buffer, dest, tag) }
    }

    /// As [`isend`](Self::isend), but through the [attached buffer](Self::buffer_attach):
    /// completion does not depend on the receiver.
    ///
    /// # Errors
    /// As [`isend`](Self::isend) and [`bsend`](Self::bsend).
    ///
    /// MPI 5.0 §3.7.2 (`MPI_Ibsend`).
    #[doc(alias = "MPI_Ibsend")]
    #[doc(alias = "MPI_Ibsend_c")]
    pub fn ibsend<B>(&self, buffer: B, dest: impl Into<Destination>, tag: i32) -> Result<Request<B>>
    where
        B: SendBuffer + Send + 'static,
    {
        // SAFETY: a buffered send promises nothing.
        unsafe { self.any_isend(SendMode::Buffered, buffer, dest, tag) }
    }

    /// As [`isend`](Self::isend), but ready: the matching receive must have been posted before.
    ///
    /// # Safety
    /// At the call, `dest` has posted a receive into a buffer that the message matches, and no
    /// receive of unknown length is pending there. Otherwise the outcome is undefined by the
    /// standard; no check can detect it.
    ///
    /// # Errors
    /// As [`isend`](Self::isend).
    ///
    /// MPI 5.0 §3.7.2 (`MPI_Irsend`).
    #[doc(alias = "MPI_Irsend")]
    #[doc(alias = "MPI_Irsend_c")]
    pub unsafe fn irsend<B>(
        &self,
        buffer: B,
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<Request<B>>
    where
        B: SendBuffer + Send + 'static,
    {
        // SAFETY: by this function's contract.
        unsafe { self.any_isend(SendMode::Ready, buffer, dest, tag) }
    }

    /// # Safety
    /// For [`SendMode::Ready`], that of [`irsend`](Self::irsend).
    pub(crate) unsafe fn any_isend<B>(
        &self,
        mode: SendMode,
        buffer: B,
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<Request<B>>
    where
        B: SendBuffer + Send + 'static,
    {
        // SAFETY: the request keeps the buffer until the operation is complete, and a `SendBuffer`
        // stays where it is; the rest is this function's contract.
        let begin = |buffer: &mut B| unsafe { self.begin_send(mode, buffer.as_slice(), dest, tag) };
        Request::begin(self, buffer, begin)
    }

    /// Starts a standard send on the fast path: nothing is built in memory before the request
    /// itself.
    #[inline(always)]
    fn isend_fast<B>(
        &self,
        comm: &MpiComm,
        buffer: B,
        dest: Destination,
        tag: i32,
    ) -> Result<Request<B>>
    where
        B: SendBuffer + Send + 'static,
    {
        let role = SendMode::Standard.role();
        let (buffer, cell) = InFlight::begun(buffer, |buffer| {
            let data = buffer.as_slice();
            let call = Call::of(SendMode::Standard.nonblocking_kind::<B::Element>())
                .count_u32(data.len())
                .to(dest, tag);
            self.recorder().messages.post(call);
            // SAFETY: the request keeps the buffer until the operation is complete, and a
            // `SendBuffer` stays where it is.
            unsafe { comm.isend_begun(role, SendMode::Standard, data, dest, tag) }
        })?;
        Ok(Request::of(self, RequestOp::plain(cell, role, 0), buffer))
    }

    /// # Safety
    /// Until the operation is complete, `data` stays where it is and does not change; for
    /// [`SendMode::Ready`], as `any_isend`.
    pub(crate) unsafe fn begin_send<T: Pod>(
        &self,
        mode: SendMode,
        data: &[T],
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<PendingOp> {
        let role = mode.role();
        let dest = self.destination(role.operation, dest)?;
        self.check_tag(role.operation, tag)?;
        let call = Call::of(mode.nonblocking_kind::<T>())
            .items(data.len())
            .to(dest, tag);
        let items = data.len() * TypeOf::<T>::items();
        if mode == SendMode::Standard
            && let Some(comm) = self.fast_path_posted(call, items)
        {
            // SAFETY: by this function's contract.
            return unsafe { comm.isend_fast(role, mode, data, dest, tag) };
        }
        let _entered = self.enter(call)?;
        match self.backend() {
            Backend::Mpi(comm) if mode == SendMode::Buffered => {
                comm.bsend(role.operation, data, dest, tag)
            }
            // A pending receive here may be what the receiver of this message waits for.
            // SAFETY: by this function's contract.
            Backend::Mpi(comm) => unsafe { comm.isend(mode, data, dest, tag) },
            Backend::InProcess(comm) => {
                if mode == SendMode::Buffered {
                    comm.fits_attached(role.operation, size_of_val(data))?;
                }
                let synchronous = mode == SendMode::Synchronous;
                comm.isend(role, Sent::of(data), dest, tag, synchronous)
            }
        }
    }
}
