//! Memory, and order on streams, are had from the CUDA driver that this library was told of alone.

use std::ffi::c_int;

use super::abi::Stream;
use super::driver::{Driver, DriverError, Entered, driver};
use super::fatal;

impl From<DriverError> for String {
    fn from(DriverError(text): DriverError) -> Self {
        format!("cuda error: {text}")
    }
}

/// What must not fail: the library ends the process on any error of CUDA.
pub(crate) fn must<T>(outcome: Result<T, DriverError>) -> T {
    outcome.unwrap_or_else(|error| fatal::exit(String::from(error)))
}

/// A device, and its context, which is retained.
pub(crate) struct Place {
    pub(crate) driver: &'static Driver,
    pub(crate) device: c_int,
    pub(crate) context: usize,
}

impl Place {
    /// That of the ordinal; or that of the current context, if there is one.
    pub(crate) fn find(ordinal: Option<c_int>) -> Result<Option<Self>, DriverError> {
        let driver = driver("NVSHMEM_DOUBLE_CUDA", "nvshmemDouble_use_cuda")?;
        // SAFETY: it may be called at any time.
        unsafe { driver.cuInit(0) }?;
        let mut current = 0;
        // SAFETY: it writes the context there.
        unsafe { driver.cuCtxGetCurrent(&raw mut current) }?;
        let mut device = 0;
        if let Some(ordinal) = ordinal {
            // SAFETY: it writes the device there.
            unsafe { driver.cuDeviceGet(&raw mut device, ordinal) }?;
        } else if current == 0 {
            return Ok(None);
        } else {
            // SAFETY: it writes the device of the current context there.
            unsafe { driver.cuCtxGetDevice(&raw mut device) }?;
        }
        let mut context = 0;
        // SAFETY: it writes the context there.
        unsafe { driver.cuDevicePrimaryCtxRetain(&raw mut context, device) }?;
        Ok(Some(Self {
            driver,
            device,
            context,
        }))
    }

    /// Makes the context current on this thread until the guard goes.
    pub(crate) fn enter(&self) -> Entered {
        must(self.driver.enter(self.context))
    }

    /// Over a network an operation of a stream is a kernel, which no context but the stream's own
    /// may launch.
    pub(crate) fn must_be_current(&self, name: &str) {
        let mut current = 0;
        // SAFETY: it writes the context there.
        must(unsafe { self.driver.cuCtxGetCurrent(&raw mut current) });
        if current != self.context {
            fatal::exit(format!(
                "{name}: cuda error: invalid resource handle: the context of another device is current"
            ));
        }
    }

    /// Makes `after` wait for what is enqueued on `before` so far.
    ///
    /// # Safety
    /// Both are live streams, and the context is current.
    pub(crate) unsafe fn order(&self, before: Stream, after: Stream) {
        // SAFETY: the caller's promise.
        must(unsafe { self.driver.order(before, after) });
    }
}
