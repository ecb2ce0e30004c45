//! Communication among neighbours, of what layouts take.

use std::ffi::c_void;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, StartedOp, check};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::native;

use super::begun::begin_large;
use super::functions::is_in_library;
use super::layouts::{Parts, Sides};
use super::neighbor_order::{Form, slots_for};
use super::pointer::{standard_recv_pointer, standard_send_pointer};
use crate::lasting::Lasting;
use crate::layouts::Layouts;
use crate::neighbors::Trade;

/// The parts that are sent to the neighbours, and those that come from them, in the order of the library.
fn around<T: Pod>(
    comm: &Comm,
    form: Form,
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
    let (sent, received) = around(comm, Form::Layouts, &trade)?;
    // SAFETY: what each part takes lies in its slice, and the parts of `recv` have no element in common, as `Trade` has proven; there is one for each neighbour.
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
    check(code, "MPI_Neighbor_alltoallw")
}
impl Sides<()> {
    /// Those of the neighbours, and where places count from.
    fn around<T: Pod>(
        comm: &Comm,
        form: Form,
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
    trade: Lasting<Trade<'_, T, &Layouts>>,
) -> Result<StartedOp> {
    const NAME: &str = "MPI_Ineighbor_alltoallw";
    let (from, to, keep) = Sides::around(comm, Form::NonblockingLayouts, trade.into_inner())?;
    let (send_counts, recv_counts) = (keep.sent.counts.as_ptr(), keep.received.counts.as_ptr());
    let (send_places, recv_places) = (keep.sent.places.as_ptr(), keep.received.places.as_ptr());
    let [send_types, recv_types] = keep.types.each_ref().map(native::Datatypes::as_ptr);
    begin_large(NAME, Some(keep), |request| {
        // SAFETY: what each part takes lies in its slice, and the parts of `recv` have no element in common, as `Trade` has proven; there is one for each neighbour; slices and arrays last, as `Lasting` says and `keep` does.
        unsafe {
            sys::MPI_Ineighbor_alltoallw(
                from,
                send_counts,
                send_places,
                send_types,
                to,
                recv_counts,
                recv_places,
                recv_types,
                comm.canonical,
                request,
            )
        }
    })
}

pub(crate) fn init<T: Pod>(
    comm: &Comm,
    trade: Lasting<Trade<'_, T, &Layouts>>,
) -> Result<Option<StartedOp>> {
    const NAME: &str = "MPI_Neighbor_alltoallw_init";
    if !is_in_library(NAME) {
        return Ok(None);
    }
    let (from, to, keep) = Sides::around(comm, Form::PersistentLayouts, trade.into_inner())?;
    let (send_counts, recv_counts) = (keep.sent.counts.as_ptr(), keep.received.counts.as_ptr());
    let (send_places, recv_places) = (keep.sent.places.as_ptr(), keep.received.places.as_ptr());
    let [send_types, recv_types] = keep.types.each_ref().map(native::Datatypes::as_ptr);
    begin_large(NAME, Some(keep), |request| {
        // SAFETY: what each part takes lies in its slice, and the parts of `recv` have no element in common, as `Trade` has proven; there is one for each neighbour; slices and arrays last, as `Lasting` says and `keep` does.
        unsafe {
            sys::MPI_Neighbor_alltoallw_init(
                from,
                send_counts,
                send_places,
                send_types,
                to,
                recv_counts,
                recv_places,
                recv_types,
                comm.canonical,
                sys::MPI_INFO_NULL,
                request,
            )
        }
    })
    .map(Some)
}
