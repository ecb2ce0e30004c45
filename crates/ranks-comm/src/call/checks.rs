//! Comparison of collective calls across ranks before they start.

use std::fmt::Display;
use std::time::Duration;

use crate::call::hold::Hold;
use crate::call::limit::Origin;
use crate::call::record::Recorder;
use crate::result::{Error, ErrorKind};

/// The level of checks before a call. From [`Builder::checks`](crate::Builder::checks) or
/// `RANKS_CHECK`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Checks {
    /// Everything that one rank can check alone: ranks, tags, lengths, threads. There is no lower
    /// level. `RANKS_CHECK=local` or `off`.
    Local,
    /// In addition, before each collective the ranks compare their calls: operation, root, element
    /// type, lengths and reduction. The same holds where communicators, topologies and windows are
    /// made. If they differ, or a rank refuses its own arguments, all of them get an error, where a
    /// library would deadlock, mix up data or write past a buffer. `RANKS_CHECK=collective`.
    ///
    /// It costs an exchange of 256 bytes of each rank for every collective, and a reduction of 8
    /// for an exchange of blocks of different lengths. Between two ranks on one machine (MPICH 4.0,
    /// Open MPI 4.1) a barrier or the sum of one `f64` took 5 to 7 times as long with it, 2 to 4 µs
    /// more, and the sum of 64 kB 1.0 to 1.4 times. Over MPI more than 64 ranks compare as by
    /// [`Digests`](Self::Digests).
    ///
    /// Persistent collectives are compared when they are prepared, not when they are started.
    /// Nonblocking collectives are compared while they are pending: the start does not block, and
    /// the wait returns the error. As some ranks have started an operation that others never will,
    /// the operation is left to the runtime then, and the communicator is out of step. The end of
    /// the runtime is the last collective of the world: ranks that are in another one get the same
    /// error as those that end.
    ///
    /// Only calls that all ranks of one communicator make are compared, and a window has a
    /// communicator of its own. Ranks that wait for each other in calls on different ones (a
    /// barrier here and a fence there, fences of two windows in different order, over MPI the end
    /// of the program), in calls that only some ranks make (`create_group`; post, start, complete
    /// and wait of a window), or in epochs of different shared windows, wait up to the
    /// [limit](crate::Builder::check_limit), whose error names the call that each of them is in;
    /// without a limit they deadlock. Calls on intercommunicators are not compared, nor calls on
    /// communicators that another part of the program has made.
    ///
    /// Open MPI might write past a slice in some configurations
    /// ([`Facts::receives`](crate::Facts::receives)): there all collectives are always compared,
    /// and before they start; nonblocking ones wait for the other ranks there.
    Collective,
    /// The same, over MPI by a reduction of 24 bytes whatever the number of ranks; only where calls
    /// differ do ranks tell more. Of nonblocking calls that differ the error of each rank names two
    /// ranks and its own call. `RANKS_CHECK=digests`.
    Digests,
}

impl Checks {
    /// [`Collective`](Self::Collective) where ranks was built with debug assertions,
    /// [`Local`](Self::Local) elsewhere.
    pub(crate) const fn of_this_build() -> Self {
        if cfg!(debug_assertions) {
            Self::Collective
        } else {
            Self::Local
        }
    }
}

/// The settings of the comparison of calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Comparing {
    pub(crate) checks: Checks,
    /// The time to wait for the other ranks; [`Duration::MAX`] is for ever.
    pub(crate) limit: Duration,
}

/// The most ranks that tell each other what they call before they know whether that differs.
const TELLING: usize = 64;

impl Comparing {
    /// Returns `true` if so many ranks, over MPI, compare digests of their calls.
    pub(crate) fn is_by_digests(&self, size: usize) -> bool {
        size > TELLING || self.checks == Checks::Digests
    }

    /// Keeps the calls that threads are in, where ranks compare their calls and report them at a
    /// limit.
    pub(crate) fn hold(&self, compares: bool) -> Option<Hold> {
        (compares && self.limit < Duration::MAX).then(Hold::new)
    }
}

impl Recorder {
    /// The error of a comparison that timed out after so long; `others` begins with a separator.
    pub(crate) fn not_all_came(
        &self,
        operation: &'static str,
        limit: Duration,
        others: &dyn Display,
    ) -> Error {
        let (origin, rank, size) = (Origin::Comparison, self.rank, self.size);
        let text = format!(
            "timed out after {limit:?} ({origin}) on rank {rank} of {size} of {}: not all of the {size} ranks have come; a collective must be \
             called by all ranks of its communicator{others}",
            self.named()
        );
        Error::new(ErrorKind::TimedOut, operation, text)
    }

    /// The error of a comparison, which names this communicator.
    #[cold]
    pub(crate) fn mismatched(&self, error: Error) -> Error {
        error.with_words("are mismatched", format_args!(" on {}", self.named()))
    }
}

/// Writes as much of `text` into `room` as fits; the first two bytes are the length.
pub(crate) fn put_text(room: &mut [u8], text: &str) {
    let Some((head, body)) = room.split_at_mut_checked(2) else {
        return;
    };
    let text = cut(text, body.len().min(usize::from(u16::MAX)));
    body[..text.len()].copy_from_slice(text.as_bytes());
    let length = u16::try_from(text.len()).unwrap_or(0);
    head.copy_from_slice(&length.to_le_bytes());
}

/// The first bytes of `text`, at most so many, up to the end of a character.
#[must_use]
pub fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The text that [`put_text`] has written; empty if there is none.
#[must_use]
pub(crate) fn get_text(room: &[u8]) -> &str {
    let Some((&head, body)) = room.split_first_chunk::<2>() else {
        return "";
    };
    let body = body.get(..usize::from(u16::from_le_bytes(head)));
    std::str::from_utf8(body.unwrap_or_default()).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        let mut room = [0u8; 8];
        put_text(&mut room, "abcdeé");
        assert_eq!(get_text(&room), "abcde");
        put_text(&mut room, "");
        assert_eq!(get_text(&room), "");
    }

    #[test]
    fn what_is_no_text_is_none() {
        assert_eq!(get_text(&[9, 0, b'a']), "");
        assert_eq!(get_text(&[1, 0, 0xff]), "");
        assert_eq!(get_text(&[1]), "");
    }
}
