//! Collectives that are prepared once: the checks of the blocking ones, then what the library makes of them.
//!
//! Each returns what the library has made, or nothing where it has no such function: the operation is begun anew at
//! each start then, as [`nonblocking`](crate::nonblocking) does.

use bytemuck::Pod;
use ranks_comm::backend::{Begun, Role};
use ranks_comm::{Communicator, Result};

use crate::agreement::Call;
use crate::blocks::Blocks;
use crate::finishing::Finishing;
use crate::lasting::{Lasting, Slices};
use crate::layouts::{Layouts, Pattern};
use crate::mpi;
use crate::ops::{Op, Reduction};
use crate::reduce_scatter::Dealt;
use crate::transfer::Transfer;
use crate::trial::kept;
use crate::varying::{Exchange, Gathering, Scattering};

pub(crate) static BARRIER: Role = Role::of("MPI_Barrier_init");
pub(crate) static BCAST: Role = Role::of("MPI_Bcast_init");
pub(crate) static GATHER: Role = Role::of("MPI_Gather_init");
pub(crate) static GATHERV: Role = Role::of("MPI_Gatherv_init");
pub(crate) static SCATTER: Role = Role::of("MPI_Scatter_init");
pub(crate) static SCATTERV: Role = Role::of("MPI_Scatterv_init");
pub(crate) static ALLGATHER: Role = Role::of("MPI_Allgather_init");
pub(crate) static ALLGATHERV: Role = Role::of("MPI_Allgatherv_init");
pub(crate) static ALLTOALL: Role = Role::of("MPI_Alltoall_init");
pub(crate) static ALLTOALLV: Role = Role::of("MPI_Alltoallv_init");
pub(crate) static ALLTOALLW: Role = Role::of("MPI_Alltoallw_init");
pub(crate) static REDUCE: Role = Role::of("MPI_Reduce_init");
pub(crate) static ALLREDUCE: Role = Role::of("MPI_Allreduce_init");
pub(crate) static SCAN: Role = Role::of("MPI_Scan_init");
pub(crate) static EXSCAN: Role = Role::of("MPI_Exscan_init");
pub(crate) static REDUCE_SCATTER_BLOCK: Role = Role::of("MPI_Reduce_scatter_block_init");
pub(crate) static REDUCE_SCATTER: Role = Role::of("MPI_Reduce_scatter_init");

/// What the library has made, not started.
type Made = Option<Begun>;

pub(crate) fn barrier(comm: &Communicator) -> Result<Made> {
    let call = Call::of(BARRIER.operation());
    kept(comm, call, Ok(()), |comm, ()| mpi::barrier_init(comm))
}

pub(crate) fn bcast<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    root: usize,
) -> Result<Made> {
    let name = BCAST.operation();
    let transfer = slices.proven(|slices| Transfer::broadcast(name, comm, slices.recv, root));
    let call = Call::moving::<T>(name).at(root);
    kept(comm, call, transfer, mpi::bcast_init)
}

pub(crate) fn gather<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    root: usize,
) -> Result<Made> {
    let name = GATHER.operation();
    let transfer =
        slices.proven(|Slices { send, recv }| Transfer::gathered_at(name, comm, send, recv, root));
    let call = Call::moving::<T>(name).at(root);
    kept(comm, call, transfer, mpi::gather_init)
}

pub(crate) fn scatter<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    root: usize,
) -> Result<Made> {
    let name = SCATTER.operation();
    let transfer = slices
        .proven(|Slices { send, recv }| Transfer::scattered_from(name, comm, send, recv, root));
    let call = Call::moving::<T>(name).at(root);
    kept(comm, call, transfer, mpi::scatter_init)
}

pub(crate) fn allgather<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
) -> Result<Made> {
    let name = ALLGATHER.operation();
    let transfer =
        slices.proven(|Slices { send, recv }| Transfer::gathered(name, comm, send, recv));
    let call = Call::moving::<T>(name);
    kept(comm, call, transfer, mpi::allgather_init)
}

pub(crate) fn alltoall<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
) -> Result<Made> {
    let name = ALLTOALL.operation();
    let transfer =
        slices.proven(|Slices { send, recv }| Transfer::exchanged(name, comm, send, recv));
    let call = Call::moving::<T>(name);
    kept(comm, call, transfer, mpi::alltoall_init)
}

pub(crate) fn gatherv<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    blocks: &Blocks,
    root: usize,
) -> Result<Made> {
    let name = GATHERV.operation();
    let gathering =
        slices.proven(|Slices { send, recv }| Gathering::at(name, comm, send, recv, blocks, root));
    let call = Call::moving::<T>(name).at(root);
    kept(comm, call, gathering, mpi::gatherv_init)
}

pub(crate) fn scatterv<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    blocks: &Blocks,
    root: usize,
) -> Result<Made> {
    let name = SCATTERV.operation();
    let scattering = slices
        .proven(|Slices { send, recv }| Scattering::from(name, comm, send, recv, blocks, root));
    let call = Call::moving::<T>(name).at(root);
    kept(comm, call, scattering, mpi::scatterv_init)
}

pub(crate) fn allgatherv<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    blocks: &Blocks,
) -> Result<Made> {
    let name = ALLGATHERV.operation();
    let gathering =
        slices.proven(|Slices { send, recv }| Gathering::new(name, comm, send, recv, blocks));
    let call = Call::moving::<T>(name);
    kept(comm, call, gathering, mpi::allgatherv_init)
}

pub(crate) fn alltoallv<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    send_blocks: &Blocks,
    recv_blocks: &Blocks,
) -> Result<Made> {
    let name = ALLTOALLV.operation();
    let exchange = slices.proven(|Slices { send, recv }| {
        Exchange::new(name, comm, (send, send_blocks), (recv, recv_blocks))
    });
    let call = Call::moving::<T>(name);
    kept(comm, call, exchange, mpi::alltoallv_init)
}

pub(crate) fn alltoallw<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    send_layouts: &Layouts,
    recv_layouts: &Layouts,
) -> Result<Made> {
    let name = ALLTOALLW.operation();
    let pattern = slices.proven(|Slices { send, recv }| {
        Pattern::among_all(name, comm, (send, send_layouts), (recv, recv_layouts))
    });
    let call = Call::moving::<T>(name);
    kept(comm, call, pattern, mpi::alltoallw_init)
}

pub(crate) fn reduce<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Communicator,
    mut slices: Lasting<Slices<'_, T>>,
    op: O,
    root: usize,
) -> Result<Made> {
    let name = REDUCE.operation();
    let finishing = Finishing::of(&mut slices, op, comm.size()).filter(|_| comm.rank() == root);
    let transfer =
        slices.proven(|Slices { send, recv }| Transfer::to_root(name, comm, send, recv, root));
    let call = Call::reducing::<T, O>(name).at(root);
    let prepare = |comm: &_, transfer| mpi::reduce_init(comm, op, transfer);
    let made = kept(comm, call, transfer, prepare)?;
    Ok(made.map(|made| Finishing::after(finishing, made)))
}

pub(crate) fn allreduce<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Communicator,
    mut slices: Lasting<Slices<'_, T>>,
    op: O,
) -> Result<Made> {
    let name = ALLREDUCE.operation();
    let finishing = Finishing::of(&mut slices, op, comm.size());
    let transfer = slices.proven(|Slices { send, recv }| Transfer::equal(name, send, recv));
    let call = Call::reducing::<T, O>(name);
    let prepare = |comm: &_, transfer| mpi::allreduce_init(comm, op, transfer);
    let made = kept(comm, call, transfer, prepare)?;
    Ok(made.map(|made| Finishing::after(finishing, made)))
}

pub(crate) fn scan<T: Pod, O: Op<T> + Send + 'static>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    op: O,
) -> Result<Made> {
    let name = SCAN.operation();
    let transfer = slices.proven(|Slices { send, recv }| Transfer::equal(name, send, recv));
    let call = Call::reducing::<T, O>(name);
    let prepare = |comm: &_, transfer| mpi::scan_init(comm, op, transfer);
    kept(comm, call, transfer, prepare)
}

pub(crate) fn exscan<T: Pod, O: Op<T> + Send + 'static>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    op: O,
) -> Result<Made> {
    let name = EXSCAN.operation();
    let transfer = slices.proven(|Slices { send, recv }| Transfer::equal(name, send, recv));
    let call = Call::reducing::<T, O>(name);
    let prepare = |comm: &_, transfer| mpi::exscan_init(comm, op, transfer);
    kept(comm, call, transfer, prepare)
}

pub(crate) fn reduce_scatter_block<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Communicator,
    mut slices: Lasting<Slices<'_, T>>,
    op: O,
) -> Result<Made> {
    let name = REDUCE_SCATTER_BLOCK.operation();
    let finishing = Finishing::of(&mut slices, op, comm.size());
    let transfer =
        slices.proven(|Slices { send, recv }| Transfer::scattered(name, comm, send, recv));
    let call = Call::reducing::<T, O>(name);
    let prepare = |comm: &_, transfer| mpi::reduce_scatter_block_init(comm, op, transfer);
    let made = kept(comm, call, transfer, prepare)?;
    Ok(made.map(|made| Finishing::after(finishing, made)))
}

pub(crate) fn reduce_scatter<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Communicator,
    mut slices: Lasting<Slices<'_, T>>,
    op: O,
    blocks: &Blocks,
) -> Result<Made> {
    let name = REDUCE_SCATTER.operation();
    let finishing = Finishing::of(&mut slices, op, comm.size());
    let dealt = slices.proven(|Slices { send, recv }| {
        let transfer = Transfer::dealt(name, comm, send, recv, blocks)?;
        Ok(Dealt { transfer, blocks })
    });
    let call = Call::reducing::<T, O>(name);
    let prepare = |comm: &_, dealt: Lasting<Dealt<'_, T>>| {
        mpi::reduce_scatter_init(comm, op, dealt.map(|dealt| dealt.transfer), blocks)
    };
    let made = kept(comm, call, dealt, prepare)?;
    Ok(made.map(|made| Finishing::after(finishing, made)))
}
