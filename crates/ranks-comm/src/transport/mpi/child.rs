//! Objects that all ranks of a communicator made together, and that only a collective call can
//! free.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::children::Children;
use super::communicator::Comm;
use super::deferred_free::Waiting;
use super::free_by_group::Members;
use super::session::Session;
use crate::result::Result;

/// An object of the library that a collective call frees, such as a window.
pub trait FreedTogether: Send + 'static {
    /// Frees it. Called once, while MPI lives: by all ranks together, or by each before it ends
    /// MPI.
    ///
    /// # Errors
    /// Errors of the library.
    fn free(self: Box<Self>) -> Result<()>;

    /// Returns `true` if this rank has finished with it, so that it may be freed once it has been
    /// dropped.
    fn is_at_rest(&self) -> bool {
        true
    }
}

/// An object that was made from a communicator; if it is dropped its free is deferred, as a
/// communicator's is.
pub struct Child<W: FreedTogether> {
    /// Taken out by `free` and `drop`.
    what: Option<Box<W>>,
    session: Arc<Session>,
    siblings: Arc<Children>,
    members: Members,
    number: u64,
    key: u64,
}

impl Comm {
    /// Frees the objects that all ranks have dropped, and makes a new one from this communicator by
    /// `call`, which is collective. Collective.
    ///
    /// # Errors
    /// Those of `call` or of the library.
    pub fn make_child<W: FreedTogether>(
        &self,
        call: impl FnOnce() -> Result<W>,
    ) -> Result<Child<W>> {
        self.free_dropped(self, self.children.done(self.session.are_at_rest()))?;
        let number = self.children.number();
        let what = Some(Box::new(call()?));
        self.children.is_alive(number);
        Ok(Child {
            what,
            session: Arc::clone(&self.session),
            siblings: Arc::clone(&self.children),
            members: Arc::clone(&self.members),
            number,
            key: self.session.key(),
        })
    }
}

impl<W: FreedTogether> Child<W> {
    /// Frees it now. Collective.
    ///
    /// # Errors
    /// Errors of the library.
    pub fn free(mut self) -> Result<()> {
        self.siblings.is_freed(self.number);
        self.what.take().map_or(Ok(()), FreedTogether::free)
    }
}

impl<W: FreedTogether> Deref for Child<W> {
    type Target = W;

    #[inline(always)]
    fn deref(&self) -> &W {
        match &self.what {
            Some(what) => what,
            // It is taken out by `free` and by `drop`, after which nobody has `self`.
            None => unreachable!("a child that is gone"),
        }
    }
}

impl<W: FreedTogether> Drop for Child<W> {
    fn drop(&mut self) {
        if let Some(what) = self.what.take() {
            let number = self.siblings.number_everywhere(self.number);
            self.session
                .defer_free(self.key, number, Waiting::Other(what));
            let members = Arc::clone(&self.members);
            let left = self.siblings.is_dropped(self.number, self.key, members);
            self.session.free_by_group.are_dropped(left);
        }
    }
}

impl<W: FreedTogether> fmt::Debug for Child<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}
