//! The traits with the operations in place that return at once, and with those that are prepared.

use bytemuck::Pod;
use ranks_comm::{Communicator, Persistent, RecvBuffer, Request, Result, Scope, ScopedRequest};

use crate::arguments::blocks::Blocks;
use crate::in_flight::stable::{self, Shape};
use crate::mpi::functions::{self, Named};
use crate::operation::{moves, reductions};
use crate::ops::{Op, Reduction};
use crate::traits::sealed::{ScopeSealed, Sealed};

/// The operations, whatever their form; [`forms`](super::forms) says what is in a row.
macro_rules! in_place_operations {
    ($form:ident) => {
        $form! {
            /// reduce the elements of all ranks with `op`, each with its like, into those of
            /// `root`.
            ///
            /// # Errors
            /// As [`reduce_in_place`](crate::InPlaceCollectives::reduce_in_place).
            reductions::Reduce<O: Reduction>(buffer, op: O, root: usize) with op, (root);
            #[doc(alias("MPI_Ireduce"))]
            ireduce_in_place: "6.12.7";
            #[doc(alias("MPI_Reduce_init"))]
            reduce_in_place_init: "6.13.7";
        }
        $form! {
            /// reduce the elements of all ranks with `op`, each with its like, into those of every
            /// rank.
            ///
            /// # Errors
            /// As [`allreduce_in_place`](crate::InPlaceCollectives::allreduce_in_place).
            reductions::Allreduce<O: Reduction>(buffer, op: O) with op, ();
            #[doc(alias("MPI_Iallreduce"))]
            iallreduce_in_place: "6.12.8";
            #[doc(alias("MPI_Allreduce_init"))]
            allreduce_in_place_init: "6.13.8";
        }
        $form! {
            /// reduce the elements of the ranks from 0 up to this one with `op`, each with its
            /// like.
            ///
            /// # Errors
            /// As [`scan_in_place`](crate::InPlaceCollectives::scan_in_place).
            reductions::Scan<O: Op>(buffer, op: O) with op, ();
            #[doc(alias("MPI_Iscan"))]
            iscan_in_place: "6.12.11";
            #[doc(alias("MPI_Scan_init"))]
            scan_in_place_init: "6.13.11";
        }
        $form! {
            /// reduce the elements of the ranks below this one with `op`, each with its like; on
            /// rank 0 they stay.
            ///
            /// # Errors
            /// As [`exscan_in_place`](crate::InPlaceCollectives::exscan_in_place).
            reductions::Exscan<O: Op>(buffer, op: O) with op, ();
            #[doc(alias("MPI_Iexscan"))]
            iexscan_in_place: "6.12.12";
            #[doc(alias("MPI_Exscan_init"))]
            exscan_in_place_init: "6.13.12";
        }
        $form! {
            /// reduce the elements of all ranks with `op`, each with its like; rank r gets the r-th
            /// block, at the beginning.
            ///
            /// # Errors
            /// As
            /// [`reduce_scatter_block_in_place`](crate::InPlaceCollectives::reduce_scatter_block_in_place).
            reductions::ReduceScatterBlock<O: Reduction>(buffer, op: O) with op, ();
            #[doc(alias("MPI_Ireduce_scatter_block"))]
            ireduce_scatter_block_in_place: "6.12.9";
            #[doc(alias("MPI_Reduce_scatter_block_init"))]
            reduce_scatter_block_in_place_init: "6.13.9";
        }
        $form! {
            /// reduce the elements of all ranks with `op`, each with its like; each rank gets its
            /// block, at the beginning.
            ///
            /// # Errors
            /// As [`reduce_scatter_in_place`](crate::VaryingCollectives::reduce_scatter_in_place).
            reductions::ReduceScatter<O: Reduction>(buffer, op: O, blocks: &Blocks)
                with op, (blocks);
            #[doc(alias("MPI_Ireduce_scatter"))]
            ireduce_scatter_in_place: "6.12.10";
            #[doc(alias("MPI_Reduce_scatter_init"))]
            reduce_scatter_in_place_init: "6.13.10";
        }
        $form! {
            /// collect a block of each rank at `root`, where its own is already in its place.
            ///
            /// # Errors
            /// As [`gather_in_place`](crate::InPlaceCollectives::gather_in_place).
            moves::Gather(buffer, root: usize) with (root);
            #[doc(alias("MPI_Igather"))]
            igather_in_place: "6.12.3";
            #[doc(alias("MPI_Gather_init"))]
            gather_in_place_init: "6.13.3";
        }
        $form! {
            /// collect a block of each rank at `root`, where `blocks` say and its own is already in
            /// its place.
            ///
            /// # Errors
            /// As [`gatherv_in_place`](crate::VaryingCollectives::gatherv_in_place).
            moves::Gatherv(buffer, blocks: &Blocks, root: usize) with (blocks, root);
            #[doc(alias("MPI_Igatherv"))]
            igatherv_in_place: "6.12.3";
            #[doc(alias("MPI_Gatherv_init"))]
            gatherv_in_place_init: "6.13.3";
        }
        $form! {
            /// deal out the blocks of `root`, which keeps its own in its place.
            ///
            /// # Errors
            /// As [`scatter_in_place`](crate::InPlaceCollectives::scatter_in_place).
            moves::Scatter(buffer, root: usize) with (root);
            #[doc(alias("MPI_Iscatter"))]
            iscatter_in_place: "6.12.4";
            #[doc(alias("MPI_Scatter_init"))]
            scatter_in_place_init: "6.13.4";
        }
        $form! {
            /// deal out the blocks of `root`, as `blocks` say; it keeps its own in its place.
            ///
            /// # Errors
            /// As [`scatterv_in_place`](crate::VaryingCollectives::scatterv_in_place).
            moves::Scatterv(buffer, blocks: &Blocks, root: usize) with (blocks, root);
            #[doc(alias("MPI_Iscatterv"))]
            iscatterv_in_place: "6.12.4";
            #[doc(alias("MPI_Scatterv_init"))]
            scatterv_in_place_init: "6.13.4";
        }
        $form! {
            /// collect a block of each rank on every rank, where its own is already in its place.
            ///
            /// # Errors
            /// As [`allgather_in_place`](crate::InPlaceCollectives::allgather_in_place).
            moves::Allgather(buffer) with ();
            #[doc(alias("MPI_Iallgather"))]
            iallgather_in_place: "6.12.5";
            #[doc(alias("MPI_Allgather_init"))]
            allgather_in_place_init: "6.13.5";
        }
        $form! {
            /// collect a block of each rank on every rank, where `blocks` say and its own is
            /// already in its place.
            ///
            /// # Errors
            /// As [`allgatherv_in_place`](crate::VaryingCollectives::allgatherv_in_place).
            moves::Allgatherv(buffer, blocks: &Blocks) with (blocks);
            #[doc(alias("MPI_Iallgatherv"))]
            iallgatherv_in_place: "6.12.5";
            #[doc(alias("MPI_Allgatherv_init"))]
            allgatherv_in_place_init: "6.13.5";
        }
        $form! {
            /// send each rank its block, and put that of each in its place.
            ///
            /// # Errors
            /// As [`alltoall_in_place`](crate::InPlaceCollectives::alltoall_in_place).
            moves::Alltoall(buffer) with ();
            #[doc(alias("MPI_Ialltoall"))]
            ialltoall_in_place: "6.12.6";
            #[doc(alias("MPI_Alltoall_init"))]
            alltoall_in_place_init: "6.13.6";
        }
        $form! {
            /// send each rank its block, as `blocks` say, and put that of each in its place.
            ///
            /// # Errors
            /// As [`alltoallv_in_place`](crate::VaryingCollectives::alltoallv_in_place).
            moves::Alltoallv(buffer, blocks: &Blocks) with (blocks, blocks);
            #[doc(alias("MPI_Ialltoallv"))]
            ialltoallv_in_place: "6.12.6";
            #[doc(alias("MPI_Alltoallv_init"))]
            alltoallv_in_place_init: "6.13.6";
        }
    };
}

/// Nonblocking collective operations whose input lies where their output goes.
///
/// Each begins what the method of [`InPlaceCollectives`](crate::InPlaceCollectives) or
/// [`VaryingCollectives`](crate::VaryingCollectives) without the `i` does. The request owns
/// the buffer and gives it back when it is complete. All that is said of
/// [`NonblockingCollectives`](crate::NonblockingCollectives) holds here.
///
/// ```
/// use ranks::collectives::{NonblockingInPlaceCollectives, ops::Sum};
///
/// fn reduced(world: &ranks::Communicator, gradients: Vec<f32>) -> ranks::Result<Vec<f32>> {
///     let sum = world.iallreduce_in_place(gradients, Sum)?;
///     // … work that does not need them …
///     Ok(sum.wait()?.0)
/// }
/// ```
///
/// MPI 5.0 §6.2.3, §6.12. The trait is implemented by [`Communicator`] and is sealed.
#[doc(alias = "MPI_IN_PLACE")]
pub trait NonblockingInPlaceCollectives: Sealed {
    in_place_operations!(nonblocking);
}

impl NonblockingInPlaceCollectives for Communicator {}

/// Nonblocking collective operations in place on borrowed slices, begun in a [`Scope`] and
/// complete when it ends, or when they are waited for.
///
/// Each begins what the method of [`InPlaceCollectives`](crate::InPlaceCollectives) or
/// [`VaryingCollectives`](crate::VaryingCollectives) without the `i` does. All that is said
/// of [`ScopedCollectives`](crate::ScopedCollectives) holds here.
///
/// MPI 5.0 §6.2.3, §6.12. The trait is implemented by [`Scope`] and is sealed.
#[doc(alias = "MPI_IN_PLACE")]
pub trait ScopedInPlaceCollectives<'scope, 'env: 'scope>: ScopeSealed<'scope, 'env> {
    in_place_operations!(scoped);
}

impl<'scope, 'env: 'scope> ScopedInPlaceCollectives<'scope, 'env> for Scope<'scope, 'env> {}

/// Persistent collective operations whose input lies where their output goes.
///
/// Each start does what the method of [`InPlaceCollectives`](crate::InPlaceCollectives) or
/// [`VaryingCollectives`](crate::VaryingCollectives) without the `_init` does, on what is
/// in the buffer then. All ranks prepare the form in place, at rooted operations too.
/// Otherwise all that is said of [`PersistentCollectives`](crate::PersistentCollectives)
/// holds here.
///
/// ```
/// use ranks::collectives::{PersistentInPlaceCollectives, ops::Max};
///
/// fn peaks(world: &ranks::Communicator, steps: u32) -> ranks::Result<()> {
///     let mut peak = world.allreduce_in_place_init(vec![0.0], Max)?;
///     for step in 0..steps {
///         peak.buffer_mut()[0] = f64::from(step) * world.rank() as f64;
///         (peak, _) = peak.start()?.wait()?;
///         assert_eq!(peak.buffer()[0], f64::from(step) * (world.size() - 1) as f64);
///     }
///     Ok(())
/// }
/// ```
///
/// MPI 5.0 §6.2.3, §6.13. The trait is implemented by [`Communicator`] and is sealed.
#[doc(alias = "MPI_IN_PLACE")]
pub trait PersistentInPlaceCollectives: Sealed {
    in_place_operations!(persistent);
}

impl PersistentInPlaceCollectives for Communicator {}
