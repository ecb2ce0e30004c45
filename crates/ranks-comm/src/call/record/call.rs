//! The record of a call.

use ranks_trace::Facts;

use super::kind::{Class, Kind};
use crate::data::sentinels::{Sentinels, rank};
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;

/// Any source or any tag, in the place of a rank or a tag.
pub(crate) const ANY: i32 = -1;
/// No rank, or not given, in the place of a rank or a tag.
pub(crate) const NONE: i32 = -2;

const RECORDED: Sentinels = Sentinels {
    any_source: ANY,
    any_tag: ANY,
    nobody: NONE,
};

/// The description of a call that a rank is about to make.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    pub(crate) kind: &'static Kind,
    /// The number of elements.
    pub(crate) items: u32,
    /// The root, or the source or destination of a message.
    pub(crate) peer: i32,
    pub(crate) tag: i32,
    /// The destination of a message, if another one comes from `peer`: observers see it, the
    /// recorder does not keep it.
    pub(crate) dest: i32,
    /// The tag of the message to `dest`.
    pub(crate) dest_tag: i32,
}

impl Call {
    /// A call of that kind, without ranks and lengths.
    #[inline(always)]
    #[must_use]
    pub const fn of(kind: &'static Kind) -> Self {
        Self {
            kind,
            items: 0,
            peer: NONE,
            tag: NONE,
            dest: NONE,
            dest_tag: NONE,
        }
    }

    /// Adds the number of elements; beyond 32 bits it is recorded as the largest number that they
    /// hold.
    #[inline(always)]
    #[must_use]
    pub fn items(mut self, items: usize) -> Self {
        self.items = u32::try_from(items).unwrap_or(u32::MAX);
        self
    }

    /// Adds the number of elements of a call on the fast path, which takes less than 2^31.
    #[inline(always)]
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "else what is recorded is not used"
    )]
    pub fn count_u32(mut self, items: usize) -> Self {
        self.items = items as u32;
        self
    }

    /// Adds the root.
    #[inline(always)]
    #[must_use]
    pub fn root(mut self, root: usize) -> Self {
        self.peer = rank(root);
        self
    }

    /// Adds the other rank.
    #[inline(always)]
    #[must_use]
    pub fn peer(mut self, peer: usize) -> Self {
        self.peer = rank(peer);
        self
    }

    /// Adds the destination and the tag of a message.
    #[inline(always)]
    #[must_use]
    pub(crate) fn to(mut self, dest: Destination, tag: i32) -> Self {
        self.peer = RECORDED.destination(dest);
        self.tag = tag;
        self
    }

    /// Adds the source and the tag of a message.
    #[inline(always)]
    #[must_use]
    pub(crate) fn from(mut self, source: Source, tag: Tag) -> Self {
        self.peer = RECORDED.source(source);
        self.tag = RECORDED.tag(tag);
        self
    }

    /// Adds the destination and the tag of a second message.
    #[must_use]
    pub(crate) fn and_to(mut self, dest: Destination, tag: i32) -> Self {
        self.dest = RECORDED.destination(dest);
        self.dest_tag = tag;
        self
    }

    /// The facts that are reported of it.
    pub(crate) fn facts(&self) -> Facts {
        let kind = self.kind;
        let one = usize::try_from(self.peer).ok();
        let is_rooted = kind.class == Class::Collective;
        let count = u64::from(self.items);
        let size = kind.element.map_or(0, |(_, size)| size as u64);
        Facts {
            operation: kind.operation,
            element: kind.element.map(|(name, _)| name()),
            reduction: kind.reduction.map(|name| name()),
            peer: one.filter(|_| !is_rooted),
            dest: usize::try_from(self.dest).ok(),
            root: one.filter(|_| is_rooted),
            tag: Some(self.tag).filter(|&tag| tag >= 0),
            dest_tag: Some(self.dest_tag).filter(|&tag| tag >= 0),
            wildcard: !is_rooted && [self.peer, self.tag].contains(&ANY),
            count,
            bytes: count.saturating_mul(size),
        }
    }

    /// The C name.
    #[inline]
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

/// A call to that other rank.
impl From<(&'static Kind, usize)> for Call {
    #[inline(always)]
    fn from((kind, peer): (&'static Kind, usize)) -> Self {
        Self::of(kind).peer(peer)
    }
}

impl From<&'static Kind> for Call {
    #[inline(always)]
    fn from(kind: &'static Kind) -> Self {
        Self::of(kind)
    }
}
