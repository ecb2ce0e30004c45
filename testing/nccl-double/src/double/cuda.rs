//! The CUDA driver that this library was told of. Order on streams is had from it alone.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::sync::Mutex;

use ranks_load::{Candidate, Library};

use super::abi::{self, Stream};
use super::failure::{Failure, Outcome};
use super::lock;

/// A function that a stream calls.
pub(crate) type HostFunction = unsafe extern "C" fn(*mut c_void);

/// Each line is a function of the driver, and becomes a method that checks what it returns.
macro_rules! driver {
    ($($name:ident = $symbol:literal ($($argument:ident: $type:ty),*);)*) => {
        /// The functions of a driver; those that it lacks fail when they are called.
        #[allow(non_snake_case, reason = "the names are the driver's")]
        pub(crate) struct Driver {
            $($name: Option<unsafe extern "C" fn($($type),*) -> c_int>,)*
            cuGetErrorName: Option<unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int>,
        }

        #[allow(non_snake_case, reason = "the names are the driver's")]
        impl Driver {
            fn of(library: &Library) -> Self {
                Self {
                    $($name: library.own_symbol($symbol).map(|address| {
                        // SAFETY: the function of that name has this type in every driver.
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>(address.as_ptr()) }
                    }),)*
                    cuGetErrorName: library.own_symbol(c"cuGetErrorName").map(|address| {
                        // SAFETY: the function of that name has this type in every driver.
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int>(address.as_ptr()) }
                    }),
                }
            }

            $(
                /// # Safety
                /// As the driver's.
                pub(crate) unsafe fn $name(&self, $($argument: $type),*) -> Outcome {
                    let Some(function) = self.$name else {
                        let text = format!("the CUDA driver has no {}", stringify!($name));
                        return Err(Failure::new(abi::UNHANDLED_CUDA_ERROR, text));
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
    cuCtxGetCurrent = c"cuCtxGetCurrent" (context: *mut usize);
    cuCtxSetCurrent = c"cuCtxSetCurrent" (context: usize);
    cuCtxGetDevice = c"cuCtxGetDevice" (device: *mut c_int);
    cuMemAlloc = c"cuMemAlloc_v2" (address: *mut u64, size: usize);
    cuMemFree = c"cuMemFree_v2" (address: u64);
    cuMemHostAlloc = c"cuMemHostAlloc" (address: *mut *mut u8, size: usize, flags: c_uint);
    cuMemFreeHost = c"cuMemFreeHost" (address: *mut u8);
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
/// `CU_MEMORYTYPE_DEVICE`
const DEVICE_MEMORY: c_uint = 2;

/// The driver, once it is opened. It is never closed.
static DRIVER: Mutex<Option<&'static Driver>> = Mutex::new(None);

/// The driver: what was opened before, or what the environment names.
pub(crate) fn driver() -> Outcome<&'static Driver> {
    if let Some(driver) = *lock(&DRIVER) {
        return Ok(driver);
    }
    match std::env::var_os("NCCL_DOUBLE_CUDA") {
        Some(path) => open(Path::new(&path)),
        None => {
            let text = "no CUDA driver: neither NCCL_DOUBLE_CUDA nor ncclDouble_use_cuda names one";
            Err(Failure::new(abi::UNHANDLED_CUDA_ERROR, text))
        }
    }
}

/// Opens a driver, which is used from now on.
pub(crate) fn open(path: &Path) -> Outcome<&'static Driver> {
    let candidates = [Candidate::new(path, "the double of NCCL was told of it")];
    // SAFETY: whoever names the file vouches for its initialisers, as a preloaded library's.
    let opened = unsafe { Library::open("CUDA driver", &candidates, |_| Ok(())) };
    let failure = |error| Failure::new(abi::UNHANDLED_CUDA_ERROR, format!("{error}"));
    let library = opened.map_err(failure)?;
    let driver: &'static Driver = Box::leak(Box::new(Driver::of(&library)));
    // SAFETY: it may be called at any time.
    unsafe { driver.cuInit(0) }?;
    *lock(&DRIVER) = Some(driver);
    Ok(driver)
}

impl Driver {
    fn check(&self, name: &str, code: c_int) -> Outcome {
        if code == 0 {
            return Ok(());
        }
        let mut text: *const c_char = std::ptr::null();
        if let Some(function) = self.cuGetErrorName {
            // SAFETY: it writes an address there, or null.
            unsafe { function(code, &raw mut text) };
        }
        let said = if text.is_null() {
            String::new()
        } else {
            // SAFETY: the driver's names are static texts.
            let text = unsafe { std::ffi::CStr::from_ptr(text) };
            format!(" ({})", text.to_string_lossy())
        };
        let text = format!("Cuda failure: {name} returned {code}{said}");
        Err(Failure::new(abi::UNHANDLED_CUDA_ERROR, text))
    }

    /// Device and context of this thread; as the CUDA runtime does, the first device's if it has
    /// none.
    pub(crate) fn current(&self) -> Outcome<Place> {
        let mut context = 0;
        // SAFETY: it writes the context there.
        unsafe { self.cuCtxGetCurrent(&raw mut context) }?;
        if context == 0 {
            let place = self.primary(0)?;
            // SAFETY: the context was retained just now.
            unsafe { self.cuCtxSetCurrent(place.context) }?;
            return Ok(place);
        }
        let mut device = 0;
        // SAFETY: it writes the device of the current context there.
        unsafe { self.cuCtxGetDevice(&raw mut device) }?;
        Ok(Place { device, context })
    }

    /// A device and its primary context, which stays retained.
    pub(crate) fn primary(&self, ordinal: c_int) -> Outcome<Place> {
        let mut device = 0;
        // SAFETY: it writes the device there.
        unsafe { self.cuDeviceGet(&raw mut device, ordinal) }?;
        let mut context = 0;
        // SAFETY: it writes the context there.
        unsafe { self.cuDevicePrimaryCtxRetain(&raw mut context, device) }?;
        Ok(Place { device, context })
    }

    /// Makes a context current on this thread until the guard goes.
    pub(crate) fn enter(&'static self, context: usize) -> Outcome<Entered> {
        let mut before = 0;
        // SAFETY: it writes the context there.
        unsafe { self.cuCtxGetCurrent(&raw mut before) }?;
        // SAFETY: the context is one that the driver gave, and that communicators keep.
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

    /// Returns `true` if an address is in the memory of a device.
    pub(crate) fn is_of_device(&self, address: u64) -> bool {
        let mut kind = 0;
        // SAFETY: it writes the kind of memory there, and only looks the address up.
        let known =
            unsafe { self.cuPointerGetAttribute(&raw mut kind, MEMORY_TYPE, address) }.is_ok();
        known && kind == DEVICE_MEMORY
    }
}

/// A device, and its context.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) device: c_int,
    pub(crate) context: usize,
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
