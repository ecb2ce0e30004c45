//! Operations on what layouts take: derived datatypes on both sides.

use std::ffi::c_int;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm, Portion, check_with};
use ranks_comm::layout::Layout;
use ranks_launch::Count;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::MPI_Aint;

use super::window::Window;
use crate::epoch::table::TargetRange;

impl<T: Pod> Window<T> {
    /// Begins to write what `from` takes of `data` to what `to` takes of the part that begins at
    /// `place`. Some bytes travel.
    ///
    /// # Safety
    /// `data` stays until the operation is complete; the layouts fit it and the part, and take as
    /// many elements.
    pub(crate) unsafe fn put_layout(
        &self,
        comm: &MpiComm,
        data: &[T],
        from: &Layout,
        place: TargetRange,
        to: &Layout,
    ) -> Result<()> {
        const NAME: &str = "MPI_Put";
        let (here, there) = portions::<T>(comm, from, to)?;
        let first = data.as_ptr().cast::<u8>().wrapping_add(here.offset).cast();
        let (rank, at) = moved(place, &there);
        let (count, datatype, win) = (there.count, there.datatype, self.canonical);
        // SAFETY: by contract; the datatypes are committed, and what is begun with them needs them
        // no longer than this call.
        let code = unsafe {
            sys::MPI_Put(
                first,
                here.count,
                here.datatype,
                rank,
                at,
                count,
                datatype,
                win,
            )
        };
        check_with(code, NAME, || attempt("to", to, place))
    }

    /// Begins to read what `from` takes of the part that begins at `place` into what `to` takes of
    /// `into`. Some bytes travel.
    ///
    /// # Safety
    /// `into` stays and nobody else uses it until the operation is complete; the layouts fit it and
    /// the part, and take as many elements, `to` none twice.
    pub(crate) unsafe fn get_layout(
        &self,
        comm: &MpiComm,
        into: &mut [T],
        to: &Layout,
        place: TargetRange,
        from: &Layout,
    ) -> Result<()> {
        const NAME: &str = "MPI_Get";
        let (here, there) = portions::<T>(comm, to, from)?;
        let first = into
            .as_mut_ptr()
            .cast::<u8>()
            .wrapping_add(here.offset)
            .cast();
        let (rank, at) = moved(place, &there);
        let (count, datatype, win) = (there.count, there.datatype, self.canonical);
        // SAFETY: as above.
        let code = unsafe {
            sys::MPI_Get(
                first,
                here.count,
                here.datatype,
                rank,
                at,
                count,
                datatype,
                win,
            )
        };
        check_with(code, NAME, || attempt("from", from, place))
    }
}

/// The datatypes of both sides.
fn portions<T: Pod>(comm: &MpiComm, here: &Layout, there: &Layout) -> Result<(Portion, Portion)> {
    let portion = |layout| comm.portion::<T>(layout, usize::MAX);
    Ok((portion(here)?, portion(there)?))
}

/// Rank and displacement of a portion of the part at `place`; it is no farther than the end of the
/// part.
fn moved(place: TargetRange, portion: &Portion) -> (c_int, MPI_Aint) {
    let at_bytes = place.at_bytes + portion.offset;
    let begin = TargetRange { at_bytes, ..place };
    (begin.rank(), begin.displacement())
}

fn attempt(direction: &str, layout: &Layout, place: TargetRange) -> String {
    let (elements, rank) = (Count(layout.elements(), "element"), place.rank);
    format!("{elements} of a layout {direction} rank {rank}")
}
