//! Operations under a lock that own their memory: each is waited for by itself, and gives the
//! memory back.
#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use ranks_comm::backend::{OpInfo, StartedOp};
use ranks_comm::{RecvBuffer, Request, Result, SendBuffer};

use crate::epoch::accumulation::{Accumulation, Change};
use crate::epoch::table::TargetRange;
use crate::window::access::lengths_differ;
use crate::window::locked::Locked;

static RPUT: OpInfo = OpInfo::of("MPI_Rput");
static RGET: OpInfo = OpInfo::of("MPI_Rget");
static RACCUMULATE: OpInfo = OpInfo::of("MPI_Raccumulate");
static RGET_ACCUMULATE: OpInfo = OpInfo::of("MPI_Rget_accumulate");

/// An operation started under a lock, which owns its memory of type `B` until it is complete on
/// this rank.
///
/// Written data can be relied upon at its target after a [flush](Locked::flush) or when the lock is
/// gone, as ever; data that was read is there. A request that is dropped before leaves its memory
/// to the runtime.
///
/// It does not outlive the lock:
///
/// ```compile_fail,E0505
/// # fn f(locked: ranks::rma::Locked<'_, f64>) -> ranks::Result<()> {
/// let request = locked.rget(vec![0.0; 100], 1, 0)?;
/// locked.unlock()?;
/// request.wait().map(drop)
/// # }
/// ```
///
/// MPI 5.0 §12.3.5.
#[must_use = "an operation is complete only after a wait"]
pub struct EpochRequest<'epoch, B: Send + 'static> {
    request: Request<B>,
    epoch: PhantomData<&'epoch ()>,
}

impl<B: Send + 'static> EpochRequest<'_, B> {
    /// Waits until the operation is complete on this rank, and gives the memory.
    ///
    /// # Errors
    /// Errors of the library; the memory is lost with them, and [`complete`](Self::complete) gives
    /// both.
    ///
    /// MPI 5.0 §3.7.3 (`MPI_Wait`).
    #[doc(alias = "MPI_Wait")]
    pub fn wait(self) -> Result<B> {
        self.request.wait().map(|(buffer, _)| buffer)
    }

    /// As [`wait`](Self::wait), but gives the memory back even if the operation has failed.
    ///
    /// # Errors
    /// [`WrongThread`](ranks_comm::ErrorKind::WrongThread): the operation goes on without you.
    ///
    /// MPI 5.0 §3.7.3 (`MPI_Wait`).
    pub fn complete(self) -> Result<(B, Result<()>)> {
        let (buffer, outcome) = self.request.complete()?;
        Ok((buffer, outcome.map(drop)))
    }

    /// Tests whether the operation is complete on this rank; nonblocking. If it is,
    /// [`wait`](Self::wait) does not block.
    ///
    /// # Errors
    /// [`WrongThread`](ranks_comm::ErrorKind::WrongThread). Errors of the operation itself are
    /// reported by `wait`.
    ///
    /// MPI 5.0 §3.7.3 (`MPI_Test`).
    #[doc(alias = "MPI_Test")]
    pub fn test(&mut self) -> Result<bool> {
        self.request.test()
    }
}

impl<T: Pod> Locked<'_, T> {
    /// Begins to write the elements of `data` to the memory of `rank`, from its element `at` on.
    ///
    /// ```
    /// # use ranks::{Communicator, Result};
    /// # use ranks::rma::Locked;
    /// /// Writes blocks to a rank, each while the next one is computed.
    /// fn stream(locked: &Locked<'_, f64>, rank: usize, compute: impl Fn(usize, &mut [f64])) -> Result<()> {
    ///     let mut spare = vec![0.0; 100];
    ///     let mut before = locked.rput(vec![0.0; 100], rank, 0)?;
    ///     for block in 1..10 {
    ///         compute(block, &mut spare);
    ///         let now = locked.rput(spare, rank, 100 * block)?;
    ///         spare = before.wait()?;
    ///         before = now;
    ///     }
    ///     before.wait()?;
    ///     locked.flush(rank)
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`put`](Self::put); nothing was started then, and the memory is lost.
    ///
    /// MPI 5.0 §12.3.5 (`MPI_Rput`).
    #[doc(alias = "MPI_Rput")]
    #[doc(alias = "MPI_Rput_c")]
    pub fn rput<B>(&self, data: B, rank: usize, at: usize) -> Result<EpochRequest<'_, B>>
    where
        B: SendBuffer<Element = T> + Send + 'static,
    {
        let begin = |data: &mut B| {
            let slice = data.as_slice();
            let place = self.place(&RPUT, rank, at, slice.len())?;
            self.begin(
                &RPUT,
                slice,
                // SAFETY: the place is as long as the slice, which stays where it is until the
                // request is over.
                |window, slice| unsafe { window.rput(slice, place) },
                |window, slice| window.put(cast_slice(slice), rank, place.at_bytes),
            )
        };
        // SAFETY: the operation works on the elements of `data`, which by its trait stay where they
        // are when it moves.
        unsafe { self.request(&RPUT, data, begin) }
    }

    /// Begins to read elements of `rank` from its element `at` on, as many as `into` has room for.
    ///
    /// # Errors
    /// As [`rput`](Self::rput).
    ///
    /// MPI 5.0 §12.3.5 (`MPI_Rget`).
    #[doc(alias = "MPI_Rget")]
    #[doc(alias = "MPI_Rget_c")]
    pub fn rget<B>(&self, into: B, rank: usize, at: usize) -> Result<EpochRequest<'_, B>>
    where
        B: RecvBuffer<Element = T> + Send + 'static,
    {
        let begin = |into: &mut B| {
            let slice = into.as_mut_slice();
            let place = self.place(&RGET, rank, at, slice.len())?;
            self.begin(
                &RGET,
                slice,
                // SAFETY: as above; nobody else has the slice until the request is over.
                |window, slice| unsafe { window.rget(slice, place) },
                |window, slice| window.get(cast_slice_mut(slice), rank, place.at_bytes),
            )
        };
        // SAFETY: as above.
        unsafe { self.request(&RGET, into, begin) }
    }

    /// Begins to combine the elements of `data` with those of `rank` from `at` on, each as a whole.
    ///
    /// # Errors
    /// As [`rput`](Self::rput) and [`accumulate`](Self::accumulate).
    ///
    /// MPI 5.0 §12.3.5 (`MPI_Raccumulate`).
    #[doc(alias = "MPI_Raccumulate")]
    #[doc(alias = "MPI_Raccumulate_c")]
    pub fn raccumulate<O: Change<T>, B>(
        &self,
        data: B,
        op: O,
        rank: usize,
        at: usize,
    ) -> Result<EpochRequest<'_, B>>
    where
        B: SendBuffer<Element = T> + Send + 'static,
    {
        let begin = |data: &mut B| {
            let slice = data.as_slice();
            let place = self.place(&RACCUMULATE, rank, at, slice.len())?;
            self.begin(
                &RACCUMULATE,
                slice,
                // SAFETY: as for `rput`.
                |window, slice| unsafe { window.raccumulate::<O>(slice, place) },
                |window, slice| window.accumulate(rank, place.at_bytes, slice, op),
            )
        };
        // SAFETY: as above.
        unsafe { self.request(&RACCUMULATE, data, begin) }
    }

    /// As [`raccumulate`](Self::raccumulate), and begins to read what the elements were before into
    /// `old`, which is as long as `data`.
    ///
    /// # Errors
    /// As [`raccumulate`](Self::raccumulate); [`Length`](ranks_comm::ErrorKind::Length) also if the
    /// two differ in length.
    ///
    /// MPI 5.0 §12.3.5 (`MPI_Rget_accumulate`).
    #[doc(alias = "MPI_Rget_accumulate")]
    #[doc(alias = "MPI_Rget_accumulate_c")]
    pub fn rget_accumulate<O: Accumulation<T>, B, R>(
        &self,
        data: B,
        old: R,
        op: O,
        rank: usize,
        at: usize,
    ) -> Result<EpochRequest<'_, (B, R)>>
    where
        B: SendBuffer<Element = T> + Send + 'static,
        R: RecvBuffer<Element = T> + Send + 'static,
    {
        let begin = |(data, old): &mut (B, R)| {
            let (slice, into) = (data.as_slice(), old.as_mut_slice());
            if slice.len() != into.len() {
                let name = RGET_ACCUMULATE.operation();
                return Err(lengths_differ(name, slice.len(), into.len()));
            }
            let place = self.place(&RGET_ACCUMULATE, rank, at, slice.len())?;
            self.begin(
                &RGET_ACCUMULATE,
                into,
                // SAFETY: as for `rput` and `rget`.
                |window, into| unsafe { window.rget_accumulate::<O>(slice, into, place) },
                |window, into| window.get_accumulate(rank, place.at_bytes, slice, into, op),
            )
        };
        // SAFETY: as above.
        unsafe { self.request(&RGET_ACCUMULATE, (data, old), begin) }
    }

    /// Starts an operation on a slice, if that has elements that take memory; in process it is
    /// complete when this returns.
    fn begin<S: AsRef<[T]>>(
        &self,
        role: &'static OpInfo,
        slice: S,
        over_mpi: impl FnOnce(&crate::mpi::Window<T>, S) -> Result<StartedOp>,
        in_process: impl FnOnce(&crate::in_process::LocalWindow, S) -> Result<()>,
    ) -> Result<StartedOp> {
        let nothing = size_of_val(slice.as_ref()) == 0;
        self.inner.dispatch_with(
            role.operation(),
            slice,
            |window, slice| match nothing {
                true => Ok(StartedOp::Over),
                false => over_mpi(window, slice),
            },
            |window, slice| in_process(window, slice).map(|()| StartedOp::Over),
        )
    }

    /// TargetRange of so many elements.
    fn place(
        &self,
        role: &'static OpInfo,
        rank: usize,
        at: usize,
        length: usize,
    ) -> Result<TargetRange> {
        let (table, name) = (&self.inner.table, role.operation());
        table.place(name, self.targets, rank, at, length)
    }

    /// # Safety
    /// As of [`Request::begun`].
    unsafe fn request<B: Send + 'static>(
        &self,
        role: &'static OpInfo,
        buffer: B,
        begin: impl FnOnce(&mut B) -> Result<StartedOp>,
    ) -> Result<EpochRequest<'_, B>> {
        // SAFETY: by contract.
        let request = unsafe { Request::begun(&self.inner.comm, role, buffer, begin)? };
        Ok(EpochRequest {
            request,
            epoch: PhantomData,
        })
    }
}

impl<B: Send + 'static> fmt::Debug for EpochRequest<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EpochRequest").field(&self.request).finish()
    }
}
