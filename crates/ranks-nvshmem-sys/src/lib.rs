//! NVSHMEM's host library, found at run time: its types, its constants, and its functions in a
//! table of which each may be missing.
//!
//! [`NvshmemLibrary::load`] finds the library; nothing is linked, and a program that has this crate
//! in it starts where there is no NVSHMEM. The types are those of NVSHMEM 3.8.0. All releases from
//! 3.2 on serve; what is younger than 3.1 may be missing in the table.
//!
//! | what | where |
//! |---|---|
//! | the library of this process, or a file | [`NvshmemLibrary::load`], [`NvshmemLibrary::open`] |
//! | its functions | [`NvshmemLibrary::table`], a [`Table`] of `Option`s |
//! | its reductions, one for each type | [`NvshmemLibrary::reduction`], [`NvshmemLibrary::reduction_on_stream`] |
//! | which release brought a function | [`since`] |
//! | structs as the library wants them before use | [`NvshmemLibrary::attr`], [`NvshmemLibrary::team_config`], [`nvshmemx_uniqueid_t::zeroed`] |
//!
//! # What is left out, and why
//!
//! * `nvshmem_init`, `nvshmemx_init_attr`, `nvshmem_finalize`: no host library exports them; they
//!   are in the library for code on GPUs, and end the process when they fail. Programs that find
//!   the library at run time begin with `nvshmemx_hostlib_init_attr`, and end with
//!   `nvshmemx_hostlib_finalize`.
//! * `nvshmemx_signal_op` without a stream, `nvshmem_half_atomic_*`: declared and not exported.
//! * All atomics (`nvshmem_*_atomic_*`): the host library has 150, which print that they are not
//!   implemented and do nothing. From the host a word is set or added to by
//!   `nvshmemx_signal_op_on_stream` and `nvshmemx_putmem_signal_on_stream`.
//! * `nvshmemx_*_g_on_stream`: the value is returned before the stream has come to it.
//! * The forms for types and sizes of elements of what has a form for bytes.
//! * `nvshmemid_*`, `nvshmemx_qp_create`, `nvshmemx_region_*`, `nvshmemx_collective_launch*`,
//!   `nvshmemx_signal_counted_reset`: for programs in CUDA C++.
//!
//! # What a caller must know
//!
//! The contract of each C function, and that most of them end the process where they cannot do
//! their work: before the library is initialised, after it is finalized, with a PE or a team that
//! does not exist. Whether it is initialised says `nvshmemx_init_status`, which is then
//! [`NVSHMEM_STATUS_IS_INITIALIZED`] or more, and not the value that the initialisation returns:
//! without a GPU that is 0 before release 3.5. After an initialisation that failed
//! `nvshmemx_hostlib_finalize` ends the process as well. `nvshmemx_set_attr_uniqueid_args` keeps
//! the pointer to the id, until the initialisation has returned.

#![deny(missing_docs)]

mod error;
mod initial;
mod library;
mod reduction;
mod version;

/// Generated from NVSHMEM's headers by `cargo xtask codegen`.
#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    clippy::missing_safety_doc,
    clippy::type_complexity,
    missing_debug_implementations,
    unreachable_pub
)]
mod generated;

pub use error::Error;
pub use generated::reductions::Element;
pub use generated::table::Table;
pub use generated::types::*;
pub use initial::UNIQUEID_BYTES;
pub use library::NvshmemLibrary;
pub use reduction::{Form, Operation, Reduction, ReductionOnStream};
pub use version::{Version, functions, since};
