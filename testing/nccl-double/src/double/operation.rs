//! What can be enqueued: which part of whose memory goes where.

use std::ffi::c_int;

use super::abi::{Stream, WaitSignal};
use super::arithmetic::Dtype;
use super::failure::{Failure, Outcome};
use super::operator::Operator;

/// An operation of all ranks, or of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    AllReduce = 1,
    Reduce = 2,
    Broadcast = 3,
    AllGather = 4,
    ReduceScatter = 5,
    AlltoAll = 6,
    Gather = 7,
    Scatter = 8,
    Send = 9,
    Recv = 10,
    PutSignal = 11,
    Signal = 12,
    WaitSignal = 13,
}

/// Where a put goes, and which signal it raises.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Target {
    pub(crate) window: u64,
    pub(crate) offset: u64,
    pub(crate) signal: c_int,
    pub(crate) context: c_int,
}

/// A call, as it was made.
#[derive(Clone)]
pub(crate) struct Task {
    pub(crate) kind: Kind,
    pub(crate) send: u64,
    pub(crate) recv: u64,
    /// Elements of a block.
    pub(crate) count: usize,
    pub(crate) dtype: Dtype,
    pub(crate) operator: Operator,
    /// The root, or the peer.
    pub(crate) root: usize,
    pub(crate) target: Target,
    pub(crate) waits: Vec<WaitSignal>,
    pub(crate) stream: Stream,
}

impl Task {
    pub(crate) fn is_collective(&self) -> bool {
        (self.kind as u8) < Kind::Send as u8
    }

    pub(crate) fn reduces(&self) -> bool {
        matches!(
            self.kind,
            Kind::AllReduce | Kind::Reduce | Kind::ReduceScatter
        )
    }

    /// Bytes of a block.
    pub(crate) fn block(&self) -> usize {
        self.count.saturating_mul(self.dtype.size())
    }

    /// Refuses blocks that no memory could hold.
    pub(crate) fn check_size(&self, ranks: usize) -> Outcome {
        let bytes = self.count.checked_mul(self.dtype.size());
        match bytes.and_then(|bytes| bytes.checked_mul(ranks)) {
            Some(bytes) if isize::try_from(bytes).is_ok() => Ok(()),
            _ => Err(Failure::argument(format!(
                "invalid count {}: no memory is as large",
                self.count
            ))),
        }
    }

    /// The number of blocks that `rank` has to send.
    pub(crate) fn blocks_sent(&self, ranks: usize, rank: usize) -> usize {
        let at_root = |blocks| if rank == self.root { blocks } else { 0 };
        match self.kind {
            Kind::AllReduce | Kind::Reduce | Kind::AllGather | Kind::Gather => 1,
            Kind::Send | Kind::PutSignal => 1,
            Kind::Broadcast => at_root(1),
            Kind::ReduceScatter | Kind::AlltoAll => ranks,
            Kind::Scatter => at_root(ranks),
            Kind::Recv | Kind::Signal | Kind::WaitSignal => 0,
        }
    }

    /// The number of blocks that come to `rank`, one from each of the ranks or from one of them.
    pub(crate) fn blocks_received(&self, ranks: usize, rank: usize) -> usize {
        let at_root = |blocks| if rank == self.root { blocks } else { 0 };
        match self.kind {
            Kind::AllReduce | Kind::ReduceScatter | Kind::AllGather | Kind::AlltoAll => ranks,
            Kind::Reduce | Kind::Gather => at_root(ranks),
            Kind::Broadcast | Kind::Scatter | Kind::Recv => 1,
            Kind::Send | Kind::PutSignal | Kind::Signal | Kind::WaitSignal => 0,
        }
    }

    /// Which of the blocks that `rank` sends goes to `peer`.
    pub(crate) fn block_for(&self, rank: usize, peer: usize) -> Option<usize> {
        match self.kind {
            Kind::AllReduce | Kind::AllGather => Some(0),
            Kind::Reduce | Kind::Gather => (peer == self.root).then_some(0),
            Kind::Broadcast => (rank == self.root).then_some(0),
            Kind::ReduceScatter | Kind::AlltoAll => Some(peer),
            Kind::Scatter => (rank == self.root).then_some(peer),
            _ => None,
        }
    }

    /// Which of the blocks that come to `rank` is that of `peer`.
    pub(crate) fn block_from(&self, rank: usize, peer: usize) -> Option<usize> {
        match self.kind {
            Kind::AllReduce | Kind::ReduceScatter | Kind::AllGather | Kind::AlltoAll => Some(peer),
            Kind::Reduce | Kind::Gather => (rank == self.root).then_some(peer),
            Kind::Broadcast | Kind::Scatter => (peer == self.root).then_some(0),
            _ => None,
        }
    }
}

/// Bytes before those of a block.
pub(crate) const HEAD: usize = 64;
/// Where the factor of a rank is among them; it may differ from rank to rank.
pub(crate) const FACTOR: usize = 48;

/// What a collective operation tells each peer before its data: ranks that make different calls
/// never go on.
pub(crate) fn head_of_collective(task: &Task, number: u64, factor: [u8; 8]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[0] = task.kind as u8;
    head[1] = task.dtype as u8;
    head[2] = task.operator.number();
    head[8..16].copy_from_slice(&(task.count as u64).to_ne_bytes());
    head[16..24].copy_from_slice(&(task.root as u64).to_ne_bytes());
    head[24..32].copy_from_slice(&number.to_ne_bytes());
    head[FACTOR..FACTOR + 8].copy_from_slice(&factor);
    head
}

/// What a send tells its receiver: only that both have the same length is known to matter.
pub(crate) fn head_of_message(task: &Task) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[0] = Kind::Send as u8;
    head[8..16].copy_from_slice(&(task.block() as u64).to_ne_bytes());
    head
}

/// What a put tells its target.
pub(crate) fn head_of_put(task: &Task) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[0] = task.kind as u8;
    let bytes = if task.kind == Kind::PutSignal {
        task.block()
    } else {
        0
    };
    head[8..16].copy_from_slice(&(bytes as u64).to_ne_bytes());
    head[16..24].copy_from_slice(&task.target.window.to_ne_bytes());
    head[24..32].copy_from_slice(&task.target.offset.to_ne_bytes());
    head[32..36].copy_from_slice(&task.target.signal.to_ne_bytes());
    head[36..40].copy_from_slice(&task.target.context.to_ne_bytes());
    head
}
