//! Operations with requests of their own.
//!
//! They are called with large counts alone: a library without those gets an `int` if it says the
//! count.

use std::ffi::c_int;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{StartedOp, TypeOf, check_with};
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Request, native};

use super::narrow_sums;
use super::transfer::{attempt, is_in_pieces, wide};
use super::window::Window;
use crate::epoch::accumulation::Accumulation;
use crate::epoch::table::TargetRange;

impl<T: Pod> Window<T> {
    /// Begins to write `data`, which has at least a byte, to `place`.
    ///
    /// # Safety
    /// `data` stays until the request is complete, and as many elements are at `place`.
    pub(crate) unsafe fn rput(&self, data: &[T], place: TargetRange) -> Result<StartedOp> {
        let (from, datatype) = (data.as_ptr().cast(), TypeOf::<T>::datatype());
        let items = data.len() * TypeOf::<T>::items();
        let (rank, at, win) = (place.rank(), place.displacement(), self.canonical);
        let count = wide(items);
        begin("MPI_Rput", data.len(), place, |request| {
            // SAFETY: by contract.
            unsafe {
                sys::MPI_Rput_c(
                    from, count, datatype, rank, at, count, datatype, win, request,
                )
            }
        })
    }

    /// Begins to read from `place` into `into`, which has room for at least a byte.
    ///
    /// # Safety
    /// `into` stays and nobody else uses it until the request is complete, and as many elements are
    /// at `place`.
    pub(crate) unsafe fn rget(&self, into: &mut [T], place: TargetRange) -> Result<StartedOp> {
        let (to, datatype) = (into.as_mut_ptr().cast(), TypeOf::<T>::datatype());
        let items = into.len() * TypeOf::<T>::items();
        let (rank, at, win) = (place.rank(), place.displacement(), self.canonical);
        let count = wide(items);
        begin("MPI_Rget", into.len(), place, |request| {
            // SAFETY: by contract.
            unsafe { sys::MPI_Rget_c(to, count, datatype, rank, at, count, datatype, win, request) }
        })
    }

    /// Begins to combine `data`, which has at least a byte, with what is at `place`.
    ///
    /// # Safety
    /// As [`rput`](Self::rput).
    pub(crate) unsafe fn raccumulate<O: Accumulation<T>>(
        &self,
        data: &[T],
        place: TargetRange,
    ) -> Result<StartedOp> {
        const NAME: &str = "MPI_Raccumulate";
        let (op, datatype) = self.known::<O>(NAME)?;
        if is_in_pieces::<T>(op, data.len()) {
            // Several operations have no request in common.
            // SAFETY: by contract; a rank that there are requests to is locked.
            unsafe { self.accumulate_in_pieces::<O>(data, place) }?;
            narrow_sums::all_or_none(self.flush(place.rank), false)?;
            return Ok(StartedOp::Over);
        }
        let from = data.as_ptr().cast();
        let (rank, at, win) = (place.rank(), place.displacement(), self.canonical);
        let count = wide(data.len());
        begin(NAME, data.len(), place, |request| {
            // SAFETY: by contract; an item of the datatype is an element.
            unsafe {
                sys::MPI_Raccumulate_c(
                    from, count, datatype, rank, at, count, datatype, op, win, request,
                )
            }
        })
    }

    /// The same, and to read what was there before.
    ///
    /// # Safety
    /// As [`rput`](Self::rput) and [`rget`](Self::rget); both slices are of one length.
    pub(crate) unsafe fn rget_accumulate<O: Accumulation<T>>(
        &self,
        data: &[T],
        into: &mut [T],
        place: TargetRange,
    ) -> Result<StartedOp> {
        const NAME: &str = "MPI_Rget_accumulate";
        let (op, datatype) = self.known::<O>(NAME)?;
        if self.is_got_in_pieces(op, data.len()) {
            // SAFETY: by contract.
            unsafe { self.get_accumulate::<O>(data, into, place) }?;
            narrow_sums::all_or_none(self.flush(place.rank), false)?;
            return Ok(StartedOp::Over);
        }
        let (from, to) = (data.as_ptr().cast(), into.as_mut_ptr().cast());
        let (rank, at, win) = (place.rank(), place.displacement(), self.canonical);
        let count = wide(data.len());
        begin(NAME, data.len(), place, |request| {
            // SAFETY: by contract; an item of the datatype is an element.
            unsafe {
                sys::MPI_Rget_accumulate_c(
                    from, count, datatype, to, count, datatype, rank, at, count, datatype, op, win,
                    request,
                )
            }
        })
    }
}

fn begin(
    name: &'static str,
    len: usize,
    place: TargetRange,
    call: impl FnOnce(*mut MPI_Request) -> c_int,
) -> Result<StartedOp> {
    let mut request = sys::MPI_REQUEST_NULL;
    let code = call(&raw mut request);
    check_with(code, name, || attempt("to or from", len, place))?;
    // SAFETY: the library is loaded: `call` has called it.
    let cell = unsafe { native::Cell::holding(request) };
    Ok(StartedOp::Mpi(cell))
}
