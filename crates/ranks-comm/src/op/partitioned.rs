//! Partitioned communication: parts of a message are sent as they become ready, by many threads,
//! and read as they arrive.
#![allow(unsafe_code)]

use ranks_launch::Count;

use crate::communicator::Communicator;
use crate::data::in_flight::{InFlight, Over};
use crate::data::owned::RecvBuffer;
use crate::op::mpi::partitioned::Parts;
use crate::result::{Error, ErrorKind, Result, can_be_counted};
use crate::transport::backend::Backend;
use crate::transport::in_process::partitioned::Channel;
use crate::transport::pending_op::PendingOp;

pub use recv::{ActiveRecv, PartitionedRecv};
pub use send::{ActiveSend, PartitionWriter, PartitionedSend};

mod arrivals;
mod recv;
mod send;
mod states;

/// The transport of the partitions.
enum Link {
    Mpi(Parts),
    InProcess(Channel),
    Gone,
}

/// The number of bytes of a partition.
fn width<B: RecvBuffer>(operation: &'static str, buffer: &B, partitions: usize) -> Result<usize> {
    const { can_be_counted::<B::Element>() };
    let length = buffer.as_slice().len();
    match length.checked_rem(partitions) {
        Some(0) if length > 0 => Ok(length / partitions * size_of::<B::Element>()),
        _ => Err(Error::new(
            ErrorKind::Length,
            operation,
            format_args!(
                "{} cannot be divided into {}; each has the same number, at least one",
                Count(length, "element"),
                Count(partitions, "partition")
            ),
        )),
    }
}

impl Link {
    /// Proof that nothing works on the memory, if the operation is not started: in process only the
    /// rank that asks ever does.
    fn at_rest(&self, started: bool) -> Option<Over> {
        // SAFETY: `started` is set before anything is begun, and cleared when that is over.
        (!started || matches!(self, Self::InProcess(_))).then(|| unsafe { Over::new() })
    }
}

/// Releases the library's request, with the memory if it is pending.
fn let_go<B: Send + 'static>(
    comm: &Communicator,
    link: &mut Link,
    started: bool,
    buffer: &mut Option<InFlight<B>>,
) {
    let over = link.at_rest(started);
    let (link, buffer) = (std::mem::replace(link, Link::Gone), buffer.take());
    let native = match (link, comm.backend()) {
        (Link::Mpi(parts), Backend::Mpi(over)) => Some((parts.into_native(over), over)),
        _ => None,
    };
    match (native, over, buffer) {
        (Some((native, _)), None, Some(buffer)) => {
            PendingOp::Native(native).abandon(comm, buffer.into_keep_alive());
        }
        (native, Some(over), buffer) => {
            // A request that is not freed only leaks.
            let _ = native.map(|(native, comm)| comm.retire(native));
            drop(buffer.map(|buffer| buffer.give_back(over)));
        }
        // The buffer is leaked.
        (_, None, _) => {}
    }
}
