//! Collectives in rounds: all ranks come, read what the others lend where it is, and come again
//! before they leave.

use std::ops::Range;

use ranks_comm::backend::{Collective, KIND, Round};
use ranks_comm::{Error, ErrorKind, Result};

use super::call::RankCall;

/// Purpose of a round. Ranks whose rounds differ get an error, all of them.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Barrier,
    Allreduce,
    ReduceScatter,
    Allgather,
    Alltoall,
    /// All are done; 1 if it went well.
    Done,
}

impl RankCall<'_> {
    /// Comes to a round with the length of what it is about, and waits for all.
    pub(super) fn round(&self, step: Step, bytes: usize, carried: &[u8]) -> Result<Round<'_>> {
        let kind = u64::from(self.collective.kind());
        let words = (kind << KIND | step as u64, bytes as u64);
        let round = self.comm.round(self.operation(), words, carried)?;
        match round.differing() {
            None => Ok(round),
            Some(rank) => Err(self.differs(round, rank)),
        }
    }

    /// Comes to the round after which nobody reads what this rank lends, and tells how its own part
    /// went.
    pub(super) fn done(&self, outcome: Result<()>) -> Result<()> {
        let words = (Step::Done as u64, u64::from(outcome.is_ok()));
        let round = self.comm.round(self.operation(), words, &[]);
        // What this rank knows is more to the point than what it hears.
        outcome?;
        let round = round?;
        match round.differing() {
            None => Ok(()),
            Some(_) => {
                let failed = (0..self.size()).find(|&rank| round.words(rank) != words);
                let failed = failed.unwrap_or(0);
                let detail =
                    format_args!("rank {failed} could not do its part; its error says why");
                Err(Error::new(ErrorKind::PeerFailed, self.operation(), detail))
            }
        }
    }

    #[cold]
    fn differs(&self, round: Round<'_>, rank: usize) -> Error {
        let ((first, ours), (other, theirs)) = (round.words(0), round.words(rank));
        if let Some((one, another)) = kinds_apart(&round, rank) {
            let name = |rank| Collective::name_of(kind_of(&round, rank)).unwrap_or_default();
            let detail = format_args!(
                "rank {one} passes elements of {}, rank {another} of {}; all ranks must pass the same type",
                name(one),
                name(another)
            );
            return Error::new(ErrorKind::Mismatch, self.operation(), detail);
        }
        if first << (64 - KIND) == other << (64 - KIND) {
            let length = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
            return self.lengths_differ((0, length(ours)), (rank, length(theirs)));
        }
        let detail = format_args!("collective calls are mismatched: those of ranks 0 and {rank}");
        Error::new(ErrorKind::Mismatch, self.operation(), detail)
    }

    /// Reads a part of what `rank` lends.
    pub(super) fn read_lent(
        &self,
        rank: usize,
        part: Range<usize>,
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<()> {
        self.comm.read_lent(self.operation(), rank, part, read)
    }

    /// Copies what `rank` lends, from the byte `start` on, to `place`.
    pub(super) fn copy_lent(&self, rank: usize, start: usize, place: &mut [u8]) -> Result<()> {
        self.comm.copy_lent(self.operation(), rank, start, place)
    }
}

fn kind_of(round: &Round<'_>, rank: usize) -> u8 {
    u8::try_from(round.words(rank).0 >> KIND).unwrap_or(0)
}

/// Two ranks whose elements are of different types, if that is how `rank` differs.
fn kinds_apart(round: &Round<'_>, rank: usize) -> Option<(usize, usize)> {
    let kind = kind_of(round, rank);
    let mut before = 0..rank;
    let other = before.find(|&before| ![0, kind].contains(&kind_of(round, before)));
    other.filter(|_| kind != 0).map(|other| (other, rank))
}
