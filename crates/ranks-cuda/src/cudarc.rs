//! Streams and slices of cudarc 0.19, which other libraries compute with.
//!
//! A slice of cudarc's is freed in the order of its own stream. That stream is therefore made to
//! wait for what else works on the slice; and the events by which cudarc orders its streams are
//! recorded behind that.

use std::mem;
use std::sync::Arc;

use ::cudarc::driver::{
    CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, DeviceSlice as _,
};
use bytemuck::Pod;

use crate::driver::{Context, Cuda, Event};
use crate::error::{Error, ErrorKind, Result};
use crate::stream::{DeviceSlice, DeviceSliceMut, RawStream, Stream};

/// The stream of the driver that [`Cuda::load`] finds, which is cudarc's as well; in the primary
/// context of its device.
// SAFETY: the handle belongs to the value, which destroys it when it is dropped, and its context is
// compared with the one that is returned.
unsafe impl Stream for CudaStream {
    fn raw(&self) -> RawStream {
        RawStream(self.cu_stream().cast())
    }

    fn context(&self) -> Result<Context> {
        let context = Cuda::load()?
            .device(CudaStream::context(self).ordinal())?
            .context()?;
        if context.raw() == CudaStream::context(self).cu_ctx().cast() {
            return Ok(context);
        }
        let text = format_args!(
            "a stream of cudarc's is not in the primary context of device {} of {}",
            context.device().ordinal(),
            context.cuda().path().display()
        );
        Err(Error::refused(ErrorKind::Argument, "cuCtxSetCurrent", text))
    }
}

/// Makes the stream that frees the memory wait.
fn wait(stream: &CudaStream, event: &Event) {
    if stream.wait_event(event).is_err() {
        // Then this thread waits: what follows is in order all the same. If the event cannot be
        // asked either, the driver does nothing any more.
        let _ = event.synchronize();
    }
}

/// Makes `stream` wait for all that `own` has come to.
fn follow(own: &CudaStream, stream: &dyn Stream) -> Result<()> {
    if own.raw() == stream.raw() {
        return Ok(());
    }
    stream.wait_event(&own.record()?)
}

/// Orders later work on the slice's own stream after those who have written last.
fn after_writes<T>(slice: &impl DevicePtr<T>) {
    let (_, guard) = slice.device_ptr(slice.stream());
    // Nothing is read, so that nothing is to be recorded.
    mem::forget(guard);
}

/// Orders later work on the slice's own stream after all who work on it. Returns that stream.
fn after_all<T>(slice: &mut impl DevicePtrMut<T>) -> Arc<CudaStream> {
    let own = slice.stream().clone();
    let (_, guard) = slice.device_ptr_mut(&own);
    mem::forget(guard);
    own
}

/// Records, for those who write on another stream, that somebody reads until `event`.
fn read_until<T>(slice: &impl DevicePtr<T>, event: &Event) {
    wait(slice.stream(), event);
    let (_, guard) = slice.device_ptr(slice.stream());
    drop(guard);
}

/// Records, for those who work on another stream, that somebody writes until `event`.
fn written_until<T>(slice: &mut impl DevicePtrMut<T>, event: &Event) {
    wait(slice.stream(), event);
    let own = slice.stream().clone();
    let (_, guard) = slice.device_ptr_mut(&own);
    drop(guard);
}

macro_rules! device_slice {
    ($($slice:ty { $($mutable:tt)* })*) => {$(
        // SAFETY: the memory belongs to the slice, or to the one that the view borrows, and stays
        // where it is. That slice frees it in the order of its own stream, which is made to wait
        // for the event.
        unsafe impl<T: Pod> DeviceSlice for $slice {
            type Element = T;

            fn address(&self) -> u64 {
                let (address, guard) = self.device_ptr(self.stream());
                // Nothing is read, so that nothing is to be recorded.
                mem::forget(guard);
                address
            }

            fn len(&self) -> usize {
                ::cudarc::driver::DeviceSlice::len(self)
            }

            fn ordinal(&self) -> usize {
                CudaStream::context(self.stream()).ordinal()
            }

            fn cuda(&self) -> Result<Cuda> {
                Ok(Stream::context(&**self.stream())?.cuda())
            }

            fn used_until(&self, event: &Event) {
                read_until(self, event);
            }

            fn order_after_use(&self, stream: &dyn Stream) -> Result<()> {
                after_writes(self);
                follow(self.stream(), stream)
            }

            $($mutable)*
        }
    )*};
}

device_slice! {
    CudaView<'_, T> {}

    CudaSlice<T> {
        fn written_until(&mut self, event: &Event) {
            written_until(self, event);
        }

        fn order_writes_after_use(&mut self, stream: &dyn Stream) -> Result<()> {
            follow(&after_all(self), stream)
        }
    }

    CudaViewMut<'_, T> {
        fn written_until(&mut self, event: &Event) {
            written_until(self, event);
        }

        fn order_writes_after_use(&mut self, stream: &dyn Stream) -> Result<()> {
            follow(&after_all(self), stream)
        }
    }
}

// SAFETY: a slice that is borrowed mutably, or owned, was lent to nobody.
unsafe impl<T: Pod> DeviceSliceMut for CudaSlice<T> {}
// SAFETY: the view borrows its elements mutably.
unsafe impl<T: Pod> DeviceSliceMut for CudaViewMut<'_, T> {}
