//! What layouts take, in operations that go on after their call has returned.

use std::ffi::{c_int, c_void};
use std::fmt::Debug;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{Begun, Keep, MpiComm as Comm};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Count, native};

use super::begun::begin_large;
use super::large_varying::is_in_library;
use super::layouts::{Parts, around};
use super::neighbor_order::Form;
use super::pointer::{standard_recv_pointer, standard_send_pointer};
use crate::lasting::Lasting;
use crate::layouts::{Layouts, Pattern};
use crate::neighbors::Trade;

/// What the library reads until the operation is over: counts, places and datatypes of what is sent and of what is received.
#[derive(Debug)]
struct Sides<F> {
    sent: Parts,
    received: Parts,
    /// The datatypes of both, as the library reads them.
    types: [native::Datatypes; 2],
    form: F,
}

/// What is in the form of the function that is called: those among neighbours need nothing.
#[derive(Debug)]
enum Reach {
    /// Places that an `int` can say.
    Near([Vec<c_int>; 2]),
    /// Counts for places that it cannot.
    Far([Vec<MPI_Count>; 2]),
}

impl<F: Send + Debug> Keep for Sides<F> {
    fn ended(&mut self, _: &'static str) -> Result<()> {
        Ok(())
    }
}

impl Sides<Reach> {
    /// Those of all ranks, and where places count from.
    fn of<T: Pod>(
        comm: &Comm,
        pattern: Pattern<'_, T>,
    ) -> Result<(*const c_void, *mut c_void, Box<Self>)> {
        let ((send, here), (recv, there)) = (pattern.send, pattern.recv);
        let mut sent = Parts::of::<T>(comm, here.layouts().iter())?;
        let mut received = Parts::of::<T>(comm, there.layouts().iter())?;
        let from = standard_send_pointer(Some(send)).wrapping_byte_offset(sent.begin());
        let to = standard_recv_pointer(Some(recv)).wrapping_byte_offset(received.begin());
        let form = match (sent.near(), received.near()) {
            (Some(here), Some(there)) => Reach::Near([here, there]),
            _ => Reach::Far([sent.wide_counts(), received.wide_counts()]),
        };
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

pub(crate) fn ialltoallw<T: Pod>(comm: &Comm, pattern: Lasting<Pattern<'_, T>>) -> Result<Begun> {
    let (from, to, keep) = Sides::of(comm, pattern.into_inner())?;
    let [send_types, recv_types] = keep.types.each_ref().map(native::Datatypes::as_ptr);
    match &keep.form {
        Reach::Near([here, there]) => {
            let (send_counts, recv_counts) =
                (keep.sent.counts.as_ptr(), keep.received.counts.as_ptr());
            let (send_places, recv_places) = (here.as_ptr(), there.as_ptr());
            begin_large("MPI_Ialltoallw", Some(keep), |request| {
                // SAFETY: what each part takes lies in its slice, and the parts of `recv` have no element in common, as `Pattern` has proven; there is one for each rank, `from` and `to` being where places count from; slices and arrays last, as `Lasting` says and `keep` does.
                unsafe {
                    sys::MPI_Ialltoallw(
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
        Reach::Far([here, there]) => {
            let (send_counts, recv_counts) = (here.as_ptr(), there.as_ptr());
            let (send_places, recv_places) =
                (keep.sent.places.as_ptr(), keep.received.places.as_ptr());
            begin_large("MPI_Ialltoallw_c", Some(keep), |request| {
                // SAFETY: what each part takes lies in its slice, and the parts of `recv` have no element in common, as `Pattern` has proven; there is one for each rank, `from` and `to` being where places count from; slices and arrays last, as `Lasting` says and `keep` does.
                unsafe {
                    sys::MPI_Ialltoallw_c(
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
    }
}

pub(crate) fn alltoallw_init<T: Pod>(
    comm: &Comm,
    pattern: Lasting<Pattern<'_, T>>,
) -> Result<Option<Begun>> {
    const NAME: &str = "MPI_Alltoallw_init";
    if !is_in_library(NAME) {
        return Ok(None);
    }
    let (from, to, keep) = Sides::of(comm, pattern.into_inner())?;
    let [send_types, recv_types] = keep.types.each_ref().map(native::Datatypes::as_ptr);
    match &keep.form {
        Reach::Near([here, there]) => {
            let (send_counts, recv_counts) =
                (keep.sent.counts.as_ptr(), keep.received.counts.as_ptr());
            let (send_places, recv_places) = (here.as_ptr(), there.as_ptr());
            begin_large("MPI_Alltoallw_init", Some(keep), |request| {
                // SAFETY: what each part takes lies in its slice, and the parts of `recv` have no element in common, as `Pattern` has proven; there is one for each rank, `from` and `to` being where places count from; slices and arrays last, as `Lasting` says and `keep` does.
                unsafe {
                    sys::MPI_Alltoallw_init(
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
        }
        Reach::Far([here, there]) => {
            let (send_counts, recv_counts) = (here.as_ptr(), there.as_ptr());
            let (send_places, recv_places) =
                (keep.sent.places.as_ptr(), keep.received.places.as_ptr());
            begin_large("MPI_Alltoallw_init_c", Some(keep), |request| {
                // SAFETY: what each part takes lies in its slice, and the parts of `recv` have no element in common, as `Pattern` has proven; there is one for each rank, `from` and `to` being where places count from; slices and arrays last, as `Lasting` says and `keep` does.
                unsafe {
                    sys::MPI_Alltoallw_init_c(
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
        }
    }
    .map(Some)
}

pub(crate) fn ineighbor_alltoallw<T: Pod>(
    comm: &Comm,
    trade: Lasting<Trade<'_, T, &Layouts>>,
) -> Result<Begun> {
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

pub(crate) fn neighbor_alltoallw_init<T: Pod>(
    comm: &Comm,
    trade: Lasting<Trade<'_, T, &Layouts>>,
) -> Result<Option<Begun>> {
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
