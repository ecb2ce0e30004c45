//! Messages whose parts are sent as they become ready, by many threads, and read as they arrive.
#![allow(unsafe_code)]

use crate::backend::Backend;
use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::in_flight::{InFlight, Over};
use crate::in_process::partitioned::Channel;
use crate::mpi::Parts;
use crate::owned::RecvBuffer;

pub use recv::{ActiveRecv, PartitionedRecv};
pub use send::{ActiveSend, PartitionWriter, PartitionedSend};

mod recv;
mod send;

/// The way that the parts take.
enum Link {
    Mpi(Parts),
    InProcess(Channel),
    Gone,
}

/// How many bytes a partition has.
fn width<B: RecvBuffer>(operation: &'static str, buffer: &B, partitions: usize) -> Result<usize> {
    let length = buffer.as_slice().len();
    match length.checked_rem(partitions) {
        Some(0) if length > 0 && size_of::<B::Element>() > 0 => {
            Ok(length / partitions * size_of::<B::Element>())
        }
        _ => Err(Error::new(
            ErrorKind::Length,
            operation,
            format_args!(
                "{length} elements cannot be sent in {partitions} partitions; each has the same number, at least one"
            ),
        )),
    }
}

impl Link {
    /// That nothing works on the memory, if that is not started: in process nobody but who asks ever does.
    fn at_rest(&self, started: bool) -> Option<Over> {
        // SAFETY: `started` is set before anything is begun, and cleared when that is over.
        (!started || matches!(self, Self::InProcess(_))).then(|| unsafe { Over::new() })
    }
}

/// Lets go of the library's request, with the memory if it is under way.
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
            native.into_flight().abandon(comm, buffer.into_keep_alive());
        }
        (native, Some(over), buffer) => {
            // What is not freed is only lost.
            let _ = native.map(|(native, comm)| comm.retire(native));
            drop(buffer.map(|buffer| buffer.give_back(over)));
        }
        // It is kept for ever.
        (_, None, _) => {}
    }
}
