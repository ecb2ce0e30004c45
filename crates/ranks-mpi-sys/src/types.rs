//! The C types of the standard ABI.
//!
//! MPI 5.0 §20: handles are pointers to incomplete structures, predefined ones are small integers,
//! a status is 32 bytes.

use std::ffi::{c_int, c_void};

/// An address-sized signed integer (`MPI_Aint`).
pub type MPI_Aint = isize;
/// A count of elements or bytes (`MPI_Count`).
pub type MPI_Count = i64;
/// A position in a file (`MPI_Offset`).
pub type MPI_Offset = i64;
/// A Fortran `INTEGER` (`MPI_Fint`).
pub type MPI_Fint = c_int;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        ///
        /// A handle names an object of the MPI library; it is no Rust pointer and owns nothing.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name(pub *mut c_void);

        // SAFETY: a handle is a name. Which threads may use it is the contract of each MPI call.
        unsafe impl Send for $name {}
        // SAFETY: as above; the name itself is immutable.
        unsafe impl Sync for $name {}
    )*};
}

handles! {
    /// A communicator.
    MPI_Comm,
    /// A group of processes.
    MPI_Group,
    /// A window of memory for one-sided communication.
    MPI_Win,
    /// An open file.
    MPI_File,
    /// A session.
    MPI_Session,
    /// A matched message.
    MPI_Message,
    /// A set of hints.
    MPI_Info,
    /// An error handler.
    MPI_Errhandler,
    /// A request.
    MPI_Request,
    /// A datatype.
    MPI_Datatype,
    /// An operation of a reduction.
    MPI_Op,
}

/// The status of a completed operation (`MPI_Status`).
///
/// Aligned to 8 bytes, more than the C header asks, so that the status of every library fits in
/// place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct MPI_Status {
    /// The rank of the sender.
    pub MPI_SOURCE: c_int,
    /// The tag of the message.
    pub MPI_TAG: c_int,
    /// An error code, set only by calls that complete several operations.
    pub MPI_ERROR: c_int,
    /// The library's own.
    pub MPI_internal: [c_int; 5],
}

impl MPI_Status {
    /// A status to be written by a call.
    pub const EMPTY: MPI_Status = MPI_Status {
        MPI_SOURCE: 0,
        MPI_TAG: 0,
        MPI_ERROR: 0,
        MPI_internal: [0; 5],
    };
}
