//! Kernels of the program that work on the heap themselves.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fmt;
use std::mem::ManuallyDrop;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::Module;

use crate::backend::DeviceCode;
use crate::call::error::of_driver;
use crate::pe::handle::Nvshmem;

const MODULE: &str = "nvshmemx_cumodule_init";
const LIBRARY: &str = "nvshmemx_culibrary_init";
/// The symbol in a module at which NVSHMEM's device code keeps what it knows of the PE, and which
/// release it is.
const STATE: &str = "nvshmemi_device_state_d";
const RELEASE: &str = "nvshmemi_device_lib_version_d";

/// Code for the PE's device that NVSHMEM was told of, by [`Nvshmem::init_module`]: its kernels put,
/// get and wait themselves.
///
/// NVSHMEM writes to the module's variables as long as this lives, which therefore keeps the
/// module. It ends before the heap does.
#[must_use = "without it, the kernels do not know the heap"]
pub struct InitialisedCode<'c> {
    heap: &'c Nvshmem<'c>,
    code: DeviceCode,
    /// Not unloaded while NVSHMEM knows it.
    module: ManuallyDrop<Option<Module>>,
}

impl Nvshmem<'_> {
    /// Tells NVSHMEM of a module that was compiled with its device functions, before any kernel of
    /// it is launched. Each PE does so for itself.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if the module is of another device, or has none of NVSHMEM's device
    /// code: it must be linked with `libnvshmem_device.a`; [`ErrorKind::NotInLibrary`] if that is
    /// of a newer release than the library, or another major one, and where the heap is in process,
    /// which has no kernels; [`ErrorKind::Device`] for what the driver reports.
    #[doc(alias = "nvshmemx_cumodule_init")]
    pub fn init_module(&self, module: &Module) -> Result<InitialisedCode<'_>> {
        let backend = self.begin(MODULE)?;
        let code = DeviceCode::Module(module.raw());
        let Some(context) = &backend.facts().context else {
            return self.init_code(code, None, None);
        };
        if context != module.context() {
            let text = format_args!(
                "the module was loaded for device {}, and the PE's is device {}",
                module.context().device().ordinal(),
                context.device().ordinal()
            );
            return Err(Error::new(ErrorKind::Argument, MODULE, text));
        }
        // The library believes the lengths that the module says.
        let release = module.global(STATE).and_then(|_| {
            let mut release = [0i32; 3];
            module.read_global(RELEASE, &mut release).map(|()| release)
        });
        let release = release.map_err(|error| match error.kind() {
            ranks_cuda::ErrorKind::Argument | ranks_cuda::ErrorKind::Length => {
                let text = format_args!(
                    "the module has none of NVSHMEM's device code (compile it as relocatable, and link it with libnvshmem_device.a): {error}"
                );
                Error::new(ErrorKind::Argument, MODULE, text)
            }
            _ => of_driver(MODULE, error),
        })?;
        self.init_code(code, Some(release), Some(module.clone()))
    }

    /// As [`init_module`](Self::init_module), for a `CUmodule` that another part of the program has
    /// loaded.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] in process; what the library reports.
    ///
    /// # Safety
    /// It is a module of the PE's device, linked with the device code of a release of NVSHMEM that
    /// the library takes, and is unloaded after the value is dropped.
    #[doc(alias = "nvshmemx_cumodule_init")]
    pub unsafe fn init_raw_module(&self, module: *mut c_void) -> Result<InitialisedCode<'_>> {
        self.begin(MODULE)?;
        self.init_code(DeviceCode::Module(module), None, None)
    }

    /// As [`init_raw_module`](Self::init_raw_module), for a `CUlibrary`.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] before NVSHMEM 3.3, and in process; what the library reports.
    ///
    /// # Safety
    /// As for [`init_raw_module`](Self::init_raw_module).
    #[doc(alias = "nvshmemx_culibrary_init")]
    pub unsafe fn init_raw_library(&self, library: *mut c_void) -> Result<InitialisedCode<'_>> {
        self.begin(LIBRARY)?;
        self.init_code(DeviceCode::Library(library), None, None)
    }

    fn init_code(
        &self,
        code: DeviceCode,
        release: Option<[i32; 3]>,
        module: Option<Module>,
    ) -> Result<InitialisedCode<'_>> {
        self.pe().backend().init_code(code, release)?;
        Ok(InitialisedCode {
            heap: self,
            code,
            module: ManuallyDrop::new(module),
        })
    }
}

impl Drop for InitialisedCode<'_> {
    #[doc(alias = "nvshmemx_cumodule_finalize")]
    #[doc(alias = "nvshmemx_culibrary_finalize")]
    fn drop(&mut self) {
        let backend = self.heap.begin("nvshmemx_cumodule_finalize");
        let told = backend.and_then(|backend| backend.finalize_code(self.code));
        // If NVSHMEM still knows the module, it stays for ever.
        if told.is_ok() {
            drop(self.module.take());
        }
    }
}

impl fmt::Debug for InitialisedCode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InitialisedCode").field(&self.code).finish()
    }
}
