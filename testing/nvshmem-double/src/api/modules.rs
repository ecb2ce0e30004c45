//! Code of the device that calls NVSHMEM.

use crate::double::abi::Code;
use crate::double::modules::{self, Kind};

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_cumodule_init(module: usize) -> Code {
    modules::init("nvshmemx_cumodule_init", Kind::Module, module)
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_cumodule_finalize(module: usize) -> Code {
    modules::finalize("nvshmemx_cumodule_finalize", Kind::Module, module)
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_culibrary_init(library: usize) -> Code {
    modules::init("nvshmemx_culibrary_init", Kind::Library, library)
}

#[unsafe(no_mangle)]
extern "C" fn nvshmemx_culibrary_finalize(library: usize) -> Code {
    modules::finalize("nvshmemx_culibrary_finalize", Kind::Library, library)
}
