//! The order in which a device does what it was asked for.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytemuck::Pod;

use crate::driver::{Context, Event, Unrecorded};
use crate::error::{Error, ErrorKind, Result};
use crate::pinned::PinnedVec;
use crate::table::{NOT_READY, SUCCESS};

pub use cuda_stream::CudaStream;
pub use device_slice::{DeviceBuffers, DeviceSlice, DeviceSliceMut};
pub use enqueued::{Alone, Enqueued, Watch};

mod copies;
mod cuda_stream;
mod device_slice;
mod enqueued;

/// The driver's own handle of a stream (`CUstream`, which `cudaStream_t` is as well).
#[doc(alias = "CUstream")]
#[doc(alias = "cudaStream_t")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct RawStream(pub *mut c_void);

// SAFETY: a handle is a number here: nothing is done behind it.
unsafe impl Send for RawStream {}
// SAFETY: as above.
unsafe impl Sync for RawStream {}

/// Priority of a stream's work when a device has more than it can do at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Priority {
    /// After that of streams with a high priority.
    #[default]
    Normal,
    /// As soon as possible: for communication that others wait for.
    High,
}

/// A stream of a device: what is enqueued there is done in this order, while the program goes on.
///
/// Implemented for [`CudaStream`], references and `Arc`s of streams; with the feature `cudarc` also
/// for its streams.
///
/// # Safety
///
/// [`raw`](Self::raw) is a live stream of [`context`](Self::context) as long as the value lives,
/// and both stay the same. The provided methods are not written anew.
pub unsafe trait Stream {
    /// The driver's handle.
    fn raw(&self) -> RawStream;

    /// The context that it belongs to.
    ///
    /// # Errors
    /// If this crate cannot work there: what the driver reports.
    fn context(&self) -> Result<Context>;

    /// An event that is complete when all work enqueued so far is.
    ///
    /// # Errors
    /// Errors of the driver.
    #[doc(alias = "cuEventRecord")]
    fn record(&self) -> Result<Event> {
        let event = Unrecorded::new(&self.context()?)?;
        // SAFETY: the stream is live, and the event was made in its context.
        unsafe { event.record(self.raw().0) }
    }

    /// Makes what is enqueued from now on wait for an event, of whichever stream or device. It does
    /// not wait itself.
    ///
    /// # Errors
    /// [`Argument`](crate::ErrorKind::Argument) for an event of another driver; what the driver
    /// reports.
    #[doc(alias = "cuStreamWaitEvent")]
    fn wait_event(&self, event: &Event) -> Result<()> {
        let context = self.context()?;
        let other = event.context().cuda();
        context.cuda().check_same(other, "cuStreamWaitEvent")?;
        context.call("cuStreamWaitEvent", |table| {
            // SAFETY: the stream is live, and so is the event, of the same driver.
            unsafe { (table.cuStreamWaitEvent)(self.raw().0, event.raw(), 0) }
        })
    }

    /// Tests whether all enqueued work is complete; nonblocking.
    ///
    /// # Errors
    /// Errors of the driver, of this call or of what was enqueued.
    #[doc(alias = "cuStreamQuery")]
    fn query(&self) -> Result<bool> {
        let context = self.context()?;
        // SAFETY: the stream is live.
        match context.code(|table| unsafe { (table.cuStreamQuery)(self.raw().0) })? {
            SUCCESS => Ok(true),
            NOT_READY => Ok(false),
            code => Err(context.cuda().failure("cuStreamQuery", code)),
        }
    }

    /// Waits until all work enqueued so far is complete.
    ///
    /// # Errors
    /// Errors of the driver, of this call or of what was enqueued.
    #[doc(alias = "cuStreamSynchronize")]
    fn synchronize(&self) -> Result<()> {
        self.context()?.call("cuStreamSynchronize", |table| {
            // SAFETY: the stream is live.
            unsafe { (table.cuStreamSynchronize)(self.raw().0) }
        })
    }

    /// Tests whether what is enqueued now goes into a CUDA graph and does not run yet.
    ///
    /// # Errors
    /// Errors of the driver.
    #[doc(alias = "cuStreamIsCapturing")]
    fn is_capturing(&self) -> Result<bool> {
        let mut status = 0;
        self.context()?.call("cuStreamIsCapturing", |table| {
            // SAFETY: the stream is live, and the driver writes one int to the address of one.
            unsafe { (table.cuStreamIsCapturing)(self.raw().0, &raw mut status) }
        })?;
        Ok(status != 0)
    }

    /// Refuses an operation on a stream that is being captured: its completion is what memory is
    /// given back by, and an event that is captured never completes.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) while it is; errors of the driver.
    fn refuse_capture(&self, operation: &'static str) -> Result<()> {
        if !self.is_capturing()? {
            return Ok(());
        }
        let text = format_args!(
            "the stream is being captured into a CUDA graph, where the end of this operation cannot be known: call it before or after, or enqueue \
             operations on addresses (the crate ranks-raw), which are captured"
        );
        Err(Error::refused(ErrorKind::Argument, operation, text))
    }

    /// Calls a function on the host, on a thread of the driver's, when its turn comes.
    ///
    /// Later work waits until it returns. It must not call the driver, and not wait for something
    /// that is enqueued. If it panics, that is reported as any panic of a thread is, and the stream
    /// goes on. If the device fails before, it is never called.
    ///
    /// # Errors
    /// Errors of the driver.
    #[doc(alias = "cuLaunchHostFunc")]
    fn launch_host(&self, function: Box<dyn FnOnce() + Send>) -> Result<()> {
        let context = self.context()?;
        let data = Box::into_raw(Box::new(function));
        let called = context.call("cuLaunchHostFunc", |table| {
            // SAFETY: the stream is live; `call_host` makes of `data` what it was made of, and is
            // called once.
            unsafe { (table.cuLaunchHostFunc)(self.raw().0, call_host, data.cast()) }
        });
        if called.is_err() {
            // SAFETY: the driver has refused the function, so that this is the only one to have it.
            drop(unsafe { Box::from_raw(data) });
        }
        called
    }

    /// Enqueues a copy to a device, from memory that both keep until it is complete. Lengths must
    /// agree.
    ///
    /// # Errors
    /// [`Length`](crate::ErrorKind::Length); [`Argument`](crate::ErrorKind::Argument) for things of
    /// two drivers; what the driver reports.
    #[doc(alias = "cuMemcpyHtoDAsync_v2")]
    fn upload<T, D>(&self, from: PinnedVec<T>, to: D) -> Result<Enqueued<(PinnedVec<T>, D)>>
    where
        Self: Sized,
        T: Pod,
        D: DeviceSliceMut<Element = T> + Send + 'static,
    {
        copies::upload(self, from, to)
    }

    /// Enqueues a copy to the host, into memory that both keep until it is complete. Lengths must
    /// agree.
    ///
    /// # Errors
    /// As [`upload`](Self::upload).
    #[doc(alias = "cuMemcpyDtoHAsync_v2")]
    fn download<T, S>(&self, from: S, to: PinnedVec<T>) -> Result<Enqueued<(S, PinnedVec<T>)>>
    where
        Self: Sized,
        T: Pod,
        S: DeviceSlice<Element = T> + Send + 'static,
    {
        copies::download(self, from, to)
    }

    /// Enqueues a copy from device memory to device memory. Lengths must agree.
    ///
    /// # Errors
    /// As [`upload`](Self::upload).
    #[doc(alias = "cuMemcpyDtoDAsync_v2")]
    fn copy<S, D>(&self, from: S, to: D) -> Result<Enqueued<(S, D)>>
    where
        Self: Sized,
        S: DeviceSlice + Send + 'static,
        D: DeviceSliceMut<Element = S::Element> + Send + 'static,
    {
        copies::copy(self, from, to)
    }
}

/// Calls what was boxed for [`Stream::launch_host`].
unsafe extern "C" fn call_host(data: *mut c_void) {
    // SAFETY: `data` came from `Box::into_raw` of this type, and the driver passes it once.
    let function = unsafe { Box::from_raw(data.cast::<Box<dyn FnOnce() + Send>>()) };
    // The driver's thread cannot unwind. The panic was reported when it began; what its payload
    // does in its turn is nobody's concern.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(*function)) {
        std::mem::forget(payload);
    }
}

// SAFETY: a reference to a stream is as good as the stream.
unsafe impl<S: Stream + ?Sized> Stream for &S {
    fn raw(&self) -> RawStream {
        (**self).raw()
    }

    fn context(&self) -> Result<Context> {
        (**self).context()
    }
}

// SAFETY: as long as an `Arc` lives, so does what is in it.
unsafe impl<S: Stream + ?Sized> Stream for Arc<S> {
    fn raw(&self) -> RawStream {
        (**self).raw()
    }

    fn context(&self) -> Result<Context> {
        (**self).context()
    }
}
