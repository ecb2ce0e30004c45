//! Datatypes of other parts of the program, and messages of them.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use ranks_launch::Count;
use ranks_mpi_sys::MPI_Datatype;
use ranks_mpi_sys::native::{self, CHandle};

use super::mpi::interop::other_form;
use crate::communicator::Communicator;
use crate::data::element::Pod;
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::interop::mpi::foreign::ForeignHandle;
use crate::interop::no_handles;
use crate::result::{Error, ErrorKind, Result, Status};
use crate::runtime::Runtime;

/// A datatype that another part of the program has made, for slices of `T`; from
/// [`Runtime::datatype_from_native_raw`].
///
/// It is measured in bytes from the beginning of the slice: [`true_extent`](Self::true_extent) of
/// one of it, and the same again each [`extent`](Self::extent) further on. Every call checks these
/// bounds against the slice.
///
/// It is a duplicate: the other part may free its own immediately.
pub struct ForeignDatatype<T> {
    handle: ForeignHandle,
    bounds: Bounds,
    of: PhantomData<fn(T) -> T>,
}

/// The bounds of a datatype in bytes; none is before its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The number of bytes that are transferred.
    pub(crate) size: usize,
    /// The distance between two of it.
    pub(crate) extent: usize,
    /// The start of the first byte that is transferred.
    pub(crate) start: usize,
    /// The end of the last one.
    pub(crate) end: usize,
}

impl Bounds {
    /// The number of bytes of memory that `count` of it need; `None` if that is more than there can
    /// be.
    fn reach(self, count: usize) -> Option<usize> {
        let Some(gaps) = count.checked_sub(1).filter(|_| self.size > 0) else {
            return Some(0);
        };
        // The number of transferred bytes must be countable as well.
        self.size.checked_mul(count)?;
        self.extent.checked_mul(gaps)?.checked_add(self.end)
    }

    /// Checks that `count` of it are inside of so many bytes.
    fn check(self, operation: &'static str, count: usize, bytes: usize) -> Result<()> {
        match self.reach(count) {
            Some(needed) if needed <= bytes => Ok(()),
            needed => {
                let needed = needed.map_or("more than memory can hold".to_owned(), |needed| {
                    Count(needed, "byte").to_string()
                });
                let why = format_args!(
                    "{count} of this datatype need {needed}, but the slice has {bytes}"
                );
                Err(Error::new(ErrorKind::Length, operation, why))
            }
        }
    }
}

impl Runtime {
    /// A datatype that another part of the program has made, from its handle in the standard ABI.
    ///
    /// Local.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if it is `MPI_DATATYPE_NULL`, or covers bytes before the address
    /// that it is used with, or has a negative extent; [`ErrorKind::NotInLibrary`] in process;
    /// otherwise what the library reports.
    ///
    /// # Safety
    /// `raw` is a datatype of the library that this runtime has, or null; it is alive and committed
    /// until this returns. Its numbers are aligned wherever a `T` may lie. If it is received into,
    /// it takes no byte twice, whatever the count.
    ///
    /// MPI 5.0 §5.1.10 (`MPI_Type_dup`).
    pub unsafe fn datatype_from_raw<T: Pod>(
        &self,
        raw: MPI_Datatype,
    ) -> Result<ForeignDatatype<T>> {
        const OPERATION: &str = "Runtime::datatype_from_raw";
        self.world().dispatch(
            OPERATION,
            // SAFETY: the caller's contract is the same.
            |comm| unsafe { comm.duplicate_datatype(OPERATION, raw) }.map(ForeignDatatype::new),
            |_| Err(no_handles(OPERATION)),
        )
    }

    /// As [`datatype_from_raw`](Self::datatype_from_raw), from the library's own handle, as C code
    /// has it.
    ///
    /// # Errors
    /// As [`datatype_from_raw`](Self::datatype_from_raw); [`ErrorKind::Argument`] also if the
    /// handle is a pointer and the library's handles are ints, or the other way round.
    ///
    /// # Safety
    /// As [`datatype_from_raw`](Self::datatype_from_raw).
    ///
    /// MPI 5.0 §5.1.10 (`MPI_Type_dup`).
    pub unsafe fn datatype_from_native_raw<T: Pod>(
        &self,
        raw: CHandle,
    ) -> Result<ForeignDatatype<T>> {
        const OPERATION: &str = "Runtime::datatype_from_native_raw";
        self.world().dispatch(
            OPERATION,
            |comm| {
                // SAFETY: the library is loaded, as there is a communicator of it.
                let canonical = unsafe { native::datatype_from_c(raw) };
                let raw = canonical.ok_or_else(|| other_form(OPERATION, raw))?;
                // SAFETY: the caller's contract is the same.
                unsafe { comm.duplicate_datatype(OPERATION, raw) }.map(ForeignDatatype::new)
            },
            |_| Err(no_handles(OPERATION)),
        )
    }
}

impl<T: Pod> ForeignDatatype<T> {
    fn new((handle, bounds): (ForeignHandle, Bounds)) -> Self {
        Self {
            handle,
            bounds,
            of: PhantomData,
        }
    }

    /// The number of bytes that one transfers.
    ///
    /// MPI 5.0 §5.1.5 (`MPI_Type_size`).
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bounds.size
    }

    /// The distance between two, in bytes.
    ///
    /// MPI 5.0 §5.1.7 (`MPI_Type_get_extent`).
    #[must_use]
    pub fn extent(&self) -> usize {
        self.bounds.extent
    }

    /// The range from the first byte that one transfers to the end of the last; empty if there is
    /// none.
    ///
    /// MPI 5.0 §5.1.8 (`MPI_Type_get_true_extent`).
    #[must_use]
    pub fn true_extent(&self) -> Range<usize> {
        self.bounds.start..self.bounds.end
    }
}

impl Communicator {
    /// As [`send`](Self::send), of `count` of a datatype in `data`.
    ///
    /// # Errors
    /// As [`send`](Self::send); [`ErrorKind::Length`] if they reach beyond the end of `data`;
    /// [`ErrorKind::NotInLibrary`] in process.
    ///
    /// MPI 5.0 §3.2.1 (`MPI_Send`).
    #[doc(alias = "MPI_Send")]
    #[doc(alias = "MPI_Send_c")]
    pub fn send_typed<T: Pod>(
        &self,
        data: &[T],
        count: usize,
        datatype: &ForeignDatatype<T>,
        dest: impl Into<Destination>,
        tag: i32,
    ) -> Result<()> {
        const OPERATION: &str = "MPI_Send";
        let dest = self.destination(OPERATION, dest)?;
        self.check_tag(OPERATION, tag)?;
        datatype.bounds.check(OPERATION, count, size_of_val(data))?;
        self.dispatch(
            OPERATION,
            // SAFETY: what `count` of it take is inside of `data`, as was just compared.
            |comm| unsafe { comm.send_foreign(data, count, &datatype.handle, dest, tag) },
            |_| Err(no_handles(OPERATION)),
        )
    }

    /// As [`recv`](Self::recv), into `count` of a datatype in `buf`; other bytes of the slice are
    /// not touched.
    ///
    /// A shorter message fills the first of them.
    ///
    /// # Errors
    /// As [`recv`](Self::recv): [`ErrorKind::Truncated`] if the message is longer than they are,
    /// [`ErrorKind::Type`] if it is not a whole number of them; [`ErrorKind::Length`] if they reach
    /// beyond the end of `buf`; [`ErrorKind::NotInLibrary`] in process.
    ///
    /// MPI 5.0 §3.2.4 (`MPI_Recv`).
    #[doc(alias = "MPI_Recv")]
    #[doc(alias = "MPI_Recv_c")]
    pub fn recv_typed<T: Pod>(
        &self,
        buf: &mut [T],
        count: usize,
        datatype: &ForeignDatatype<T>,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Status> {
        const OPERATION: &str = "MPI_Recv";
        let source = self.source(OPERATION, source)?;
        let tag = self.tag(OPERATION, tag)?;
        let ForeignDatatype { handle, bounds, .. } = datatype;
        bounds.check(OPERATION, count, size_of_val(buf))?;
        self.dispatch(
            OPERATION,
            // SAFETY: what `count` of it take is inside of `buf`, as was just compared.
            |comm| unsafe { comm.recv_foreign(buf, count, handle, bounds.size, source, tag) },
            |_| Err(no_handles(OPERATION)),
        )
    }
}

impl<T> fmt::Debug for ForeignDatatype<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignDatatype")
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_process_there_are_no_datatypes() {
        let runtime = Runtime::builder()
            .backend(crate::Backend::InProcess)
            .ranks(1)
            .init()
            .unwrap();
        // SAFETY: in process nothing is done with the handle.
        let refused = unsafe { runtime.datatype_from_raw::<u8>(ranks_mpi_sys::MPI_BYTE) };
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::NotInLibrary);
        // SAFETY: as above.
        let refused = unsafe { runtime.datatype_from_native_raw::<u8>(CHandle::Int(0)) };
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::NotInLibrary);
        let refused = runtime
            .world()
            .datatype::<f64>(&crate::Layout::contiguous(1));
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::NotInLibrary);
    }

    #[test]
    fn what_many_of_a_datatype_need_is_counted_from_the_beginning() {
        let bounds = Bounds {
            size: 12,
            extent: 24,
            start: 8,
            end: 20,
        };
        assert_eq!(bounds.reach(0), Some(0));
        assert_eq!(bounds.reach(1), Some(20));
        assert_eq!(bounds.reach(3), Some(68));
        assert_eq!(bounds.reach(usize::MAX), None);
        assert_eq!(bounds.reach(usize::MAX / 20), None);
        assert!(bounds.check("x", 3, 68).is_ok());
        let error = bounds.check("x", 3, 67).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Length);
        let text = error.to_string();
        assert!(text.contains("68") && text.contains("67"), "{text}");
        let nothing = Bounds { size: 0, ..bounds };
        assert_eq!(nothing.reach(usize::MAX), Some(0));
    }
}
