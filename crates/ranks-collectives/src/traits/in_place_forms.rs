//! The traits with the operations in place that return at once, and with those that are prepared.

use bytemuck::Pod;
use ranks_comm::{Communicator, Persistent, RecvBuffer, Request, Result, Scope, ScopedRequest};

use crate::arguments::blocks::Blocks;
use crate::in_flight::stable::Shape;
use crate::mpi::functions::{
    Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Exscan, Gather, Gatherv, Reduce,
    ReduceScatter, ReduceScatterBlock, Scan, Scatter, Scatterv,
};
use crate::operation::moves;
use crate::operation::reductions;
use crate::ops::{Op, Reduction};
use crate::traits::sealed::{ScopeSealed, Sealed};

/// A row an operation: what it does and the method that says it in full; its nonblocking and its
/// persistent form, with their sections of the standard; its row in `moves` or `reductions`, the
/// operation of a reduction, the other arguments, what they are there, and how a persistent one
/// keeps them.
macro_rules! in_place {
    ($(
        $does:literal, $blocking:literal:
        $nonblocking:ident ($nonblocking_name:literal, $nonblocking_section:literal),
        $init:ident ($init_name:literal, $init_section:literal) =
        $rows:ident::$operation:ident $(<$op:ident: $O:ident: $bound:ident>)? ($($argument:ident: $type:ty),*)
        with $with:expr, kept $kept:expr, $kept_with:expr;
    )*) => {
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
        pub trait NonblockingInPlaceCollectives: Sealed { $(
            #[doc = concat!("Begins to ", $does, ".")]
            ///
            #[doc = concat!("# Errors\nAs [`", $blocking, "`](crate::", $blocking, ").")]
            ///
            #[doc = concat!("MPI 5.0 §", $nonblocking_section, " (`", $nonblocking_name, "`).")]
            #[doc(alias = $nonblocking_name)]
            fn $nonblocking<B $(, $O)?>(
                &self,
                buffer: B,
                $($op: $O,)?
                $($argument: $type),*
            ) -> Result<Request<B>>
            where
                B: RecvBuffer + Send + 'static,
                $($O: $bound<B::Element> + Send + 'static,)?
            {
                let comm = self.communicator();
                $rows::owned_one::<$operation, B $(, $O)?>(comm, buffer, $($op,)? $with)
            }
        )* }

        /// Nonblocking collective operations in place on borrowed slices, begun in a [`Scope`] and
        /// complete when it ends, or when they are waited for.
        ///
        /// Each begins what the method of [`InPlaceCollectives`](crate::InPlaceCollectives) or
        /// [`VaryingCollectives`](crate::VaryingCollectives) without the `i` does. All that is said
        /// of [`ScopedCollectives`](crate::ScopedCollectives) holds here.
        ///
        /// MPI 5.0 §6.2.3, §6.12. The trait is implemented by [`Scope`] and is sealed.
        #[doc(alias = "MPI_IN_PLACE")]
        pub trait ScopedInPlaceCollectives<'scope, 'env: 'scope>: ScopeSealed<'scope, 'env> { $(
            #[doc = concat!("Begins to ", $does, ".")]
            ///
            #[doc = concat!("# Errors\nAs [`", $blocking, "`](crate::", $blocking, ").")]
            ///
            #[doc = concat!("MPI 5.0 §", $nonblocking_section, " (`", $nonblocking_name, "`).")]
            #[doc(alias = $nonblocking_name)]
            fn $nonblocking<T: Pod $(, $O)?>(
                &'scope self,
                data: &'scope mut [T],
                $($op: $O,)?
                $($argument: $type),*
            ) -> Result<ScopedRequest<'scope, &'scope mut [T]>>
            $(where $O: $bound<T> + Send + 'static)?
            {
                let scope = self.scope();
                $rows::scoped_one::<$operation, T $(, $O)?>(scope, data, $($op,)? $with)
            }
        )* }

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
        pub trait PersistentInPlaceCollectives: Sealed { $(
            #[doc = concat!("Prepares to ", $does, ".")]
            ///
            #[doc = concat!("# Errors\nAs [`", $blocking, "`](crate::", $blocking, ").")]
            ///
            #[doc = concat!("MPI 5.0 §", $init_section, " (`", $init_name, "`).")]
            #[doc(alias = $init_name)]
            fn $init<B $(, $O)?>(
                &self,
                buffer: B,
                $($op: $O,)?
                $($argument: $type),*
            ) -> Result<Persistent<B>>
            where
                B: RecvBuffer + Send + 'static,
                $($O: $bound<B::Element> + Send + 'static,)?
            {
                let (comm, shape) = (self.communicator(), Shape::one());
                $rows::persistent::<$operation, B, _ $(, $O)?, _, _>(
                    comm, buffer, shape, $($op,)? $kept, $kept_with,
                )
            }
        )* }
    };
}

in_place! {
    "reduce the elements of all ranks with `op`, each with its like, into those of `root`",
        "InPlaceCollectives::reduce_in_place":
        ireduce_in_place("MPI_Ireduce", "6.12.7"), reduce_in_place_init("MPI_Reduce_init", "6.13.7") =
        reductions::Reduce<op: O: Reduction>(root: usize) with root, kept root, |&root| root;
    "reduce the elements of all ranks with `op`, each with its like, into those of every rank",
        "InPlaceCollectives::allreduce_in_place":
        iallreduce_in_place("MPI_Iallreduce", "6.12.8"), allreduce_in_place_init("MPI_Allreduce_init", "6.13.8") =
        reductions::Allreduce<op: O: Reduction>() with (), kept (), |()| ();
    "reduce the elements of the ranks from 0 up to this one with `op`, each with its like",
        "InPlaceCollectives::scan_in_place":
        iscan_in_place("MPI_Iscan", "6.12.11"), scan_in_place_init("MPI_Scan_init", "6.13.11") =
        reductions::Scan<op: O: Op>() with (), kept (), |()| ();
    "reduce the elements of the ranks below this one with `op`, each with its like; on rank 0 they stay",
        "InPlaceCollectives::exscan_in_place":
        iexscan_in_place("MPI_Iexscan", "6.12.12"), exscan_in_place_init("MPI_Exscan_init", "6.13.12") =
        reductions::Exscan<op: O: Op>() with (), kept (), |()| ();
    "reduce the elements of all ranks with `op`, each with its like; rank r gets the r-th block, at the beginning",
        "InPlaceCollectives::reduce_scatter_block_in_place":
        ireduce_scatter_block_in_place("MPI_Ireduce_scatter_block", "6.12.9"),
        reduce_scatter_block_in_place_init("MPI_Reduce_scatter_block_init", "6.13.9") =
        reductions::ReduceScatterBlock<op: O: Reduction>() with (), kept (), |()| ();
    "reduce the elements of all ranks with `op`, each with its like; each rank gets its block, at the beginning",
        "VaryingCollectives::reduce_scatter_in_place":
        ireduce_scatter_in_place("MPI_Ireduce_scatter", "6.12.10"),
        reduce_scatter_in_place_init("MPI_Reduce_scatter_init", "6.13.10") =
        reductions::ReduceScatter<op: O: Reduction>(blocks: &Blocks) with blocks, kept blocks.clone(), |blocks| blocks;
    "collect a block of each rank at `root`, where its own is already in its place",
        "InPlaceCollectives::gather_in_place":
        igather_in_place("MPI_Igather", "6.12.3"), gather_in_place_init("MPI_Gather_init", "6.13.3") =
        moves::Gather(root: usize) with root, kept root, |&root| root;
    "collect a block of each rank at `root`, where `blocks` say and its own is already in its place",
        "VaryingCollectives::gatherv_in_place":
        igatherv_in_place("MPI_Igatherv", "6.12.3"), gatherv_in_place_init("MPI_Gatherv_init", "6.13.3") =
        moves::Gatherv(blocks: &Blocks, root: usize)
        with (blocks, root), kept (blocks.clone(), root), |(blocks, root)| (blocks, *root);
    "deal out the blocks of `root`, which keeps its own in its place",
        "InPlaceCollectives::scatter_in_place":
        iscatter_in_place("MPI_Iscatter", "6.12.4"), scatter_in_place_init("MPI_Scatter_init", "6.13.4") =
        moves::Scatter(root: usize) with root, kept root, |&root| root;
    "deal out the blocks of `root`, as `blocks` say; it keeps its own in its place",
        "VaryingCollectives::scatterv_in_place":
        iscatterv_in_place("MPI_Iscatterv", "6.12.4"), scatterv_in_place_init("MPI_Scatterv_init", "6.13.4") =
        moves::Scatterv(blocks: &Blocks, root: usize)
        with (blocks, root), kept (blocks.clone(), root), |(blocks, root)| (blocks, *root);
    "collect a block of each rank on every rank, where its own is already in its place",
        "InPlaceCollectives::allgather_in_place":
        iallgather_in_place("MPI_Iallgather", "6.12.5"), allgather_in_place_init("MPI_Allgather_init", "6.13.5") =
        moves::Allgather() with (), kept (), |()| ();
    "collect a block of each rank on every rank, where `blocks` say and its own is already in its place",
        "VaryingCollectives::allgatherv_in_place":
        iallgatherv_in_place("MPI_Iallgatherv", "6.12.5"), allgatherv_in_place_init("MPI_Allgatherv_init", "6.13.5") =
        moves::Allgatherv(blocks: &Blocks) with blocks, kept blocks.clone(), |blocks| blocks;
    "send each rank its block, and put that of each in its place",
        "InPlaceCollectives::alltoall_in_place":
        ialltoall_in_place("MPI_Ialltoall", "6.12.6"), alltoall_in_place_init("MPI_Alltoall_init", "6.13.6") =
        moves::Alltoall() with (), kept (), |()| ();
    "send each rank its block, as `blocks` say, and put that of each in its place",
        "VaryingCollectives::alltoallv_in_place":
        ialltoallv_in_place("MPI_Ialltoallv", "6.12.6"), alltoallv_in_place_init("MPI_Alltoallv_init", "6.13.6") =
        moves::Alltoallv(blocks: &Blocks) with (blocks, blocks), kept blocks.clone(), |blocks| (blocks, blocks);
}

impl NonblockingInPlaceCollectives for Communicator {}
impl<'scope, 'env: 'scope> ScopedInPlaceCollectives<'scope, 'env> for Scope<'scope, 'env> {}
impl PersistentInPlaceCollectives for Communicator {}
