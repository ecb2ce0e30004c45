//! Messages between two groups that return at once.

use std::fmt;

use super::Intercommunicator;
use crate::element::Pod;
use crate::error::{Error, Result};
use crate::owned::{RecvBuffer, SendBuffer};
use crate::request::Request;
use crate::scope::{Scope, ScopedRequest};
use crate::source::{Destination, Source};
use crate::tag::Tag;

impl Intercommunicator {
    /// Begins to send `buffer` to the rank `dest` of the other group; see [`Communicator::isend`].
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

    /// The same, over only when the receiver has begun to receive; see [`Communicator::issend`].
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

    /// Begins to receive a message from the rank `source` of the other group; see [`Communicator::irecv`].
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

    /// Begins to receive a message of whatever length; see [`Communicator::irecv_vec`].
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

    /// Begins to send one buffer and to receive into another; see [`Communicator::isendrecv`].
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

    /// Begins operations on borrowed slices in `f`, and returns when all of them are over; see [`Communicator::scope`].
    ///
    /// ```
    /// # use ranks_comm::{Intercommunicator, Result};
    /// fn swap(between: &Intercommunicator, mine: &[f64], theirs: &mut [f64]) -> Result<()> {
    ///     between.scope(|s| {
    ///         s.irecv(theirs, between.rank(), 0)?;
    ///         s.isend(mine, between.rank(), 0)?;
    ///         Ok(())
    ///     })
    /// }
    /// ```
    ///
    /// What is begun there outlives no slice that does not outlive the scope:
    ///
    /// ```compile_fail,E0597
    /// # use ranks_comm::{Intercommunicator, Result};
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

/// Begins operations between two groups on memory that outlives the scope; from [`Intercommunicator::scope`].
///
/// As [`Scope`], but for what only a communicator of one group can do.
#[derive(Clone, Copy)]
pub struct IntercommunicatorScope<'scope, 'env: 'scope>(&'scope Scope<'scope, 'env>);

impl<'scope> IntercommunicatorScope<'scope, '_> {
    /// Begins to send `data` to the rank `dest` of the other group.
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

    /// Begins to send `data`; over when the receiver has begun to receive.
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

    /// Begins to receive into `buf` from the rank `source` of the other group.
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
