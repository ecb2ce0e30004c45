//! Communication among the neighbours of a topology, blocking and not.

mod pairing;
mod trade;

use bytemuck::Pod;
use ranks_comm::backend::{Begun, Role};
use ranks_comm::{Communicator, Neighborhood, Result};

pub(crate) use pairing::{Edge, Order, slots};
pub(crate) use trade::{Division, Trade};

use crate::agreement::{Call, begin};
use crate::blocks::Blocks;
use crate::in_time::carry_out_in_time;
use crate::lasting::{Lasting, Slices};
use crate::layouts::Layouts;
use crate::trial::kept;
use crate::{in_process, mpi};

const ALLGATHER: &str = "MPI_Neighbor_allgather";
const ALLGATHERV: &str = "MPI_Neighbor_allgatherv";
const ALLTOALL: &str = "MPI_Neighbor_alltoall";
const ALLTOALLV: &str = "MPI_Neighbor_alltoallv";
const ALLTOALLW: &str = "MPI_Neighbor_alltoallw";

pub(crate) static ALLGATHER_INIT: Role = Role::of("MPI_Neighbor_allgather_init");
pub(crate) static ALLGATHERV_INIT: Role = Role::of("MPI_Neighbor_allgatherv_init");
pub(crate) static ALLTOALL_INIT: Role = Role::of("MPI_Neighbor_alltoall_init");
pub(crate) static ALLTOALLV_INIT: Role = Role::of("MPI_Neighbor_alltoallv_init");
pub(crate) static ALLTOALLW_INIT: Role = Role::of("MPI_Neighbor_alltoallw_init");
pub(crate) static INEIGHBOR_ALLGATHER: Role = Role::of("MPI_Ineighbor_allgather");
pub(crate) static INEIGHBOR_ALLGATHERV: Role = Role::of("MPI_Ineighbor_allgatherv");
pub(crate) static INEIGHBOR_ALLTOALL: Role = Role::of("MPI_Ineighbor_alltoall");
pub(crate) static INEIGHBOR_ALLTOALLV: Role = Role::of("MPI_Ineighbor_alltoallv");
pub(crate) static INEIGHBOR_ALLTOALLW: Role = Role::of("MPI_Ineighbor_alltoallw");

pub(crate) fn neighbor_allgather<T: Pod>(
    around: &dyn Neighborhood,
    send: &[T],
    recv: &mut [T],
) -> Result<()> {
    carry_out_in_time(
        around,
        Call::moving::<T>(ALLGATHER),
        Trade::gathered(ALLGATHER, around, send, recv),
        mpi::neighbor_allgather,
        Some((&INEIGHBOR_ALLGATHER, mpi::ineighbor_allgather)),
        in_process::neighbor_exchange,
    )
}

pub(crate) fn neighbor_allgatherv<T: Pod>(
    around: &dyn Neighborhood,
    send: &[T],
    recv: &mut [T],
    blocks: &Blocks,
) -> Result<()> {
    carry_out_in_time(
        around,
        Call::moving::<T>(ALLGATHERV),
        Trade::gathered_into(ALLGATHERV, around, send, (recv, blocks)),
        mpi::neighbor_allgatherv,
        Some((&INEIGHBOR_ALLGATHERV, mpi::ineighbor_allgatherv)),
        in_process::neighbor_exchange,
    )
}

pub(crate) fn neighbor_alltoall<T: Pod>(
    around: &dyn Neighborhood,
    send: &[T],
    recv: &mut [T],
) -> Result<()> {
    carry_out_in_time(
        around,
        Call::moving::<T>(ALLTOALL),
        Trade::exchanged(ALLTOALL, around, send, recv),
        mpi::neighbor_alltoallv,
        Some((&INEIGHBOR_ALLTOALL, mpi::ineighbor_alltoallv)),
        in_process::neighbor_exchange,
    )
}

pub(crate) fn neighbor_alltoallv<T: Pod>(
    around: &dyn Neighborhood,
    send: (&[T], &Blocks),
    recv: (&mut [T], &Blocks),
) -> Result<()> {
    carry_out_in_time(
        around,
        Call::moving::<T>(ALLTOALLV),
        Trade::exchanged_into(ALLTOALLV, around, send, recv),
        mpi::neighbor_alltoallv,
        Some((&INEIGHBOR_ALLTOALLV, mpi::ineighbor_alltoallv)),
        in_process::neighbor_exchange,
    )
}

pub(crate) fn neighbor_alltoallw<T: Pod>(
    around: &dyn Neighborhood,
    send: (&[T], &Layouts),
    recv: (&mut [T], &Layouts),
) -> Result<()> {
    carry_out_in_time(
        around,
        Call::moving::<T>(ALLTOALLW),
        Trade::laid_out(ALLTOALLW, around, send, recv),
        mpi::neighbor_alltoallw,
        Some((&INEIGHBOR_ALLTOALLW, mpi::ineighbor_alltoallw)),
        in_process::neighbor_alltoallw,
    )
}

/// What the library has made, not started; nothing where it has no such function.
type Made = Result<Option<Begun>>;

pub(crate) fn neighbor_allgather_init<T: Pod>(
    around: &dyn Neighborhood,
    slices: Lasting<Slices<'_, T>>,
) -> Made {
    let name = ALLGATHER_INIT.operation();
    let trade = slices.proven(|Slices { send, recv }| Trade::gathered(name, around, send, recv));
    let call = Call::moving::<T>(name);
    kept(around, call, trade, mpi::neighbor_allgather_init)
}

pub(crate) fn neighbor_allgatherv_init<T: Pod>(
    around: &dyn Neighborhood,
    slices: Lasting<Slices<'_, T>>,
    blocks: &Blocks,
) -> Made {
    let name = ALLGATHERV_INIT.operation();
    let trade = slices
        .proven(|Slices { send, recv }| Trade::gathered_into(name, around, send, (recv, blocks)));
    let call = Call::moving::<T>(name);
    kept(around, call, trade, mpi::neighbor_allgatherv_init)
}

pub(crate) fn neighbor_alltoall_init<T: Pod>(
    around: &dyn Neighborhood,
    slices: Lasting<Slices<'_, T>>,
) -> Made {
    let name = ALLTOALL_INIT.operation();
    let trade = slices.proven(|Slices { send, recv }| Trade::exchanged(name, around, send, recv));
    let call = Call::moving::<T>(name);
    kept(around, call, trade, mpi::neighbor_alltoallv_init)
}

pub(crate) fn neighbor_alltoallv_init<T: Pod>(
    around: &dyn Neighborhood,
    slices: Lasting<Slices<'_, T>>,
    send_blocks: &Blocks,
    recv_blocks: &Blocks,
) -> Made {
    let name = ALLTOALLV_INIT.operation();
    let trade = slices.proven(|Slices { send, recv }| {
        Trade::exchanged_into(name, around, (send, send_blocks), (recv, recv_blocks))
    });
    let call = Call::moving::<T>(name);
    kept(around, call, trade, mpi::neighbor_alltoallv_init)
}

pub(crate) fn neighbor_alltoallw_init<T: Pod>(
    around: &dyn Neighborhood,
    slices: Lasting<Slices<'_, T>>,
    send_layouts: &Layouts,
    recv_layouts: &Layouts,
) -> Made {
    let name = ALLTOALLW_INIT.operation();
    let trade = slices.proven(|Slices { send, recv }| {
        Trade::laid_out(name, around, (send, send_layouts), (recv, recv_layouts))
    });
    let call = Call::moving::<T>(name);
    kept(around, call, trade, mpi::neighbor_alltoallw_init)
}

/// Those that begin an operation take the communicator as well: it may be a duplicate of that of the neighbourhood.
pub(crate) fn ineighbor_allgather<T: Pod>(
    comm: &Communicator,
    around: &dyn Neighborhood,
    slices: Lasting<Slices<'_, T>>,
) -> Result<Begun> {
    let name = INEIGHBOR_ALLGATHER.operation();
    let trade = slices.proven(|Slices { send, recv }| Trade::gathered(name, around, send, recv));
    begin(
        comm,
        Call::moving::<T>(name),
        trade,
        mpi::ineighbor_allgather,
        in_process::ineighbor_exchange,
    )
}

pub(crate) fn ineighbor_allgatherv<T: Pod>(
    comm: &Communicator,
    around: &dyn Neighborhood,
    slices: Lasting<Slices<'_, T>>,
    blocks: &Blocks,
) -> Result<Begun> {
    let name = INEIGHBOR_ALLGATHERV.operation();
    let trade = slices
        .proven(|Slices { send, recv }| Trade::gathered_into(name, around, send, (recv, blocks)));
    begin(
        comm,
        Call::moving::<T>(name),
        trade,
        mpi::ineighbor_allgatherv,
        in_process::ineighbor_exchange,
    )
}

pub(crate) fn ineighbor_alltoall<T: Pod>(
    comm: &Communicator,
    around: &dyn Neighborhood,
    slices: Lasting<Slices<'_, T>>,
) -> Result<Begun> {
    let name = INEIGHBOR_ALLTOALL.operation();
    let trade = slices.proven(|Slices { send, recv }| Trade::exchanged(name, around, send, recv));
    begin(
        comm,
        Call::moving::<T>(name),
        trade,
        mpi::ineighbor_alltoallv,
        in_process::ineighbor_exchange,
    )
}

pub(crate) fn ineighbor_alltoallv<T: Pod>(
    comm: &Communicator,
    around: &dyn Neighborhood,
    slices: Lasting<Slices<'_, T>>,
    send_blocks: &Blocks,
    recv_blocks: &Blocks,
) -> Result<Begun> {
    let name = INEIGHBOR_ALLTOALLV.operation();
    let trade = slices.proven(|Slices { send, recv }| {
        Trade::exchanged_into(name, around, (send, send_blocks), (recv, recv_blocks))
    });
    begin(
        comm,
        Call::moving::<T>(name),
        trade,
        mpi::ineighbor_alltoallv,
        in_process::ineighbor_exchange,
    )
}

pub(crate) fn ineighbor_alltoallw<T: Pod>(
    comm: &Communicator,
    around: &dyn Neighborhood,
    slices: Lasting<Slices<'_, T>>,
    send_layouts: &Layouts,
    recv_layouts: &Layouts,
) -> Result<Begun> {
    let name = INEIGHBOR_ALLTOALLW.operation();
    let trade = slices.proven(|Slices { send, recv }| {
        Trade::laid_out(name, around, (send, send_layouts), (recv, recv_layouts))
    });
    begin(
        comm,
        Call::moving::<T>(name),
        trade,
        mpi::ineighbor_alltoallw,
        in_process::ineighbor_alltoallw,
    )
}
