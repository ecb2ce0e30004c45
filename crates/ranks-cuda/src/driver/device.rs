//! A device, by its number.

use std::ffi::{CStr, c_char, c_int};

use crate::driver::{Context, Cuda};
use crate::error::{Error, ErrorKind, Result};
use crate::table::RawDevice;

/// A GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    cuda: Cuda,
    ordinal: usize,
    raw: RawDevice,
}

impl Device {
    pub(crate) fn new(cuda: Cuda, ordinal: usize) -> Result<Device> {
        let there = cuda.device_count()?;
        let number = c_int::try_from(ordinal).ok().filter(|_| ordinal < there);
        let Some(number) = number else {
            let text = format_args!(
                "there is no device {ordinal}; there are {there}, counted from 0 (CUDA_VISIBLE_DEVICES hides the others)"
            );
            return Err(Error::refused(ErrorKind::Argument, "cuDeviceGet", text));
        };
        let mut raw: RawDevice = 0;
        // SAFETY: the driver writes one int to the address of one.
        let code = unsafe { (cuda.table().cuDeviceGet)(&raw mut raw, number) };
        cuda.check("cuDeviceGet", code)?;
        Ok(Device { cuda, ordinal, raw })
    }

    /// The driver that knows it.
    #[must_use]
    pub fn cuda(self) -> Cuda {
        self.cuda
    }

    /// Its number, from 0.
    #[must_use]
    pub fn ordinal(self) -> usize {
        self.ordinal
    }

    /// The maker's name: `NVIDIA H200`.
    ///
    /// # Errors
    /// Errors of the driver.
    #[doc(alias = "cuDeviceGetName")]
    pub fn name(self) -> Result<String> {
        let mut text: [c_char; 256] = [0; 256];
        // The last byte stays zero.
        // SAFETY: the driver writes at most 255 bytes to an array of 256.
        let code = unsafe { (self.cuda.table().cuDeviceGetName)(text.as_mut_ptr(), 255, self.raw) };
        self.cuda.check("cuDeviceGetName", code)?;
        // SAFETY: the array ends with a zero, and outlives the reference.
        let text = unsafe { CStr::from_ptr(text.as_ptr()) };
        Ok(text.to_string_lossy().into_owned())
    }

    /// Returns true if it can read and write the memory of `peer` itself, over NVLink or PCIe; for
    /// its own memory, `false`.
    ///
    /// # Errors
    /// Errors of the driver.
    #[doc(alias = "cuDeviceCanAccessPeer")]
    pub fn can_access(self, peer: Device) -> Result<bool> {
        let mut can: c_int = 0;
        // SAFETY: the driver writes one int to the address of one; both devices are the driver's
        // own.
        let code =
            unsafe { (self.cuda.table().cuDeviceCanAccessPeer)(&raw mut can, self.raw, peer.raw) };
        self.cuda.check("cuDeviceCanAccessPeer", code)?;
        Ok(can != 0)
    }

    /// Its primary context: the one that CUDA's runtime, NCCL and most programs work in.
    ///
    /// # Errors
    /// Errors of the driver.
    #[doc(alias = "cuDevicePrimaryCtxRetain")]
    pub fn context(self) -> Result<Context> {
        Context::of(self)
    }

    pub(crate) fn raw(self) -> RawDevice {
        self.raw
    }
}
