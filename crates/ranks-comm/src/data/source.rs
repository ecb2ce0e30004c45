//! Sources and destinations of messages.

use crate::data::tag::Tag;

/// The rank to receive from.
///
/// A `usize` is a rank; `None` is [`Source::Null`]: the receive completes immediately, with an
/// empty status. [`Source::Any`] is a value of its own, so that it is visible at the call and can
/// never be a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// Any rank of the communicator (`MPI_ANY_SOURCE`).
    #[doc(alias = "MPI_ANY_SOURCE")]
    Any,
    /// This rank.
    Rank(usize),
    /// No rank (`MPI_PROC_NULL`).
    #[doc(alias = "MPI_PROC_NULL")]
    Null,
}

impl From<usize> for Source {
    #[inline(always)]
    fn from(rank: usize) -> Self {
        Self::Rank(rank)
    }
}

impl From<Option<usize>> for Source {
    #[inline(always)]
    fn from(rank: Option<usize>) -> Self {
        rank.map_or(Self::Null, Self::Rank)
    }
}

/// The rank to send to.
///
/// A `usize` is a rank; `None` is [`Destination::Null`]: nothing is sent. A border rank of a
/// stencil passes the `Option` it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Destination {
    /// This rank.
    Rank(usize),
    /// No rank (`MPI_PROC_NULL`).
    #[doc(alias = "MPI_PROC_NULL")]
    Null,
}

impl From<usize> for Destination {
    #[inline(always)]
    fn from(rank: usize) -> Self {
        Self::Rank(rank)
    }
}

impl From<Option<usize>> for Destination {
    #[inline(always)]
    fn from(rank: Option<usize>) -> Self {
        rank.map_or(Self::Null, Self::Rank)
    }
}

/// The destination and the tag of a message to send, and the source and the tag of one to receive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) dest: Destination,
    pub(crate) send_tag: i32,
    pub(crate) source: Source,
    pub(crate) recv_tag: Tag,
}

impl Ends {
    /// The same at an address of its own, for a call out of line: the compiler goes on knowing what
    /// these are.
    #[inline(always)]
    pub(crate) fn copied(&self) -> Self {
        let &Self {
            dest,
            send_tag,
            source,
            recv_tag,
        } = self;
        Self {
            dest,
            send_tag,
            source,
            recv_tag,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_is_nobody() {
        assert_eq!(Source::from(None), Source::Null);
        assert_eq!(Source::from(Some(3)), Source::Rank(3));
        assert_eq!(Destination::from(None), Destination::Null);
        assert_eq!(Destination::from(3), Destination::Rank(3));
    }
}
