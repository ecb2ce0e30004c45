//! The CUDA driver that a double was told of, and its functions. Other doubles take this file as
//! well.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::path::Path;
use std::sync::Mutex;

use ranks_load::{Candidate, Library, function};

use super::abi::Stream;
use super::lock;

/// Failure of a driver, or to find one.
#[derive(Debug)]
pub(crate) struct DriverError(pub(crate) String);

type Outcome<T = ()> = Result<T, DriverError>;

/// A function that a stream calls.
pub(crate) type HostFunction = unsafe extern "C" fn(*mut c_void);

/// `CUipcMemHandle`
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct IpcHandle(pub(crate) [u64; 8]);

/// `cuGetErrorName`
type ErrorName = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;

/// Each line is a function of the driver, and becomes a method that says what went wrong.
macro_rules! driver {
    ($($name:ident = $symbol:literal ($($argument:ident: $type:ty),*);)*) => {
        /// The functions of a driver; those that it lacks fail when they are called.
        #[allow(non_snake_case, reason = "the names are the driver's")]
        pub(crate) struct Driver {
            $($name: Option<unsafe extern "C" fn($($type),*) -> c_int>,)*
            names: Option<ErrorName>,
        }

        #[allow(non_snake_case, reason = "the names are the driver's")]
        #[allow(dead_code, reason = "no double calls all of them")]
        impl Driver {
            fn of(library: &Library) -> Self {
                Self {
                    $($name: {
                        // SAFETY: the function of that name has this type in every driver.
                        unsafe { function(library.own_symbol($symbol)) }
                    },)*
                    // SAFETY: as above.
                    names: unsafe { function(library.own_symbol(c"cuGetErrorName")) },
                }
            }

            $(
                /// # Safety
                /// As the driver's.
                pub(crate) unsafe fn $name(&self, $($argument: $type),*) -> Outcome {
                    let Some(function) = self.$name else {
                        let text = concat!("the CUDA driver has no ", stringify!($name));
                        return Err(DriverError(text.to_owned()));
                    };
                    // SAFETY: the caller keeps the contract of the function.
                    let code = unsafe { function($($argument),*) };
                    self.check(stringify!($name), code)
                }
            )*
        }
    };
}

driver! {
    cuInit = c"cuInit" (flags: c_uint);
    cuDeviceGet = c"cuDeviceGet" (device: *mut c_int, ordinal: c_int);
    cuDeviceGetCount = c"cuDeviceGetCount" (count: *mut c_int);
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

/// The driver: what was opened before, or what the variable names.
pub(crate) fn driver(variable: &str, hook: &str) -> Outcome<&'static Driver> {
    if let Some(driver) = *lock(&DRIVER) {
        return Ok(driver);
    }
    let path = std::env::var_os(variable).ok_or_else(|| {
        let text = format!("no CUDA driver: neither {variable} nor {hook} names one");
        DriverError(text)
    })?;
    open(Path::new(&path))
}

/// Opens a driver, which is used from now on.
pub(crate) fn open(path: &Path) -> Outcome<&'static Driver> {
    let candidates = [Candidate::new(path, "the double was told of it")];
    // SAFETY: whoever names the file vouches for its initialisers, as a preloaded library's.
    let opened = unsafe { Library::open("CUDA driver", &candidates, |_| Ok(())) };
    let library = opened.map_err(|error| DriverError(error.to_string()))?;
    let driver: &'static Driver = Box::leak(Box::new(Driver::of(&library)));
    *lock(&DRIVER) = Some(driver);
    Ok(driver)
}

impl Driver {
    fn check(&self, name: &str, code: c_int) -> Outcome {
        if code == 0 {
            return Ok(());
        }
        let mut text: *const c_char = std::ptr::null();
        if let Some(names) = self.names {
            // SAFETY: it writes an address there, or null.
            unsafe { names(code, &raw mut text) };
        }
        let said = if text.is_null() {
            String::new()
        } else {
            // SAFETY: the driver's names are static texts.
            let text = unsafe { CStr::from_ptr(text) };
            format!(" ({})", text.to_string_lossy())
        };
        Err(DriverError(format!("{name} returned {code}{said}")))
    }

    /// Makes a context current on this thread until the guard goes.
    pub(crate) fn enter(&'static self, context: usize) -> Outcome<Entered> {
        let mut before = 0;
        // SAFETY: it writes the context there.
        unsafe { self.cuCtxGetCurrent(&raw mut before) }?;
        // SAFETY: the context is one that the driver gave, and that is kept.
        unsafe { self.cuCtxSetCurrent(context) }?;
        Ok(Entered {
            driver: self,
            before,
        })
    }

    /// Makes `after` wait for what is enqueued on `before` so far.
    ///
    /// # Safety
    /// Both are live streams.
    pub(crate) unsafe fn order(&self, before: Stream, after: Stream) -> Outcome {
        let mut event = 0;
        // SAFETY: it writes the event there.
        unsafe { self.cuEventCreate(&raw mut event, DISABLE_TIMING) }?;
        // SAFETY: the caller's stream; the event was made just now.
        let recorded = unsafe { self.cuEventRecord(event, before) };
        let waits = recorded.and_then(|()| {
            // SAFETY: the same.
            unsafe { self.cuStreamWaitEvent(after, event, 0) }
        });
        // SAFETY: the event is not used any more; what waits for it goes on to do so.
        let destroyed = unsafe { self.cuEventDestroy(event) };
        waits.and(destroyed)
    }

    /// The kind of the memory at an address.
    pub(crate) fn kind_of(&self, address: u64) -> MemoryKind {
        let mut kind = 0;
        // SAFETY: it writes the kind of memory there, and only looks the address up.
        let known = unsafe { self.cuPointerGetAttribute(&raw mut kind, MEMORY_TYPE, address) };
        match kind {
            DEVICE_MEMORY if known.is_ok() => MemoryKind::Device,
            HOST_MEMORY if known.is_ok() => MemoryKind::Pinned,
            _ => MemoryKind::Other,
        }
    }
}

/// Kinds of memory that a driver tells apart.
#[derive(PartialEq, Eq)]
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
