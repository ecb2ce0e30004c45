//! Sends.

use std::ffi::c_int;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::native;

use super::buffer::{datatype, large_count, small_count, to_read};
use super::communicator::Comm;
use super::element::TypeOf;
use super::error::check_with;
use super::peer::to_standard;
use crate::element::Pod;
use crate::error::Result;
use crate::source::Destination;

impl Comm {
    #[inline(always)]
    pub(crate) fn send<T: Pod>(&self, data: &[T], dest: Destination, tag: i32) -> Result<()> {
        let code = match small_count(data) {
            Some(count) => {
                let (to, datatype) = (self.sentinels.destination(dest), datatype::<T>());
                // SAFETY: `count` items are what `data` holds; rank and tag are checked.
                unsafe { native::MPI_Send(to_read(data), count, datatype, to, tag, self.native) }
            }
            None => self.send_large(data, dest, tag),
        };
        check_with(code, "MPI_Send", || attempt(data, dest))
    }

    #[inline(always)]
    pub(crate) fn ssend<T: Pod>(&self, data: &[T], dest: Destination, tag: i32) -> Result<()> {
        let code = match small_count(data) {
            Some(count) => {
                let (to, datatype) = (self.sentinels.destination(dest), datatype::<T>());
                // SAFETY: `count` items are what `data` holds; rank and tag are checked.
                unsafe { native::MPI_Ssend(to_read(data), count, datatype, to, tag, self.native) }
            }
            None => self.ssend_large(data, dest, tag),
        };
        check_with(code, "MPI_Ssend", || attempt(data, dest))
    }

    #[cold]
    fn send_large<T: Pod>(&self, data: &[T], dest: Destination, tag: i32) -> c_int {
        let (to, datatype) = (to_standard::destination(dest), TypeOf::<T>::datatype());
        let count = large_count::<T>(data.len());
        // SAFETY: `count` items are what `data` holds; rank and tag are checked.
        unsafe { sys::MPI_Send_c(to_read(data), count, datatype, to, tag, self.canonical) }
    }

    #[cold]
    fn ssend_large<T: Pod>(&self, data: &[T], dest: Destination, tag: i32) -> c_int {
        let (to, datatype) = (to_standard::destination(dest), TypeOf::<T>::datatype());
        let count = large_count::<T>(data.len());
        // SAFETY: `count` items are what `data` holds; rank and tag are checked.
        unsafe { sys::MPI_Ssend_c(to_read(data), count, datatype, to, tag, self.canonical) }
    }
}

fn attempt<T>(data: &[T], dest: Destination) -> String {
    match dest {
        Destination::Rank(dest) => format!("sending {} elements to rank {dest}", data.len()),
        Destination::Null => format!("sending {} elements to nobody", data.len()),
    }
}
