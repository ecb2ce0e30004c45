//! Handles of an MPI library from other parts of the program, and for them.
#![allow(unsafe_code)]

pub(crate) mod foreign;
pub(crate) mod interop;
