//! The trait that gives a communicator its collective operations.

use bytemuck::Pod;
use ranks_comm::{Communicator, Pack, Result};

use crate::mpi::functions::{
    Allgather, Allreduce, Alltoall, Bcast, Exscan, Gather, Reduce, ReduceScatterBlock, Scan,
    Scatter,
};
use crate::operation::barrier;
use crate::operation::moves;
use crate::operation::reduce_local;
use crate::operation::reductions;
use crate::ops::{Op, Reduction};
use crate::reproducible::Reproducible;
#[cfg(feature = "serde")]
use crate::traits::bcast_value;
use crate::traits::packed;
use crate::traits::sealed::Sealed;

/// Operations in which every rank of a communicator takes part.
///
/// All ranks call the same operations in the same order, with the same root, operation, element
/// type and block length. They need not call at the same time: each waits for the data it needs.
///
/// All that a rank can see for itself is checked before anything is sent, and is an `Err` on that
/// rank alone: a root that does not exist, or slices whose lengths do not fit together. Such a rank
/// does not take part, and the others wait for it, but where [calls are
/// compared](crate#calls-that-differ-among-ranks): there all ranks get an error. Elsewhere its next
/// collective on this communicator would meet what the others wait in: end the job, or use another
/// communicator. Lengths count elements; a slice may have more than 2³¹ of them.
///
/// # When the lengths of ranks differ
///
/// If calls are compared, all ranks get the same error. If they are not: in process, a rank that is
/// sent a block of another length than its own returns
/// [`ErrorKind::Length`](ranks_comm::ErrorKind::Length). Over MPI what happens is up to the
/// library: an error on some ranks, blocks that are filled in part, a rank that waits for ever, or
/// the end of the job. Under a time limit the MPICH family may tell nobody.
/// Nothing is written past a slice: where Open MPI might do that, all calls are compared, whatever
/// was asked for. A blocking collective that fails there leaves messages in flight, whose memory
/// cannot be given back: the job is aborted, with a text that says so. Make sure that lengths
/// agree: if they are found at run time, broadcast or gather them first.
///
/// # Values that are no plain data
///
/// `bcast_packed`, `gather_packed`, `allgather_packed`, `scatter_packed` and `alltoall_packed` take
/// values of any type that is [`Pack`]: `bool`, `char`, enums, padded structs. They are sent as
/// [what they are packed into](Pack::Packed), which is the type that ranks compare, and copied on
/// both sides. Where something arrives that is no value, that rank alone returns
/// [`ErrorKind::Value`](ranks_comm::ErrorKind::Value) when the operation is complete, and its slice
/// stays as it is.
///
/// # More of them
///
/// [`InPlaceCollectives`](crate::InPlaceCollectives) need no second slice, and
/// [`VaryingCollectives`](crate::VaryingCollectives) take blocks of different lengths;
/// [others](crate#the-families) return at once, are prepared, or are among neighbours.
///
/// MPI 5.0 chapter 6. The trait is implemented by [`Communicator`] and is sealed.
pub trait Collectives: Sealed {
    /// Waits until every rank has called it.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §6.3 (`MPI_Barrier`).
    #[doc(alias = "MPI_Barrier")]
    #[inline]
    fn barrier(&self) -> Result<()> {
        barrier::barrier(self.communicator())
    }

    /// Copies `data` of `root` to every rank. All ranks pass a slice of the same length.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank; otherwise what the library
    /// reports.
    ///
    /// MPI 5.0 §6.4 (`MPI_Bcast`).
    #[doc(alias = "MPI_Bcast")]
    #[doc(alias = "MPI_Bcast_c")]
    #[inline]
    fn bcast<T: Pod>(&self, data: &mut [T], root: usize) -> Result<()> {
        moves::transferred::<Bcast, T>(self.communicator(), data.len(), &[], data, root)
    }

    /// Copies one element of `root` to every rank, and returns it. What the others pass is not
    /// read.
    ///
    /// ```
    /// use ranks::Collectives;
    ///
    /// fn seed(world: &ranks::Communicator) -> ranks::Result<u64> {
    ///     world.bcast_one(std::process::id().into(), 0)
    /// }
    /// # ranks::run(|world| seed(&world)).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`bcast`](Self::bcast).
    ///
    /// MPI 5.0 §6.4 (`MPI_Bcast`).
    #[doc(alias = "MPI_Bcast")]
    #[inline]
    fn bcast_one<T: Pod>(&self, mut element: T, root: usize) -> Result<T> {
        self.bcast(std::slice::from_mut(&mut element), root)?;
        Ok(element)
    }

    /// Copies `values` of `root` to every rank, [packed](Pack). All ranks pass a slice of the same
    /// length.
    ///
    /// ```
    /// use ranks::Collectives;
    ///
    /// fn settings(world: &ranks::Communicator) -> ranks::Result<(bool, f64)> {
    ///     let mut settings = [if world.rank() == 0 { (true, 0.5) } else { (false, 0.0) }];
    ///     world.bcast_packed(&mut settings, 0)?;
    ///     Ok(settings[0])
    /// }
    /// # assert_eq!(ranks::run(|world| settings(&world)).unwrap(), (true, 0.5));
    /// ```
    ///
    /// # Errors
    /// As [`bcast`](Self::bcast), and [`Value`](Collectives#values-that-are-no-plain-data).
    ///
    /// MPI 5.0 §6.4 (`MPI_Bcast`).
    #[doc(alias = "MPI_Bcast")]
    fn bcast_packed<T: Pack>(&self, values: &mut [T], root: usize) -> Result<()> {
        packed::bcast(self.communicator(), values, root)
    }

    /// Copies a value of `root`, of any type that serde can serialise, to every rank (feature
    /// `serde`).
    ///
    /// The root passes `Some(value)` and gets it back. What other ranks pass is dropped; `None`
    /// will do.
    ///
    /// # Errors
    /// On every rank, so that none waits: [`Root`](ranks_comm::ErrorKind::Root) if there is no such
    /// rank; if the root passes `None`, [`Argument`](ranks_comm::ErrorKind::Argument) there and
    /// [`Value`](ranks_comm::ErrorKind::Value) elsewhere; `Value` if the value cannot be
    /// serialised. On the rank that it happens to: `Value` if the bytes are no value of its type,
    /// [`Length`](ranks_comm::ErrorKind::Length) if it has no memory for them. Otherwise what the
    /// library reports.
    ///
    /// MPI 5.0 §6.4 (`MPI_Bcast`).
    #[cfg(feature = "serde")]
    fn bcast_value<V>(&self, value: Option<V>, root: usize) -> Result<V>
    where
        V: serde::Serialize + serde::de::DeserializeOwned,
    {
        bcast_value::bcast_value(self.communicator(), value, root)
    }

    /// Reduces the `send` of all ranks with `op`, element by element, into `recv` of `root`.
    ///
    /// At the root `recv` is as long as `send`. Elsewhere it is not touched and may be `&mut []`.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths differ at the root; otherwise what
    /// the library reports.
    ///
    /// MPI 5.0 §6.9.1 (`MPI_Reduce`).
    #[doc(alias = "MPI_Reduce")]
    #[doc(alias = "MPI_Reduce_c")]
    #[inline]
    fn reduce<T: Pod, O: Reduction<T>>(
        &self,
        send: &[T],
        recv: &mut [T],
        op: O,
        root: usize,
    ) -> Result<()> {
        reductions::reduce::<Reduce, T, O>(self.communicator(), send, recv, op, root)
    }

    /// Reduces the `send` of all ranks with `op`, element by element, into `recv` of every rank.
    ///
    /// ```
    /// use ranks::collectives::{Collectives, ops::Sum};
    ///
    /// /// The centre of mass of all particles, and how many there are.
    /// fn centre(world: &ranks::Communicator, mine: &[[f64; 3]]) -> ranks::Result<([f64; 3], f64)> {
    ///     let mut sums = [0.0; 4];
    ///     let (x, y, z) = mine.iter().fold((0.0, 0.0, 0.0), |(x, y, z), p| (x + p[0], y + p[1], z + p[2]));
    ///     world.allreduce(&[x, y, z, mine.len() as f64], &mut sums, Sum)?;
    ///     let [x, y, z, count] = sums;
    ///     Ok(([x / count, y / count, z / count], count))
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if `send` and `recv` differ in length; otherwise
    /// what the library reports.
    ///
    /// MPI 5.0 §6.9.6 (`MPI_Allreduce`).
    #[doc(alias = "MPI_Allreduce")]
    #[doc(alias = "MPI_Allreduce_c")]
    #[inline]
    fn allreduce<T: Pod, O: Reduction<T>>(&self, send: &[T], recv: &mut [T], op: O) -> Result<()> {
        reductions::reduce::<Allreduce, T, O>(self.communicator(), send, recv, op, ())
    }

    /// Reduces one element of each rank with `op`, and returns the result on every rank.
    ///
    /// ```
    /// use ranks::collectives::{Collectives, ops::Max};
    ///
    /// fn have_all_converged(world: &ranks::Communicator, residual: f64) -> ranks::Result<bool> {
    ///     Ok(world.allreduce_one(residual, Max)? < 1e-9)
    /// }
    /// ```
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §6.9.6 (`MPI_Allreduce`).
    #[doc(alias = "MPI_Allreduce")]
    #[inline]
    fn allreduce_one<T: Pod, O: Reduction<T>>(&self, element: T, op: O) -> Result<T> {
        let mut result = element;
        let recv = std::slice::from_mut(&mut result);
        self.allreduce(std::slice::from_ref(&element), recv, op)?;
        Ok(result)
    }

    /// Reductions of an array that is distributed over the ranks, whose results have the same bits
    /// for any number of ranks.
    #[must_use]
    fn reproducible(&self) -> Reproducible<'_> {
        Reproducible::over(self.communicator())
    }

    /// Collects the `send` of all ranks in `recv` of `root`, in the order of ranks.
    ///
    /// At the root `recv` is `size` times as long as `send`. Elsewhere it is not touched and may be
    /// `&mut []`.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths at the root do not fit; otherwise
    /// what the library reports.
    ///
    /// MPI 5.0 §6.5 (`MPI_Gather`).
    #[doc(alias = "MPI_Gather")]
    #[doc(alias = "MPI_Gather_c")]
    #[inline]
    fn gather<T: Pod>(&self, send: &[T], recv: &mut [T], root: usize) -> Result<()> {
        moves::transferred::<Gather, T>(self.communicator(), send.len(), send, recv, root)
    }

    /// Collects the `send` of all ranks in `recv` of `root`, [packed](Pack).
    ///
    /// At the root `recv` is `size` times as long as `send`. Elsewhere it may be `&mut []`.
    ///
    /// # Errors
    /// As [`gather`](Self::gather), and [`Value`](Collectives#values-that-are-no-plain-data).
    ///
    /// MPI 5.0 §6.5 (`MPI_Gather`).
    #[doc(alias = "MPI_Gather")]
    fn gather_packed<T: Pack>(&self, send: &[T], recv: &mut [T], root: usize) -> Result<()> {
        packed::gather(self.communicator(), send, recv, root)
    }

    /// Collects the `send` of all ranks in `recv` of every rank, in the order of ranks.
    ///
    /// `recv` is `size` times as long as `send`.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if it is not; otherwise what the library reports.
    ///
    /// MPI 5.0 §6.7 (`MPI_Allgather`).
    #[doc(alias = "MPI_Allgather")]
    #[doc(alias = "MPI_Allgather_c")]
    #[inline]
    fn allgather<T: Pod>(&self, send: &[T], recv: &mut [T]) -> Result<()> {
        moves::transferred::<Allgather, T>(self.communicator(), send.len(), send, recv, ())
    }

    /// Collects one element of each rank on every rank, in the order of ranks.
    ///
    /// # Errors
    /// Errors of the library.
    ///
    /// MPI 5.0 §6.7 (`MPI_Allgather`).
    #[doc(alias = "MPI_Allgather")]
    fn allgather_one<T: Pod>(&self, element: T) -> Result<Vec<T>> {
        let mut all = vec![element; self.communicator().size()];
        self.allgather(std::slice::from_ref(&element), &mut all)?;
        Ok(all)
    }

    /// Collects the `send` of all ranks in `recv` of every rank, [packed](Pack).
    ///
    /// `recv` is `size` times as long as `send`.
    ///
    /// # Errors
    /// As [`allgather`](Self::allgather), and [`Value`](Collectives#values-that-are-no-plain-data).
    ///
    /// MPI 5.0 §6.7 (`MPI_Allgather`).
    #[doc(alias = "MPI_Allgather")]
    fn allgather_packed<T: Pack>(&self, send: &[T], recv: &mut [T]) -> Result<()> {
        packed::allgather(self.communicator(), send, recv)
    }

    /// Deals out `send` of `root`: rank r gets the r-th block of it in `recv`.
    ///
    /// At the root `send` is `size` times as long as `recv`. Elsewhere it is not read and may be
    /// `&[]`.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths at the root do not fit; otherwise
    /// what the library reports.
    ///
    /// MPI 5.0 §6.6 (`MPI_Scatter`).
    #[doc(alias = "MPI_Scatter")]
    #[doc(alias = "MPI_Scatter_c")]
    #[inline]
    fn scatter<T: Pod>(&self, send: &[T], recv: &mut [T], root: usize) -> Result<()> {
        moves::transferred::<Scatter, T>(self.communicator(), recv.len(), send, recv, root)
    }

    /// Deals out `send` of `root`, [packed](Pack): rank r gets the r-th block of it in `recv`.
    ///
    /// At the root `send` is `size` times as long as `recv`. Elsewhere it may be `&[]`.
    ///
    /// # Errors
    /// As [`scatter`](Self::scatter), and [`Value`](Collectives#values-that-are-no-plain-data).
    ///
    /// MPI 5.0 §6.6 (`MPI_Scatter`).
    #[doc(alias = "MPI_Scatter")]
    fn scatter_packed<T: Pack>(&self, send: &[T], recv: &mut [T], root: usize) -> Result<()> {
        packed::scatter(self.communicator(), send, recv, root)
    }

    /// Sends the r-th block of `send` to rank r, and receives that of rank r as the r-th block of
    /// `recv`.
    ///
    /// Both slices are as long as each other, and are cut into `size` blocks of the same length.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths differ or cannot be cut so;
    /// otherwise what the library reports.
    ///
    /// MPI 5.0 §6.8 (`MPI_Alltoall`).
    #[doc(alias = "MPI_Alltoall")]
    #[doc(alias = "MPI_Alltoall_c")]
    #[inline]
    fn alltoall<T: Pod>(&self, send: &[T], recv: &mut [T]) -> Result<()> {
        moves::transferred::<Alltoall, T>(self.communicator(), send.len(), send, recv, ())
    }

    /// Sends the r-th block of `send` to rank r, [packed](Pack), and receives that of rank r as the
    /// r-th block of `recv`.
    ///
    /// Both slices are as long as each other, and are cut into `size` blocks of the same length.
    ///
    /// # Errors
    /// As [`alltoall`](Self::alltoall), and [`Value`](Collectives#values-that-are-no-plain-data).
    ///
    /// MPI 5.0 §6.8 (`MPI_Alltoall`).
    #[doc(alias = "MPI_Alltoall")]
    fn alltoall_packed<T: Pack>(&self, send: &[T], recv: &mut [T]) -> Result<()> {
        packed::alltoall(self.communicator(), send, recv)
    }

    /// Reduces the `send` of the ranks from 0 up to this one with `op`, element by element, into
    /// `recv`.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if `send` and `recv` differ in length; otherwise
    /// what the library reports.
    ///
    /// MPI 5.0 §6.11.1 (`MPI_Scan`).
    #[doc(alias = "MPI_Scan")]
    #[doc(alias = "MPI_Scan_c")]
    #[inline]
    fn scan<T: Pod, O: Op<T>>(&self, send: &[T], recv: &mut [T], op: O) -> Result<()> {
        reductions::reduce::<Scan, T, O>(self.communicator(), send, recv, op, ())
    }

    /// Reduces the `send` of the ranks below this one with `op`, element by element, into `recv`.
    ///
    /// On rank 0, which has none below it, `recv` stays as it is.
    ///
    /// ```
    /// use ranks::collectives::{Collectives, ops::Sum};
    ///
    /// /// Where this rank's lines begin in a file of all ranks' lines.
    /// fn first_line(world: &ranks::Communicator, mine: u64) -> ranks::Result<u64> {
    ///     let mut first = [0];
    ///     world.exscan(&[mine], &mut first, Sum)?;
    ///     Ok(first[0])
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if `send` and `recv` differ in length; otherwise
    /// what the library reports.
    ///
    /// MPI 5.0 §6.11.2 (`MPI_Exscan`).
    #[doc(alias = "MPI_Exscan")]
    #[doc(alias = "MPI_Exscan_c")]
    #[inline]
    fn exscan<T: Pod, O: Op<T>>(&self, send: &[T], recv: &mut [T], op: O) -> Result<()> {
        reductions::reduce::<Exscan, T, O>(self.communicator(), send, recv, op, ())
    }

    /// Reduces the `send` of all ranks with `op`, element by element, and gives rank r the r-th
    /// block of the result in `recv`.
    ///
    /// `send` is `size` times as long as `recv`. For blocks of different lengths there is
    /// [`reduce_scatter`](crate::VaryingCollectives::reduce_scatter).
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if it is not; otherwise what the library reports.
    ///
    /// MPI 5.0 §6.10.1 (`MPI_Reduce_scatter_block`).
    #[doc(alias = "MPI_Reduce_scatter_block")]
    #[doc(alias = "MPI_Reduce_scatter_block_c")]
    #[inline]
    fn reduce_scatter_block<T: Pod, O: Reduction<T>>(
        &self,
        send: &[T],
        recv: &mut [T],
        op: O,
    ) -> Result<()> {
        reductions::reduce::<ReduceScatterBlock, T, O>(self.communicator(), send, recv, op, ())
    }

    /// Reduces two slices of this rank, element by element, into the second:
    /// `right = left op right`. Local.
    ///
    /// It computes what the library would within a reduction, for algorithms of one's own.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths differ; otherwise what the library
    /// reports.
    ///
    /// MPI 5.0 §6.9.7 (`MPI_Reduce_local`).
    #[doc(alias = "MPI_Reduce_local")]
    #[doc(alias = "MPI_Reduce_local_c")]
    fn reduce_local<T: Pod, O: Op<T>>(&self, left: &[T], right: &mut [T], op: O) -> Result<()> {
        reduce_local::reduce_local(self.communicator(), left, right, op)
    }
}

impl Collectives for Communicator {}
