//! Identity of this PE, device code that NVSHMEM is told of, and finalization.
#![allow(unsafe_code)]

use ranks_comm::{Error, ErrorKind, Result};

use super::LibraryHeap;
use crate::backend::library::init_state::{self, InitState};
use crate::backend::names::FINALIZE;
use crate::backend::{DeviceCode, Facts, Life};

impl Life for LibraryHeap {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn init_code(&self, code: DeviceCode, release: Option<[i32; 3]>) -> Result<()> {
        let name = match code {
            DeviceCode::Module(_) => "nvshmemx_cumodule_init",
            DeviceCode::Library(_) => "nvshmemx_culibrary_init",
        };
        if let Some(release) = release {
            self.check_release(name, release)?;
        }
        self.call_checked(name, |table| match code {
            DeviceCode::Module(module) => {
                let init = table.nvshmemx_cumodule_init?;
                // SAFETY: a module of this device that has the library's variables, as the caller
                // has looked up or vouches for.
                Some(unsafe { init(module.cast()) })
            }
            DeviceCode::Library(library) => {
                let init = table.nvshmemx_culibrary_init?;
                // SAFETY: as above, of a library: the caller vouches for it.
                Some(unsafe { init(library.cast()) })
            }
        })
    }

    fn finalize_code(&self, code: DeviceCode) -> Result<()> {
        let name = match code {
            DeviceCode::Module(_) => "nvshmemx_cumodule_finalize",
            DeviceCode::Library(_) => "nvshmemx_culibrary_finalize",
        };
        self.call_checked(name, |table| match code {
            DeviceCode::Module(module) => {
                let finalize = table.nvshmemx_cumodule_finalize?;
                // SAFETY: the library was told of it, and it is still loaded.
                Some(unsafe { finalize(module.cast()) })
            }
            DeviceCode::Library(library) => {
                let finalize = table.nvshmemx_culibrary_finalize?;
                // SAFETY: as above.
                Some(unsafe { finalize(library.cast()) })
            }
        })
    }

    fn finalize(&self) -> Result<()> {
        self.call(FINALIZE, |table| {
            let finalize = table.nvshmemx_hostlib_finalize?;
            init_state::becomes(InitState::Finalized);
            // SAFETY: the library was initialised, all PEs have said that they come, and the caller
            // calls nothing after it.
            unsafe { finalize() };
            Some(())
        })
    }
}

impl LibraryHeap {
    /// Refuses a release that the library would refuse, in words that say why.
    fn check_release(&self, name: &'static str, [major, minor, patch]: [i32; 3]) -> Result<()> {
        let library = self.library.version();
        if major == library.major && minor <= library.minor {
            return Ok(());
        }
        let text = format_args!(
            "the module was compiled with device code of NVSHMEM {major}.{minor}.{patch}, and the library is {library} ({}): compile it with the headers and the \
             libnvshmem_device.a of that release",
            self.library.path().display()
        );
        Err(Error::new(ErrorKind::NotInLibrary, name, text))
    }
}
