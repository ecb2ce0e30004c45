//! Nonblocking messages between two groups.

use std::fmt;

use super::Intercommunicator;
use crate::data::element::Pod;
use crate::data::owned::{RecvBuffer, SendBuffer};
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::op::request::Request;
use crate::op::scope::{Scope, ScopedRequest};
use crate::result::{Error, Result};

impl Intercommunicator {
    /// Starts a nonblocking send of `buffer` to the rank `dest` of the remote group; see
    /// [`Communicator::isend`].
    ///
    /// # Errors
    /// As [`Communicator::isend`].
    ///
    /// [`Communicator::isend`]: crate::Communicator::isend
    pub fn isend<B>(&self, buffer: B, dest: impl Into<Destination>, tag: i32) -> Result<Request<B>>
    where
        B: SendBuffer + Send + 'static,
    {
        self.0.isend(buffer, dest, tag)
    }

    /// Starts a nonblocking synchronous send; see [`Communicator::issend`].
    ///
    /// # Errors
    /// As [`Communicator::issend`].
    ///
    /// [`Communicator::issend`]: crate::Communicator::issend
    pub fn issend<B>(&self, buffer: B, dest: impl Into<Destination>, tag: i32) -> Result<Request<B>>
    where
        B: SendBuffer + Send + 'static,
    {
        self.0.issend(buffer, dest, tag)
    }

    /// Starts a nonblocking receive from the rank `source` of the remote group; see
    /// [`Communicator::irecv`].
    ///
    /// # Errors
    /// As [`Communicator::irecv`].
    ///
    /// [`Communicator::irecv`]: crate::Communicator::irecv
    pub fn irecv<B>(
        &self,
        buffer: B,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Request<B>>
    where
        B: RecvBuffer + Send + 'static,
    {
        self.0.irecv(buffer, source, tag)
    }

    /// Starts a nonblocking receive of a message of any length; see [`Communicator::irecv_vec`].
    ///
    /// # Errors
    /// As [`Communicator::irecv_vec`].
    ///
    /// [`Communicator::irecv_vec`]: crate::Communicator::irecv_vec
    pub fn irecv_vec<T: Pod + Send>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Request<Vec<T>>> {
        self.0.irecv_vec(source, tag)
    }

    /// Starts a nonblocking send of one buffer and receive into another; see
    /// [`Communicator::isendrecv`].
    ///
    /// # Errors
    /// As [`Communicator::isendrecv`].
    ///
    /// [`Communicator::isendrecv`]: crate::Communicator::isendrecv
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
        self.0
            .isendrecv(send, dest, send_tag, recv, source, recv_tag)
    }

    /// Starts operations on borrowed slices in `f`, and returns when all of them are complete; see
    /// [`Communicator::scope`].
    ///
    /// ```
    /// # use ranks::{Result, communicator::Intercommunicator};
    /// fn swap(between: &Intercommunicator, mine: &[f64], theirs: &mut [f64]) -> Result<()> {
    ///     between.scope(|s| {
    ///         s.irecv(theirs, between.rank(), 0)?;
    ///         s.isend(mine, between.rank(), 0)?;
    ///         Ok(())
    ///     })
    /// }
    /// ```
    ///
    /// A slice that does not outlive the scope cannot be used there:
    ///
    /// ```compile_fail,E0597
    /// # use ranks::{Result, communicator::Intercommunicator};
    /// # fn inside(between: &Intercommunicator) -> Result<()> {
    /// between.scope(|s| {
    ///     let mut mine = [0u8; 8];
    ///     s.irecv(&mut mine, 0, 0)?; // it would be gone before the message comes
    ///     Ok(())
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Communicator::scope`].
    ///
    /// [`Communicator::scope`]: crate::Communicator::scope
    pub fn scope<'env, R, E, F>(&'env self, f: F) -> Result<R, E>
    where
        F: for<'scope> FnOnce(IntercommunicatorScope<'scope, 'env>) -> Result<R, E>,
        E: From<Error>,
    {
        self.0.scope(|scope| f(IntercommunicatorScope(scope)))
    }
}

/// A scope of operations between two groups, on memory that outlives it; from
/// [`Intercommunicator::scope`].
///
/// As [`Scope`], without the operations that need a communicator of one group.
#[derive(Clone, Copy)]
pub struct IntercommunicatorScope<'scope, 'env: 'scope>(&'scope Scope<'scope, 'env>);

impl<'scope> IntercommunicatorScope<'scope, '_> {
    /// Starts a nonblocking send of `data` to the rank `dest` of the remote group.
    ///
    /// # Errors
    /// As [`Scope::isend`].
    pub fn isend<T: Pod>(
        &self,
        data: &'scope [T],
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<ScopedRequest<'scope, &'scope [T]>> {
        self.0.isend(data, dest, tag)
    }

    /// Starts a nonblocking synchronous send of `data`: complete when the matching receive has
    /// started.
    ///
    /// # Errors
    /// As [`Scope::issend`].
    pub fn issend<T: Pod>(
        &self,
        data: &'scope [T],
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<ScopedRequest<'scope, &'scope [T]>> {
        self.0.issend(data, dest, tag)
    }

    /// Starts a nonblocking receive into `buf` from the rank `source` of the remote group.
    ///
    /// # Errors
    /// As [`Scope::irecv`].
    pub fn irecv<T: Pod>(
        &self,
        buf: &'scope mut [T],
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
        self.0.irecv(buf, source, tag)
    }
}

impl fmt::Debug for IntercommunicatorScope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntercommunicatorScope")
            .finish_non_exhaustive()
    }
}
