//! NCCL, found at run time: its types, its constants, and its functions in a table of which each
//! may be missing.
//!
//! [`Nccl::load`] finds the library; nothing is linked, and a program that has this crate in it
//! starts where there is no NCCL. The types are those of NCCL 2.32.3, whose structs older and newer
//! libraries take as well: they grow at the end only, and carry their size and version.
//!
//! | what | where |
//! |---|---|
//! | the library of this process, or a file | [`Nccl::load`], [`Nccl::open`] |
//! | its functions | [`Nccl::table`], a [`Table`] of `Option`s |
//! | which release brought a function | [`since`] |
//! | structs as NCCL wants them before use | [`ncclConfig_t::new`] and its like: what the macros `NCCL_…_INITIALIZER` stand for |
//!
//! NCCL 2.14 is the oldest that serves: from there on communicators can be made without blocking,
//! and errors have a text. Left out is what code on GPUs needs (`nccl_device.h`), but for the
//! properties of a communicator and the addresses of windows, and `ncclResetDebugInit`, which
//! NVIDIA takes back.
//!
//! # What a caller must know
//!
//! The contract of each C function. NCCL does not write `*comm` when it makes none;
//! `ncclGetLastError` gives a text that the next call changes; after `ncclCommAbort` a communicator
//! is freed. `ncclCommInitRankConfig` that finds no device does not end the group that it has
//! started for itself (2.30 to 2.32.3): the thread is in a group from then on, until `ncclGroupEnd`
//! is called.

#![deny(missing_docs)]

mod error;
mod initial;
mod nccl;
mod version;

/// Generated from NCCL's header by `cargo xtask codegen`.
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
pub use generated::table::Table;
pub use generated::types::*;
pub use initial::{NCCL_CONFIG_UNDEF_INT, NCCL_UNDEF_FLOAT};
pub use nccl::Nccl;
pub use version::{functions, since, version_text};
