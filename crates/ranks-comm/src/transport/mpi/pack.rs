//! Packing. The length of the packed buffer is passed on, and compared before anything is unpacked.

use std::ffi::{c_int, c_void};

use ranks_mpi_sys as sys;
use ranks_mpi_sys::MPI_Count;

use super::communicator::Comm;
use super::datatypes::Items;
use super::error::check;
use crate::data::element::Pod;
use crate::data::layout::{View, ViewMut};
use crate::result::{Error, ErrorKind, Result, error};

impl Comm {
    pub(crate) fn pack_size<T: Pod>(&self, data: &View<'_, T>) -> Result<usize> {
        const OPERATION: &str = "MPI_Pack_size";
        let (_, what) = self.to_send(data, Items::Typed)?;
        let mut size: MPI_Count = 0;
        // SAFETY: the datatype is committed, and the size is ours.
        let code = unsafe {
            sys::MPI_Pack_size_c(
                what.count.into(),
                what.datatype,
                self.canonical,
                &raw mut size,
            )
        };
        check(code, OPERATION)?;
        // An overflowing `int` has turned negative in libraries that count in it.
        usize::try_from(size)
            .map(|size| size.max(data.bytes()))
            .map_err(|_| strange(OPERATION, size))
    }

    pub(crate) fn pack<T: Pod>(&self, data: &View<'_, T>, packed: &mut Vec<u8>) -> Result<()> {
        const OPERATION: &str = "MPI_Pack";
        let (before, more) = (packed.len(), self.pack_size(data)?);
        if more == 0 {
            return Ok(());
        }
        if let Err(reason) = packed.try_reserve(more) {
            return Err(error::no_memory(OPERATION, more, &reason));
        }
        packed.resize(before + more, 0);
        let end = self.pack_behind(data, packed, before);
        packed.truncate(*end.as_ref().unwrap_or(&before));
        end.map(drop)
    }

    /// Packs from `position` on, where there is room for as much as the library asks for; returns
    /// the end.
    fn pack_behind<T: Pod>(
        &self,
        data: &View<'_, T>,
        packed: &mut [u8],
        position: usize,
    ) -> Result<usize> {
        const OPERATION: &str = "MPI_Pack";
        let (from, what) = self.to_send(data, Items::Typed)?;
        let (count, datatype, comm) = (what.count, what.datatype, self.canonical);
        let (room, length) = (packed.as_mut_ptr().cast::<c_void>(), packed.len());
        from_to(
            OPERATION,
            position,
            length,
            |size, position| {
                // SAFETY: what is read is inside of `data`; `room` has `size` bytes; the position
                // is `from_to`'s.
                unsafe { sys::MPI_Pack(from, count, datatype, room, size, position, comm) }
            },
            |size, position| {
                // SAFETY: as above.
                unsafe { sys::MPI_Pack_c(from, count.into(), datatype, room, size, position, comm) }
            },
        )
    }

    /// Unpacks; `packed` has as many bytes from `position` on as the view selects. Returns the end.
    pub(crate) fn unpack<T: Pod>(
        &self,
        packed: &[u8],
        position: usize,
        into: &mut ViewMut<'_, T>,
    ) -> Result<usize> {
        const OPERATION: &str = "MPI_Unpack";
        if into.bytes() == 0 {
            return Ok(position);
        }
        let (to, what) = self.to_receive(into)?;
        let (count, datatype, comm) = (what.count, what.datatype, self.canonical);
        let (from, length) = (packed.as_ptr().cast::<c_void>(), packed.len());
        from_to(
            OPERATION,
            position,
            length,
            |size, position| {
                // SAFETY: `from` has `size` bytes; what is written is inside of `into`; the
                // position is `from_to`'s.
                unsafe { sys::MPI_Unpack(from, size, position, to, count, datatype, comm) }
            },
            |size, position| {
                // SAFETY: as above.
                unsafe { sys::MPI_Unpack_c(from, size, position, to, count.into(), datatype, comm) }
            },
        )
    }
}

/// Calls one of the two functions with the length of the packed bytes and a position in them;
/// returns the position behind.
fn from_to(
    operation: &'static str,
    begin: usize,
    length: usize,
    small: impl FnOnce(c_int, *mut c_int) -> c_int,
    large: impl FnOnce(MPI_Count, *mut MPI_Count) -> c_int,
) -> Result<usize> {
    let (code, end) = match (c_int::try_from(length), c_int::try_from(begin)) {
        (Ok(size), Ok(mut position)) => {
            let code = small(size, &raw mut position);
            (code, MPI_Count::from(position))
        }
        _ => {
            let count = |number| MPI_Count::try_from(number).unwrap_or(MPI_Count::MAX);
            let mut position = count(begin);
            let code = large(count(length), &raw mut position);
            (code, position)
        }
    };
    check(code, operation)?;
    usize::try_from(end)
        .ok()
        .filter(|end| (begin..=length).contains(end))
        .ok_or_else(|| strange(operation, end))
}

#[cold]
fn strange(operation: &'static str, number: MPI_Count) -> Error {
    Error::new(
        ErrorKind::Library,
        operation,
        format_args!("the library answers with {number} bytes, which is more than there are"),
    )
}
