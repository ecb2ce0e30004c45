//! Datatypes shared with other parts of the program, in both directions.

use std::ffi::c_int;
use std::sync::Arc;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Count, MPI_Datatype};

use crate::data::element::Pod;
use crate::data::layout::{Element, Layout};
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::interop::Bounds;
use crate::result::{Error, ErrorKind, Result, Status, error};
use crate::transport::mpi::buffer::{to_read, to_write};
use crate::transport::mpi::communicator::Comm;
use crate::transport::mpi::datatypes::{Committed, Description, Frame, Items};
use crate::transport::mpi::error::{check, check_with, library};
use crate::transport::mpi::peer::STANDARD;
use crate::transport::mpi::recv::Room;
use crate::transport::mpi::session::Session;

/// The holders of a datatype for other parts of the program, and of MPI, which keep them alive.
pub(crate) type Kept = (Option<Arc<Committed>>, Arc<Session>);

/// A duplicate of a datatype of another part of the program.
pub(crate) struct ForeignHandle {
    handle: MPI_Datatype,
    session: Arc<Session>,
}

impl Drop for ForeignHandle {
    fn drop(&mut self) {
        // This thread may be one that must not call.
        self.session.datatypes.retire(self.handle);
    }
}

impl Comm {
    /// The datatype of a layout from the beginning of a slice on, for other parts of the program.
    pub(crate) fn share_datatype(
        &self,
        element: Element,
        layout: &Layout,
    ) -> Result<(MPI_Datatype, Kept)> {
        let session = Arc::clone(&self.session);
        if layout.true_extent() == (0..1)
            && layout.elements() == 1
            && layout.extent() == 1
            && let Element::Whole { size, item } = &element
            && item.width() == *size
        {
            return Ok((item.datatype(), (None, session)));
        }
        let bytes = |elements: usize| {
            let bytes = elements.checked_mul(element.size())?;
            isize::try_from(bytes).is_ok().then_some(bytes)
        };
        let frame = bytes(layout.start()).zip(bytes(layout.extent()));
        let (Some((start, extent)), Some(_), false) = (
            frame,
            bytes(layout.true_extent().end),
            layout.is_too_large(),
        ) else {
            let why = "the layout reaches beyond what memory can hold";
            return Err(Error::new(ErrorKind::Length, "MPI_Type_commit", why));
        };
        let committed = self.session.datatypes.get(Description {
            known: Arc::clone(layout.known()),
            element,
            items: Items::Typed,
            frame: Some(Frame { start, extent }),
        })?;
        Ok((committed.0, (Some(committed), session)))
    }

    /// Duplicates a datatype of another part of the program, and returns its bounds.
    ///
    /// # Safety
    /// That of `Runtime::datatype_from_raw`.
    pub(crate) unsafe fn duplicate_datatype(
        &self,
        operation: &'static str,
        raw: MPI_Datatype,
    ) -> Result<(ForeignHandle, Bounds)> {
        if raw == sys::MPI_DATATYPE_NULL || raw.0.is_null() {
            let why = "the handle is MPI_DATATYPE_NULL, which is no datatype";
            return Err(Error::new(ErrorKind::Argument, operation, why));
        }
        self.session.datatypes.free_retired()?;
        // SAFETY: the datatype is alive, by this function's contract.
        let bounds = unsafe { bounds(operation, raw) }?;
        let mut made = sys::MPI_DATATYPE_NULL;
        // SAFETY: the datatype is alive, by this function's contract, and there is a place for the
        // new one.
        let code = unsafe { sys::MPI_Type_dup(raw, &raw mut made) };
        check(code, "MPI_Type_dup")?;
        let handle = ForeignHandle {
            handle: made,
            session: Arc::clone(&self.session),
        };
        Ok((handle, bounds))
    }

    /// # Safety
    /// The bytes that `count` of the datatype cover are inside of `data`.
    pub(crate) unsafe fn send_foreign<T: Pod>(
        &self,
        data: &[T],
        count: usize,
        datatype: &ForeignHandle,
        dest: Destination,
        tag: i32,
    ) -> Result<()> {
        let (from, to) = (to_read(data), STANDARD.destination(dest));
        let code = match c_int::try_from(count) {
            // SAFETY: by this function's contract; rank and tag are checked.
            Ok(count) => unsafe {
                sys::MPI_Send(from, count, datatype.handle, to, tag, self.canonical)
            },
            Err(_) => {
                let count = large(count);
                // SAFETY: as above.
                unsafe { sys::MPI_Send_c(from, count, datatype.handle, to, tag, self.canonical) }
            }
        };
        check_with(code, "MPI_Send", || {
            format!("sending {count} of a datatype")
        })
    }

    /// Matches the message first and compares its length, as for every derived datatype (see
    /// `layout`).
    ///
    /// # Safety
    /// The bytes that `count` of the datatype cover, each of them `size` bytes, are inside of
    /// `buf`.
    pub(crate) unsafe fn recv_foreign<T: Pod>(
        &self,
        buf: &mut [T],
        count: usize,
        datatype: &ForeignHandle,
        size: usize,
        source: Source,
        tag: Tag,
    ) -> Result<Status> {
        let room = Room {
            pointer: to_write(buf),
            count: large(count),
            datatype: datatype.handle,
            claims: true,
            capacity: count,
            width: size,
            fits: |operation, bytes| {
                if bytes > size.saturating_mul(count) {
                    let (arrived, library) = (Some(bytes), library());
                    return Err(error::truncated(operation, arrived, count, size, library));
                }
                // Less than one of them may end the process on MPICH, see `recv`.
                if bytes.checked_rem(size).unwrap_or(bytes) != 0 {
                    return Err(error::not_whole(operation, bytes, size, "a datatype"));
                }
                Ok(())
            },
        };
        // SAFETY: what is written is inside of `buf`, by this function's contract.
        unsafe { self.recv_into("MPI_Recv", &room, source, tag) }
    }
}

/// A count of items in memory.
fn large(count: usize) -> MPI_Count {
    MPI_Count::try_from(count).unwrap_or(MPI_Count::MAX)
}

/// The bounds of a datatype in bytes; an error if it starts before the beginning.
///
/// # Safety
/// The datatype is alive.
unsafe fn bounds(operation: &'static str, datatype: MPI_Datatype) -> Result<Bounds> {
    let (mut size, mut first, mut extent): (MPI_Count, MPI_Count, MPI_Count) = (0, 0, 0);
    // SAFETY: the datatype is alive, and the number is ours.
    let code = unsafe { sys::MPI_Type_size_x(datatype, &raw mut size) };
    check(code, "MPI_Type_size_x")?;
    // SAFETY: as above.
    let code = unsafe { sys::MPI_Type_get_extent_x(datatype, &raw mut first, &raw mut extent) };
    check(code, "MPI_Type_get_extent_x")?;
    let (mut start, mut length): (MPI_Count, MPI_Count) = (0, 0);
    // SAFETY: as above.
    let code =
        unsafe { sys::MPI_Type_get_true_extent_x(datatype, &raw mut start, &raw mut length) };
    check(code, "MPI_Type_get_true_extent_x")?;
    let found = [size, extent, start, length].map(usize::try_from);
    if let [Ok(size), Ok(extent), Ok(start), Ok(length)] = found
        && let Some(end) = start.checked_add(length)
    {
        return Ok(Bounds {
            size,
            extent,
            start,
            end,
        });
    }
    let why = format_args!(
        "the datatype has {size} bytes, {length} bytes from byte {start} on, and the next one is {extent} bytes \
         further; none of these may be negative"
    );
    Err(Error::new(ErrorKind::Argument, operation, why))
}
