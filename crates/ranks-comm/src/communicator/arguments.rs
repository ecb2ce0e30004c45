//! Checks of the ranks and tags that the caller passes.

use crate::communicator::Communicator;
use crate::data::source::{Destination, Ends, Source};
use crate::data::tag::Tag;
use crate::result::{Error, ErrorKind, Result};

impl Communicator {
    /// Returns `dest` if it is a rank of this communicator or null.
    #[inline(always)]
    pub(crate) fn destination(
        &self,
        operation: &'static str,
        dest: impl Into<Destination>,
    ) -> Result<Destination> {
        let dest = dest.into();
        match dest {
            Destination::Rank(rank) if rank >= self.0.peers => Err(self.no_rank(operation, rank)),
            _ => Ok(dest),
        }
    }

    /// Returns `source` if it is a rank of this communicator, any or null.
    #[inline(always)]
    pub(crate) fn source(
        &self,
        operation: &'static str,
        source: impl Into<Source>,
    ) -> Result<Source> {
        let source = source.into();
        match source {
            Source::Rank(rank) if rank >= self.0.peers => Err(self.no_rank(operation, rank)),
            _ => Ok(source),
        }
    }

    /// Checks the tag of a message to send: from 0 to the library's limit.
    #[inline(always)]
    pub(crate) fn check_tag(&self, operation: &'static str, tag: i32) -> Result<()> {
        // Every library has these tags (MPI 5.0 §9.1.2), so that the check vanishes where a tag is
        // a constant.
        let everywhere = 0..=32_767;
        if everywhere.contains(&tag) || (0..=self.0.max_tag).contains(&tag) {
            return Ok(());
        }
        Err(self.no_tag(operation, tag))
    }

    /// Returns the tag of a message to receive, if it is within the same limits, or any.
    #[inline(always)]
    pub(crate) fn tag(&self, operation: &'static str, tag: impl Into<Tag>) -> Result<Tag> {
        let tag = tag.into();
        if let Tag::Value(value) = tag {
            self.check_tag(operation, value)?;
        }
        Ok(tag)
    }

    /// Checks the arguments of a call that sends and receives.
    #[inline(always)]
    pub(crate) fn ends(
        &self,
        operation: &'static str,
        (dest, send_tag): (impl Into<Destination>, i32),
        (source, recv_tag): (impl Into<Source>, impl Into<Tag>),
    ) -> Result<Ends> {
        let dest = self.destination(operation, dest)?;
        self.check_tag(operation, send_tag)?;
        Ok(Ends {
            dest,
            send_tag,
            source: self.source(operation, source)?,
            recv_tag: self.tag(operation, recv_tag)?,
        })
    }

    #[cold]
    #[inline(never)]
    fn no_rank(&self, operation: &'static str, rank: usize) -> Error {
        let peers = self.0.peers;
        let whose = if self.is_between() {
            "the remote group"
        } else {
            "this communicator"
        };
        let last = peers.saturating_sub(1);
        let why =
            format_args!("rank {rank} is not in {whose} of {peers}; ranks run from 0 to {last}");
        Error::new(ErrorKind::Rank, operation, why)
    }

    #[cold]
    #[inline(never)]
    fn no_tag(&self, operation: &'static str, tag: i32) -> Error {
        let last = self.0.max_tag;
        let why = format_args!("tag {tag} is not usable; tags run from 0 to {last}");
        Error::new(ErrorKind::Tag, operation, why)
    }
}
