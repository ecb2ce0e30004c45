//! MPI in the terms of the MPI-5.0 standard ABI, over whichever libmpi is found at run time.
//!
//! [`load()`] opens a library; after that the functions of the C interface are here under their own
//! names, with the types and constants of the standard ABI, whatever ABI the library has:
//!
//! | library | how |
//! |---|---|
//! | any of the standard ABI (`libmpi_abi`) | the library's own functions |
//! | MPICH, Intel MPI, MVAPICH, Cray MPICH | shims that convert handles, statuses and constants |
//! | Open MPI | the same, with other conversions |
//!
//! A function that the library lacks returns a code of its own, which [`missing()`] turns into its
//! name and the version of the standard that is needed for it.
//!
//! # What comes on top of the contract of the C functions
//!
//! * [`load()`] has returned successfully before the call.
//! * Out-parameters point at initialised values: they are converted in as well, so that they are
//!   defined when a call fails.
//! * Error classes are the standard's wherever codes stand: in arguments, in statuses, in what is
//!   returned, and in what functions of the caller get and give. Other codes are the library's own,
//!   and `MPI_Error_class` gives the class. What `MPI_Abort` is given is the status of a process,
//!   and no code.
//! * Arrays of datatypes for calls that go on after they have returned (`MPI_Ialltoallw`,
//!   `MPI_Alltoallw_init` and their kin) are [`native::Datatypes`], which the caller keeps until
//!   the operation is complete.
//! * A buffer of no elements must not be the dangling pointer of an empty Rust slice: that of an
//!   empty `&[u8]` is `MPI_IN_PLACE`.
//!
//! The module [`native`] is for hot paths: the same functions with values in the library's own
//! form.
//!
//! Without the feature `whole`, which is on unless it is turned off, only those functions are there
//! that the crates of ranks call: half of them, in two thirds of the time to compile.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_docs)]
#![cfg_attr(
    not(feature = "whole"),
    allow(
        dead_code,
        unused_imports,
        reason = "they are for functions that nobody in ranks calls"
    )
)]

#[macro_use]
mod define;

mod abi;
#[allow(
    missing_docs,
    non_snake_case,
    reason = "what the macro makes, with names of C"
)]
pub mod fault_tolerance;
mod fill;
mod function;
mod load;
pub mod native;
mod slot;
#[allow(non_camel_case_types, non_snake_case)]
mod types;

/// Generated from the headers of MPI libraries by `cargo xtask codegen`.
#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    dead_code,
    unreachable_pub,
    clippy::too_many_arguments,
    clippy::multiple_unsafe_ops_per_block
)]
mod generated;

pub use fault_tolerance::{
    MPIX_Comm_ack_failed, MPIX_Comm_agree, MPIX_Comm_get_failed, MPIX_Comm_is_revoked,
    MPIX_Comm_revoke, MPIX_Comm_shrink,
};
pub use function::{Function, function, functions, missing};
pub use generated::constants::*;
pub use generated::functions::*;
pub use generated::types::*;
#[doc(hidden)]
pub use load::open_mpi_version;
pub use load::{Family, Loaded, Relocation, load, loaded};
pub use types::*;
