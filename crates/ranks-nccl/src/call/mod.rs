//! The calls that enqueue an operation.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use ranks_comm::Result;
use ranks_comm::backend::CallFacts;
use ranks_cuda::RawStream;
use ranks_nccl_sys::{Table, cudaStream_t, ncclComm_t, ncclDataType_t, ncclRedOp_t, ncclResult_t};

use crate::state::Shared;
use crate::state::open_group;

pub(crate) mod checks;

/// An operation, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    AllReduce,
    Broadcast,
    Reduce,
    AllGather,
    ReduceScatter,
    AlltoAll,
    Gather,
    Scatter,
    Send,
    Recv,
}

impl What {
    /// NCCL's name of it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "ncclAllReduce",
            Self::Broadcast => "ncclBroadcast",
            Self::Reduce => "ncclReduce",
            Self::AllGather => "ncclAllGather",
            Self::ReduceScatter => "ncclReduceScatter",
            Self::AlltoAll => "ncclAlltoAll",
            Self::Gather => "ncclGather",
            Self::Scatter => "ncclScatter",
            Self::Send => "ncclSend",
            Self::Recv => "ncclRecv",
        }
    }
}

/// An operation whose lengths, ranks and devices have been compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckedCall {
    pub(crate) what: What,
    pub(crate) send: u64,
    pub(crate) recv: u64,
    /// In the unit of the operation: elements in all, or for each rank.
    pub(crate) count: usize,
    /// The size of an element in bytes.
    pub(crate) width: usize,
    pub(crate) datatype: ncclDataType_t,
    pub(crate) op: ncclRedOp_t,
    /// The root, or whom it is sent to or received from.
    pub(crate) peer: c_int,
}

impl CheckedCall {
    /// Enqueues all of them, at once if there are more than one.
    ///
    /// # Safety
    /// As [`enqueue`](Self::enqueue).
    #[inline]
    pub(crate) unsafe fn enqueue_all(
        calls: &[CheckedCall],
        shared: &Arc<Shared>,
        stream: RawStream,
    ) -> Result<()> {
        if let [call] = calls {
            // SAFETY: passed on.
            return unsafe { call.enqueue(shared, stream) };
        }
        open_group::within(|| {
            for call in calls {
                // SAFETY: passed on.
                unsafe { call.enqueue(shared, stream)? };
            }
            Ok(())
        })
    }

    /// Enqueues it. What NCCL before 2.28 has no function for is a group of sends and receives.
    ///
    /// # Safety
    /// The addresses are those of as much memory of the communicator's device as the operation
    /// takes, which stays until it is over, and `stream` is a live stream of that device.
    pub(crate) unsafe fn enqueue(self, shared: &Arc<Shared>, stream: RawStream) -> Result<()> {
        let table = shared.nccl().table();
        let lacking = match self.what {
            What::AlltoAll => table.ncclAlltoAll.is_none(),
            What::Gather => table.ncclGather.is_none(),
            What::Scatter => table.ncclScatter.is_none(),
            _ => false,
        };
        if lacking {
            // SAFETY: passed on.
            return unsafe { self.enqueue_parts(shared, stream) };
        }
        let name = self.what.name();
        shared.call_with(
            name,
            || self.facts(),
            |table, comm| {
                // SAFETY: the communicator is alive, by `call_with`; the rest is passed on.
                unsafe { self.make(table, comm, stream) }
            },
        )
    }

    /// The facts that observers are told of it.
    fn facts(&self) -> CallFacts {
        let peer = usize::try_from(self.peer).ok();
        let (is_rooted, is_message) = match self.what {
            What::Broadcast | What::Reduce | What::Gather | What::Scatter => (true, false),
            What::Send | What::Recv => (false, true),
            _ => (false, false),
        };
        CallFacts {
            operation: self.what.name(),
            peer: peer.filter(|_| is_message),
            root: peer.filter(|_| is_rooted),
            count: self.count as u64,
            bytes: (self.count * self.width) as u64,
            ..CallFacts::default()
        }
    }

    /// Makes the call; `None` if the library has no such function.
    ///
    /// # Safety
    /// As [`enqueue`](Self::enqueue), and `comm` is alive.
    #[inline]
    unsafe fn make(
        self,
        table: &Table,
        comm: ncclComm_t,
        stream: RawStream,
    ) -> Option<ncclResult_t> {
        let stream: cudaStream_t = stream.0.cast();
        let send = self.send as *const c_void;
        let recv = self.recv as *mut c_void;
        let (count, datatype, op, peer) = (self.count, self.datatype, self.op, self.peer);
        Some(match self.what {
            What::AllReduce => {
                let call = table.ncclAllReduce?;
                // SAFETY: the caller vouches for memory, communicator and stream.
                unsafe { call(send, recv, count, datatype, op, comm, stream) }
            }
            What::Broadcast => {
                let call = table.ncclBroadcast?;
                // SAFETY: as above.
                unsafe { call(send, recv, count, datatype, peer, comm, stream) }
            }
            What::Reduce => {
                let call = table.ncclReduce?;
                // SAFETY: as above.
                unsafe { call(send, recv, count, datatype, op, peer, comm, stream) }
            }
            What::AllGather => {
                let call = table.ncclAllGather?;
                // SAFETY: as above.
                unsafe { call(send, recv, count, datatype, comm, stream) }
            }
            What::ReduceScatter => {
                let call = table.ncclReduceScatter?;
                // SAFETY: as above.
                unsafe { call(send, recv, count, datatype, op, comm, stream) }
            }
            What::AlltoAll => {
                let call = table.ncclAlltoAll?;
                // SAFETY: as above.
                unsafe { call(send, recv, count, datatype, comm, stream) }
            }
            What::Gather => {
                let call = table.ncclGather?;
                // SAFETY: as above.
                unsafe { call(send, recv, count, datatype, peer, comm, stream) }
            }
            What::Scatter => {
                let call = table.ncclScatter?;
                // SAFETY: as above.
                unsafe { call(send, recv, count, datatype, peer, comm, stream) }
            }
            What::Send => {
                let call = table.ncclSend?;
                // SAFETY: as above.
                unsafe { call(send, count, datatype, peer, comm, stream) }
            }
            What::Recv => {
                let call = table.ncclRecv?;
                // SAFETY: as above.
                unsafe { call(recv, count, datatype, peer, comm, stream) }
            }
        })
    }

    /// The same by sends and receives, all at once.
    ///
    /// # Safety
    /// As [`enqueue`](Self::enqueue).
    #[cold]
    unsafe fn enqueue_parts(self, shared: &Arc<Shared>, stream: RawStream) -> Result<()> {
        let parts = self.parts(shared.rank(), shared.size());
        // SAFETY: each part lies in the memory of the whole.
        unsafe { Self::enqueue_all(&parts, shared, stream) }
    }

    /// The sends and receives of an operation on blocks. Nothing is sent to where it is already.
    fn parts(self, rank: usize, size: usize) -> Vec<CheckedCall> {
        let bytes = (self.count * self.width) as u64;
        let (root, me) = (self.peer, rank as u64);
        let at_root = usize::try_from(root) == Ok(rank);
        let (sends, receives, shared) = match self.what {
            What::AlltoAll => (Who::All, Who::All, false),
            What::Gather => {
                let in_place = at_root && self.send == self.recv + me * bytes;
                let receives = if at_root { Who::All } else { Who::Nobody };
                (Who::One(root), receives, in_place)
            }
            _ => {
                let in_place = at_root && self.recv == self.send + me * bytes;
                let sends = if at_root { Who::All } else { Who::Nobody };
                (sends, Who::One(root), in_place)
            }
        };
        let mut parts = Vec::new();
        for (what, who) in [(What::Send, sends), (What::Recv, receives)] {
            for (index, peer) in who.of(size) {
                if shared && usize::try_from(peer) == Ok(rank) {
                    continue;
                }
                parts.push(CheckedCall {
                    what,
                    send: self.send + index * bytes,
                    recv: self.recv + index * bytes,
                    peer,
                    ..self
                });
            }
        }
        parts
    }
}

/// With which ranks blocks are exchanged.
#[derive(Debug, Clone, Copy)]
enum Who {
    Nobody,
    One(c_int),
    All,
}

impl Who {
    /// The number of the block and of the rank for each of them.
    fn of(self, size: usize) -> impl Iterator<Item = (u64, c_int)> {
        let (one, all) = match self {
            Self::Nobody => (None, 0),
            Self::One(rank) => (Some((0, rank)), 0),
            Self::All => (None, size),
        };
        one.into_iter().chain((0..all as u64).zip(0..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(what: What, send: u64, recv: u64, root: c_int) -> CheckedCall {
        CheckedCall {
            what,
            send,
            recv,
            count: 5,
            width: 4,
            datatype: 7,
            op: 0,
            peer: root,
        }
    }

    fn seen(parts: &[CheckedCall]) -> Vec<(What, u64, c_int)> {
        let address = |part: &CheckedCall| match part.what {
            What::Send => part.send,
            _ => part.recv,
        };
        parts
            .iter()
            .map(|part| (part.what, address(part), part.peer))
            .collect()
    }

    #[test]
    fn an_alltoall_of_parts_has_each_block_once() {
        let parts = call(What::AlltoAll, 1000, 2000, 0).parts(1, 2);
        let expected = [
            (What::Send, 1000, 0),
            (What::Send, 1020, 1),
            (What::Recv, 2000, 0),
            (What::Recv, 2020, 1),
        ];
        assert_eq!(seen(&parts), expected);
    }

    #[test]
    fn a_gather_of_parts_receives_at_the_root_alone() {
        let elsewhere = call(What::Gather, 1000, 0, 1).parts(0, 3);
        assert_eq!(seen(&elsewhere), [(What::Send, 1000, 1)]);
        let root = call(What::Gather, 1000, 2000, 1).parts(1, 2);
        let expected = [
            (What::Send, 1000, 1),
            (What::Recv, 2000, 0),
            (What::Recv, 2020, 1),
        ];
        assert_eq!(seen(&root), expected);
        let in_place = call(What::Gather, 2020, 2000, 1).parts(1, 2);
        assert_eq!(seen(&in_place), [(What::Recv, 2000, 0)]);
    }

    #[test]
    fn a_scatter_of_parts_sends_at_the_root_alone() {
        let elsewhere = call(What::Scatter, 0, 2000, 1).parts(0, 3);
        assert_eq!(seen(&elsewhere), [(What::Recv, 2000, 1)]);
        let in_place = call(What::Scatter, 1000, 1000, 0).parts(0, 2);
        assert_eq!(seen(&in_place), [(What::Send, 1020, 1)]);
    }
}
