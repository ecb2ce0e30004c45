//! Interoperation with other parts of the program that use MPI, in C, C++, Fortran or Python:
//! shared communicators, datatypes and requests.
//!
//! Such a part has opened or linked the MPI library itself. If it has initialised MPI,
//! [`Builder::init`] joins that and leaves it running; if it has not, the runtime initialises it,
//! and the part must not. Who has initialised it finalizes it; another part does when no handle of
//! the runtime is left. Errors on `MPI_COMM_WORLD` and `MPI_COMM_SELF` return as long as there is
//! one, and go to the handlers of before afterwards.
//!
//! Then communicators, datatypes and requests can be shared in both directions, as handles:
//!
//! | | to others | from others |
//! |---|---|---|
//! | a communicator | [`Communicator::as_native_raw`] | [`Runtime::communicator_from_native_raw`] |
//! | a datatype | [`Communicator::datatype`], [`Datatype::as_native_raw`] | [`Runtime::datatype_from_native_raw`] |
//! | a request | [`Request::into_raw`], [`HandedOver::as_native_raw`] | [`Communicator::request_from_native_raw`], [`Communicator::recv_request_from_native_raw`] |
//!
//! These are handles as the library's `mpi.h` defines them. A name without `native`, as
//! [`Communicator::as_raw`], stands for the form of the standard ABI, which the functions of
//! `ranks-mpi-sys` take on every library.
//!
//! A handle is valid only in its process, and for the library that it comes from. Those of windows
//! are in the module of this name of `ranks-rma-window`.
//!
//! [`Builder::init`]: crate::Builder::init
//! [`Communicator::as_native_raw`]: crate::Communicator::as_native_raw
//! [`Communicator::as_raw`]: crate::Communicator::as_raw
//! [`Communicator::datatype`]: crate::Communicator::datatype
//! [`Communicator::request_from_native_raw`]: crate::Communicator::request_from_native_raw
//! [`Communicator::recv_request_from_native_raw`]: crate::Communicator::recv_request_from_native_raw
//! [`Request::into_raw`]: crate::Request::into_raw
//! [`Runtime::communicator_from_native_raw`]: crate::Runtime::communicator_from_native_raw
//! [`Runtime::datatype_from_native_raw`]: crate::Runtime::datatype_from_native_raw
#![allow(unsafe_code)]

mod communicators;
mod datatypes;
mod foreign;
mod mpi;
mod requests;

pub use communicators::Ownership;
pub use datatypes::Datatype;
pub(crate) use foreign::Bounds;
pub use foreign::ForeignDatatype;
pub use ranks_mpi_sys::native::CHandle;
pub use ranks_mpi_sys::{MPI_Comm, MPI_Datatype, MPI_Request};
pub use requests::HandedOver;

use crate::result::{Error, ErrorKind};

fn no_handles(operation: &'static str) -> Error {
    let why = "ranks in process have no handles of MPI";
    Error::new(ErrorKind::NotInLibrary, operation, why)
}
