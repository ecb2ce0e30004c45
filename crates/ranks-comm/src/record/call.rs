//! A call, as it is recorded.

use super::kind::Kind;
use crate::source::{Destination, Source};
use crate::tag::Tag;

/// Any rank, where one is recorded.
pub(crate) const ANY: i32 = -1;
/// Nobody, or nothing said, where a rank or a tag is recorded.
pub(crate) const NONE: i32 = -2;

/// What a rank is about to do.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    pub(crate) kind: &'static Kind,
    /// How many elements.
    pub(crate) items: u32,
    /// The root, or the rank that a message comes from or goes to.
    pub(crate) peer: i32,
    pub(crate) tag: i32,
    /// Where a message goes, if another one comes from `peer`: told to observers, not recorded.
    pub(crate) dest: i32,
}

impl Call {
    /// A call of that kind, with nothing said of ranks and lengths.
    #[inline(always)]
    #[must_use]
    pub const fn of(kind: &'static Kind) -> Self {
        Self {
            kind,
            items: 0,
            peer: NONE,
            tag: NONE,
            dest: NONE,
        }
    }

    /// The same call of so many elements; what is beyond 32 bits counts as the most that they hold.
    #[inline(always)]
    #[must_use]
    pub fn items(mut self, items: usize) -> Self {
        self.items = u32::try_from(items).unwrap_or(u32::MAX);
        self
    }

    /// The same call of so many elements, if they can go the express way, which takes less than 2^31.
    #[inline(always)]
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "else what is recorded is not used"
    )]
    pub fn few(mut self, items: usize) -> Self {
        self.items = items as u32;
        self
    }

    /// The same call with a root.
    #[inline(always)]
    #[must_use]
    pub fn root(mut self, root: usize) -> Self {
        self.peer = rank(root);
        self
    }

    /// The same call of a message to a rank.
    #[inline(always)]
    #[must_use]
    pub(crate) fn to(mut self, dest: Destination, tag: i32) -> Self {
        self.peer = destination(dest);
        self.tag = tag;
        self
    }

    /// The same call of a message from a rank.
    #[inline(always)]
    #[must_use]
    pub(crate) fn from(mut self, source: Source, tag: Tag) -> Self {
        self.peer = match source {
            Source::Rank(source) => rank(source),
            Source::Any => ANY,
            Source::Null => NONE,
        };
        self.tag = match tag {
            Tag::Value(tag) => tag,
            Tag::Any => ANY,
        };
        self
    }

    /// The same call, which sends a message too.
    #[must_use]
    pub(crate) fn and_to(mut self, dest: Destination) -> Self {
        self.dest = destination(dest);
        self
    }

    /// The C name.
    #[must_use]
    pub fn operation(&self) -> &'static str {
        self.kind.operation
    }
}

impl From<&'static str> for Call {
    fn from(operation: &'static str) -> Self {
        Self::of(Kind::named(operation))
    }
}

impl From<&'static Kind> for Call {
    #[inline(always)]
    fn from(kind: &'static Kind) -> Self {
        Self::of(kind)
    }
}

#[inline(always)]
fn destination(dest: Destination) -> i32 {
    match dest {
        Destination::Rank(dest) => rank(dest),
        Destination::Null => NONE,
    }
}

/// A rank of a communicator: less than a size that MPI gave as an `int`.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "less than a size that MPI gave as an int"
)]
fn rank(rank: usize) -> i32 {
    rank as i32
}
