//! From the arguments of a call to what is enqueued: all that the library can see to be wrong is
//! refused here.

use std::ffi::c_int;
use std::sync::Arc;

use super::abi::{CommHandle, Stream, WaitSignal};
use super::arithmetic::Dtype;
use super::comm::{self, Comm};
use super::failure::{Failure, Outcome};
use super::group;
use super::operation::{Kind, Target, Task};
use super::operator::Operator;
use super::{one_sided, windows};

/// The arguments of a collective operation, or of a message.
pub(crate) struct Call {
    pub(crate) kind: Kind,
    pub(crate) send: u64,
    pub(crate) recv: u64,
    pub(crate) count: usize,
    pub(crate) dtype: c_int,
    /// An `ncclRedOp_t`, where there is one.
    pub(crate) operator: c_int,
    /// The root or the peer, where there is one.
    pub(crate) root: c_int,
    pub(crate) comm: CommHandle,
    pub(crate) stream: Stream,
}

impl Call {
    /// One without an operator and a root.
    pub(crate) fn new(
        kind: Kind,
        send: u64,
        recv: u64,
        count: usize,
        dtype: c_int,
        comm: CommHandle,
        stream: Stream,
    ) -> Self {
        Self {
            kind,
            send,
            recv,
            count,
            dtype,
            operator: 0,
            root: 0,
            comm,
            stream,
        }
    }

    /// Enqueues it, at the end of the group.
    pub(crate) fn enqueue(self) -> Outcome {
        let comm = comm::of(self.comm)?;
        group::enqueue(&comm, || self.task(&comm))
    }

    fn task(&self, comm: &Comm) -> Outcome<Option<Task>> {
        let ranks = comm.world()?.ranks;
        let dtype = Dtype::of(self.dtype)?;
        let root = usize::try_from(self.root).ok().filter(|&root| root < ranks);
        let Some(root) = root else {
            return Err(Failure::argument(format!(
                "invalid root or peer {}: it should be in the 0..{} range",
                self.root,
                ranks - 1
            )));
        };
        let task = Task {
            kind: self.kind,
            send: self.send,
            recv: self.recv,
            count: self.count,
            dtype,
            operator: Operator::of(comm, self.operator, dtype)?,
            root,
            target: Target::default(),
            waits: Vec::new(),
            stream: self.stream,
        };
        task.check_size(ranks)?;
        Ok((self.count > 0).then_some(task))
    }
}

/// The arguments of `ncclPutSignal` and `ncclSignal`.
pub(crate) struct Put {
    pub(crate) kind: Kind,
    pub(crate) from: u64,
    pub(crate) count: usize,
    pub(crate) dtype: c_int,
    pub(crate) peer: c_int,
    pub(crate) window: u64,
    pub(crate) offset: usize,
    pub(crate) signal: c_int,
    pub(crate) context: c_int,
    pub(crate) flags: u32,
    pub(crate) comm: CommHandle,
    pub(crate) stream: Stream,
}

impl Put {
    /// Enqueues it, at the end of the group.
    pub(crate) fn enqueue(self) -> Outcome {
        let comm = comm::of(self.comm)?;
        group::enqueue(&comm, || self.task(&comm))
    }

    fn task(&self, comm: &Comm) -> Outcome<Option<Task>> {
        let peer = peer_of(comm, self.peer)?;
        check_signal(comm, self.signal, self.context)?;
        if self.flags != 0 {
            return Err(Failure::argument(format!(
                "flags must be 0, not {}",
                self.flags
            )));
        }
        let dtype = Dtype::of(self.dtype)?;
        let mut task = Task {
            kind: self.kind,
            send: self.from,
            recv: 0,
            count: self.count,
            dtype,
            operator: Operator::Sum,
            root: peer,
            target: Target {
                window: 0,
                offset: self.offset as u64,
                signal: self.signal,
                context: self.context,
            },
            waits: Vec::new(),
            stream: self.stream,
        };
        task.check_size(1)?;
        if self.kind == Kind::PutSignal {
            let (number, window) = windows::find(comm, self.window)?;
            let end = self.offset.checked_add(task.block());
            let size = window.sizes.get(peer).copied().unwrap_or(0);
            if end.is_none_or(|end| end as u64 > size) {
                return Err(Failure::argument(format!(
                    "{} bytes at {} do not fit into the window of rank {peer}, which has {size}",
                    task.block(),
                    self.offset
                )));
            }
            task.target.window = number;
        }
        Ok(Some(task))
    }
}

/// `ncclWaitSignal`
pub(crate) fn wait_signal(waits: Vec<WaitSignal>, comm: CommHandle, stream: Stream) -> Outcome {
    let comm: Arc<Comm> = comm::of(comm)?;
    group::enqueue(&comm, || {
        for wait in &waits {
            peer_of(&comm, wait.peer)?;
            check_signal(&comm, wait.signal, wait.context)?;
            if wait.count < 0 {
                return Err(Failure::argument(format!("invalid opCnt {}", wait.count)));
            }
        }
        if waits.is_empty() {
            return Ok(None);
        }
        one_sided::attend(&comm)?;
        Ok(Some(Task {
            kind: Kind::WaitSignal,
            send: 0,
            recv: 0,
            count: 0,
            dtype: Dtype::Int8,
            operator: Operator::Sum,
            root: 0,
            target: Target::default(),
            waits,
            stream,
        }))
    })
}

fn peer_of(comm: &Comm, peer: c_int) -> Outcome<usize> {
    let ranks = comm.world()?.ranks;
    let known = usize::try_from(peer).ok().filter(|&peer| peer < ranks);
    known.ok_or_else(|| Failure::argument(format!("invalid peer {peer} of {ranks} ranks")))
}

fn check_signal(comm: &Comm, signal: c_int, context: c_int) -> Outcome {
    let (contexts, signals) = comm.wishes.signals();
    if (0..signals).contains(&signal) && (0..contexts).contains(&context) {
        return Ok(());
    }
    Err(Failure::argument(format!(
        "invalid sigIdx {signal} of {signals}, or ctx {context} of {contexts}"
    )))
}
