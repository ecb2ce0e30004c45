//! Operations on borrowed memory that are over when their scope ends.

use ranks_comm::Result;
use ranks_comm::backend::observed;
use ranks_cuda::Stream;

use crate::NcclCommunicator;
use crate::error::of_driver;
use crate::queue::Queue;
use crate::state::open_group;

const SCOPE: &str = "cuEventQuery";

impl NcclCommunicator {
    /// Enqueues operations on borrowed memory in `body`, on `stream`, and waits until all of them
    /// are over.
    ///
    /// ```no_run
    /// # use ranks::collectives::ops::Sum;
    /// # use ranks::nccl::NcclCommunicator;
    /// # use ranks::cuda::{DeviceVec, Stream};
    /// # fn sums(comm: &NcclCommunicator, stream: &impl Stream, a: &DeviceVec<f32>) -> ranks::Result<()> {
    /// let mut b = comm.context().alloc::<f32>(1024).unwrap();
    /// let mut c = comm.context().alloc::<i64>(8).unwrap();
    /// comm.scope(stream, |s| {
    ///     s.allreduce(a, &mut b, Sum)?;
    ///     s.bcast(&mut c, 0)
    /// })
    /// # }
    /// ```
    ///
    /// Memory must be there before the scope begins, and cannot be used twice at a time:
    ///
    /// ```compile_fail,E0597
    /// # use ranks::collectives::ops::Sum;
    /// # use ranks::nccl::NcclCommunicator;
    /// # use ranks::cuda::{CudaStream, DeviceVec};
    /// # fn inside(comm: &NcclCommunicator, stream: &CudaStream) -> ranks::Result<()> {
    /// comm.scope(stream, |s| {
    ///     let mut mine = comm.context().alloc::<f32>(8).unwrap();
    ///     s.allreduce_in_place(&mut mine, Sum) // it would be gone while it is reduced
    /// })
    /// # }
    /// ```
    ///
    /// ```compile_fail,E0502
    /// # use ranks::collectives::ops::Sum;
    /// # use ranks::nccl::NcclCommunicator;
    /// # use ranks::cuda::{CudaStream, DeviceVec};
    /// # fn aliased(comm: &NcclCommunicator, stream: &CudaStream, mine: &mut DeviceVec<f32>) -> ranks::Result<()> {
    /// comm.scope(stream, |s| s.allreduce(&*mine, &mut *mine, Sum)) // `allreduce_in_place` is for that
    /// # }
    /// ```
    ///
    /// If `body` returns an error or panics, what it has enqueued goes on and is not waited for:
    /// the memory is kept by what owns it until the device is done with it, however it is dropped.
    ///
    /// # Errors
    /// That of `body`; otherwise as [all operations](crate#operations).
    /// [`Argument`](ranks_comm::ErrorKind::Argument) in a group, before whose end nothing is over.
    pub fn scope<'env, R>(
        &'env self,
        stream: &'env impl Stream,
        body: impl FnOnce(&Queue<'env>) -> Result<R>,
    ) -> Result<R> {
        open_group::none_open(SCOPE)?;
        let queue = Queue::new(SCOPE, self.shared(), stream)?;
        let value = body(&queue)?;
        if let Some(event) = queue.end() {
            let over = || event.query().map_err(|error| of_driver(SCOPE, error));
            let shared = self.shared();
            observed(
                &shared.track,
                || SCOPE.into(),
                || shared.until(SCOPE, None, over),
            )?;
        }
        Ok(value)
    }

    /// Waits until all is over that was enqueued on `stream` so far, for as long as the
    /// communicator is well and its time limit says.
    ///
    /// # Errors
    /// As [all operations](crate#operations).
    pub fn synchronize(&self, stream: &impl Stream) -> Result<()> {
        const OPERATION: &str = "cuStreamQuery";
        open_group::none_open(OPERATION)?;
        let over = || stream.query().map_err(|error| of_driver(OPERATION, error));
        let shared = self.shared();
        let wait = || shared.until(OPERATION, None, over);
        observed(&shared.track, || OPERATION.into(), wait)
    }
}
