//! Buffers of a GPU for the cases.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use ranks_cuda::{Context, DeviceSlice, DeviceVec};

use super::memory::{Block, Memory};

/// Memory of the device of a context.
#[derive(Debug, Clone)]
pub struct DeviceMemory(pub Context);

impl Memory for DeviceMemory {
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Block>, String> {
        let vec = self.0.alloc(bytes).map_err(|error| error.to_string())?;
        Ok(Box::new(DeviceBlock(Mutex::new(vec))))
    }
}

struct DeviceBlock(Mutex<DeviceVec<u8>>);

impl Block for DeviceBlock {
    fn address(&self) -> *mut c_void {
        let vec = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // An address of the device, which fits a pointer and is used by nobody here.
        std::ptr::without_provenance_mut(usize::try_from(vec.address()).unwrap_or(0))
    }

    fn write(&self, bytes: &[u8]) -> Result<(), String> {
        let mut vec = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let context = vec.context().clone();
        let outcome = context.copy_to_device(bytes, &mut *vec);
        outcome.map_err(|error| error.to_string())
    }

    fn read(&self) -> Result<Vec<u8>, String> {
        let vec = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        vec.to_vec().map_err(|error| error.to_string())
    }
}
