//! Datatypes of this crate, for other parts of the program.

use std::fmt;

use ranks_mpi_sys::MPI_Datatype;
use ranks_mpi_sys::native::{self, CHandle};

use crate::communicator::Communicator;
use crate::data::element::Pod;
use crate::data::layout::{Element, Fields, Layout};
use crate::interop::mpi::foreign::Kept;
use crate::interop::no_handles;
use crate::result::Result;

/// A committed datatype for other parts of the program; from [`Communicator::datatype`].
///
/// It stays committed as long as this value lives. Do not free it.
pub struct Datatype {
    handle: MPI_Datatype,
    _kept: Kept,
}

impl Communicator {
    /// The datatype of a [layout](crate::layout) of elements of `T`.
    ///
    /// One of it at the beginning of a slice selects the elements that [`Layout::of`] selects, and
    /// `count` of it those of [`repeat(count)`](Layout::repeat) of the layout. Inside of it numbers
    /// are MPI's own, all else is bytes; for the numbers of a struct see
    /// [`datatype_of_fields`](Self::datatype_of_fields). The datatype of `Layout::contiguous(1)` is
    /// the predefined one if `T` is a number, so that it can be reduced: `MPI_DOUBLE` for `f64`.
    ///
    /// Local.
    ///
    /// ```
    /// use ranks::interop::{CHandle, Datatype};
    /// use ranks::{Communicator, ErrorKind, Layout};
    ///
    /// # ranks::run(|world| {
    /// match world.datatype::<f64>(&Layout::vector(4, 1, 10)) {
    ///     Ok(column) => match column.as_native_raw() {
    ///         CHandle::Int(_) => println!("to be passed to C as an int"),
    ///         CHandle::Pointer(_) => println!("to be passed to C as a pointer"),
    ///     },
    ///     Err(error) => assert_eq!(error.kind(), ErrorKind::NotInLibrary),
    /// }
    /// # Ok::<(), ranks::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`](crate::ErrorKind::NotInLibrary) in process;
    /// [`ErrorKind::Length`](crate::ErrorKind::Length) if the layout reaches beyond what memory can
    /// hold; otherwise what the library reports.
    ///
    /// MPI 5.0 §5.1.9 (`MPI_Type_commit`).
    pub fn datatype<T: Pod>(&self, layout: &Layout) -> Result<Datatype> {
        self.share(Element::whole::<T>(), layout)
    }

    /// As [`datatype`](Self::datatype), of these fields of each `T`.
    ///
    /// # Errors
    /// As [`datatype`](Self::datatype).
    ///
    /// MPI 5.0 §5.1.9 (`MPI_Type_commit`).
    pub fn datatype_of_fields<T: Pod>(
        &self,
        layout: &Layout,
        fields: &Fields<T>,
    ) -> Result<Datatype> {
        self.share(Element::of_fields(fields), layout)
    }

    fn share(&self, element: Element, layout: &Layout) -> Result<Datatype> {
        const OPERATION: &str = "MPI_Type_commit";
        self.dispatch(
            OPERATION,
            |comm| {
                let (handle, _kept) = comm.share_datatype(element, layout)?;
                Ok(Datatype { handle, _kept })
            },
            |_| Err(no_handles(OPERATION)),
        )
    }
}

impl Datatype {
    /// The handle in the MPI 5.0 standard ABI, which the functions of `ranks-mpi-sys` take on every
    /// library.
    #[must_use]
    pub fn as_raw(&self) -> MPI_Datatype {
        self.handle
    }

    /// The library's own handle, for a C function that was compiled with the library's `mpi.h`.
    #[must_use]
    pub fn as_native_raw(&self) -> CHandle {
        // SAFETY: the library is loaded, as there is a datatype of it.
        unsafe { native::datatype_to_c(self.handle) }
    }
}

impl fmt::Debug for Datatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Datatype").field(&self.handle).finish()
    }
}
