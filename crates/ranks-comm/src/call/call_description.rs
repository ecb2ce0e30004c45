//! The description of a collective call that ranks exchange, and its comparison.

use std::fmt::{self, Display, Write as _};

use crate::call::checks::{get_text, put_text};
use crate::call::identity::digest;
use crate::result::{Error, ErrorKind, Result};

/// The number of bytes of a description.
const ROOM: usize = 256;

/// The first byte: the action of the rank.
const CALLS: u8 = 0;
const REFUSES: u8 = 1;
/// It calls, and does not wait for the others.
const BEGINS: u8 = 2;

/// The description of a call: whether the rank refuses it, a digest of all that must be equal, and
/// a text.
#[derive(Debug)]
pub struct CallDescription([u8; ROOM]);

impl CallDescription {
    /// The description of a call, with a text; equal digests mean that all that must be equal is.
    #[must_use]
    pub fn calling(digest: u64, text: &str) -> Self {
        Self::new(CALLS, digest, text)
    }

    /// Marks the call as one that this rank does not wait for.
    #[must_use]
    pub fn beginning(mut self) -> Self {
        if self.0[0] == CALLS {
            self.0[0] = BEGINS;
        }
        self
    }

    /// The description of a call of which only the name must be equal.
    pub(crate) fn named(operation: &'static str) -> Self {
        let name = operation.bytes().map(u64::from);
        Self::calling(digest(name), operation)
    }

    /// The description of a refused call, with the reason.
    #[must_use]
    pub fn refusing(error: &Error) -> Self {
        Self::new(REFUSES, 0, &error.to_string())
    }

    fn new(does: u8, digest: u64, text: &str) -> Self {
        let mut told = [0; ROOM];
        told[0] = does;
        told[1..9].copy_from_slice(&digest.to_le_bytes());
        put_text(&mut told[9..], text);
        Self(told)
    }

    /// The bytes that are exchanged.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns `true` if some rank does not wait for the others.
    pub(crate) fn any_begins(all: &[u8]) -> bool {
        all.chunks(ROOM).any(|told| told.first() == Some(&BEGINS))
    }

    /// Compares the descriptions of all ranks, in rank order.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`], the same on every rank, if a rank refuses its call or two call
    /// differently.
    pub fn compare(operation: &'static str, all: &[u8]) -> Result<()> {
        let refused = |told: &&[u8]| told.first() == Some(&REFUSES);
        let mut told = all.chunks(ROOM);
        let first = told.clone().next().and_then(|told| told.get(..9));
        if told.all(|told| told.get(..9) == first && !refused(&told)) {
            return Ok(());
        }
        // Equal calls, with their ranks.
        let mut groups: Vec<(&[u8], Vec<usize>)> = Vec::new();
        for (rank, told) in all.chunks(ROOM).enumerate() {
            match groups.iter_mut().find(|(other, _)| *other == told) {
                Some((_, ranks)) => ranks.push(rank),
                None => groups.push((told, vec![rank])),
            }
        }
        let mut text = "ranks do not call the same collective:".to_owned();
        for (number, (told, ranks)) in groups.iter().enumerate() {
            let separator = if number == 0 { " " } else { "; " };
            let verb = match (refused(told), ranks.len()) {
                (true, 1) => "refuses its arguments,",
                (true, _) => "refuse their arguments,",
                (false, 1) => "calls",
                (false, _) => "call",
            };
            let what = get_text(told.get(9..).unwrap_or_default());
            // Writing to a string does not fail.
            let _ = write!(text, "{separator}{} {verb} {what}", Ranks(ranks));
        }
        Err(Error::with_text(ErrorKind::Mismatch, operation, text))
    }
}

/// Ranks as text: `rank 3`, `ranks 0, 1 and 4`, or the first few of many.
struct Ranks<'a>(&'a [usize]);

impl Display for Ranks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 8;
        let (last, rest) = match self.0 {
            [] => return f.write_str("no rank"),
            [only] => return write!(f, "rank {only}"),
            [rest @ .., last] => (last, rest),
        };
        f.write_str("ranks ")?;
        for (number, rank) in rest.iter().take(MOST).enumerate() {
            let separator = if number == 0 { "" } else { ", " };
            write!(f, "{separator}{rank}")?;
        }
        match rest.len().checked_sub(MOST) {
            None | Some(0) => write!(f, " and {last}"),
            Some(more) => write!(f, " and {} more", more + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_ranks_are_listed_and_many_are_counted() {
        assert_eq!(Ranks(&[3]).to_string(), "rank 3");
        assert_eq!(Ranks(&[0, 2, 5]).to_string(), "ranks 0, 2 and 5");
        let many: Vec<usize> = (0..20).collect();
        let text = Ranks(&many).to_string();
        assert_eq!(text, "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 12 more");
    }

    #[test]
    fn different_calls_are_grouped() {
        let (one, other) = (
            CallDescription::named("MPI_Barrier"),
            CallDescription::named("MPI_Comm_dup"),
        );
        let all = |all: &[&CallDescription]| {
            all.iter()
                .map(|told| told.bytes())
                .collect::<Vec<_>>()
                .concat()
        };
        assert!(CallDescription::compare("MPI_Barrier", &all(&[&one, &one])).is_ok());
        let error =
            CallDescription::compare("MPI_Barrier", &all(&[&one, &other, &one])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert_eq!(
            error.to_string(),
            "ranks do not call the same collective: ranks 0 and 2 call MPI_Barrier; rank 1 calls MPI_Comm_dup"
        );
    }
}
