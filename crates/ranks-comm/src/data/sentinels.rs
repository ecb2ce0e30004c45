//! Ranks and tags as `int`s.

use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;

/// A rank of a communicator. Communicators have at most `i32::MAX` ranks, and ranks are checked
/// before.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "less than a size that MPI gave as an int"
)]
#[expect(
    clippy::cast_possible_wrap,
    reason = "less than a size that MPI gave as an int"
)]
pub(crate) fn rank(rank: usize) -> i32 {
    rank as i32
}

/// The values of the wildcards and of null.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sentinels {
    pub(crate) any_source: i32,
    pub(crate) any_tag: i32,
    pub(crate) nobody: i32,
}

impl Sentinels {
    #[inline(always)]
    pub(crate) fn destination(self, dest: Destination) -> i32 {
        match dest {
            Destination::Rank(dest) => rank(dest),
            Destination::Null => self.nobody,
        }
    }

    #[inline(always)]
    pub(crate) fn source(self, source: Source) -> i32 {
        match source {
            Source::Rank(source) => rank(source),
            Source::Any => self.any_source,
            Source::Null => self.nobody,
        }
    }

    #[inline(always)]
    pub(crate) fn tag(self, tag: Tag) -> i32 {
        match tag {
            Tag::Value(tag) => tag,
            Tag::Any => self.any_tag,
        }
    }
}
