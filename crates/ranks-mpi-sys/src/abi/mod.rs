//! Differences between the ABI families, here and nowhere else.
//!
//! The table speaks the standard ABI. A library of that ABI fills it with its own functions. For
//! the two older families a slot holds a *shim*: it converts each argument by its [kind](kinds),
//! calls the library, and converts back what was written. Shims are generic over [`Abi`]; nothing
//! in them is decided at run time.
//!
//! Codes that are classes of errors are converted, others stay the library's own: a path without an
//! error costs one comparison.

#[allow(
    non_snake_case,
    improper_ctypes_definitions,
    clippy::too_many_arguments,
    clippy::multiple_unsafe_ops_per_block
)]
pub(crate) mod by_hand;
pub(crate) mod column;
pub(crate) mod handle;
pub(crate) mod kinds;
pub(crate) mod large;
pub(crate) mod memory;
pub(crate) mod mpich;
pub(crate) mod numbers;
pub(crate) mod openmpi;
pub(crate) mod predefined;

use std::ffi::{c_int, c_void};

use crate::generated::columns::Value;
use crate::types::MPI_Status;
use handle::{HandleKind, NativeHandle};

/// The differences between one of the older families and the standard ABI.
pub(crate) trait Abi: Sized + 'static {
    /// A handle of kind `H` in the library's own form.
    type Handle<H: HandleKind>: NativeHandle;

    /// A status in the library's own layout.
    type Status: Copy;

    /// `MPI_ANY_TAG`.
    const ANY_TAG: c_int;
    /// `MPI_IN_PLACE`.
    const IN_PLACE: *mut c_void;
    /// `MPI_BUFFER_AUTOMATIC`, where the family has it.
    const BUFFER_AUTOMATIC: Option<*mut c_void>;
    /// `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE`.
    const STATUS_IGNORE: *mut c_void;
    /// The number that is added to a user's keyval, so that it cannot be mistaken for a predefined
    /// one.
    const KEYVAL_SHIFT: c_int;

    /// This family's column of an enumeration.
    fn column(value: &Value) -> Option<c_int>;

    /// Returns `true` if `word` can only be a handle that a user's call has made, so that no lookup
    /// is needed.
    fn is_made_by_user(word: *mut c_void) -> bool;

    /// The library's own form of a status.
    fn status_in(status: &MPI_Status) -> Self::Status;
    /// The standard's form of a status that the library wrote.
    fn status_out(native: &Self::Status) -> MPI_Status;
}
