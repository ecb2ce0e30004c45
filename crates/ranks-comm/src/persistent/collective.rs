//! What sibling crates prepare: operations from one buffer to another, or on one, or on none.
#![allow(unsafe_code)]

use super::{Persistent, Plan, What};
use crate::backend::{Backend, Begun};
use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::landing::Role;
use crate::owned::{RecvBuffer, SendBuffer};

/// Begins an operation on the memory of a buffer, each time that it is called.
pub type Again<B> = Box<dyn FnMut(&Communicator, &mut B) -> Result<Begun> + Send>;

impl<B: Send + 'static> Persistent<B> {
    /// An operation that the library keeps, made by a function whose name ends in `_init`.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if `made` is not the library's.
    ///
    /// # Safety
    /// `made` is not started. The memory that it works on belongs to `buffer`, and stays where it is when that is moved.
    #[doc(hidden)]
    pub unsafe fn prepared(
        comm: &Communicator,
        role: &'static Role,
        made: Begun,
        buffer: B,
    ) -> Result<Self> {
        let (cell, keep) = match made {
            Begun::Mpi(cell) => (cell, None),
            Begun::MpiKeeping(cell, keep) => (cell, Some(keep)),
            Begun::InProcess(_) | Begun::Over | Begun::Both(_) | Begun::Failed(_) => {
                return Err(not_the_librarys(role));
            }
        };
        let Backend::Mpi(over) = comm.backend() else {
            return Err(not_the_librarys(role));
        };
        let native = over.prepared(cell, role, keep);
        let what = What::Kept;
        Ok(Self::new(comm, Some(native), Plan { role, what }, buffer))
    }

    /// An operation that `again` begins at each start, on a communicator that is made for it alone, so that it meets
    /// nothing but itself. Collective.
    ///
    /// # Errors
    /// Those of [`Communicator::dup`].
    ///
    /// # Safety
    /// What `again` begins works on memory of the buffer that it is called with, which stays where it is when that is moved.
    #[doc(hidden)]
    pub unsafe fn repeated(
        comm: &Communicator,
        role: &'static Role,
        again: Again<B>,
        buffer: B,
    ) -> Result<Self> {
        let alone = comm.dup()?;
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
    /// What is sent next.
    #[must_use]
    pub fn send(&self) -> &[S::Element] {
        match self.0.buffer.get() {
            Some((send, _)) => send.as_slice(),
            None => &[],
        }
    }

    /// The same, to be changed.
    #[must_use]
    pub fn send_mut(&mut self) -> &mut [S::Element]
    where
        S: RecvBuffer,
    {
        match self.0.buffer.get_mut() {
            Some((send, _)) => send.as_mut_slice(),
            None => &mut [],
        }
    }

    /// What was received last.
    #[must_use]
    pub fn recv(&self) -> &[R::Element] {
        match self.0.buffer.get() {
            Some((_, recv)) => recv.as_slice(),
            None => &[],
        }
    }

    /// The same, to be changed.
    #[must_use]
    pub fn recv_mut(&mut self) -> &mut [R::Element] {
        match self.0.buffer.get_mut() {
            Some((_, recv)) => recv.as_mut_slice(),
            None => &mut [],
        }
    }
}
