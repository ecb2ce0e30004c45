//! Sends.

use ranks_mpi_sys as sys;
use ranks_mpi_sys::native;

use super::buffer::{datatype, is_small, large_count, to_read};
use super::communicator::Comm;
use super::element::TypeOf;
use super::error::check_with;
use super::peer::to_standard;
use crate::element::Pod;
use crate::error::Result;
use crate::record::Over;
use crate::source::Destination;

impl Comm {
    pub(crate) fn send<T: Pod>(&self, data: &[T], dest: Destination, tag: i32) -> Result<()> {
        if is_small(data) {
            Self::send_small(self, data, dest, tag)
        } else {
            self.send_large(data, dest, tag)
        }
    }

    /// What an `int` can count.
    #[inline(always)]
    pub(crate) fn send_small<T: Pod>(
        comm: impl Over,
        data: &[T],
        dest: Destination,
        tag: i32,
    ) -> Result<()> {
        let to = comm.sentinels.destination(dest);
        let (count, datatype) = comm.to_send_small(data, to);
        // SAFETY: `count` items are what `data` holds; rank and tag are checked.
        let code =
            unsafe { native::MPI_Send(to_read(data), count, datatype, to, tag, comm.native) };
        comm.over();
        check_with(code, "MPI_Send", || attempt(data, dest))
    }

    pub(crate) fn ssend<T: Pod>(&self, data: &[T], dest: Destination, tag: i32) -> Result<()> {
        if is_small(data) {
            Self::ssend_small(self, data, dest, tag)
        } else {
            self.ssend_large(data, dest, tag)
        }
    }

    /// What an `int` can count.
    #[inline(always)]
    pub(crate) fn ssend_small<T: Pod>(
        comm: impl Over,
        data: &[T],
        dest: Destination,
        tag: i32,
    ) -> Result<()> {
        let (count, datatype) = (TypeOf::<T>::count(data.len()), datatype::<T>());
        let to = comm.sentinels.destination(dest);
        // SAFETY: `count` items are what `data` holds; rank and tag are checked.
        let code =
            unsafe { native::MPI_Ssend(to_read(data), count, datatype, to, tag, comm.native) };
        comm.over();
        check_with(code, "MPI_Ssend", || attempt(data, dest))
    }

    /// # Safety
    /// A receive that matches is posted.
    pub(crate) unsafe fn rsend<T: Pod>(
        &self,
        data: &[T],
        dest: Destination,
        tag: i32,
    ) -> Result<()> {
        if self.claims_everything() {
            // A receive that waits to be claimed is not posted.
            return self.send(data, dest, tag);
        }
        let to = to_standard::destination(dest);
        let (count, datatype) = self.to_send_to(data, dest);
        // SAFETY: `count` items are what `data` holds; rank and tag are checked; a receive is posted, as is promised.
        let code =
            unsafe { sys::MPI_Rsend_c(to_read(data), count, datatype, to, tag, self.canonical) };
        check_with(code, "MPI_Rsend", || attempt(data, dest))
    }

    fn send_large<T: Pod>(&self, data: &[T], dest: Destination, tag: i32) -> Result<()> {
        let (to, datatype) = (to_standard::destination(dest), TypeOf::<T>::datatype());
        let count = large_count::<T>(data.len());
        // SAFETY: `count` items are what `data` holds; rank and tag are checked.
        let code =
            unsafe { sys::MPI_Send_c(to_read(data), count, datatype, to, tag, self.canonical) };
        check_with(code, "MPI_Send", || attempt(data, dest))
    }

    fn ssend_large<T: Pod>(&self, data: &[T], dest: Destination, tag: i32) -> Result<()> {
        let (to, datatype) = (to_standard::destination(dest), TypeOf::<T>::datatype());
        let count = large_count::<T>(data.len());
        // SAFETY: `count` items are what `data` holds; rank and tag are checked.
        let code =
            unsafe { sys::MPI_Ssend_c(to_read(data), count, datatype, to, tag, self.canonical) };
        check_with(code, "MPI_Ssend", || attempt(data, dest))
    }
}

fn attempt<T>(data: &[T], dest: Destination) -> String {
    match dest {
        Destination::Rank(dest) => format!("sending {} elements to rank {dest}", data.len()),
        Destination::Null => format!("sending {} elements to nobody", data.len()),
    }
}
