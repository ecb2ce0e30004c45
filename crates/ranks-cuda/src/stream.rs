//! The order in which a device does what it was asked for.

use std::ffi::c_void;

/// The driver's own handle of a stream (`CUstream`, which `cudaStream_t` is as well).
#[doc(alias = "CUstream")]
#[doc(alias = "cudaStream_t")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct RawStream(pub *mut c_void);

// SAFETY: a handle is a number here: nothing is done behind it.
unsafe impl Send for RawStream {}
// SAFETY: as above.
unsafe impl Sync for RawStream {}
