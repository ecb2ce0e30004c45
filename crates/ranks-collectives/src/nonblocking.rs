//! Collectives that return at once: the checks of the blocking ones, then what each backend begins.

use bytemuck::Pod;
use ranks_comm::backend::{Begun, Role};
use ranks_comm::{Communicator, Result};

use crate::agreement::{Call, begin};
use crate::blocks::Blocks;
use crate::finishing::Finishing;
use crate::lasting::{Lasting, Slices};
use crate::layouts::{Layouts, Pattern};
use crate::ops::{Op, Reduction};
use crate::reduce_scatter::Dealt;
use crate::transfer::Transfer;
use crate::varying::{Exchange, Gathering, Scattering};
use crate::{in_process, mpi};

pub(crate) static IBARRIER: Role = Role::of("MPI_Ibarrier");
pub(crate) static IBCAST: Role = Role::of("MPI_Ibcast");
pub(crate) static IGATHER: Role = Role::of("MPI_Igather");
pub(crate) static IGATHERV: Role = Role::of("MPI_Igatherv");
pub(crate) static ISCATTER: Role = Role::of("MPI_Iscatter");
pub(crate) static ISCATTERV: Role = Role::of("MPI_Iscatterv");
pub(crate) static IALLGATHER: Role = Role::of("MPI_Iallgather");
pub(crate) static IALLGATHERV: Role = Role::of("MPI_Iallgatherv");
pub(crate) static IALLTOALL: Role = Role::of("MPI_Ialltoall");
pub(crate) static IALLTOALLV: Role = Role::of("MPI_Ialltoallv");
pub(crate) static IALLTOALLW: Role = Role::of("MPI_Ialltoallw");
pub(crate) static IREDUCE: Role = Role::of("MPI_Ireduce");
pub(crate) static IALLREDUCE: Role = Role::of("MPI_Iallreduce");
pub(crate) static ISCAN: Role = Role::of("MPI_Iscan");
pub(crate) static IEXSCAN: Role = Role::of("MPI_Iexscan");
pub(crate) static IREDUCE_SCATTER_BLOCK: Role = Role::of("MPI_Ireduce_scatter_block");
pub(crate) static IREDUCE_SCATTER: Role = Role::of("MPI_Ireduce_scatter");

pub(crate) fn ibarrier(comm: &Communicator) -> Result<Begun> {
    let name = IBARRIER.operation();
    begin(
        comm,
        Call::of(name),
        Ok(()),
        |comm, ()| mpi::ibarrier(comm),
        |comm, ()| in_process::ibarrier(comm),
    )
}

pub(crate) fn ibcast<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    root: usize,
) -> Result<Begun> {
    let name = IBCAST.operation();
    let transfer = slices.proven(|slices| Transfer::broadcast(name, comm, slices.recv, root));
    begin(
        comm,
        Call::moving::<T>(name).at(root),
        transfer,
        mpi::ibcast,
        in_process::ibcast,
    )
}

pub(crate) fn igather<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    root: usize,
) -> Result<Begun> {
    let name = IGATHER.operation();
    let transfer =
        slices.proven(|Slices { send, recv }| Transfer::gathered_at(name, comm, send, recv, root));
    begin(
        comm,
        Call::moving::<T>(name).at(root),
        transfer,
        mpi::igather,
        in_process::igather,
    )
}

pub(crate) fn iscatter<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    root: usize,
) -> Result<Begun> {
    let name = ISCATTER.operation();
    let transfer = slices
        .proven(|Slices { send, recv }| Transfer::scattered_from(name, comm, send, recv, root));
    begin(
        comm,
        Call::moving::<T>(name).at(root),
        transfer,
        mpi::iscatter,
        in_process::iscatter,
    )
}

pub(crate) fn iallgather<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
) -> Result<Begun> {
    let name = IALLGATHER.operation();
    let transfer =
        slices.proven(|Slices { send, recv }| Transfer::gathered(name, comm, send, recv));
    begin(
        comm,
        Call::moving::<T>(name),
        transfer,
        mpi::iallgather,
        in_process::iallgather,
    )
}

pub(crate) fn ialltoall<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
) -> Result<Begun> {
    let name = IALLTOALL.operation();
    let transfer =
        slices.proven(|Slices { send, recv }| Transfer::exchanged(name, comm, send, recv));
    begin(
        comm,
        Call::moving::<T>(name),
        transfer,
        mpi::ialltoall,
        in_process::ialltoall,
    )
}

pub(crate) fn igatherv<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    blocks: &Blocks,
    root: usize,
) -> Result<Begun> {
    let name = IGATHERV.operation();
    let gathering =
        slices.proven(|Slices { send, recv }| Gathering::at(name, comm, send, recv, blocks, root));
    let me = comm.rank();
    begin(
        comm,
        Call::moving::<T>(name).at(root),
        gathering,
        |over, gathering| mpi::igatherv(over, me, gathering),
        in_process::igatherv,
    )
}

pub(crate) fn iscatterv<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    blocks: &Blocks,
    root: usize,
) -> Result<Begun> {
    let name = ISCATTERV.operation();
    let scattering = slices
        .proven(|Slices { send, recv }| Scattering::from(name, comm, send, recv, blocks, root));
    let me = comm.rank();
    begin(
        comm,
        Call::moving::<T>(name).at(root),
        scattering,
        |over, scattering| mpi::iscatterv(over, me, scattering),
        in_process::iscatterv,
    )
}

pub(crate) fn iallgatherv<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    blocks: &Blocks,
) -> Result<Begun> {
    let name = IALLGATHERV.operation();
    let gathering =
        slices.proven(|Slices { send, recv }| Gathering::new(name, comm, send, recv, blocks));
    let me = comm.rank();
    begin(
        comm,
        Call::moving::<T>(name),
        gathering,
        |over, gathering| mpi::iallgatherv(over, me, gathering),
        in_process::iallgatherv,
    )
}

pub(crate) fn ialltoallv<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    send_blocks: &Blocks,
    recv_blocks: &Blocks,
) -> Result<Begun> {
    let name = IALLTOALLV.operation();
    let exchange = slices.proven(|Slices { send, recv }| {
        Exchange::new(name, comm, (send, send_blocks), (recv, recv_blocks))
    });
    begin(
        comm,
        Call::moving::<T>(name),
        exchange,
        mpi::ialltoallv,
        in_process::ialltoallv,
    )
}

pub(crate) fn ialltoallw<T: Pod>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    send_layouts: &Layouts,
    recv_layouts: &Layouts,
) -> Result<Begun> {
    let name = IALLTOALLW.operation();
    let pattern = slices.proven(|Slices { send, recv }| {
        Pattern::among_all(name, comm, (send, send_layouts), (recv, recv_layouts))
    });
    begin(
        comm,
        Call::moving::<T>(name),
        pattern,
        mpi::ialltoallw,
        in_process::ialltoallw,
    )
}

pub(crate) fn ireduce<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Communicator,
    mut slices: Lasting<Slices<'_, T>>,
    op: O,
    root: usize,
) -> Result<Begun> {
    let name = IREDUCE.operation();
    let finishing = Finishing::of(&mut slices, op, comm.size()).filter(|_| comm.rank() == root);
    let transfer =
        slices.proven(|Slices { send, recv }| Transfer::to_root(name, comm, send, recv, root));
    let begun = begin(
        comm,
        Call::reducing::<T, O>(name).at(root),
        transfer,
        |comm, transfer| mpi::ireduce::<T, O>(comm, mpi::keeping::<T, O>(op), transfer),
        |comm, transfer| in_process::ireduce(comm, op, transfer),
    )?;
    Ok(Finishing::after(finishing, begun))
}

pub(crate) fn iallreduce<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Communicator,
    mut slices: Lasting<Slices<'_, T>>,
    op: O,
) -> Result<Begun> {
    let name = IALLREDUCE.operation();
    let finishing = Finishing::of(&mut slices, op, comm.size());
    let transfer = slices.proven(|Slices { send, recv }| Transfer::equal(name, send, recv));
    let begun = begin(
        comm,
        Call::reducing::<T, O>(name),
        transfer,
        |comm, transfer| mpi::iallreduce::<T, O>(comm, mpi::keeping::<T, O>(op), transfer),
        |comm, transfer| in_process::iallreduce(comm, op, transfer),
    )?;
    Ok(Finishing::after(finishing, begun))
}

pub(crate) fn iscan<T: Pod, O: Op<T> + Send + 'static>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    op: O,
) -> Result<Begun> {
    let name = ISCAN.operation();
    let transfer = slices.proven(|Slices { send, recv }| Transfer::equal(name, send, recv));
    begin(
        comm,
        Call::reducing::<T, O>(name),
        transfer,
        |comm, transfer| mpi::iscan::<T, O>(comm, mpi::keeping::<T, O>(op), transfer),
        |comm, transfer| in_process::iscan(comm, op, transfer),
    )
}

pub(crate) fn iexscan<T: Pod, O: Op<T> + Send + 'static>(
    comm: &Communicator,
    slices: Lasting<Slices<'_, T>>,
    op: O,
) -> Result<Begun> {
    let name = IEXSCAN.operation();
    let transfer = slices.proven(|Slices { send, recv }| Transfer::equal(name, send, recv));
    begin(
        comm,
        Call::reducing::<T, O>(name),
        transfer,
        |comm, transfer| mpi::iexscan::<T, O>(comm, mpi::keeping::<T, O>(op), transfer),
        |comm, transfer| in_process::iexscan(comm, op, transfer),
    )
}

pub(crate) fn ireduce_scatter_block<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Communicator,
    mut slices: Lasting<Slices<'_, T>>,
    op: O,
) -> Result<Begun> {
    let name = IREDUCE_SCATTER_BLOCK.operation();
    let finishing = Finishing::of(&mut slices, op, comm.size());
    let transfer =
        slices.proven(|Slices { send, recv }| Transfer::scattered(name, comm, send, recv));
    let begun = begin(
        comm,
        Call::reducing::<T, O>(name),
        transfer,
        |comm, transfer| {
            mpi::ireduce_scatter_block::<T, O>(comm, mpi::keeping::<T, O>(op), transfer)
        },
        |comm, transfer| in_process::ireduce_scatter_block(comm, op, transfer),
    )?;
    Ok(Finishing::after(finishing, begun))
}

pub(crate) fn ireduce_scatter<T: Pod, O: Reduction<T> + Send + 'static>(
    comm: &Communicator,
    mut slices: Lasting<Slices<'_, T>>,
    op: O,
    blocks: &Blocks,
) -> Result<Begun> {
    let name = IREDUCE_SCATTER.operation();
    let finishing = Finishing::of(&mut slices, op, comm.size());
    let dealt = slices.proven(|Slices { send, recv }| {
        let transfer = Transfer::dealt(name, comm, send, recv, blocks)?;
        Ok(Dealt { transfer, blocks })
    });
    let begun = begin(
        comm,
        Call::reducing::<T, O>(name),
        dealt,
        |comm, dealt| {
            let transfer = dealt.map(|dealt| dealt.transfer);
            mpi::ireduce_scatter::<T, O>(comm, mpi::keeping::<T, O>(op), transfer, blocks)
        },
        |comm, dealt| {
            let transfer = dealt.map(|dealt| dealt.transfer);
            in_process::ireduce_scatter(comm, op, transfer, blocks)
        },
    )?;
    Ok(Finishing::after(finishing, begun))
}
