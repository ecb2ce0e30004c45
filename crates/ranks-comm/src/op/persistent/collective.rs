//! Persistent operations of sibling crates: from one buffer to another, on one, or on none.
#![allow(unsafe_code)]

use super::{Persistent, Plan, What};
use crate::communicator::Communicator;
use crate::data::in_flight::InFlight;
use crate::data::lent::Places;
use crate::data::owned::{RecvBuffer, SendBuffer};
use crate::data::raw_slice::OpInfo;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::backend::{Backend, StartedOp};

/// Starts an operation on these elements, at each call.
pub type Again = Box<dyn FnMut(&Communicator, Places) -> Result<StartedOp> + Send>;

impl<B: Send + 'static> Persistent<B> {
    /// Makes a persistent operation: with the library's request, which `prepare` makes with a
    /// function whose name ends in `_init`; or, where `prepare` returns `None`, with an operation
    /// that `again` starts at each start. The latter gets a communicator of its own, so that it
    /// matches nothing but itself, and which has the time limit of this one. Collective.
    ///
    /// # Errors
    /// Those of `prepare` and of [`Communicator::dup`]; [`ErrorKind::Argument`] if the request is
    /// not the library's.
    ///
    /// # Safety
    /// The request that `prepare` makes is not started. It works on memory of its own and on the
    /// places that `prepare` returns; the operations of `again` do so with the places that they
    /// get. The places are the elements of the buffer, or of both its halves, as their traits
    /// return them, and stay where they are when it is moved. A request keeps their address alone.
    #[doc(hidden)]
    pub unsafe fn prepared(
        comm: &Communicator,
        role: &'static OpInfo,
        buffer: B,
        prepare: impl FnOnce(&mut B) -> Result<(Places, Option<StartedOp>)>,
        again: Again,
    ) -> Result<Self> {
        let (buffer, (places, native, alone)) = InFlight::begun(buffer, |buffer| {
            let (places, made) = prepare(buffer)?;
            let (cell, keep) = match made {
                None => return Ok((places, None, Some(comm.dup_with_limit(role.operation)?))),
                Some(StartedOp::Mpi(cell)) => (cell, None),
                Some(StartedOp::MpiKeeping(cell, keep)) => (cell, Some(keep)),
                Some(_) => return Err(not_the_librarys(role)),
            };
            match comm.backend() {
                Backend::Mpi(over) => Ok((places, Some(over.prepared(cell, role, keep)), None)),
                Backend::InProcess(_) => Err(not_the_librarys(role)),
            }
        })?;
        let Some(alone) = alone else {
            let what = What::Kept;
            return Ok(Self::new(comm, native, Plan { role, what }, places, buffer));
        };
        let what = What::Other(again);
        let mut repeated = Self::new(&alone, None, Plan { role, what }, places, buffer);
        repeated.0.prepared_on = Some(comm.clone());
        Ok(repeated)
    }
}

#[cold]
fn not_the_librarys(role: &OpInfo) -> Error {
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
        let places = self.0.places();
        // SAFETY: the elements of that half, by who has prepared it; nothing works on them, or can
        // while `self` is borrowed.
        places.map_or(&[], |places| unsafe { places.send.as_slice() })
    }

    /// The same elements, mutably.
    #[must_use]
    pub fn send_mut(&mut self) -> &mut [S::Element]
    where
        S: RecvBuffer,
    {
        match self.0.get_mut() {
            // SAFETY: as above, and what is begun later gets the new pointer.
            Some(((send, _), places)) => unsafe { places.send.lend_mut(send) },
            None => &mut [],
        }
    }

    /// The elements that were received last.
    #[must_use]
    pub fn recv(&self) -> &[R::Element] {
        let places = self.0.places();
        // SAFETY: as above.
        places.map_or(&[], |places| unsafe { places.buffer.as_slice() })
    }

    /// The same elements, mutably.
    #[must_use]
    pub fn recv_mut(&mut self) -> &mut [R::Element] {
        match self.0.get_mut() {
            // SAFETY: as above.
            Some(((_, recv), places)) => unsafe { places.buffer.lend_mut(recv) },
            None => &mut [],
        }
    }
}
