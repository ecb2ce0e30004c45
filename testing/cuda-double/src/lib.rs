//! A CUDA driver that computes nothing and has no device, for tests: asynchronous streams over the
//! memory of the host.
//!
//! It is opened by explicit path. What it does as a real driver does:
//!
//! * Each stream has a thread: what is enqueued happens later. A stream waits for what an event had
//!   recorded *when it was told to*.
//! * An address of a device is none of the host: whoever reads or writes there dies of SIGSEGV.
//!   Addresses are never used again, and pinned memory that was freed is as forbidden. Fresh memory
//!   holds nonsense.
//! * A copy from memory that is not pinned has read it when the call returns; a copy to such memory
//!   is over then. Only pinned memory is copied to and from later.
//! * Freeing memory waits for all that is enqueued in the context (`cuMemFree`, `cuMemFreeHost`;
//!   not `cuMemFreeAsync`).
//! * Blocks of 64 KiB and more have a handle that other processes map
//!   (`cuMemGetHandleForAddressRange`, `cuIpcGetMemHandle`).
//! * What is called in a host function is `CUDA_ERROR_NOT_PERMITTED`, what is called without a
//!   context `CUDA_ERROR_INVALID_CONTEXT`, a handle or an address that is not there
//!   `CUDA_ERROR_INVALID_HANDLE`, `CUDA_ERROR_INVALID_VALUE`.
//!
//! Where each behaviour was read: `README.md` beside the crate. What is different: the default
//! stream waits for no other; there are no graphs. A module has the kernels and variables that its
//! text declares (it should be PTX), and a kernel does nothing, but `ranks_double_add`: see
//! [`modules`].
//!
//! `CUDA_DOUBLE_DEVICES` is how many devices there are (4). The functions of [`hooks`] tell what is
//! alive, count memory that was freed while an operation worked on it, and make calls fail.
#![allow(non_snake_case, reason = "C names")]
#![allow(missing_docs, reason = "they are those of cuda.h")]

pub mod copies;
pub mod devices;
pub mod events;
mod files;
pub mod hooks;
pub mod memory;
pub mod modules;
pub mod pointers;
pub mod sharing;
mod state;
pub mod streams;
