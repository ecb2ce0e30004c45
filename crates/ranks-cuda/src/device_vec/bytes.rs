//! Memory of a device that somebody else vouches for.

use crate::driver::{Context, Cuda, Event};
use crate::error::Result;
use crate::stream::{DeviceSlice, DeviceSliceMut, Stream};

/// Bytes at an address, for copies of crates that are told addresses. Nobody knows who works on
/// them.
#[doc(hidden)]
#[derive(Debug)]
pub struct DeviceBytes<'a> {
    context: &'a Context,
    address: u64,
    len: usize,
}

impl<'a> DeviceBytes<'a> {
    /// # Safety
    /// As long as this and what is enqueued with it work on them, so many bytes are there, on the
    /// device of the context. Who else works on them is the caller's business.
    #[must_use]
    pub unsafe fn at(context: &'a Context, address: u64, len: usize) -> Self {
        Self {
            context,
            address,
            len,
        }
    }
}

// SAFETY: the bytes are there by the contract of `at`.
unsafe impl DeviceSlice for DeviceBytes<'_> {
    type Element = u8;

    fn address(&self) -> u64 {
        self.address
    }

    fn len(&self) -> usize {
        self.len
    }

    fn ordinal(&self) -> usize {
        self.context.device().ordinal()
    }

    fn cuda(&self) -> Result<Cuda> {
        Ok(self.context.cuda())
    }

    fn used_until(&self, _event: &Event) {}

    fn order_after_use(&self, _stream: &dyn Stream) -> Result<()> {
        Ok(())
    }
}

// SAFETY: as above; any bits are a byte.
unsafe impl DeviceSliceMut for DeviceBytes<'_> {}
