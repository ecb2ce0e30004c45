//! The operations from one buffer to another, and broadcast: what each does, whatever its form.
//!
//! A row is read by a macro of [`forms`](super::forms), which says what is in it.

/// Blocks of one length, and reductions.
macro_rules! operations {
    ($form:ident) => {
        $form! {
            /// copy `buffer` of `root` to every rank. All ranks pass buffers of the same length.
            ///
            /// # Errors
            /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank; otherwise what the
            /// library reports.
            moves::Bcast(buffer, root: usize) with (root);
            #[doc(alias("MPI_Ibcast", "MPI_Ibcast_c"))]
            ibcast: "6.12.2";
            #[doc(alias("MPI_Bcast_init", "MPI_Bcast_init_c"))]
            bcast_init: "6.13.2";
        }
        $form! {
            /// collect the `send` of all ranks in `recv` of `root`, in the order of ranks.
            ///
            /// At the root `recv` is `size` times as long as `send`. Elsewhere it is not touched
            /// and may be empty.
            ///
            /// # Errors
            /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
            /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths at the root do not fit;
            /// otherwise what the library reports.
            moves::Gather(send; recv, root: usize) with (root);
            #[doc(alias("MPI_Igather", "MPI_Igather_c"))]
            igather: "6.12.3";
            #[doc(alias("MPI_Gather_init", "MPI_Gather_init_c"))]
            gather_init: "6.13.3";
        }
        $form! {
            /// deal out `send` of `root`: rank r gets the r-th block of it in `recv`.
            ///
            /// At the root `send` is `size` times as long as `recv`. Elsewhere it is not read and
            /// may be empty.
            ///
            /// # Errors
            /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
            /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths at the root do not fit;
            /// otherwise what the library reports.
            moves::Scatter(send; recv, root: usize) with (root);
            #[doc(alias("MPI_Iscatter", "MPI_Iscatter_c"))]
            iscatter: "6.12.4";
            #[doc(alias("MPI_Scatter_init", "MPI_Scatter_init_c"))]
            scatter_init: "6.13.4";
        }
        $form! {
            /// collect the `send` of all ranks in `recv` of every rank, in the order of ranks.
            ///
            /// `recv` is `size` times as long as `send`.
            ///
            /// # Errors
            /// [`Length`](ranks_comm::ErrorKind::Length) if it is not; otherwise what the library
            /// reports.
            moves::Allgather(send; recv) with ();
            #[doc(alias("MPI_Iallgather", "MPI_Iallgather_c"))]
            iallgather: "6.12.5";
            #[doc(alias("MPI_Allgather_init", "MPI_Allgather_init_c"))]
            allgather_init: "6.13.5";
        }
        $form! {
            /// send the r-th block of `send` to rank r, and to receive that of rank r as the r-th
            /// block of `recv`.
            ///
            /// Both are as long as each other, and are cut into `size` blocks of the same length.
            ///
            /// # Errors
            /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths differ or cannot be cut so;
            /// otherwise what the library reports.
            moves::Alltoall(send; recv) with ();
            #[doc(alias("MPI_Ialltoall", "MPI_Ialltoall_c"))]
            ialltoall: "6.12.6";
            #[doc(alias("MPI_Alltoall_init", "MPI_Alltoall_init_c"))]
            alltoall_init: "6.13.6";
        }
        $form! {
            /// reduce the `send` of all ranks with `op`, element by element, into `recv` of `root`.
            ///
            /// At the root `recv` is as long as `send`. Elsewhere it is not touched and may be
            /// empty.
            ///
            /// # Errors
            /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
            /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths differ at the root;
            /// otherwise what the library reports.
            reductions::Reduce<O: Reduction>(send; recv, op: O, root: usize) with op, (root);
            #[doc(alias("MPI_Ireduce", "MPI_Ireduce_c"))]
            ireduce: "6.12.7";
            #[doc(alias("MPI_Reduce_init", "MPI_Reduce_init_c"))]
            reduce_init: "6.13.7";
        }
        $form! {
            /// reduce the `send` of all ranks with `op`, element by element, into `recv` of every
            /// rank.
            ///
            /// # Errors
            /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths differ; otherwise what the
            /// library reports.
            reductions::Allreduce<O: Reduction>(send; recv, op: O) with op, ();
            #[doc(alias("MPI_Iallreduce", "MPI_Iallreduce_c"))]
            iallreduce: "6.12.8";
            #[doc(alias("MPI_Allreduce_init", "MPI_Allreduce_init_c"))]
            allreduce_init: "6.13.8";
        }
        $form! {
            /// reduce the `send` of all ranks with `op`, element by element; rank r gets the r-th
            /// block in `recv`.
            ///
            /// `send` is `size` times as long as `recv`.
            ///
            /// # Errors
            /// [`Length`](ranks_comm::ErrorKind::Length) if it is not; otherwise what the library
            /// reports.
            reductions::ReduceScatterBlock<O: Reduction>(send; recv, op: O) with op, ();
            #[doc(alias("MPI_Ireduce_scatter_block", "MPI_Ireduce_scatter_block_c"))]
            ireduce_scatter_block: "6.12.9";
            #[doc(alias("MPI_Reduce_scatter_block_init", "MPI_Reduce_scatter_block_init_c"))]
            reduce_scatter_block_init: "6.13.9";
        }
        $form! {
            /// reduce the `send` of the ranks from 0 up to this one with `op`, element by element,
            /// into `recv`.
            ///
            /// # Errors
            /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths differ; otherwise what the
            /// library reports.
            reductions::Scan<O: Op>(send; recv, op: O) with op, ();
            #[doc(alias("MPI_Iscan", "MPI_Iscan_c"))]
            iscan: "6.12.11";
            #[doc(alias("MPI_Scan_init", "MPI_Scan_init_c"))]
            scan_init: "6.13.11";
        }
        $form! {
            /// reduce the `send` of the ranks below this one with `op`, element by element, into
            /// `recv`.
            ///
            /// On rank 0, which has none below it, `recv` stays as it is.
            ///
            /// # Errors
            /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths differ; otherwise what the
            /// library reports.
            reductions::Exscan<O: Op>(send; recv, op: O) with op, ();
            #[doc(alias("MPI_Iexscan", "MPI_Iexscan_c"))]
            iexscan: "6.12.12";
            #[doc(alias("MPI_Exscan_init", "MPI_Exscan_init_c"))]
            exscan_init: "6.13.12";
        }
    };
}

/// Blocks of different lengths.
macro_rules! varying_operations {
    ($form:ident) => {
        $form! {
            /// collect the `send` of all ranks in `recv` of `root`, where `blocks` say.
            ///
            /// `send` is as long as the block of this rank. All ranks pass the same counts;
            /// elsewhere than at the root `recv` is not touched and may be empty.
            ///
            /// # Errors
            /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
            /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths do not fit,
            /// [`Argument`](ranks_comm::ErrorKind::Argument) if blocks overlap in memory that is
            /// written; otherwise what the library reports.
            moves::Gatherv(send; recv, blocks: &Blocks, root: usize) with (blocks, root);
            #[doc(alias("MPI_Igatherv", "MPI_Igatherv_c"))]
            igatherv: "6.12.3";
            #[doc(alias("MPI_Gatherv_init", "MPI_Gatherv_init_c"))]
            gatherv_init: "6.13.3";
        }
        $form! {
            /// deal out `send` of `root`: each rank gets the block in `recv` that `blocks` say is
            /// its own.
            ///
            /// `recv` is as long as the block of this rank. All ranks pass the same counts;
            /// elsewhere than at the root `send` is not read and may be empty.
            ///
            /// # Errors
            /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
            /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths do not fit,
            /// [`Argument`](ranks_comm::ErrorKind::Argument) if blocks overlap in memory that is
            /// written; otherwise what the library reports.
            moves::Scatterv(send, blocks: &Blocks; recv, root: usize) with (blocks, root);
            #[doc(alias("MPI_Iscatterv", "MPI_Iscatterv_c"))]
            iscatterv: "6.12.4";
            #[doc(alias("MPI_Scatterv_init", "MPI_Scatterv_init_c"))]
            scatterv_init: "6.13.4";
        }
        $form! {
            /// collect the `send` of all ranks in `recv` of every rank, where `blocks` say.
            ///
            /// `send` is as long as the block of this rank. All ranks pass the same counts.
            ///
            /// # Errors
            /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths do not fit,
            /// [`Argument`](ranks_comm::ErrorKind::Argument) if blocks overlap in memory that is
            /// written; otherwise what the library reports.
            moves::Allgatherv(send; recv, blocks: &Blocks) with (blocks);
            #[doc(alias("MPI_Iallgatherv", "MPI_Iallgatherv_c"))]
            iallgatherv: "6.12.5";
            #[doc(alias("MPI_Allgatherv_init", "MPI_Allgatherv_init_c"))]
            allgatherv_init: "6.13.5";
        }
        $form! {
            /// send each rank its block of `send`, and to receive one of each in `recv`.
            ///
            /// The block for rank r in `send_blocks` is as long as that of this rank in
            /// `recv_blocks` there.
            ///
            /// # Errors
            /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths do not fit,
            /// [`Argument`](ranks_comm::ErrorKind::Argument) if blocks overlap in memory that is
            /// written; otherwise what the library reports.
            moves::Alltoallv(send, send_blocks: &Blocks; recv, recv_blocks: &Blocks)
                with (send_blocks, recv_blocks);
            #[doc(alias("MPI_Ialltoallv", "MPI_Ialltoallv_c"))]
            ialltoallv: "6.12.6";
            #[doc(alias("MPI_Alltoallv_init", "MPI_Alltoallv_init_c"))]
            alltoallv_init: "6.13.6";
        }
        $form! {
            /// send each rank what its layout takes of `send`, and to receive one part of each in
            /// `recv`.
            ///
            /// Layouts that are used again and again are best kept: what the library makes of them
            /// is kept with them.
            ///
            /// # Errors
            /// [`Length`](ranks_comm::ErrorKind::Length) if there is not a layout for each rank, or
            /// one does not fit its slice; [`Argument`](ranks_comm::ErrorKind::Argument) if an
            /// element is received into twice; otherwise what the library reports.
            moves::Alltoallw(send, send_layouts: &Layouts; recv, recv_layouts: &Layouts)
                with (send_layouts, recv_layouts);
            #[doc(alias("MPI_Ialltoallw", "MPI_Ialltoallw_c"))]
            ialltoallw: "6.12.6";
            #[doc(alias("MPI_Alltoallw_init", "MPI_Alltoallw_init_c"))]
            alltoallw_init: "6.13.6";
        }
        $form! {
            /// reduce the `send` of all ranks with `op`, element by element; each rank gets in
            /// `recv` the block that `blocks` say is its own.
            ///
            /// Blocks lie one after the other. All ranks pass the same.
            ///
            /// # Errors
            /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths do not fit,
            /// [`Argument`](ranks_comm::ErrorKind::Argument) if the blocks do not lie so; otherwise
            /// what the library reports.
            reductions::ReduceScatter<O: Reduction>(send; recv, blocks: &Blocks, op: O)
                with op, (blocks);
            #[doc(alias("MPI_Ireduce_scatter", "MPI_Ireduce_scatter_c"))]
            ireduce_scatter: "6.12.10";
            #[doc(alias("MPI_Reduce_scatter_init", "MPI_Reduce_scatter_init_c"))]
            reduce_scatter_init: "6.13.10";
        }
    };
}
