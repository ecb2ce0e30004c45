//! Messages whose parts are sent as they become ready, by many threads, and read as they arrive.

use crate::backend::Backend;
use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::in_process::partitioned::Channel;
use crate::mpi::Parts;
use crate::owned::{Kept, RecvBuffer};

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

/// Lets go of the library's request, with the memory if it is under way.
fn let_go<B: Send + 'static>(
    comm: &Communicator,
    link: &mut Link,
    started: bool,
    buffer: &mut Kept<B>,
) {
    let link = std::mem::replace(link, Link::Gone);
    let (Link::Mpi(parts), Backend::Mpi(over)) = (link, comm.backend()) else {
        return;
    };
    if started {
        let keep = std::mem::replace(buffer, Kept::gone()).into_any();
        parts.into_native(over).into_flight().abandon(comm, keep);
    } else {
        // What is not freed is only lost.
        let _ = over.retire(parts.into_native(over));
    }
}
