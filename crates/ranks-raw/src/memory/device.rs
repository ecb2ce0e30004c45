//! Memory of a GPU: told from that of the host, and copied from and to it.
#![allow(unsafe_code)]

use std::ffi::c_void;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::{Context, Cuda, DeviceSlice, DeviceSliceMut, Event, Memory, Stream};

/// A part of the memory of a device.
#[derive(Debug, Clone)]
pub(crate) struct OnDevice {
    context: Context,
    ordinal: usize,
    address: u64,
    bytes: usize,
}

/// The device of an address, if it is memory of one; of a driver that was named, or of the one in
/// this process.
pub(crate) fn on_device(
    name: &'static str,
    cuda: Option<Cuda>,
    address: *const c_void,
    bytes: usize,
) -> Result<Option<OnDevice>> {
    let Some(cuda) = cuda.or_else(Cuda::loaded) else {
        return Ok(None);
    };
    let failed = |error| failed(name, error);
    let Memory::Device { ordinal } = cuda.attributes_of(address).map_err(failed)? else {
        return Ok(None);
    };
    let device = cuda.device(ordinal).map_err(failed)?;
    Ok(Some(OnDevice {
        context: device.context().map_err(failed)?,
        ordinal,
        address: address.addr() as u64,
        bytes,
    }))
}

impl OnDevice {
    /// Memory of the host that the device copies from and to best.
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Copies what is there.
    ///
    /// # Safety
    /// It is there, and nobody writes to it.
    pub(crate) unsafe fn read(&self, to: &mut [u8]) -> Result<()> {
        let copied = self.context.copy_to_host(self, to);
        copied.map_err(|error| failed("RawComm", error))
    }

    /// Copies bytes there, no more than there is room for.
    ///
    /// # Safety
    /// It is there, and nobody else uses it.
    pub(crate) unsafe fn write(&self, from: &[u8]) -> Result<()> {
        let mut part = Self {
            bytes: from.len().min(self.bytes),
            ..self.clone()
        };
        let copied = self.context.copy_to_device(&from[..part.bytes], &mut part);
        copied.map_err(|error| failed("RawComm", error))
    }
}

// SAFETY: so many bytes are there as long as the caller has promised, which is as long as this is
// used: only `read` and `write` do, whose copies are over when they return.
unsafe impl DeviceSlice for OnDevice {
    type Element = u8;

    fn address(&self) -> u64 {
        self.address
    }

    fn len(&self) -> usize {
        self.bytes
    }

    fn ordinal(&self) -> usize {
        self.ordinal
    }

    fn cuda(&self) -> ranks_cuda::Result<Cuda> {
        Ok(self.context.cuda())
    }

    fn used_until(&self, _event: &Event) {}

    fn order_after_use(&self, _stream: &dyn Stream) -> ranks_cuda::Result<()> {
        Ok(())
    }
}

// SAFETY: by the contract of `write` nobody else uses the memory meanwhile.
unsafe impl DeviceSliceMut for OnDevice {}

/// A failure of the driver.
#[cold]
pub(crate) fn failed(name: &'static str, error: ranks_cuda::Error) -> Error {
    Error::new(ErrorKind::Device, name, &error).with_source(error)
}
