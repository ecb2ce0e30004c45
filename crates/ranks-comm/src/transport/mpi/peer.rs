//! Ranks and tags as `int`s, in the library's own values and in the standard's.

use std::ffi::c_int;

use ranks_mpi_sys::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_PROC_NULL, native};

use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;

/// A rank of a communicator. Communicators have at most `c_int::MAX` ranks, and ranks are checked
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
pub(crate) fn rank(rank: usize) -> c_int {
    rank as c_int
}

/// The values of the wildcards and of null: the library's own, found out once for the `native`
/// functions, or the [standard's](STANDARD).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sentinels {
    any_source: c_int,
    any_tag: c_int,
    nobody: c_int,
}

/// Those for the functions of the standard.
pub(crate) const STANDARD: Sentinels = Sentinels {
    any_source: MPI_ANY_SOURCE,
    any_tag: MPI_ANY_TAG,
    nobody: MPI_PROC_NULL,
};

impl Sentinels {
    pub(crate) fn of_library() -> Self {
        Self {
            any_source: native::any_source(),
            any_tag: native::any_tag(),
            nobody: native::proc_null(),
        }
    }

    #[inline(always)]
    pub(crate) fn destination(self, dest: Destination) -> c_int {
        match dest {
            Destination::Rank(dest) => rank(dest),
            Destination::Null => self.nobody,
        }
    }

    #[inline(always)]
    pub(crate) fn source(self, source: Source) -> c_int {
        match source {
            Source::Rank(source) => rank(source),
            Source::Any => self.any_source,
            Source::Null => self.nobody,
        }
    }

    #[inline(always)]
    pub(crate) fn tag(self, tag: Tag) -> c_int {
        match tag {
            Tag::Value(tag) => tag,
            Tag::Any => self.any_tag,
        }
    }
}
