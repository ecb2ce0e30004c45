//! The description of a collective call that ranks exchange, and its comparison.

use std::fmt::{self, Display, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::agree::digest;
use crate::backend::{Backend, StartedOp};
use crate::checks::{get_text, put_text};
use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::in_flight::InFlight;
use crate::pending_op::PendingOp;
use crate::raw_slice::OpInfo;

/// The number of bytes of a description.
const ROOM: usize = 256;

/// The first byte: the action of the rank.
const CALLS: u8 = 0;
const REFUSES: u8 = 1;
/// It calls, and does not wait for the others.
const BEGINS: u8 = 2;

/// The description of a call: whether the rank refuses it, a digest of all that must be equal, and a text.
#[derive(Debug)]
pub struct Told([u8; ROOM]);

impl Told {
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
    /// [`ErrorKind::Mismatch`], the same on every rank, if a rank refuses its call or two call differently.
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

impl Communicator {
    /// Compares the calls that all ranks are about to make, as a part of `operation`, which was entered. Collective.
    ///
    /// # Errors
    /// [`ErrorKind::Mismatch`], the same on every rank, if a rank refuses its call or two call differently.
    #[doc(hidden)]
    pub fn compare_told(&self, operation: &'static str, told: &Told) -> Result<()> {
        let all = self.exchange_within(operation, told.bytes())?;
        compare_all(self.step(), operation, &all)
    }

    /// Starts the comparison of a nonblocking call, which is complete when all ranks have described theirs. Collective.
    ///
    /// # Errors
    /// Errors of the library. The operation ends in an [`ErrorKind::Mismatch`] if two ranks call differently.
    #[doc(hidden)]
    pub fn begin_comparing(&self, operation: &'static str, told: &Told) -> Result<StartedOp> {
        let step = Arc::clone(self.step());
        let compare = move |all: &[u8]| compare_all(&step, operation, all);
        match self.backend() {
            Backend::Mpi(over) => over.begin_exchange(told.bytes(), self.size(), compare),
            Backend::InProcess(over) => over.begin_exchange(told.bytes(), compare),
        }
    }

    /// Leaves a comparison to the runtime.
    #[doc(hidden)]
    pub fn leave_comparing(&self, begun: StartedOp) {
        static COMPARING: OpInfo = OpInfo::of("MPI_Iallgather");
        PendingOp::begun(self, &COMPARING, begun)
            .abandon(self, InFlight::new(()).into_keep_alive());
    }

    /// Compares a call of which only the name must be equal, where ranks compare their calls; `ready` may be an
    /// error, which is sent to the other ranks then.
    pub(crate) fn all_call<A>(&self, operation: &'static str, ready: Result<A>) -> Result<A> {
        if !self.compares_calls() {
            return ready;
        }
        let told = match &ready {
            Ok(_) => Told::named(operation),
            Err(error) => Told::refusing(error),
        };
        let compared = self.compare_told(operation, &told);
        // This rank's own reason is more to the point than that a rank refuses.
        let ready = ready?;
        compared.map(|()| ready)
    }
}

/// Compares the descriptions of all ranks. If they differ, and some ranks have started an operation that others never will,
/// no later operation on the communicator would match, and it is out of step.
fn compare_all(out_of_step: &AtomicBool, operation: &'static str, all: &[u8]) -> Result<()> {
    let compared = Told::compare(operation, all);
    if compared.is_err() && Told::any_begins(all) {
        out_of_step.store(true, Ordering::Relaxed);
    }
    compared
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
        let (one, other) = (Told::named("MPI_Barrier"), Told::named("MPI_Comm_dup"));
        let all = |all: &[&Told]| {
            all.iter()
                .map(|told| told.bytes())
                .collect::<Vec<_>>()
                .concat()
        };
        assert!(Told::compare("MPI_Barrier", &all(&[&one, &one])).is_ok());
        let error = Told::compare("MPI_Barrier", &all(&[&one, &other, &one])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert_eq!(
            error.to_string(),
            "ranks do not call the same collective: ranks 0 and 2 call MPI_Barrier; rank 1 calls MPI_Comm_dup"
        );
    }
}
