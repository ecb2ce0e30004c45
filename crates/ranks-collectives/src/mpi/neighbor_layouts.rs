//! Communication among neighbours, of what layouts take.

use std::ffi::c_void;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, StartedOp, check_collective};
use ranks_mpi_sys as sys;

use super::begun::begin_large;
use super::functions::is_in_library;
use super::layouts::{Parts, Sides, begin_layouts};
use super::neighbor_order::{NeighborFunction, slots_for};
use super::pointer::{standard_recv_pointer, standard_send_pointer};
use crate::arguments::layouts::Layouts;
use crate::arguments::neighbors::Trade;
use crate::in_flight::stable::Stable;

/// The parts that are sent to the neighbours, and those that come from them, in the order of the
/// library.
fn around<T: Pod>(
    comm: &Comm,
    form: NeighborFunction,
    trade: &Trade<'_, T, &Layouts>,
) -> Result<(Parts, Parts)> {
    let (here, there) = (trade.send.blocks.layouts(), trade.recv.blocks.layouts());
    let received = match slots_for(form, trade.around)? {
        None => Parts::of::<T>(comm, there.iter())?,
        Some(slots) => Parts::of::<T>(comm, slots.iter().map(|&block| &there[block]))?,
    };
    Ok((Parts::of::<T>(comm, here.iter())?, received))
}

pub(crate) fn blocking<T: Pod>(comm: &Comm, trade: Trade<'_, T, &Layouts>) -> Result<()> {
    let (sent, received) = around(comm, NeighborFunction::Layouts, &trade)?;
    // SAFETY: what each part takes lies in its slice, and the parts of `recv` have no element in
    // common, as `Trade` has proven; there is one for each neighbour.
    let code = unsafe {
        sys::MPI_Neighbor_alltoallw(
            standard_send_pointer(Some(trade.send.slice)),
            sent.counts.as_ptr(),
            sent.places.as_ptr(),
            sent.types.as_ptr(),
            standard_recv_pointer(Some(trade.recv.slice)),
            received.counts.as_ptr(),
            received.places.as_ptr(),
            received.types.as_ptr(),
            comm.canonical,
        )
    };
    check_collective(code, "MPI_Neighbor_alltoallw")
}

impl Sides<()> {
    /// Those of the neighbours, and where places count from.
    fn around<T: Pod>(
        comm: &Comm,
        form: NeighborFunction,
        trade: Trade<'_, T, &Layouts>,
    ) -> Result<(*const c_void, *mut c_void, Box<Self>)> {
        let (sent, received) = around(comm, form, &trade)?;
        let from = standard_send_pointer(Some(trade.send.slice));
        let to = standard_recv_pointer(Some(trade.recv.slice));
        let form = ();
        let types = [sent.words(), received.words()];
        let sides = Self {
            sent,
            received,
            types,
            form,
        };
        Ok((from, to, Box::new(sides)))
    }
}

pub(crate) fn nonblocking<T: Pod>(
    comm: &Comm,
    trade: Stable<Trade<'_, T, &Layouts>>,
) -> Result<StartedOp> {
    let (from, to, sides) = Sides::around(
        comm,
        NeighborFunction::NonblockingLayouts,
        trade.into_inner(),
    )?;
    let (counts, places) = (sides.counts(), sides.places());
    begin_layouts!(
        MPI_Ineighbor_alltoallw,
        comm,
        sides,
        counts,
        places,
        from,
        to
    )
}

pub(crate) fn init<T: Pod>(
    comm: &Comm,
    trade: Stable<Trade<'_, T, &Layouts>>,
) -> Result<Option<StartedOp>> {
    if !is_in_library("MPI_Neighbor_alltoallw_init") {
        return Ok(None);
    }
    let (from, to, sides) = Sides::around(
        comm,
        NeighborFunction::PersistentLayouts,
        trade.into_inner(),
    )?;
    let (counts, places, info) = (sides.counts(), sides.places(), sys::MPI_INFO_NULL);
    begin_layouts!(
        MPI_Neighbor_alltoallw_init,
        comm,
        sides,
        counts,
        places,
        from,
        to,
        info
    )
    .map(Some)
}
