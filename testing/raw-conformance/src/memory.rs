//! Where the buffers of the cases come from.

use std::cell::UnsafeCell;
use std::ffi::c_void;

/// Allocates memory of the kind that a communicator takes: of the host, or of a device.
pub trait Memory: Sync {
    /// A block of so many bytes, aligned to 16; what is in it is anything. Of no bytes too.
    ///
    /// # Errors
    /// Why there is none.
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Block>, String>;
}

/// Memory that stays where it is until it is dropped. Operations work on it by its address.
pub trait Block {
    /// Where it begins; not null.
    fn address(&self) -> *mut c_void;

    /// Replaces all of it by as many bytes. Nothing works on it at this time.
    ///
    /// # Errors
    /// What the device reports.
    fn write(&self, bytes: &[u8]) -> Result<(), String>;

    /// What is in it. Nothing works on it at this time.
    ///
    /// # Errors
    /// What the device reports.
    fn read(&self) -> Result<Vec<u8>, String>;
}

/// Memory of the host.
#[derive(Debug, Clone, Copy)]
pub struct HostMemory;

impl Memory for HostMemory {
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Block>, String> {
        let chunks = bytes.div_ceil(size_of::<u128>()).max(1);
        Ok(Box::new(HostBlock {
            chunks: (0..chunks).map(|_| UnsafeCell::new(0)).collect(),
            bytes,
        }))
    }
}

struct HostBlock {
    chunks: Box<[UnsafeCell<u128>]>,
    bytes: usize,
}

impl Block for HostBlock {
    fn address(&self) -> *mut c_void {
        UnsafeCell::raw_get(self.chunks.as_ptr()).cast()
    }

    fn write(&self, bytes: &[u8]) -> Result<(), String> {
        let length = bytes.len().min(self.bytes);
        let to = self.address().cast::<u8>();
        // SAFETY: there are as many bytes there, in cells, and by the trait nobody works on them
        // now.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, length) };
        Ok(())
    }

    fn read(&self) -> Result<Vec<u8>, String> {
        let from = self.address().cast::<u8>();
        // SAFETY: as above; all of them were initialised.
        Ok(unsafe { std::slice::from_raw_parts(from, self.bytes) }.to_vec())
    }
}
