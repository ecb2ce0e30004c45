//! Identity of this PE, and finalization.
#![allow(unsafe_code)]

use ranks_comm::Result;
use ranks_cuda::Context;

use super::LibraryHeap;
use crate::backend::library::init_state::{self, InitState};
use crate::backend::names::FINALIZE;
use crate::backend::{DeviceCode, Life};

impl Life for LibraryHeap {
    fn my_pe(&self) -> usize {
        self.my_pe
    }

    fn n_pes(&self) -> usize {
        self.n_pes
    }

    fn name(&self) -> String {
        format!("NVSHMEM {}", self.library.version())
    }

    fn limited(&self) -> bool {
        self.limited
    }

    fn context(&self) -> Option<&Context> {
        Some(&self.context)
    }

    fn init_code(&self, code: DeviceCode, release: Option<[i32; 3]>) -> Result<()> {
        self.init_device_code(code, release)
    }

    fn finalize_code(&self, code: DeviceCode) -> Result<()> {
        self.finalize_device_code(code)
    }

    fn finalize(&self) -> Result<()> {
        let finalize = self.library.table().nvshmemx_hostlib_finalize;
        let finalize = finalize.ok_or_else(|| self.missing(FINALIZE))?;
        let _entered = self.enter(FINALIZE)?;
        init_state::becomes(InitState::Finalized);
        // SAFETY: the library was initialised, all PEs have said that they come, and the caller
        // calls nothing after it.
        unsafe { finalize() };
        Ok(())
    }
}
