//! The CUDA driver that this library was told of. Memory, and order on streams, are had from it
//! alone.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;

use ranks_load::{Candidate, Library};

use super::abi::Stream;
use super::{fatal, lock};

/// A function that a stream calls.
pub(crate) type HostFunction = unsafe extern "C" fn(*mut c_void);

/// `CUipcMemHandle`
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct IpcHandle(pub(crate) [u64; 8]);

/// Each line is a function of the driver, and becomes a method that says what went wrong.
macro_rules! driver {
    ($($name:ident = $symbol:literal ($($argument:ident: $type:ty),*);)*) => {
        /// The functions of a driver; those that it lacks fail when they are called.
        #[allow(non_snake_case, reason = "the names are the driver's")]
        pub(crate) struct Driver {
            $($name: Option<unsafe extern "C" fn($($type),*) -> c_int>,)*
        }

        #[allow(non_snake_case, reason = "the names are the driver's")]
        impl Driver {
            fn of(library: &Library) -> Self {
                Self {
                    $($name: library.own_symbol($symbol).map(|address| {
                        // SAFETY: the function of that name has this type in every driver.
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>(address.as_ptr()) }
                    }),)*
                }
            }

            $(
                /// # Safety
                /// As the driver's.
                pub(crate) unsafe fn $name(&self, $($argument: $type),*) -> Result<(), String> {
                    let Some(function) = self.$name else {
                        return Err(format!("the CUDA driver has no {}", stringify!($name)));
                    };
                    // SAFETY: the caller keeps the contract of the function.
                    match unsafe { function($($argument),*) } {
                        0 => Ok(()),
                        code => Err(format!("cuda error: {} returned {code}", stringify!($name))),
                    }
                }
            )*
        }
    };
}

driver! {
    cuInit = c"cuInit" (flags: c_uint);
    cuDeviceGet = c"cuDeviceGet" (device: *mut c_int, ordinal: c_int);
    cuDevicePrimaryCtxRetain = c"cuDevicePrimaryCtxRetain" (context: *mut usize, device: c_int);
    cuDevicePrimaryCtxRelease = c"cuDevicePrimaryCtxRelease_v2" (device: c_int);
    cuCtxGetCurrent = c"cuCtxGetCurrent" (context: *mut usize);
    cuCtxSetCurrent = c"cuCtxSetCurrent" (context: usize);
    cuCtxGetDevice = c"cuCtxGetDevice" (device: *mut c_int);
    cuMemAlloc = c"cuMemAlloc_v2" (address: *mut u64, size: usize);
    cuMemFree = c"cuMemFree_v2" (address: u64);
    cuMemHostAlloc = c"cuMemHostAlloc" (address: *mut *mut u8, size: usize, flags: c_uint);
    cuMemFreeHost = c"cuMemFreeHost" (address: *mut u8);
    cuMemGetHandleForAddressRange = c"cuMemGetHandleForAddressRange" (handle: *mut c_int, address: u64, bytes: usize, kind: c_int, flags: c_ulonglong);
    cuIpcGetMemHandle = c"cuIpcGetMemHandle" (handle: *mut IpcHandle, address: u64);
    cuIpcOpenMemHandle = c"cuIpcOpenMemHandle_v2" (address: *mut u64, handle: IpcHandle, flags: c_uint);
    cuIpcCloseMemHandle = c"cuIpcCloseMemHandle" (address: u64);
    cuMemcpyDtoHAsync = c"cuMemcpyDtoHAsync_v2" (to: *mut u8, from: u64, bytes: usize, stream: Stream);
    cuMemcpyHtoDAsync = c"cuMemcpyHtoDAsync_v2" (to: u64, from: *const u8, bytes: usize, stream: Stream);
    cuLaunchHostFunc = c"cuLaunchHostFunc" (stream: Stream, function: HostFunction, data: *mut c_void);
    cuStreamCreate = c"cuStreamCreate" (stream: *mut Stream, flags: c_uint);
    cuStreamDestroy = c"cuStreamDestroy_v2" (stream: Stream);
    cuStreamSynchronize = c"cuStreamSynchronize" (stream: Stream);
    cuStreamWaitEvent = c"cuStreamWaitEvent" (stream: Stream, event: usize, flags: c_uint);
    cuEventCreate = c"cuEventCreate" (event: *mut usize, flags: c_uint);
    cuEventRecord = c"cuEventRecord" (event: usize, stream: Stream);
    cuEventDestroy = c"cuEventDestroy_v2" (event: usize);
    cuPointerGetAttribute = c"cuPointerGetAttribute" (value: *mut c_uint, attribute: c_int, address: u64);
}

/// `CU_EVENT_DISABLE_TIMING`
const DISABLE_TIMING: c_uint = 2;
/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`
const MEMORY_TYPE: c_int = 2;
/// `CU_MEMORYTYPE_HOST`
const HOST_MEMORY: c_uint = 1;
/// `CU_MEMORYTYPE_DEVICE`
const DEVICE_MEMORY: c_uint = 2;

/// The driver, once it is opened. It is never closed.
static DRIVER: Mutex<Option<&'static Driver>> = Mutex::new(None);

/// The driver: what was opened before, or what the environment names.
pub(crate) fn driver() -> Result<&'static Driver, String> {
    if let Some(driver) = *lock(&DRIVER) {
        return Ok(driver);
    }
    match std::env::var_os("NVSHMEM_DOUBLE_CUDA") {
        Some(path) => open(Path::new(&path)),
        None => Err(
            "no CUDA driver: neither NVSHMEM_DOUBLE_CUDA nor nvshmemDouble_use_cuda names one"
                .into(),
        ),
    }
}

/// Opens a driver, which is used from now on.
pub(crate) fn open(path: &Path) -> Result<&'static Driver, String> {
    let candidates = [Candidate::new(path, "the double of NVSHMEM was told of it")];
    // SAFETY: whoever names the file vouches for its initialisers, as a preloaded library's.
    let opened = unsafe { Library::open("CUDA driver", &candidates, |_| Ok(())) };
    let library = opened.map_err(|error| {
        let mut text = String::new();
        let _ = write!(text, "{error}");
        text
    })?;
    let driver: &'static Driver = Box::leak(Box::new(Driver::of(&library)));
    *lock(&DRIVER) = Some(driver);
    Ok(driver)
}

/// What must not fail: the library ends the process on any error of CUDA.
pub(crate) fn must<T>(outcome: Result<T, String>) -> T {
    outcome.unwrap_or_else(|text| fatal::exit(text))
}

/// A device, and its context, which is retained.
pub(crate) struct Place {
    pub(crate) driver: &'static Driver,
    pub(crate) device: c_int,
    pub(crate) context: usize,
}

impl Place {
    /// That of the ordinal; or that of the current context, if there is one.
    pub(crate) fn find(ordinal: Option<c_int>) -> Result<Option<Self>, String> {
        let driver = driver()?;
        // SAFETY: it may be called at any time.
        unsafe { driver.cuInit(0) }?;
        let mut current = 0;
        // SAFETY: it writes the context there.
        unsafe { driver.cuCtxGetCurrent(&raw mut current) }?;
        let mut device = 0;
        if let Some(ordinal) = ordinal {
            // SAFETY: it writes the device there.
            unsafe { driver.cuDeviceGet(&raw mut device, ordinal) }?;
        } else if current == 0 {
            return Ok(None);
        } else {
            // SAFETY: it writes the device of the current context there.
            unsafe { driver.cuCtxGetDevice(&raw mut device) }?;
        }
        let mut context = 0;
        // SAFETY: it writes the context there.
        unsafe { driver.cuDevicePrimaryCtxRetain(&raw mut context, device) }?;
        Ok(Some(Self {
            driver,
            device,
            context,
        }))
    }

    /// Makes the context current on this thread until the guard goes.
    pub(crate) fn enter(&self) -> Entered {
        let mut before = 0;
        // SAFETY: it writes the context there.
        must(unsafe { self.driver.cuCtxGetCurrent(&raw mut before) });
        // SAFETY: the context is retained.
        must(unsafe { self.driver.cuCtxSetCurrent(self.context) });
        Entered {
            driver: self.driver,
            before,
        }
    }

    /// Over a network an operation of a stream is a kernel, which no context but the stream's own
    /// may launch.
    pub(crate) fn must_be_current(&self, name: &str) {
        let mut current = 0;
        // SAFETY: it writes the context there.
        must(unsafe { self.driver.cuCtxGetCurrent(&raw mut current) });
        if current != self.context {
            fatal::exit(format!(
                "{name}: cuda error: invalid resource handle: the context of another device is current"
            ));
        }
    }

    /// Makes `after` wait for what is enqueued on `before` so far.
    ///
    /// # Safety
    /// Both are live streams, and the context is current.
    pub(crate) unsafe fn order(&self, before: Stream, after: Stream) {
        let driver = self.driver;
        let mut event = 0;
        // SAFETY: it writes the event there.
        must(unsafe { driver.cuEventCreate(&raw mut event, DISABLE_TIMING) });
        // SAFETY: the caller's stream; the event was made just now.
        must(unsafe { driver.cuEventRecord(event, before) });
        // SAFETY: the same.
        must(unsafe { driver.cuStreamWaitEvent(after, event, 0) });
        // SAFETY: the event is not used any more; what waits for it goes on to do so.
        must(unsafe { driver.cuEventDestroy(event) });
    }

    /// What the driver knows of an address.
    pub(crate) fn kind_of(&self, address: u64) -> MemoryKind {
        let mut kind = 0;
        // SAFETY: it writes the kind of memory there, and only looks the address up.
        let known = unsafe {
            self.driver
                .cuPointerGetAttribute(&raw mut kind, MEMORY_TYPE, address)
        };
        match kind {
            DEVICE_MEMORY if known.is_ok() => MemoryKind::Device,
            HOST_MEMORY if known.is_ok() => MemoryKind::Pinned,
            _ => MemoryKind::Other,
        }
    }
}

/// What the driver knows of an address.
pub(crate) enum MemoryKind {
    Device,
    Pinned,
    Other,
}

/// Makes the former context of this thread current again when it goes.
pub(crate) struct Entered {
    driver: &'static Driver,
    before: usize,
}

impl Drop for Entered {
    fn drop(&mut self) {
        // SAFETY: it was current before, or is none.
        let _ = unsafe { self.driver.cuCtxSetCurrent(self.before) };
    }
}
