//! The tool for libraries with the standard ABI and Open MPI, whose handles are pointers.

/// A handle of such a library.
type Handle = *mut std::ffi::c_void;

#[path = "../../calls.rs"]
pub mod calls;
