//! The MPICH family: MPICH, Intel MPI, MVAPICH, Cray MPICH and everything else with its ABI.

use std::ffi::{CStr, c_int, c_void};

use super::Abi;
use super::column::{address_of, constant, mpich_value};
use super::handle::{HandleKind, NativeHandle};
use super::kinds::Conversion;
use super::numbers::{Codes, Ranks, Tags};
use crate::generated::columns::{self, Value};
use crate::types::MPI_Status;

/// The family, as a parameter of shims.
#[derive(Debug)]
pub(crate) struct Mpich;

/// A symbol that only libraries of this family have as data: in Open MPI it is a macro.
pub(crate) const MARK: &CStr = c"MPI_UNWEIGHTED";

/// `MPI_Status` in this family's `mpi.h`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Status {
    count_lo: c_int,
    count_hi_and_cancelled: c_int,
    source: c_int,
    tag: c_int,
    error: c_int,
}

impl Status {
    /// The offset of the source, counted in ints.
    pub(crate) const SOURCE_WORD: usize = std::mem::offset_of!(Status, source) / size_of::<c_int>();
    /// The offset of the tag, counted in ints.
    pub(crate) const TAG_WORD: usize = std::mem::offset_of!(Status, tag) / size_of::<c_int>();
    /// The offset of the error, counted in ints.
    pub(crate) const ERROR_WORD: usize = std::mem::offset_of!(Status, error) / size_of::<c_int>();
}

impl Abi for Mpich {
    type Handle<H: HandleKind> = H::Mpich;
    type Status = Status;

    const ANY_TAG: c_int = mpich_value(columns::TAG, crate::MPI_ANY_TAG);
    const IN_PLACE: *mut c_void = constant(address_of("MPI_IN_PLACE").mpich).expect("a constant");
    const BUFFER_AUTOMATIC: Option<*mut c_void> =
        constant(address_of("MPI_BUFFER_AUTOMATIC").mpich);
    const STATUS_IGNORE: *mut c_void =
        constant(address_of("MPI_STATUS_IGNORE").mpich).expect("a constant");
    const KEYVAL_SHIFT: c_int = 0;

    fn column(value: &Value) -> Option<c_int> {
        value.mpich
    }

    /// The two top bits of a handle are its kind, 10 and 11 for what a user made. The pair types of
    /// MINLOC and MAXLOC carry such bits though they are predefined.
    #[inline(always)]
    fn is_made_by_user(word: *mut c_void) -> bool {
        const PAIRS: std::ops::RangeInclusive<c_int> =
            0x8c00_0000_u32 as c_int..=0x8c00_0004_u32 as c_int;
        let handle = c_int::from_word(word);
        handle < 0 && !PAIRS.contains(&handle)
    }

    #[inline(always)]
    fn status_in(status: &MPI_Status) -> Status {
        Status {
            count_lo: status.MPI_internal[0],
            count_hi_and_cancelled: status.MPI_internal[1],
            source: Ranks::to_native::<Self>(status.MPI_SOURCE),
            tag: Tags::to_native::<Self>(status.MPI_TAG),
            error: Codes::to_native::<Self>(status.MPI_ERROR),
        }
    }

    #[inline(always)]
    fn status_out(native: &Status) -> MPI_Status {
        MPI_Status {
            MPI_SOURCE: Ranks::to_standard::<Self>(native.source),
            MPI_TAG: Tags::to_standard::<Self>(native.tag),
            MPI_ERROR: Codes::to_standard::<Self>(native.error),
            MPI_internal: [native.count_lo, native.count_hi_and_cancelled, 0, 0, 0],
        }
    }
}
