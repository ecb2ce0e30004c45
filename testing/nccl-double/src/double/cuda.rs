//! Order on streams is had from the CUDA driver that this library was told of alone.

use std::ffi::c_int;

use super::abi;
pub(crate) use super::driver::Driver;
use super::driver::DriverError;
use super::failure::{Failure, Outcome};

impl From<DriverError> for Failure {
    fn from(DriverError(text): DriverError) -> Self {
        Self::new(abi::UNHANDLED_CUDA_ERROR, format!("Cuda failure: {text}"))
    }
}

/// The driver: what was opened before, or what the environment names.
pub(crate) fn driver() -> Outcome<&'static Driver> {
    let driver = super::driver::driver("NCCL_DOUBLE_CUDA", "ncclDouble_use_cuda")?;
    // SAFETY: it may be called at any time.
    unsafe { driver.cuInit(0) }?;
    Ok(driver)
}

impl Driver {
    /// Device and context of this thread; as the CUDA runtime does, the first device's if it has
    /// none.
    pub(crate) fn current(&self) -> Outcome<Place> {
        let mut context = 0;
        // SAFETY: it writes the context there.
        unsafe { self.cuCtxGetCurrent(&raw mut context) }?;
        if context == 0 {
            let place = self.primary(0)?;
            // SAFETY: the context was retained just now.
            unsafe { self.cuCtxSetCurrent(place.context) }?;
            return Ok(place);
        }
        let mut device = 0;
        // SAFETY: it writes the device of the current context there.
        unsafe { self.cuCtxGetDevice(&raw mut device) }?;
        Ok(Place { device, context })
    }

    /// A device and its primary context, which stays retained.
    pub(crate) fn primary(&self, ordinal: c_int) -> Outcome<Place> {
        let mut device = 0;
        // SAFETY: it writes the device there.
        unsafe { self.cuDeviceGet(&raw mut device, ordinal) }?;
        let mut context = 0;
        // SAFETY: it writes the context there.
        unsafe { self.cuDevicePrimaryCtxRetain(&raw mut context, device) }?;
        Ok(Place { device, context })
    }
}

/// A device, and its context.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) device: c_int,
    pub(crate) context: usize,
}
