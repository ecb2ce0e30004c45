//! The context of a device: what streams, events and memory belong to.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::{Arc, Mutex};

use crate::driver::{Cuda, Device, lock};
use crate::error::Result;
use crate::table::{Code, EVENT_DISABLE_TIMING, Handle, STREAM_NON_BLOCKING, Table};

/// Number of unused events that are kept for reuse.
const SPARE_EVENTS: usize = 256;

/// The primary context of a device, retained as long as anything belongs to it. Clones are the same
/// context.
#[derive(Clone)]
#[doc(alias = "cuDevicePrimaryCtxRelease_v2")]
pub struct Context(Arc<Inner>);

pub(crate) struct Inner {
    device: Device,
    raw: Handle,
    /// Stream on which memory is cleared and copied when nobody names one. Null until the context
    /// is complete.
    own_stream: Handle,
    spare_events: Mutex<Vec<Spare>>,
}

/// An event that nobody has.
struct Spare(Handle);

// SAFETY: a context is used from any thread, which makes it current first; its handles are numbers
// here.
unsafe impl Send for Inner {}
// SAFETY: as above; what changes is behind a mutex.
unsafe impl Sync for Inner {}
// SAFETY: the handle of an event may be used from any thread.
unsafe impl Send for Spare {}

impl Context {
    /// The context of `device` that is held already, or a new hold on it.
    pub(crate) fn of(device: Device) -> Result<Context> {
        let cuda = device.cuda();
        let mut held = lock(&cuda.driver().contexts);
        let known = held
            .iter()
            .find(|(ordinal, _)| *ordinal == device.ordinal());
        if let Some(inner) = known.and_then(|(_, weak)| weak.upgrade()) {
            return Ok(Context(inner));
        }
        let mut raw: Handle = ptr::null_mut();
        // SAFETY: the driver writes one handle to the address of one.
        let code = unsafe { (cuda.table().cuDevicePrimaryCtxRetain)(&raw mut raw, device.raw()) };
        cuda.check("cuDevicePrimaryCtxRetain", code)?;
        let mut inner = Inner {
            device,
            raw,
            own_stream: ptr::null_mut(),
            spare_events: Mutex::new(Vec::new()),
        };
        inner.own_stream = inner.new_stream(0)?;
        let inner = Arc::new(inner);
        held.retain(|(ordinal, _)| *ordinal != device.ordinal());
        held.push((device.ordinal(), Arc::downgrade(&inner)));
        Ok(Context(inner))
    }

    /// The driver.
    #[must_use]
    pub fn cuda(&self) -> Cuda {
        self.0.device.cuda()
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.0.device
    }

    /// The driver's own handle (`CUcontext`), valid as long as this or a clone of it lives.
    #[must_use]
    #[doc(alias = "CUcontext")]
    pub fn raw(&self) -> *mut c_void {
        self.0.raw
    }

    /// Makes it the current context of this thread, for libraries that ask for that one, until the
    /// guard is dropped.
    ///
    /// # Errors
    /// Errors of the driver.
    #[doc(alias = "cuCtxSetCurrent")]
    #[doc(alias = "cuCtxGetCurrent")]
    pub fn enter(&self) -> Result<Entered<'_>> {
        self.0.enter()
    }

    /// Waits for all that was enqueued in this context.
    ///
    /// # Errors
    /// Errors of the driver, of this call or of what was enqueued before.
    #[doc(alias = "cuCtxSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: it takes no arguments, and the context is current.
        self.call("cuCtxSynchronize", |table| unsafe {
            (table.cuCtxSynchronize)()
        })?;
        self.cuda().collect();
        Ok(())
    }

    /// Returns the number of free bytes of the device, and the number that it has. Others may take
    /// free memory at any time.
    ///
    /// # Errors
    /// Errors of the driver.
    #[doc(alias = "cuMemGetInfo_v2")]
    pub fn memory(&self) -> Result<(usize, usize)> {
        let (mut free, mut total) = (0, 0);
        self.call("cuMemGetInfo_v2", |table| {
            // SAFETY: the driver writes a number to each of two addresses.
            unsafe { (table.cuMemGetInfo_v2)(&raw mut free, &raw mut total) }
        })?;
        Ok((free, total))
    }

    /// One call of the driver with this context current.
    #[inline]
    pub(crate) fn call(&self, name: &'static str, call: impl FnOnce(&Table) -> Code) -> Result<()> {
        self.0.call(name, call)
    }

    /// As [`call`](Self::call), for those that report more than success and failure. `Err` if the
    /// context could not be made current.
    pub(crate) fn code(&self, call: impl FnOnce(&Table) -> Code) -> Result<Code> {
        let _entered = self.0.enter()?;
        Ok(call(self.cuda().table()))
    }

    /// Returns the handle of the stream on which memory is cleared and copied when nobody names
    /// one.
    pub(crate) fn own_stream_handle(&self) -> Handle {
        self.0.own_stream
    }

    /// A new stream that does not wait for the default stream.
    pub(crate) fn new_stream(&self, priority: i32) -> Result<Handle> {
        self.0.new_stream(priority)
    }

    /// An event that nobody else has.
    pub(crate) fn take_event(&self) -> Result<Handle> {
        if let Some(Spare(raw)) = lock(&self.0.spare_events).pop() {
            return Ok(raw);
        }
        let mut raw: Handle = ptr::null_mut();
        self.call("cuEventCreate", |table| {
            // SAFETY: the driver writes one handle to the address of one.
            unsafe { (table.cuEventCreate)(&raw mut raw, EVENT_DISABLE_TIMING) }
        })?;
        Ok(raw)
    }

    /// Takes back an event that nobody has any more.
    pub(crate) fn give_event(&self, raw: Handle) {
        let mut spare = lock(&self.0.spare_events);
        if spare.len() < SPARE_EVENTS {
            spare.push(Spare(raw));
            return;
        }
        drop(spare);
        self.0.destroy_event(raw);
    }
}

impl Inner {
    fn enter(&self) -> Result<Entered<'_>> {
        let cuda = self.device.cuda();
        let mut former: Handle = ptr::null_mut();
        // SAFETY: the driver writes one handle to the address of one.
        let code = unsafe { (cuda.table().cuCtxGetCurrent)(&raw mut former) };
        cuda.check("cuCtxGetCurrent", code)?;
        if former == self.raw {
            return Ok(Entered::new(cuda, None));
        }
        // SAFETY: the context is retained by `self`.
        let code = unsafe { (cuda.table().cuCtxSetCurrent)(self.raw) };
        cuda.check("cuCtxSetCurrent", code)?;
        Ok(Entered::new(cuda, Some(former)))
    }

    fn call(&self, name: &'static str, call: impl FnOnce(&Table) -> Code) -> Result<()> {
        let _entered = self.enter()?;
        let cuda = self.device.cuda();
        let code = call(cuda.table());
        cuda.check(name, code)
    }

    fn new_stream(&self, priority: i32) -> Result<Handle> {
        let mut raw: Handle = ptr::null_mut();
        self.call("cuStreamCreateWithPriority", |table| {
            // SAFETY: the driver writes one handle to the address of one.
            unsafe {
                (table.cuStreamCreateWithPriority)(&raw mut raw, STREAM_NON_BLOCKING, priority)
            }
        })?;
        Ok(raw)
    }

    fn destroy_event(&self, raw: Handle) {
        // A failure here is reported by the next call that matters.
        let _ = self.call("cuEventDestroy_v2", |table| {
            // SAFETY: nobody has the event any more: its owner gave it back.
            unsafe { (table.cuEventDestroy_v2)(raw) }
        });
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let spare = std::mem::take(&mut *lock(&self.spare_events));
        for Spare(raw) in spare {
            self.destroy_event(raw);
        }
        if !self.own_stream.is_null() {
            let _ = self.call("cuStreamDestroy_v2", |table| {
                // SAFETY: the stream was made by this context, and nothing refers to it without
                // holding the context.
                unsafe { (table.cuStreamDestroy_v2)(self.own_stream) }
            });
        }
        let cuda = self.device.cuda();
        // SAFETY: the context was retained once when `self` was made.
        let _ = unsafe { (cuda.table().cuDevicePrimaryCtxRelease_v2)(self.device.raw()) };
    }
}

impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        self.cuda() == other.cuda() && self.0.raw == other.0.raw
    }
}

impl Eq for Context {}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("device", &self.0.device)
            .finish_non_exhaustive()
    }
}

/// A context is current on this thread as long as this lives; then the former one is again.
///
/// It stays on its thread:
///
/// ```compile_fail,E0277
/// fn elsewhere(context: &ranks::cuda::Context) -> ranks::cuda::Result<()> {
///     let entered = context.enter()?;
///     std::thread::scope(|s| { s.spawn(|| drop(entered)); });
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Entered<'a> {
    cuda: Cuda,
    /// Context that was current before, if it was another one.
    former: Option<Handle>,
    // The current context is a thread's own, and the one that is current lives.
    _here: PhantomData<(&'a Context, *mut ())>,
}

impl Entered<'_> {
    fn new(cuda: Cuda, former: Option<Handle>) -> Self {
        Entered {
            cuda,
            former,
            _here: PhantomData,
        }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if let Some(former) = self.former {
            // A context that was destroyed meanwhile is refused by the driver, which is as good.
            // SAFETY: the driver itself named this context as the current one.
            let _ = unsafe { (self.cuda.table().cuCtxSetCurrent)(former) };
        }
    }
}
