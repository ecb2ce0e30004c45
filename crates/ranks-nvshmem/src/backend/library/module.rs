//! Device code that NVSHMEM is told of.
#![allow(unsafe_code)]

use ranks_comm::{Error, ErrorKind, Result};

use super::LibraryHeap;
use crate::backend::DeviceCode;

impl DeviceCode {
    const fn init_name(self) -> &'static str {
        match self {
            Self::Module(_) => "nvshmemx_cumodule_init",
            Self::Library(_) => "nvshmemx_culibrary_init",
        }
    }

    const fn finalize_name(self) -> &'static str {
        match self {
            Self::Module(_) => "nvshmemx_cumodule_finalize",
            Self::Library(_) => "nvshmemx_culibrary_finalize",
        }
    }
}

impl LibraryHeap {
    pub(super) fn init_device_code(
        &self,
        code: DeviceCode,
        release: Option<[i32; 3]>,
    ) -> Result<()> {
        let name = code.init_name();
        if let Some(release) = release {
            self.check_release(name, release)?;
        }
        let _entered = self.enter(name)?;
        let table = self.library.table();
        let answer = match code {
            DeviceCode::Module(module) => {
                let init = table.nvshmemx_cumodule_init;
                let init = init.ok_or_else(|| self.missing(name))?;
                // SAFETY: a module of this device that has the library's variables, as the caller
                // has looked up or vouches for.
                unsafe { init(module.cast()) }
            }
            DeviceCode::Library(library) => {
                let init = table.nvshmemx_culibrary_init;
                let init = init.ok_or_else(|| self.missing(name))?;
                // SAFETY: as above, of a library: the caller vouches for it.
                unsafe { init(library.cast()) }
            }
        };
        if answer != 0 {
            return Err(self.refused(name, answer));
        }
        Ok(())
    }

    pub(super) fn finalize_device_code(&self, code: DeviceCode) -> Result<()> {
        let name = code.finalize_name();
        let _entered = self.enter(name)?;
        let table = self.library.table();
        let answer = match code {
            DeviceCode::Module(module) => {
                let finalize = table.nvshmemx_cumodule_finalize;
                let finalize = finalize.ok_or_else(|| self.missing(name))?;
                // SAFETY: the library was told of it, and it is still loaded.
                unsafe { finalize(module.cast()) }
            }
            DeviceCode::Library(library) => {
                let finalize = table.nvshmemx_culibrary_finalize;
                let finalize = finalize.ok_or_else(|| self.missing(name))?;
                // SAFETY: as above.
                unsafe { finalize(library.cast()) }
            }
        };
        if answer != 0 {
            return Err(self.refused(name, answer));
        }
        Ok(())
    }

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
