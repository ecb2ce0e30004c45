//! Preparation of persistent sends and receives.
#![allow(unsafe_code)]

use super::{Persistent, Plan, What};
use crate::communicator::Communicator;
use crate::data::in_flight::InFlight;
use crate::data::lent::{Lent, Places};
use crate::data::owned::{RecvBuffer, SendBuffer};
use crate::data::raw_slice::{Element, OpInfo};
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::result::{Result, can_be_counted};
use crate::transport::mpi::SendMode;

impl Communicator {
    /// Prepares a persistent send of `buffer`. Local.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`](crate::ErrorKind::Rank), [`ErrorKind::Tag`](crate::ErrorKind::Tag), or
    /// what the library reports.
    ///
    /// MPI 5.0 §3.9 (`MPI_Send_init`).
    #[doc(alias = "MPI_Send_init")]
    #[doc(alias = "MPI_Send_init_c")]
    pub fn send_init<B>(
        &self,
        buffer: B,
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<Persistent<B>>
    where
        B: SendBuffer + Send + 'static,
    {
        // SAFETY: a standard send promises nothing.
        unsafe { self.any_send_init(SendMode::Standard, buffer, dest, tag) }
    }

    /// As [`send_init`](Self::send_init), but synchronous: each send is complete only when the
    /// matching receive has started.
    ///
    /// # Errors
    /// As [`send_init`](Self::send_init).
    ///
    /// MPI 5.0 §3.9 (`MPI_Ssend_init`).
    #[doc(alias = "MPI_Ssend_init")]
    #[doc(alias = "MPI_Ssend_init_c")]
    pub fn ssend_init<B>(
        &self,
        buffer: B,
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<Persistent<B>>
    where
        B: SendBuffer + Send + 'static,
    {
        // SAFETY: a synchronous send promises nothing.
        unsafe { self.any_send_init(SendMode::Synchronous, buffer, dest, tag) }
    }

    /// As [`send_init`](Self::send_init), but each send uses the [attached
    /// buffer](Self::buffer_attach).
    ///
    /// # Errors
    /// As [`send_init`](Self::send_init); a message that does not fit is an error of
    /// [`Persistent::start`].
    ///
    /// MPI 5.0 §3.9 (`MPI_Bsend_init`).
    #[doc(alias = "MPI_Bsend_init")]
    #[doc(alias = "MPI_Bsend_init_c")]
    pub fn bsend_init<B>(
        &self,
        buffer: B,
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<Persistent<B>>
    where
        B: SendBuffer + Send + 'static,
    {
        // SAFETY: a buffered send promises nothing.
        unsafe { self.any_send_init(SendMode::Buffered, buffer, dest, tag) }
    }

    /// As [`send_init`](Self::send_init), but ready: the matching receives must have been posted
    /// before.
    ///
    /// # Safety
    /// That of [`rsend`](Self::rsend), whenever the result is started.
    ///
    /// # Errors
    /// As [`send_init`](Self::send_init).
    ///
    /// MPI 5.0 §3.9 (`MPI_Rsend_init`).
    #[doc(alias = "MPI_Rsend_init")]
    #[doc(alias = "MPI_Rsend_init_c")]
    pub unsafe fn rsend_init<B>(
        &self,
        buffer: B,
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<Persistent<B>>
    where
        B: SendBuffer + Send + 'static,
    {
        // SAFETY: by this function's contract.
        unsafe { self.any_send_init(SendMode::Ready, buffer, dest, tag) }
    }

    /// Prepares a persistent receive of messages of at most the length of `buffer`, one for each
    /// start. Local.
    ///
    /// On Open MPI, which frees a persistent request that has failed, and where receives are
    /// claimed ([`Facts::receives`](crate::Facts::receives)), each start makes a receive of its
    /// own.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`](crate::ErrorKind::Rank), [`ErrorKind::Tag`](crate::ErrorKind::Tag), or
    /// what the library reports.
    ///
    /// MPI 5.0 §3.9 (`MPI_Recv_init`).
    #[doc(alias = "MPI_Recv_init")]
    #[doc(alias = "MPI_Recv_init_c")]
    pub fn recv_init<B>(
        &self,
        buffer: B,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Persistent<B>>
    where
        B: RecvBuffer + Send + 'static,
    {
        let role = const { &OpInfo::receiving::<B::Element>("MPI_Recv_init") };
        let source = self.source(role.operation, source)?;
        let tag = self.tag(role.operation, tag)?;
        let (buffer, (place, native)) = InFlight::begun(buffer, |buffer| {
            // SAFETY: a `RecvBuffer` stays where it is; the request has it, and uses its elements
            // by way of this alone.
            let place = unsafe { Lent::to_write(buffer.as_mut_slice()) };
            let native = self.dispatch(
                role.operation,
                |comm| comm.recv_init(role, place.span, source, tag),
                |_| Ok(None),
            )?;
            Ok((place, native))
        })?;
        let what = What::Recv(source, tag);
        let plan = Plan { role, what };
        let places = Places::one(place);
        Ok(Persistent::new(self, native, plan, places, buffer))
    }

    /// # Safety
    /// For [`SendMode::Ready`], that of [`rsend_init`](Self::rsend_init).
    unsafe fn any_send_init<B>(
        &self,
        mode: SendMode,
        buffer: B,
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<Persistent<B>>
    where
        B: SendBuffer + Send + 'static,
    {
        const { can_be_counted::<B::Element>() };
        let role = mode.init_role();
        let dest = self.destination(role.operation, dest)?;
        self.check_tag(role.operation, tag)?;
        let (buffer, (place, native)) = InFlight::begun(buffer, |buffer| {
            let data = buffer.as_slice();
            let place = Lent::to_read(data);
            let native = self.dispatch(
                role.operation,
                |comm| match mode {
                    // Each start copies the message.
                    SendMode::Buffered => Ok(None),
                    // SAFETY: the request owns the buffer until it is retired, and a `SendBuffer`
                    // stays where it is; the rest is this function's contract.
                    _ => unsafe { comm.send_init(mode, data, dest, tag) }.map(Some),
                },
                |_| Ok(None),
            )?;
            Ok((place, native))
        })?;
        let what = What::Send(mode, dest, tag, Element::of::<B::Element>());
        let plan = Plan { role, what };
        let places = Places::one(place);
        Ok(Persistent::new(self, native, plan, places, buffer))
    }
}
