//! Receives that return at once.
#![allow(unsafe_code)]

use crate::communicator::Communicator;
use crate::element::Pod;
use crate::error::Result;
use crate::flight::Flight;
use crate::landing::{Element, Landing, Role, Span};
use crate::mpi::SendMode;
use crate::owned::{RecvBuffer, SendBuffer};
use crate::request::Request;
use crate::source::{Destination, Source};
use crate::tag::Tag;

/// What receives of `T` are, for their texts.
struct Of<T>(std::marker::PhantomData<T>);

impl<T> Of<T> {
    const RECV: &'static Role = &Role {
        operation: "MPI_Irecv",
        element: Some(Element::of::<T>()),
    };
    const RECV_ANY_LENGTH: &'static Role = &Role {
        operation: "MPI_Imrecv",
        element: Some(Element::of::<T>()),
    };
}

impl Communicator {
    /// Begins to receive a message of at most the length of `buffer`, which the request owns until it is over.
    ///
    /// [`Request::wait`] gives the buffer back; how much of it was written is in the status. A message that is too long
    /// writes nothing past the buffer, on any library.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`](crate::ErrorKind::Rank), [`ErrorKind::Tag`](crate::ErrorKind::Tag), or what the library
    /// reports; nothing was begun then.
    ///
    /// MPI 5.0 §3.7.2 (`MPI_Irecv`).
    #[doc(alias = "MPI_Irecv")]
    #[doc(alias = "MPI_Irecv_c")]
    pub fn irecv<B>(
        &self,
        mut buffer: B,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Request<B>>
    where
        B: RecvBuffer + Send + 'static,
    {
        // SAFETY: the request keeps the buffer until the flight is over, and a `RecvBuffer` stays where it is.
        let span = unsafe { Span::of(buffer.as_mut_slice()) };
        let flight = self.begin_recv::<B::Element>(span, source, tag)?;
        Ok(Request::new(self, flight, buffer))
    }

    /// Begins to receive a message of whatever length into a new `Vec`.
    ///
    /// The message is claimed when it has arrived, by whoever waits or tests; on most libraries a sender that waits for its
    /// match waits until then.
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
        let role = Of::<T>::RECV_ANY_LENGTH;
        let flight = self.begin_landing(role, Landing::New(align_of::<T>()), source, tag)?;
        Ok(Request::of_any_length(self, flight))
    }

    /// Begins to send one buffer and to receive into another; one request for both, whose status is that of the receive.
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
        mut recv: R,
        source: impl Into<Source>,
        recv_tag: impl Into<Tag>,
    ) -> Result<Request<(S, R)>>
    where
        S: SendBuffer + Send + 'static,
        R: RecvBuffer + Send + 'static,
    {
        const OPERATION: &str = "MPI_Isendrecv";
        // Checked before anything is begun: there is no way back from half of it.
        let dest = self.destination(OPERATION, dest)?;
        self.check_tag(OPERATION, send_tag)?;
        // SAFETY: the request keeps the buffer until the flight is over, and a `RecvBuffer` stays where it is.
        let span = unsafe { Span::of(recv.as_mut_slice()) };
        let mut receiving = self.begin_recv::<R::Element>(span, source, recv_tag)?;
        // SAFETY: the request keeps the buffer until the flight is over, and a `SendBuffer` stays where it is.
        let sending =
            unsafe { self.begin_send(SendMode::Standard, send.as_slice(), dest, send_tag) };
        match sending {
            Ok(sending) => {
                let pair = Flight::Pair(Box::new((sending, receiving)));
                Ok(Request::new(self, pair, (send, recv)))
            }
            Err(error) => {
                // What could not be cancelled is left to the runtime with its buffer.
                let _ = receiving.cancel(self);
                drop(Request::new(self, receiving, recv));
                Err(error)
            }
        }
    }

    /// Begins a receive of elements of `T` into a span.
    pub(crate) fn begin_recv<T: Pod>(
        &self,
        span: Span,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Flight> {
        self.begin_landing(Of::<T>::RECV, Landing::Into(span), source, tag)
    }

    fn begin_landing(
        &self,
        role: &'static Role,
        landing: Landing,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Flight> {
        let source = self.source(role.operation, source)?;
        let tag = self.tag(role.operation, tag)?;
        self.dispatch(
            role.operation,
            |comm| comm.irecv(role, landing, source, tag),
            |comm| Ok(comm.irecv(role, landing, source, tag)),
        )
    }
}

/// What receives of `T` are called and made of.
pub(crate) fn receive_of<T>() -> &'static Role {
    Of::<T>::RECV
}
