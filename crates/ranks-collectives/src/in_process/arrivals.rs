//! Blocks that a collective which returned at once still waits for.

use std::fmt::Debug;

use ranks_comm::Result;
use ranks_comm::backend::{
    Collective, Deferred, InProcessComm as Comm, RawSlice, Spread, StartedOp,
};

use super::bytes::Bytes;
use super::call::RankCall;
use crate::in_flight::stable::Stable;

/// The place of a block.
pub(super) trait BlockPosition: Send + Debug + 'static {
    /// Its length in bytes.
    fn bytes(&self) -> usize;
    /// Puts there a block that is as long.
    fn fill(&self, block: &[u8]);
}

impl BlockPosition for RawSlice {
    fn bytes(&self) -> usize {
        (*self).bytes()
    }

    fn fill(&self, block: &[u8]) {
        (*self).fill(block);
    }
}

impl BlockPosition for Spread {
    fn bytes(&self) -> usize {
        self.bytes()
    }

    fn fill(&self, block: &[u8]) {
        self.fill(block);
    }
}

/// One rank's part in a collective under way: all that it gives was sent when it began.
///
/// Messages carry the number of the collective, so that one that is given up leaves nothing to
/// later ones.
#[derive(Debug)]
pub(super) struct Arrivals<P> {
    collective: Collective,
    /// Whose blocks have not come, and where they go.
    expected: Vec<(usize, P)>,
    outcome: Result<()>,
}

impl<P: BlockPosition> Arrivals<P> {
    pub(super) fn new(call: &RankCall<'_>, expected: Vec<(usize, P)>) -> Self {
        Self {
            collective: call.collective,
            expected,
            outcome: Ok(()),
        }
    }

    pub(super) fn begun(self) -> StartedOp {
        if self.expected.is_empty() {
            StartedOp::Over
        } else {
            StartedOp::InProcess(Box::new(self))
        }
    }
}

impl Arrivals<RawSlice> {
    /// Begins to wait for blocks from ranks, which go where that of their number lies.
    pub(super) fn of_blocks(
        call: &RankCall<'_>,
        bytes: Stable<Bytes<'_>>,
        from: impl Iterator<Item = (usize, usize)>,
    ) -> StartedOp {
        let there = bytes.get().there;
        let whole = bytes.into_span();
        let expected = from.map(|(rank, index)| {
            let place = there.of(index);
            (rank, whole.part(place.start, place.len()))
        });
        Self::new(call, expected.collect()).begun()
    }
}

impl<P: BlockPosition> Deferred for Arrivals<P> {
    fn advance(&mut self, comm: &Comm, wait: bool) -> Result<bool> {
        let call = RankCall {
            comm,
            collective: self.collective,
        };
        let (collective, outcome) = (self.collective, &mut self.outcome);
        // Several blocks of one rank come in order.
        let mut missing = Vec::new();
        self.expected.retain(|(rank, place)| {
            let rank = *rank;
            if missing.contains(&rank) {
                return true;
            }
            let arrived = match comm.coll_arrival(collective, rank, wait) {
                Ok(None) => {
                    missing.push(rank);
                    return true;
                }
                Ok(Some(block)) if block.len() == place.bytes() => {
                    place.fill(&block);
                    Ok(())
                }
                Ok(Some(block)) => Err(call.wrong_length(rank, block.len(), place.bytes())),
                Err(error) => Err(error),
            };
            if outcome.is_ok() {
                *outcome = arrived;
            }
            false
        });
        if !self.expected.is_empty() {
            return Ok(false);
        }
        std::mem::replace(&mut self.outcome, Ok(())).map(|()| true)
    }
}
