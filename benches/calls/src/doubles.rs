//! The doubles, and a call straight through the table of functions, with no safe layer above it.
#![allow(unsafe_code)]

use std::error::Error;
use std::ffi::c_int;
use std::path::Path;

use ranks_cuda::{Cuda, RawStream};
use ranks_nvshmem_sys::NvshmemLibrary;

/// The driver's double.
pub(crate) fn driver(path: &Path) -> Result<Cuda, ranks_cuda::Error> {
    // SAFETY: nothing happens when the double is loaded, and its functions do what the driver's do.
    unsafe { Cuda::open(path) }
}

/// The library's double, which works with this driver.
pub(crate) fn library(
    path: &Path,
    driver: &Path,
) -> Result<&'static NvshmemLibrary, Box<dyn Error>> {
    // SAFETY: no other thread is there yet.
    unsafe { std::env::set_var("NVSHMEM_DOUBLE_CUDA", driver) };
    // SAFETY: nothing happens when the double is loaded, and its functions do what NVSHMEM's do.
    Ok(unsafe { NvshmemLibrary::open(path) }?)
}

/// A put that C would make.
pub(crate) struct Put {
    pub(crate) library: &'static NvshmemLibrary,
    pub(crate) dest: u64,
    pub(crate) source: u64,
    pub(crate) bytes: usize,
    pub(crate) stream: RawStream,
}

impl Put {
    /// `nvshmemx_putmem_on_stream`
    #[inline(always)]
    pub(crate) fn make(&self, pe: usize) {
        let (Some(put), Ok(pe)) = (
            self.library.table().nvshmemx_putmem_on_stream,
            c_int::try_from(pe),
        ) else {
            return;
        };
        let Self {
            dest,
            source,
            bytes,
            stream,
            ..
        } = *self;
        let (dest, source) = (address(dest), address(source));
        // SAFETY: both are symmetric memory of so many bytes, which stays until the stream was
        // waited for.
        unsafe { put(dest, source, bytes, pe, stream.0.cast()) };
    }
}

fn address<T>(address: u64) -> *mut T {
    std::ptr::without_provenance_mut(usize::try_from(address).unwrap_or(0))
}
