//! Tags of messages.

/// The tag of a message to receive: a value, or any.
///
/// Tags run from 0 to [`Communicator::max_tag`](crate::Communicator::max_tag), at least 32767.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tag {
    /// Any tag (`MPI_ANY_TAG`).
    #[doc(alias = "MPI_ANY_TAG")]
    Any,
    /// This tag.
    Value(i32),
}

impl From<i32> for Tag {
    #[inline(always)]
    fn from(tag: i32) -> Self {
        Self::Value(tag)
    }
}
