//! Requests shared with other parts of the program, in both directions.

use std::fmt;

use ranks_mpi_sys::MPI_Request;
use ranks_mpi_sys::native::{self, CHandle};

use super::mpi::interop::no_request;
use crate::communicator::Communicator;
use crate::data::in_flight::{InFlight, Keep, Over};
use crate::data::owned::RecvBuffer;
use crate::data::raw_slice::{OpInfo, receive_of};
use crate::interop::no_handles;
use crate::op::request::Request;
use crate::op::request::request_op::RequestOp;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::backend::Backend;
use crate::transport::mpi;
use crate::transport::pending_op::PendingOp;

/// The name of an operation of another part of the program in texts.
static FOREIGN: OpInfo = OpInfo::of("MPI_Wait");

/// A request that another part of the program completes, with the memory that its operation works
/// on; from [`Request::into_raw`].
///
/// After the other part has completed the request, [`over`](Self::over) gives the memory back. If
/// this is dropped the memory is leaked, since the library may still use it.
#[must_use = "the memory comes back from `over`"]
pub struct HandedOver<B: Send + 'static> {
    cell: mpi::Cell,
    operation: &'static str,
    /// Kept so that it is not freed meanwhile.
    _comm: Communicator,
    buffer: InFlight<B>,
    keep: Option<InFlight<Box<dyn Keep>>>,
}

impl<B: Send + 'static> Request<B> {
    /// Hands the operation over to another part of the program, which has to complete it, with
    /// `MPI_Wait` say.
    ///
    /// # Errors
    /// With the request, which stays pending: [`ErrorKind::NotInLibrary`] if the library does not
    /// have it, in process or because it is a receive that is not posted to the library before its
    /// message has arrived (all of them where [`Facts::receives`](crate::Facts::receives) says
    /// `claimed`, and those of unknown length everywhere);
    /// [`ErrorKind::Argument`] if it is complete already, or is two requests in one.
    pub fn into_raw(mut self) -> std::result::Result<HandedOver<B>, (Self, Error)> {
        let operation = self.operation();
        let refused = |why| Error::new(ErrorKind::Argument, operation, why);
        let handed = match self.op_mut().1 {
            PendingOp::Native(native) => Ok(native.hand_over()),
            PendingOp::Claim(_) => Err(no_request(operation)),
            PendingOp::Over(_) | PendingOp::Gone => {
                Err(refused("the operation is complete; wait for it"))
            }
            PendingOp::Pair(..) | PendingOp::Compared(..) => Err(refused(
                "there are two requests; begin the send and the receive apart",
            )),
            PendingOp::Scattered(_) => {
                let why = "elements received through a layout are put in their places here; wait for them";
                Err(Error::new(ErrorKind::NotInLibrary, operation, why))
            }
            PendingOp::InProcess(_) | PendingOp::Deferred(..) => Err(no_handles(operation)),
        };
        let (cell, keep) = match handed {
            Ok(handed) => handed,
            Err(error) => return Err((self, error)),
        };
        let parts = self.into_parts();
        Ok(HandedOver {
            cell,
            operation,
            _comm: parts.comm,
            buffer: parts.buffer,
            keep,
        })
    }
}

impl<B: Send + 'static> HandedOver<B> {
    /// The handle in the MPI 5.0 standard ABI, which the functions of `ranks-mpi-sys` take on every
    /// library.
    #[must_use]
    pub fn as_raw(&self) -> MPI_Request {
        // SAFETY: the library is loaded and has written the request, as it comes from `hand_over`.
        unsafe { self.cell.get() }
    }

    /// The library's own handle, for a C function that was compiled with the library's `mpi.h`.
    #[must_use]
    pub fn as_native_raw(&self) -> CHandle {
        // SAFETY: the library is loaded, as it has begun a request.
        unsafe { native::request_to_c(self.as_raw()) }
    }

    /// The memory, after the other part has completed the request.
    ///
    /// # Errors
    /// Those of an operation with its own counts or with a user-defined function, as
    /// [`Request::wait`] would return them.
    ///
    /// # Safety
    /// The request was completed: a call of MPI has reported its completion.
    pub unsafe fn over(self) -> Result<B> {
        // SAFETY: by this function's contract.
        let over = || unsafe { Over::new() };
        let buffer = self.buffer.give_back(over());
        if let Some(keep) = self.keep {
            keep.give_back(over()).ended(self.operation)?;
        }
        Ok(buffer)
    }
}

impl Communicator {
    /// A request for an operation that another part of the program has started on this
    /// communicator, and which works on memory of `buffer`; from its handle in the standard ABI.
    ///
    /// Its status has no content; for a receive there is
    /// [`recv_request_from_raw`](Self::recv_request_from_raw). `MPI_REQUEST_NULL` is an operation
    /// that is complete.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] in process. With an error the buffer is leaked, since an
    /// operation may use it.
    ///
    /// # Safety
    /// `raw` is a request of the library that this runtime has, or null; it is active and not
    /// persistent, and nobody else completes, cancels or frees it. The memory that it works on
    /// belongs to `buffer`, stays where it is when that is moved, and all of it is initialised. If
    /// it receives, no message that it matches is longer than its memory: there is a library, Open
    /// MPI, that writes past the end otherwise.
    pub unsafe fn request_from_raw<B: Send + 'static>(
        &self,
        raw: MPI_Request,
        buffer: B,
    ) -> Result<Request<B>> {
        const OPERATION: &str = "Communicator::request_from_raw";
        let buffer = InFlight::new(buffer);
        // SAFETY: the caller's contract is the same.
        unsafe { self.taken_over(OPERATION, |_| Ok(raw), (&FOREIGN, 0), buffer) }
    }

    /// As [`request_from_raw`](Self::request_from_raw), from the library's own handle, as C code
    /// has it.
    ///
    /// # Errors
    /// As [`request_from_raw`](Self::request_from_raw); [`ErrorKind::Argument`] also if the handle
    /// is a pointer and the library's handles are ints, or the other way round.
    ///
    /// # Safety
    /// As [`request_from_raw`](Self::request_from_raw).
    pub unsafe fn request_from_native_raw<B: Send + 'static>(
        &self,
        raw: CHandle,
        buffer: B,
    ) -> Result<Request<B>> {
        const OPERATION: &str = "Communicator::request_from_native_raw";
        let raw = |comm: &mpi::Comm| comm.canonical_request(OPERATION, raw);
        // SAFETY: the caller's contract is the same.
        unsafe { self.taken_over(OPERATION, raw, (&FOREIGN, 0), InFlight::new(buffer)) }
    }

    /// As [`request_from_raw`](Self::request_from_raw), for a receive into the elements of
    /// `buffer`.
    ///
    /// Its status has the source and the length, and a message that is not a whole number of
    /// elements is [`ErrorKind::Type`], as with [`irecv`](Self::irecv).
    ///
    /// # Errors
    /// As [`request_from_raw`](Self::request_from_raw).
    ///
    /// # Safety
    /// As [`request_from_raw`](Self::request_from_raw); it is a receive, started with the address
    /// of the first element. A buffer that is moved while the library writes is a `Vec` or a
    /// [`Buffer`](crate::Buffer), or is as they are: what a `Box` points to belongs to who holds
    /// it, and [`SendBuffer::length`](crate::SendBuffer::length) must not look at elements.
    pub unsafe fn recv_request_from_raw<B: RecvBuffer + Send + 'static>(
        &self,
        raw: MPI_Request,
        buffer: B,
    ) -> Result<Request<B>> {
        const OPERATION: &str = "Communicator::recv_request_from_raw";
        let (buffer, length) = lent(buffer)?;
        let receive = (receive_of::<B::Element>(), length);
        // SAFETY: the caller's contract is the same.
        unsafe { self.taken_over(OPERATION, |_| Ok(raw), receive, buffer) }
    }

    /// As [`recv_request_from_raw`](Self::recv_request_from_raw), from the library's own handle, as
    /// C code has it.
    ///
    /// # Errors
    /// As [`request_from_native_raw`](Self::request_from_native_raw).
    ///
    /// # Safety
    /// As [`recv_request_from_raw`](Self::recv_request_from_raw).
    pub unsafe fn recv_request_from_native_raw<B: RecvBuffer + Send + 'static>(
        &self,
        raw: CHandle,
        buffer: B,
    ) -> Result<Request<B>> {
        const OPERATION: &str = "Communicator::recv_request_from_native_raw";
        let raw = |comm: &mpi::Comm| comm.canonical_request(OPERATION, raw);
        let (buffer, length) = lent(buffer)?;
        let receive = (receive_of::<B::Element>(), length);
        // SAFETY: the caller's contract is the same.
        unsafe { self.taken_over(OPERATION, raw, receive, buffer) }
    }

    /// A request for an operation of another part; `buffer` outlives the operation, also where this
    /// fails.
    ///
    /// # Safety
    /// That of `request_from_raw` for what `raw` returns; an operation with an element in its role
    /// is a receive of so many.
    unsafe fn taken_over<B: Send + 'static>(
        &self,
        operation: &'static str,
        raw: impl FnOnce(&mpi::Comm) -> Result<MPI_Request>,
        (role, capacity): (&'static OpInfo, usize),
        buffer: InFlight<B>,
    ) -> Result<Request<B>> {
        let flight = match self.backend() {
            Backend::Mpi(comm) => raw(comm).map(|raw| {
                // SAFETY: the caller's contract is the same.
                unsafe { comm.take_over_request(raw, role, capacity) }
            }),
            Backend::InProcess(_) => Err(no_handles(operation)),
        };
        // With an error the buffer is leaked: an operation may still work on it.
        Ok(Request::of(self, RequestOp::of(flight?), buffer))
    }
}

/// A buffer on which an operation is already pending, and its number of elements.
fn lent<B: RecvBuffer>(buffer: B) -> Result<(InFlight<B>, usize)> {
    InFlight::begun(buffer, |buffer| Ok(buffer.length()))
}

impl<B: Send + 'static> fmt::Debug for HandedOver<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandedOver")
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::buffer::Buffer;
    use crate::runtime::Runtime;

    /// Under miri: the library writes while its buffer is asked how long it is.
    #[test]
    fn a_receive_that_was_taken_over_made_a_slice_of_what_was_in_flight() {
        fn arrives<B: RecvBuffer<Element = u8>>(mut buffer: B) {
            let start = buffer.as_mut_slice().as_mut_ptr().expose_provenance();
            let library = std::thread::spawn(move || {
                let start: *mut u8 = std::ptr::with_exposed_provenance_mut(start);
                // SAFETY: the element is there until this thread has ended, and nobody else looks
                // at it.
                unsafe { start.write(7) };
            });
            let (kept, length) = lent(buffer).unwrap();
            library.join().unwrap();
            // SAFETY: nothing works on it any more.
            let buffer = kept.give_back(unsafe { Over::new() });
            assert_eq!((buffer.as_slice(), length), (&[7, 2][..], 2));
        }
        arrives(vec![1u8, 2]);
        arrives(Buffer::from(vec![1u8, 2]));
    }

    #[test]
    fn in_process_the_request_comes_back() {
        let runtime = Runtime::builder()
            .backend(crate::Backend::InProcess)
            .ranks(1)
            .init()
            .unwrap();
        let world = runtime.world();
        let receiving = world.irecv(vec![0u8; 3], 0, 1).unwrap();
        let (receiving, error) = receiving.into_raw().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotInLibrary);
        let anything = world.irecv_vec::<u8>(0, 2).unwrap();
        let (anything, error) = anything.into_raw().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotInLibrary);
        world.send(&[7u8, 8], 0, 1).unwrap();
        world.send(&[9u8], 0, 2).unwrap();
        assert_eq!(receiving.wait().unwrap().0, [7, 8, 0]);
        assert_eq!(anything.wait().unwrap().0, [9]);
        // SAFETY: in process nothing is done with the handle.
        let refused = unsafe { world.request_from_raw(ranks_mpi_sys::MPI_REQUEST_NULL, ()) };
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::NotInLibrary);
        // SAFETY: as above.
        let refused = unsafe { world.recv_request_from_native_raw(CHandle::Int(0), vec![0u8]) };
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::NotInLibrary);
    }
}
