//! Contributions that a reduction which returned at once still waits for, combined in the order of
//! ranks.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{Collective, Deferred, InProcessComm as Comm, RawSlice, StartedOp};

use super::call::RankCall;
use crate::ops::Reduction;
use crate::ops::user_op::Panicked;

/// One rank's part in a reduction under way: its own contribution was sent to those who need it
/// when it began.
pub(super) struct Folding<T, O> {
    collective: Collective,
    op: O,
    /// This rank's contribution, until its turn comes; none between two groups.
    own: Option<Vec<u8>>,
    /// The result of the ranks before `next`.
    sum: Vec<u8>,
    next: usize,
    /// The rank after the last one that counts.
    end: usize,
    /// The place of the result, as long as each contribution.
    place: RawSlice,
    outcome: Result<()>,
    elements: PhantomData<fn(T) -> T>,
}

impl<T: Pod, O: Reduction<T> + Send + 'static> Folding<T, O> {
    /// Combines what the ranks below `end` pass, `own` being that of this rank, if it is one of
    /// them.
    pub(super) fn begun(
        call: &RankCall<'_>,
        op: O,
        own: Option<Vec<u8>>,
        end: usize,
        place: RawSlice,
    ) -> StartedOp {
        if end == 0 {
            return StartedOp::Over;
        }
        StartedOp::InProcess(Box::new(Self {
            collective: call.collective,
            op,
            own,
            sum: Vec::new(),
            next: 0,
            end,
            place,
            outcome: Ok(()),
            elements: PhantomData,
        }))
    }

    /// Takes the contribution of the `next` rank into account.
    fn take(&mut self, comm: &Comm, block: Vec<u8>) {
        let (rank, length) = (self.next, self.place.bytes());
        let taken = if block.len() != length {
            let call = RankCall {
                comm,
                collective: self.collective,
            };
            Err(call.wrong_length(rank, block.len(), length))
        } else if rank == 0 {
            self.sum = block;
            Ok(())
        } else {
            let (op, sum) = (&self.op, &mut self.sum);
            Panicked::caught(self.collective.operation(), || combine(op, sum, &block))
        };
        self.note(taken);
    }

    fn note(&mut self, part: Result<()>) {
        if self.outcome.is_ok() {
            self.outcome = part;
        }
    }
}

impl<T: Pod, O: Reduction<T> + Send + 'static> Deferred for Folding<T, O> {
    fn advance(&mut self, comm: &Comm, wait: bool) -> Result<bool> {
        while self.next < self.end {
            if self.next == comm.rank()
                && let Some(own) = self.own.take()
            {
                self.take(comm, own);
            } else {
                match comm.coll_arrival(self.collective, self.next, wait) {
                    Ok(None) => return Ok(false),
                    Ok(Some(block)) => self.take(comm, block),
                    Err(error) => self.note(Err(error)),
                }
            }
            self.next += 1;
        }
        std::mem::replace(&mut self.outcome, Ok(()))?;
        self.place.fill(&self.sum);
        Ok(true)
    }
}

/// Combines elements, wherever their bytes lie; `left` comes from the lower ranks, and is replaced.
fn combine<T: Pod, O: Reduction<T>>(op: &O, left: &mut [u8], right: &[u8]) {
    let width = size_of::<T>();
    if width == 0 {
        return;
    }
    for (left, right) in left.chunks_exact_mut(width).zip(right.chunks_exact(width)) {
        let lower = bytemuck::pod_read_unaligned::<T>(left);
        let higher = bytemuck::pod_read_unaligned::<T>(right);
        left.copy_from_slice(bytemuck::bytes_of(&op.combine(lower, higher)));
    }
}

impl<T, O> fmt::Debug for Folding<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Folding")
            .field("collective", &self.collective)
            .field("next", &self.next)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}
