//! The functions of the driver that are used here, as `cuda.h` declares them.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use ranks_load::Library;

/// `CUresult`.
pub(crate) type Code = c_int;
/// `CUdevice`.
pub(crate) type RawDevice = c_int;
/// `CUcontext`, `CUstream`, `CUevent`, `CUmodule` and `CUfunction`.
pub(crate) type Handle = *mut c_void;
/// `CUdeviceptr`.
pub(crate) type Address = u64;
/// `CUhostFn`.
pub(crate) type HostFunction = unsafe extern "C" fn(*mut c_void);

pub(crate) const SUCCESS: Code = 0;
pub(crate) const OUT_OF_MEMORY: Code = 2;
pub(crate) const NOT_FOUND: Code = 500;
pub(crate) const NOT_READY: Code = 600;

/// `CU_EVENT_DISABLE_TIMING`
pub(crate) const EVENT_DISABLE_TIMING: c_uint = 2;
/// `CU_STREAM_NON_BLOCKING`
pub(crate) const STREAM_NON_BLOCKING: c_uint = 1;
/// `CU_MEMHOSTALLOC_PORTABLE`
pub(crate) const HOST_PORTABLE: c_uint = 1;
/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`, `…_IS_MANAGED`, `…_DEVICE_ORDINAL`
pub(crate) const POINTER_ATTRIBUTES: [c_int; 3] = [2, 8, 9];
/// `CU_MEMORYTYPE_HOST`
pub(crate) const MEMORY_HOST: c_uint = 1;
/// `CU_MEMORYTYPE_DEVICE`
pub(crate) const MEMORY_DEVICE: c_uint = 2;

macro_rules! table {
    ($($name:ident($($argument:ty),*);)*) => {
        /// The address of each function. All of them are in every driver since CUDA 10.
        #[allow(non_snake_case, reason = "C names")]
        pub(crate) struct Table {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) -> Code,)*
        }

        impl Table {
            /// Fills the table; the name of the first function that is not there if one is missing.
            pub(crate) fn of(library: &Library) -> Result<Table, String> {
                Ok(Table {
                    $($name: {
                        const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                            Ok(name) => name,
                            Err(_) => panic!("a name has no zero"),
                        };
                        let address = library
                            .own_symbol(NAME)
                            .ok_or_else(|| format!("it has no {}", stringify!($name)))?;
                        // SAFETY: the driver's function of this name has had this signature since
                        // CUDA 10, and the library is never closed.
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> Code>(address.as_ptr()) }
                    },)*
                })
            }
        }
    };
}

table! {
    cuInit(c_uint);
    cuDriverGetVersion(*mut c_int);
    cuGetErrorName(Code, *mut *const c_char);
    cuGetErrorString(Code, *mut *const c_char);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGet(*mut RawDevice, c_int);
    cuDeviceGetName(*mut c_char, c_int, RawDevice);
    cuDeviceCanAccessPeer(*mut c_int, RawDevice, RawDevice);
    cuDevicePrimaryCtxRetain(*mut Handle, RawDevice);
    cuDevicePrimaryCtxRelease_v2(RawDevice);
    cuCtxGetCurrent(*mut Handle);
    cuCtxSetCurrent(Handle);
    cuCtxSynchronize();
    cuCtxGetStreamPriorityRange(*mut c_int, *mut c_int);
    cuStreamCreateWithPriority(*mut Handle, c_uint, c_int);
    cuStreamDestroy_v2(Handle);
    cuStreamQuery(Handle);
    cuStreamSynchronize(Handle);
    cuStreamWaitEvent(Handle, Handle, c_uint);
    cuStreamIsCapturing(Handle, *mut c_int);
    cuEventCreate(*mut Handle, c_uint);
    cuEventRecord(Handle, Handle);
    cuEventQuery(Handle);
    cuEventDestroy_v2(Handle);
    cuLaunchHostFunc(Handle, HostFunction, *mut c_void);
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemAlloc_v2(*mut Address, usize);
    cuMemFree_v2(Address);
    cuMemHostAlloc(*mut *mut c_void, usize, c_uint);
    cuMemFreeHost(*mut c_void);
    cuMemsetD8Async(Address, u8, usize, Handle);
    cuMemcpyDtoH_v2(*mut c_void, Address, usize);
    cuMemcpyHtoDAsync_v2(Address, *const c_void, usize, Handle);
    cuMemcpyDtoHAsync_v2(*mut c_void, Address, usize, Handle);
    cuMemcpyDtoDAsync_v2(Address, Address, usize, Handle);
    cuPointerGetAttributes(c_uint, *mut c_int, *mut *mut c_void, Address);
    cuModuleLoadData(*mut Handle, *const c_void);
    cuModuleUnload(Handle);
    cuModuleGetFunction(*mut Handle, Handle, *const c_char);
    cuModuleGetGlobal_v2(*mut Address, *mut usize, Handle, *const c_char);
    cuLaunchKernel(Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void);
}
