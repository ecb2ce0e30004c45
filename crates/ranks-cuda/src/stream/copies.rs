//! Copies between host and device: those that wait, and those that are enqueued.

use bytemuck::Pod;

use crate::driver::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::pinned::PinnedVec;
use crate::stream::Stream;
use crate::stream::device_slice::{DeviceSlice, DeviceSliceMut};
use crate::stream::enqueued::{Alone, Enqueued};

const TO_DEVICE: &str = "cuMemcpyHtoDAsync_v2";
const TO_HOST: &str = "cuMemcpyDtoHAsync_v2";
const ON_DEVICE: &str = "cuMemcpyDtoDAsync_v2";
const FILL: &str = "cuMemsetD8Async";

impl Context {
    /// Copies `from` to a device, and waits until it is there. First it waits for those who are
    /// known to work on `to`.
    ///
    /// # Errors
    /// [`Length`](ErrorKind::Length) unless both have as many elements;
    /// [`Argument`](ErrorKind::Argument) for things of two drivers; what the driver reports.
    #[doc(alias = "cuMemcpyHtoDAsync_v2")]
    pub fn copy_to_device<T: Pod>(
        &self,
        from: &[T],
        to: &mut (impl DeviceSliceMut<Element = T> + ?Sized),
    ) -> Result<()> {
        check(TO_DEVICE, from.len(), to.len())?;
        let stream = self.own_stream();
        self.cuda().check_same(to.cuda()?, TO_DEVICE)?;
        to.order_writes_after_use(&stream)?;
        let (address, bytes) = (to.address(), size_of_val(from));
        if bytes == 0 {
            return stream.synchronize();
        }
        // Not `cuMemcpyHtoD_v2`: it may return before pageable memory has arrived, and no stream
        // but the default one would wait for the rest.
        self.call(TO_DEVICE, |table| {
            // SAFETY: both have so many bytes. Pageable memory has been read when the call returns,
            // and what is pinned is freed by a call that waits.
            unsafe {
                (table.cuMemcpyHtoDAsync_v2)(address, from.as_ptr().cast(), bytes, stream.raw().0)
            }
        })?;
        stream.synchronize()
    }

    /// Copies from a device to `to`, and waits until it is there. First it waits for those who are
    /// known to work on `from`.
    ///
    /// # Errors
    /// As [`copy_to_device`](Self::copy_to_device).
    #[doc(alias = "cuMemcpyDtoH_v2")]
    pub fn copy_to_host<T: Pod>(
        &self,
        from: &(impl DeviceSlice<Element = T> + ?Sized),
        to: &mut [T],
    ) -> Result<()> {
        check("cuMemcpyDtoH_v2", from.len(), to.len())?;
        let stream = self.own_stream();
        self.cuda().check_same(from.cuda()?, "cuMemcpyDtoH_v2")?;
        from.order_after_use(&stream)?;
        stream.synchronize()?;
        let (address, bytes) = (from.address(), size_of_val(to));
        if bytes == 0 {
            return Ok(());
        }
        // This one returns when it is complete, whatever `to` is; a wait for an enqueued one could
        // fail and leave a device writing there.
        self.call("cuMemcpyDtoH_v2", |table| {
            // SAFETY: both have so many bytes, which are elements whatever they are, and `to` has
            // been written when the call returns.
            unsafe { (table.cuMemcpyDtoH_v2)(to.as_mut_ptr().cast(), address, bytes) }
        })
    }
}

impl Context {
    /// Sets every byte of `to`, and waits until it is done. First it waits for those who are known
    /// to work on it.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) for memory of another driver; what the driver reports.
    #[doc(alias = "cuMemsetD8Async")]
    pub fn fill_bytes(&self, to: &mut (impl DeviceSliceMut + ?Sized), value: u8) -> Result<()> {
        let stream = self.own_stream();
        self.cuda().check_same(to.cuda()?, FILL)?;
        to.order_writes_after_use(&stream)?;
        // SAFETY: the memory is borrowed mutably until the call returns, and then it is done.
        unsafe { self.enqueue_fill(&stream, to, value) }?;
        stream.synchronize()
    }

    /// Enqueues that every byte of `to` is set.
    ///
    /// # Errors
    /// Errors of the driver.
    ///
    /// # Safety
    /// The memory stays until the stream has come past it, and the stream is of this context.
    #[doc(alias = "cuMemsetD8Async")]
    pub unsafe fn enqueue_fill(
        &self,
        stream: &dyn Stream,
        to: &mut (impl DeviceSliceMut + ?Sized),
        value: u8,
    ) -> Result<()> {
        let (address, bytes) = (to.address(), bytes_of(to));
        if bytes == 0 {
            return Ok(());
        }
        self.call(FILL, |table| {
            // SAFETY: the memory has so many bytes, and the caller vouches that it stays; the
            // stream is live.
            unsafe { (table.cuMemsetD8Async)(address, value, bytes, stream.raw().0) }
        })
    }
}

/// Length of a slice in bytes.
fn bytes_of<S: DeviceSlice + ?Sized>(slice: &S) -> usize {
    // Does not overflow: the elements lie in memory.
    slice.len() * size_of::<S::Element>()
}

/// [`Stream::upload`]
pub(crate) fn upload<T, D>(
    stream: &dyn Stream,
    from: PinnedVec<T>,
    mut to: D,
) -> Result<Enqueued<(PinnedVec<T>, D)>>
where
    T: Pod,
    D: DeviceSliceMut<Element = T> + Send + 'static,
{
    check(TO_DEVICE, from.len(), to.len())?;
    let context = stream.context()?;
    context.cuda().check_same(from.cuda(), TO_DEVICE)?;
    context.cuda().check_same(to.cuda()?, TO_DEVICE)?;
    to.order_writes_after_use(stream)?;
    let enqueue = |(from, to): &mut (PinnedVec<T>, D)| {
        let bytes = size_of_val::<[T]>(from);
        if bytes == 0 {
            return Ok(());
        }
        context.call(TO_DEVICE, |table| {
            // SAFETY: both have so many bytes, and are kept until the copy is complete; the stream
            // is live.
            unsafe {
                (table.cuMemcpyHtoDAsync_v2)(
                    to.address(),
                    from.as_ptr().cast(),
                    bytes,
                    stream.raw().0,
                )
            }
        })
    };
    // SAFETY: the copy works on nothing but these buffers.
    unsafe { Enqueued::begin(stream, (from, to), Alone, enqueue) }
}

/// [`Stream::download`]
pub(crate) fn download<T, S>(
    stream: &dyn Stream,
    from: S,
    to: PinnedVec<T>,
) -> Result<Enqueued<(S, PinnedVec<T>)>>
where
    T: Pod,
    S: DeviceSlice<Element = T> + Send + 'static,
{
    check(TO_HOST, from.len(), to.len())?;
    let context = stream.context()?;
    context.cuda().check_same(from.cuda()?, TO_HOST)?;
    context.cuda().check_same(to.cuda(), TO_HOST)?;
    from.order_after_use(stream)?;
    let enqueue = |(from, to): &mut (S, PinnedVec<T>)| {
        let bytes = size_of_val::<[T]>(to);
        if bytes == 0 {
            return Ok(());
        }
        context.call(TO_HOST, |table| {
            // SAFETY: both have so many bytes, which are elements whatever they are; they are kept,
            // and not looked at, until the copy is over.
            unsafe {
                (table.cuMemcpyDtoHAsync_v2)(
                    to.as_mut_ptr().cast(),
                    from.address(),
                    bytes,
                    stream.raw().0,
                )
            }
        })
    };
    // SAFETY: the copy works on nothing but these buffers.
    unsafe { Enqueued::begin(stream, (from, to), Alone, enqueue) }
}

/// [`Stream::copy`]
pub(crate) fn copy<S, D>(stream: &dyn Stream, from: S, mut to: D) -> Result<Enqueued<(S, D)>>
where
    S: DeviceSlice + Send + 'static,
    D: DeviceSliceMut<Element = S::Element> + Send + 'static,
{
    check(ON_DEVICE, from.len(), to.len())?;
    let context = stream.context()?;
    context.cuda().check_same(from.cuda()?, ON_DEVICE)?;
    context.cuda().check_same(to.cuda()?, ON_DEVICE)?;
    from.order_after_use(stream)?;
    to.order_writes_after_use(stream)?;
    let enqueue = |(from, to): &mut (S, D)| {
        // Does not overflow: the elements lie in memory.
        let bytes = from.len() * size_of::<S::Element>();
        if bytes == 0 {
            return Ok(());
        }
        context.call(ON_DEVICE, |table| {
            // SAFETY: both have so many bytes, and are kept until the copy is complete; the stream
            // is live.
            unsafe {
                (table.cuMemcpyDtoDAsync_v2)(to.address(), from.address(), bytes, stream.raw().0)
            }
        })
    };
    // SAFETY: the copy works on nothing but these buffers.
    unsafe { Enqueued::begin(stream, (from, to), Alone, enqueue) }
}

fn check(call: &'static str, from: usize, to: usize) -> Result<()> {
    if from == to {
        return Ok(());
    }
    let text = format_args!("{from} elements cannot be copied to {to}: take a slice of the longer");
    Err(Error::refused(ErrorKind::Length, call, text))
}
