//! Memory of a GPU: told from that of the host, and copied from and to it.
#![allow(unsafe_code)]

use std::ffi::c_void;

use ranks_comm::Result;
use ranks_cuda::{Context, Cuda, DeviceSlice, DeviceSliceMut, Event, Memory, Stream};

use crate::driver::of_driver;

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
    let failed = |error| of_driver(name, error);
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
        copied.map_err(|error| of_driver("RawComm", error))
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
        copied.map_err(|error| of_driver("RawComm", error))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ranks_comm::ErrorKind;

    use super::super::pool::Pool;
    use super::*;

    /// It was told as a failure of the device.
    #[test]
    fn memory_that_a_driver_has_not_is_told_as_that() {
        let here = std::env::current_exe().expect("this program is a file");
        let file = here.with_file_name("libcuda_double.so");
        // SAFETY: nothing happens when the double is loaded, and its functions do what the driver's
        // do.
        let cuda = unsafe { Cuda::open(file) }.expect("the double is beside this program");
        let device = cuda.device(0).expect("the double has devices");
        let context = device.context().expect("they have contexts");
        let refused = Arc::new(Pool::default()).take_pinned(1 << 50, &context);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Memory);
    }
}
