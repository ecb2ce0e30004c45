//! Errors of the CUDA driver as those of a communicator.

use ranks_comm::{Error, ErrorKind};

/// The error of a call of the driver's, made for `operation`.
#[cold]
pub fn of_driver(operation: &'static str, error: ranks_cuda::Error) -> Error {
    use ranks_cuda::ErrorKind as Cuda;
    let kind = match error.kind() {
        Cuda::NotAvailable => ErrorKind::NotAvailable,
        Cuda::OutOfMemory => ErrorKind::Memory,
        Cuda::Length => ErrorKind::Length,
        Cuda::Argument => ErrorKind::Argument,
        Cuda::TimedOut => ErrorKind::TimedOut,
        _ => ErrorKind::Device,
    };
    Error::new(kind, operation, &error).with_source(error)
}
