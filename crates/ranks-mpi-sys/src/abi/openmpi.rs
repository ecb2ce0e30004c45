//! The Open MPI family: Open MPI 3 to 5 and what is built from it.

use std::ffi::{CStr, c_int, c_void};

use super::Abi;
use super::column::{address_of, constant, openmpi_value};
use super::handle::HandleKind;
use super::kinds::Conversion;
use super::numbers::{Codes, Ranks, Tags};
use crate::generated::columns::{self, Value};
use crate::slot::Slot;
use crate::types::MPI_Status;

/// The family, as a parameter of shims.
#[derive(Debug)]
pub(crate) struct OpenMpi;

/// A symbol that only libraries of this family have: their predefined handles are addresses of such
/// objects.
pub(crate) const MARK: &CStr = c"ompi_mpi_comm_world";

/// The addresses between which the library's predefined objects lie.
pub(crate) static OBJECTS: Slot<(usize, usize)> = Slot::new((usize::MAX, 0));

/// `MPI_Status` in this family's `mpi.h`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Status {
    source: c_int,
    tag: c_int,
    error: c_int,
    cancelled: c_int,
    bytes: usize,
}

impl Status {
    /// The offset of the source, counted in ints.
    pub(crate) const SOURCE_WORD: usize = std::mem::offset_of!(Status, source) / size_of::<c_int>();
    /// The offset of the tag, counted in ints.
    pub(crate) const TAG_WORD: usize = std::mem::offset_of!(Status, tag) / size_of::<c_int>();
    /// The offset of the error, counted in ints.
    pub(crate) const ERROR_WORD: usize = std::mem::offset_of!(Status, error) / size_of::<c_int>();
}

impl Abi for OpenMpi {
    type Handle<H: HandleKind> = *mut c_void;
    type Status = Status;

    const ANY_TAG: c_int = openmpi_value(columns::TAG, crate::MPI_ANY_TAG);
    const IN_PLACE: *mut c_void = constant(address_of("MPI_IN_PLACE").openmpi).expect("a constant");
    const BUFFER_AUTOMATIC: Option<*mut c_void> =
        constant(address_of("MPI_BUFFER_AUTOMATIC").openmpi);
    const STATUS_IGNORE: *mut c_void =
        constant(address_of("MPI_STATUS_IGNORE").openmpi).expect("a constant");
    /// Users' keyvals are small integers and could reach the standard's 501 and following.
    const KEYVAL_SHIFT: c_int = 0x1000;

    fn column(value: &Value) -> Option<c_int> {
        value.openmpi
    }

    #[inline(always)]
    fn is_made_by_user(word: *mut c_void) -> bool {
        // SAFETY: written by `load` before the first shim can run.
        let &(first, last) = unsafe { OBJECTS.get() };
        word.addr() < first || word.addr() > last
    }

    #[inline(always)]
    #[expect(
        clippy::cast_sign_loss,
        reason = "the words of a size_t travel as ints"
    )]
    fn status_in(status: &MPI_Status) -> Status {
        let [cancelled, low, high, ..] = status.MPI_internal;
        Status {
            source: Ranks::to_native::<Self>(status.MPI_SOURCE),
            tag: Tags::to_native::<Self>(status.MPI_TAG),
            error: Codes::to_native::<Self>(status.MPI_ERROR),
            cancelled,
            bytes: low as u32 as usize | (high as u32 as usize) << 32,
        }
    }

    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the words of a size_t travel as ints"
    )]
    fn status_out(native: &Status) -> MPI_Status {
        MPI_Status {
            MPI_SOURCE: Ranks::to_standard::<Self>(native.source),
            MPI_TAG: Tags::to_standard::<Self>(native.tag),
            MPI_ERROR: Codes::to_standard::<Self>(native.error),
            MPI_internal: [
                native.cancelled,
                native.bytes as c_int,
                (native.bytes >> 32) as c_int,
                0,
                0,
            ],
        }
    }
}
