//! What layouts take: each part by its derived datatype and its place.

use std::ffi::c_int;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, Portion, check};
use ranks_comm::layout::Layout;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Aint, MPI_Count, MPI_Datatype, native};

use super::neighbor_order::{Form, slots_for};
use super::pointer::{standard_recv_pointer, standard_send_pointer};
use crate::layouts::{Layouts, Pattern};
use crate::neighbors::Trade;

/// The parts of a slice in the order in which the library has them. The datatypes are there as long as this lives.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) counts: Vec<c_int>,
    pub(super) places: Vec<MPI_Aint>,
    pub(super) types: Vec<MPI_Datatype>,
    _portions: Vec<Portion>,
}

impl Parts {
    /// The datatypes as calls read them that go on after they have returned.
    pub(super) fn words(&self) -> native::Datatypes {
        // SAFETY: the library is loaded, as there are datatypes of it.
        unsafe { native::Datatypes::new(&self.types) }
    }

    /// # Errors
    /// What the library says of the datatypes.
    pub(super) fn of<'l, T: Pod>(
        comm: &Comm,
        layouts: impl Iterator<Item = &'l Layout>,
    ) -> Result<Self> {
        let portions: Vec<Portion> = layouts
            .map(|layout| comm.portion::<T>(layout))
            .collect::<Result<_>>()?;
        let place = |portion: &Portion| MPI_Aint::try_from(portion.offset).unwrap_or(0);
        Ok(Self {
            counts: portions.iter().map(|portion| portion.count).collect(),
            places: portions.iter().map(place).collect(),
            types: portions.iter().map(|portion| portion.datatype).collect(),
            _portions: portions,
        })
    }

    /// The places as `MPI_Alltoallw` takes them, if an `int` can say them.
    pub(super) fn near(&self) -> Option<Vec<c_int>> {
        let int = |place: &MPI_Aint| c_int::try_from(*place).ok();
        self.places.iter().map(int).collect()
    }

    /// Where a part that is the only one begins, which is from there on. Open MPI 4.1 and 5.0 take the place of the only one for
    /// a number of items, and write behind the slice (`coll_self_alltoallw.c`).
    pub(super) fn begin(&mut self) -> MPI_Aint {
        match &mut self.places[..] {
            [only] => std::mem::take(only),
            _ => 0,
        }
    }

    pub(super) fn wide_counts(&self) -> Vec<MPI_Count> {
        self.counts.iter().map(|&count| count.into()).collect()
    }
}

pub(crate) fn alltoallw<T: Pod>(comm: &Comm, pattern: Pattern<'_, T>) -> Result<()> {
    let ((send, here), (recv, there)) = (pattern.send, pattern.recv);
    let mut sent = Parts::of::<T>(comm, here.layouts().iter())?;
    let mut received = Parts::of::<T>(comm, there.layouts().iter())?;
    let from = standard_send_pointer(Some(send)).wrapping_byte_offset(sent.begin());
    let to = standard_recv_pointer(Some(recv)).wrapping_byte_offset(received.begin());
    let (Some(send_places), Some(recv_places)) = (sent.near(), received.near()) else {
        let (send_counts, recv_counts) = (sent.wide_counts(), received.wide_counts());
        // SAFETY: what each part takes lies in its slice, and the parts of `recv` have no element in common, as `Pattern` has proven; there is one for each rank, `from` and `to` being where places count from.
        let code = unsafe {
            sys::MPI_Alltoallw_c(
                from,
                send_counts.as_ptr(),
                sent.places.as_ptr(),
                sent.types.as_ptr(),
                to,
                recv_counts.as_ptr(),
                received.places.as_ptr(),
                received.types.as_ptr(),
                comm.canonical,
            )
        };
        return check(code, "MPI_Alltoallw_c");
    };
    // SAFETY: what each part takes lies in its slice, and the parts of `recv` have no element in common, as `Pattern` has proven; there is one for each rank, `from` and `to` being where places count from.
    let code = unsafe {
        sys::MPI_Alltoallw(
            from,
            sent.counts.as_ptr(),
            send_places.as_ptr(),
            sent.types.as_ptr(),
            to,
            received.counts.as_ptr(),
            recv_places.as_ptr(),
            received.types.as_ptr(),
            comm.canonical,
        )
    };
    check(code, "MPI_Alltoallw")
}

/// What is sent to the neighbours, and what comes from them, in the order of the library.
pub(super) fn around<T: Pod>(
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

pub(crate) fn neighbor_alltoallw<T: Pod>(comm: &Comm, trade: Trade<'_, T, &Layouts>) -> Result<()> {
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
