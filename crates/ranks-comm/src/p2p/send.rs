//! Blocking sends, in all modes.
#![allow(unsafe_code)]

use crate::call::limit;
use crate::call::record::Call;
use crate::communicator::Communicator;
use crate::data::datatype::TypeOf;
use crate::data::element::Pod;
use crate::data::owned::Plain;
use crate::data::source::Destination;
use crate::result::Result;
use crate::transport::in_process::Sent;
use crate::transport::mpi::{self, SendMode};

impl Communicator {
    /// Sends `data` to `dest` with `tag`. Returns when `data` may be reused.
    ///
    /// The library may buffer the message or wait for the matching receive; a program must not rely
    /// on either. In process the message is copied, and the call never waits.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`](crate::ErrorKind::Rank), [`ErrorKind::Tag`](crate::ErrorKind::Tag), or
    /// what the library reports.
    ///
    /// MPI 5.0 §3.2.1 (`MPI_Send`).
    #[doc(alias = "MPI_Send")]
    #[doc(alias = "MPI_Send_c")]
    #[inline]
    pub fn send<T: Pod>(&self, data: &[T], dest: impl Into<Destination>, tag: i32) -> Result<()> {
        // SAFETY: a standard send promises nothing.
        unsafe { self.send_in(SendMode::Standard, data, dest, tag) }
    }

    /// Sends one element to `dest` with `tag`, for [`recv_one`](Self::recv_one) or a receive into a
    /// slice.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    ///
    /// MPI 5.0 §3.2.1 (`MPI_Send`).
    #[doc(alias = "MPI_Send")]
    #[inline]
    pub fn send_one<T: Pod>(
        &self,
        element: T,
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<()> {
        self.send(std::slice::from_ref(&element), dest, tag)
    }

    /// As [`send`](Self::send), but synchronous: returns only when the matching receive has
    /// started.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`](crate::ErrorKind::Rank), [`ErrorKind::Tag`](crate::ErrorKind::Tag), or
    /// what the library reports; in process [`ErrorKind::PeerFailed`](crate::ErrorKind::PeerFailed)
    /// if `dest` can no longer receive.
    ///
    /// MPI 5.0 §3.4 (`MPI_Ssend`).
    #[doc(alias = "MPI_Ssend")]
    #[doc(alias = "MPI_Ssend_c")]
    #[inline]
    pub fn ssend<T: Pod>(&self, data: &[T], dest: impl Into<Destination>, tag: i32) -> Result<()> {
        // SAFETY: a synchronous send promises nothing.
        unsafe { self.send_in(SendMode::Synchronous, data, dest, tag) }
    }

    /// Sends `data` to `dest` with `tag` through the attached buffer; does not wait for the
    /// receiver.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`](crate::ErrorKind::Rank), [`ErrorKind::Tag`](crate::ErrorKind::Tag);
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if no buffer is
    /// [attached](Self::buffer_attach) or the message and its [overhead](crate::BSEND_OVERHEAD) are
    /// larger than all of it, or than what is free; later messages arrive all the same. In process
    /// a message leaves the buffer immediately.
    ///
    /// MPI 5.0 §3.4 (`MPI_Bsend`).
    #[doc(alias = "MPI_Bsend")]
    #[doc(alias = "MPI_Bsend_c")]
    pub fn bsend<T: Pod>(&self, data: &[T], dest: impl Into<Destination>, tag: i32) -> Result<()> {
        // SAFETY: a buffered send promises nothing.
        unsafe { self.send_in(SendMode::Buffered, data, dest, tag) }
    }

    /// As [`send`](Self::send), but the receive must have been posted before.
    ///
    /// It may be faster than a send, if the library makes use of it; few do. Over libraries to
    /// which this crate does not post receives in advance it is a send.
    ///
    /// # Safety
    /// At the call, `dest` has posted a receive into a buffer that the message matches, and no
    /// receive of unknown length is pending there. Otherwise the outcome is undefined by the
    /// standard; no check can detect it.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    ///
    /// MPI 5.0 §3.4 (`MPI_Rsend`).
    #[doc(alias = "MPI_Rsend")]
    #[doc(alias = "MPI_Rsend_c")]
    pub unsafe fn rsend<T: Pod>(
        &self,
        data: &[T],
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe { self.send_in(SendMode::Ready, data, dest, tag) }
    }

    /// # Safety
    /// For [`SendMode::Ready`], that of [`rsend`](Self::rsend).
    #[inline(always)]
    unsafe fn send_in<T: Pod>(
        &self,
        mode: SendMode,
        data: &[T],
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<()> {
        let dest = self.destination(mode.name(), dest)?;
        self.check_tag(mode.name(), tag)?;
        let call = Call::of(mode.kind::<T>())
            .count_u32(data.len())
            .to(dest, tag);
        if matches!(mode, SendMode::Standard | SendMode::Synchronous)
            && let Some(comm) = self.fast_path(data.len() * TypeOf::<T>::items())
        {
            // SAFETY: by this function's contract; these two are done in their own mode everywhere.
            return unsafe {
                mpi::Comm::send_small(self.recorded(comm, call), mode, data, dest, tag)
            };
        }
        // SAFETY: by this function's contract.
        unsafe { self.send_slow(mode, data, dest, tag) }
    }

    /// # Safety
    /// As `send_in`.
    #[cold]
    #[inline(never)]
    unsafe fn send_slow<T: Pod>(
        &self,
        mode: SendMode,
        data: &[T],
        dest: Destination,
        tag: i32,
    ) -> Result<()> {
        let call = Call::of(mode.kind::<T>()).items(data.len()).to(dest, tag);
        self.dispatch(
            call,
            |comm| {
                if mode == SendMode::Buffered {
                    return comm.bsend(mode.name(), data, dest, tag).map(drop);
                }
                if limit::may_end().is_some()
                    && matches!(mode, SendMode::Standard | SendMode::Synchronous)
                {
                    // SAFETY: by this function's contract.
                    let request = unsafe { self.any_isend(mode, Plain::copy(data), dest, tag)? };
                    return request.wait().map(drop);
                }
                // SAFETY: by this function's contract.
                unsafe { comm.send(mode, data, dest, tag) }
            },
            |comm| {
                if mode == SendMode::Buffered {
                    comm.fits_attached(mode.name(), size_of_val(data))?;
                }
                match mode {
                    SendMode::Synchronous => comm.ssend(mode.name(), Sent::of(data), dest, tag),
                    _ => comm.send(Sent::of(data), dest, tag),
                }
            },
        )
    }
}
