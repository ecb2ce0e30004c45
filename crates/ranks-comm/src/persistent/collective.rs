//! Persistent operations of sibling crates: from one buffer to another, on one, or on none.
#![allow(unsafe_code)]

use super::{Persistent, Plan, What};
use crate::backend::{Backend, Begun};
use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::in_flight::InFlight;
use crate::landing::Role;
use crate::owned::{RecvBuffer, SendBuffer};

/// Starts an operation on the memory of a buffer, at each call.
pub type Again<B> = Box<dyn FnMut(&Communicator, &mut B) -> Result<Begun> + Send>;

impl<B: Send + 'static> Persistent<B> {
    /// Makes a persistent operation: with the library's request, which `prepare` makes with a function whose name ends in
    /// `_init`; or, where `prepare` returns `None`, with an operation that `again` starts at each start. The latter gets a
    /// communicator of its own, so that it matches nothing but itself. Collective.
    ///
    /// # Errors
    /// Those of `prepare` and of [`Communicator::dup`]; [`ErrorKind::Argument`] if the request is not the library's.
    ///
    /// # Safety
    /// The request that `prepare` makes is not started. The memory that it works on, and that the operations of `again` work on,
    /// belongs to the buffer, and stays where it is when that is moved.
    #[doc(hidden)]
    pub unsafe fn prepared(
        comm: &Communicator,
        role: &'static Role,
        buffer: B,
        prepare: impl FnOnce(&mut B) -> Result<Option<Begun>>,
        again: Again<B>,
    ) -> Result<Self> {
        let (buffer, (native, alone)) = InFlight::begun(buffer, |buffer| {
            let (cell, keep) = match prepare(buffer)? {
                None => return Ok((None, Some(comm.dup()?))),
                Some(Begun::Mpi(cell)) => (cell, None),
                Some(Begun::MpiKeeping(cell, keep)) => (cell, Some(keep)),
                Some(_) => return Err(not_the_librarys(role)),
            };
            match comm.backend() {
                Backend::Mpi(over) => Ok((Some(over.prepared(cell, role, keep)), None)),
                Backend::InProcess(_) => Err(not_the_librarys(role)),
            }
        })?;
        let Some(alone) = alone else {
            let what = What::Kept;
            return Ok(Self::new(comm, native, Plan { role, what }, buffer));
        };
        let what = What::Other(again);
        let mut repeated = Self::new(&alone, None, Plan { role, what }, buffer);
        repeated.0.prepared_on = Some(comm.clone());
        Ok(repeated)
    }
}

#[cold]
fn not_the_librarys(role: &Role) -> Error {
    Error::new(
        ErrorKind::Argument,
        role.operation,
        "the library has prepared nothing",
    )
}

/// An operation from `S` to `R`, such as a collective.
impl<S, R> Persistent<(S, R)>
where
    S: SendBuffer + Send + 'static,
    R: RecvBuffer + Send + 'static,
{
    /// The elements that the next start sends.
    #[must_use]
    pub fn send(&self) -> &[S::Element] {
        match self.0.get() {
            Some((send, _)) => send.as_slice(),
            None => &[],
        }
    }

    /// The same elements, mutably.
    #[must_use]
    pub fn send_mut(&mut self) -> &mut [S::Element]
    where
        S: RecvBuffer,
    {
        match self.0.get_mut() {
            Some((send, _)) => send.as_mut_slice(),
            None => &mut [],
        }
    }

    /// The elements that were received last.
    #[must_use]
    pub fn recv(&self) -> &[R::Element] {
        match self.0.get() {
            Some((_, recv)) => recv.as_slice(),
            None => &[],
        }
    }

    /// The same elements, mutably.
    #[must_use]
    pub fn recv_mut(&mut self) -> &mut [R::Element] {
        match self.0.get_mut() {
            Some((_, recv)) => recv.as_mut_slice(),
            None => &mut [],
        }
    }
}
