//! Calls that are enqueued as one: on one communicator in any order, or on many of one process.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::Stream;

use crate::communicator::NcclCommunicator;
use crate::queue::Queue;
use crate::state::open_group;

const START: &str = "ncclGroupStart";

/// The calls of a group, in the closure of [`group`].
///
/// Whatever is called on communicators there belongs to the group as well, on the thread of the
/// closure.
pub struct Group<'env> {
    /// Operations on borrowed memory, which is told of them when the group is complete.
    queues: RefCell<Vec<Rc<Queue<'env>>>>,
    /// `true` if its end is the library's: that of a group in a group is not.
    outermost: bool,
    /// A group is its thread's.
    thread: PhantomData<*const ()>,
}

impl<'env> Group<'env> {
    /// Calls `body` with a queue of operations on `comm` and `stream`, which are enqueued when the
    /// group ends.
    ///
    /// ```no_run
    /// # use ranks::collectives::ops::Sum;
    /// # use ranks::nccl::{self as nccl, NcclCommunicator};
    /// # use ranks::cuda::{CudaStream, DeviceVec};
    /// # fn sum(comms: &[NcclCommunicator], streams: &[CudaStream], data: &mut [DeviceVec<f32>]) -> ranks::Result<()> {
    /// nccl::group(|g| {
    ///     for ((comm, stream), data) in comms.iter().zip(streams).zip(data) {
    ///         g.on(comm, stream, |s| s.allreduce_in_place(data, Sum))?;
    ///     }
    ///     Ok(())
    /// })?;
    /// comms.iter().zip(streams).try_for_each(|(comm, stream)| comm.synchronize(stream))
    /// # }
    /// ```
    ///
    /// Nothing is waited for: what is enqueued on the streams later comes after the group, and
    /// [`NcclCommunicator::synchronize`] waits. Memory is kept by what owns it until the device is
    /// done with it.
    ///
    /// # Errors
    /// That of `body`; [`Argument`](ErrorKind::Argument) if the stream is of another device than
    /// the communicator, and in a group that is part of another: the borrowed memory would be used
    /// after it.
    pub fn on<R>(
        &self,
        comm: &'env NcclCommunicator,
        stream: &'env impl Stream,
        body: impl FnOnce(&Queue<'env>) -> Result<R>,
    ) -> Result<R> {
        if !self.outermost {
            let text = "memory is borrowed for the outermost group: a group in a group is enqueued with that one";
            return Err(Error::new(ErrorKind::Argument, START, text));
        }
        let queue = Rc::new(Queue::new(START, comm.shared(), stream)?);
        self.queues.borrow_mut().push(Rc::clone(&queue));
        body(&queue)
    }
}

impl fmt::Debug for Group<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Group")
    }
}

/// Makes the calls of `body` as one: nothing of them is enqueued before it ends.
///
/// Sends and receives between the same ranks may then stand in any order, and one thread can call a
/// collective for many communicators. A group ends with its closure, also when that returns an
/// error or panics: what it has called until then is enqueued. A group in a group is part of it.
/// Calls of other threads on communicators that have calls in the group wait for its end.
///
/// # Errors
/// That of `body`; else errors of the library in any of its calls. Of a group in which it refuses
/// an argument nothing is enqueued, and communicators stay usable of which it does not say
/// otherwise.
#[doc(alias = "ncclGroupStart")]
#[doc(alias = "ncclGroupEnd")]
pub fn group<'env, R>(body: impl FnOnce(&Group<'env>) -> Result<R>) -> Result<R> {
    // Dropped after the group was closed, also by a panic: the queues end when everything is
    // enqueued.
    let group = Group {
        queues: RefCell::default(),
        outermost: !open_group::is_open(),
        thread: PhantomData,
    };
    open_group::within(|| body(&group))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::open_group::is_open;

    #[test]
    fn groups_are_counted_and_close_when_they_are_left_by_an_error_or_a_panic() {
        assert!(!is_open());
        group(|_| {
            assert!(is_open());
            group(|_| Ok(()))?;
            assert!(is_open(), "the outer one is still open");
            Ok(())
        })
        .unwrap();
        let error = Error::new(ErrorKind::Argument, "x", "y");
        group(|_| Err::<(), _>(error)).unwrap_err();
        assert!(!is_open());
        let panicked =
            std::panic::catch_unwind(|| group(|_| -> Result<()> { panic!("on purpose") }));
        panicked.unwrap_err();
        assert!(!is_open());
    }
}
