//! Operations on borrowed memory that are over when their scope ends.

use ranks_comm::Result;

use crate::backend::stream::Ordered;
use crate::pe::handle::Nvshmem;
use crate::stream::queue::Queue;
use crate::stream::reach::What;

const SCOPE: &str = "cuEventQuery";

impl Nvshmem<'_> {
    /// Enqueues operations on borrowed memory in `body`, on `stream`, and waits until all of them
    /// are over here.
    ///
    /// ```no_run
    /// # use ranks::nvshmem::{Nvshmem, SignalOp};
    /// # fn halo(pe: &Nvshmem<'_>) -> ranks::Result<()> {
    /// let stream = pe.stream()?;
    /// let (cells, halo) = (pe.alloc::<f64>(1024)?, pe.alloc::<f64>(1)?);
    /// let arrived = pe.signal()?;
    /// let next = (pe.my_pe() + 1) % pe.n_pes();
    /// pe.scope(&stream, |q| {
    ///     q.put_signal(&halo, cells.slice(1023..)?, &arrived, 1, SignalOp::Add, next)?;
    ///     q.signal_wait_until(&arrived, ranks::nvshmem::Comparison::GreaterOrEqual, 1)
    /// })
    /// # }
    /// ```
    ///
    /// Operations with `nbi` that are not complete by then are completed by a `quiet` at its end.
    ///
    /// Memory must be there before the scope begins:
    ///
    /// ```compile_fail,E0597
    /// # use ranks::nvshmem::{Nvshmem, PeStream, SymmetricVec};
    /// # fn inside(pe: &Nvshmem<'_>, stream: &PeStream, all: &SymmetricVec<'_, f64>) -> ranks::Result<()> {
    /// pe.scope(stream, |q| {
    ///     let mine = pe.alloc::<f64>(8)?;
    ///     q.put(all.slice(..8)?, &mine, 0) // it would be gone while it is put from
    /// })
    /// # }
    /// ```
    ///
    /// It is not used by others before the scope ends, and what is gotten into is borrowed once:
    ///
    /// ```compile_fail,E0499
    /// # use ranks::nvshmem::{Nvshmem, PeStream, SymmetricVec};
    /// # fn overlap(pe: &Nvshmem<'_>, stream: &PeStream, all: &SymmetricVec<'_, f64>, mine: &mut SymmetricVec<'_, f64>) -> ranks::Result<()> {
    /// pe.scope(stream, |q| {
    ///     q.get(mine.slice_mut(..8)?, all.slice(..8)?, 1)?;
    ///     q.get(mine.slice_mut(4..12)?, all.slice(..8)?, 2) // `split_at_mut` is for parts that do not overlap
    /// })
    /// # }
    /// ```
    ///
    /// ```compile_fail,E0505
    /// # use ranks::nvshmem::{Nvshmem, PeStream, SymmetricVec};
    /// # fn freed(pe: &Nvshmem<'_>, stream: &PeStream, all: &SymmetricVec<'_, f64>, mine: SymmetricVec<'_, f64>) -> ranks::Result<()> {
    /// pe.scope(stream, |q| {
    ///     q.put(all, &mine, 0)?;
    ///     drop(mine); // it is put from
    ///     Ok(())
    /// })
    /// # }
    /// ```
    ///
    /// If `body` returns an error or panics, what it has enqueued goes on and is not waited for; so
    /// it does when the time limit passes. No block of the heap is freed before it is over.
    ///
    /// # Errors
    /// Errors that `body` returns; [`TimedOut`](ranks_comm::ErrorKind::TimedOut) with the operation
    /// that is waited for; [`Argument`](ranks_comm::ErrorKind::Argument) for a stream of another
    /// PE, device or backend.
    pub fn scope<'env, R>(
        &'env self,
        stream: &'env impl Ordered,
        body: impl FnOnce(&Queue<'env>) -> Result<R>,
    ) -> Result<R> {
        let reach = self.reach(SCOPE)?;
        let queue = Queue::new(reach, reach.stream(SCOPE, stream)?)?;
        let value = body(&queue)?;
        let awaited = queue.awaited();
        if let Some(mark) = queue.end()? {
            let nothing = What::of(SCOPE);
            reach.finish(awaited.unwrap_or(nothing), mark, None)?;
        }
        Ok(value)
    }

    /// Waits until all is over that was enqueued on `stream` so far, for no longer than the heap's
    /// time limit.
    ///
    /// # Errors
    /// As [`scope`](Self::scope).
    pub fn synchronize(&self, stream: &impl Ordered) -> Result<()> {
        const OPERATION: &str = "cuStreamQuery";
        let reach = self.reach(OPERATION)?;
        let stream = reach.stream(OPERATION, stream)?;
        let what = What::of(OPERATION);
        reach.finish(what, reach.mark(OPERATION, stream)?, None)
    }
}
