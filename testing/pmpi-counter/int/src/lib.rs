//! The tool for libraries with the MPICH ABI, whose handles are ints.

/// A handle of such a library.
type Handle = std::ffi::c_int;

#[path = "../../calls.rs"]
pub mod calls;
