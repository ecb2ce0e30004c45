//! Memory of a device that a vector owns.

use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Mutex;

use bytemuck::Pod;

use crate::driver::{Context, Event, lock};
use crate::error::{Error, ErrorKind, Result};
use crate::stream::Stream;
use crate::table::{Address, OUT_OF_MEMORY};

pub use bytes::DeviceBytes;
use view::Part;
pub use view::{DeviceView, DeviceViewMut, bounds};

mod bytes;
mod view;

/// Elements in the memory of a device, which this owns. They are never uninitialised.
///
/// If it is dropped while anything is pending that was enqueued through this crate, the free of its
/// memory is deferred, because the driver waits for a device to free its memory: it is freed at the
/// next drop, allocation or wait that finds nothing pending, when an allocation finds no room, or
/// by [`Cuda::collect`](crate::Cuda::collect). With nothing pending it is freed in `drop`; then the
/// driver waits at most for kernels of others.
///
/// Operations enqueued with a part of it end before the part does, or own the whole: a borrowed
/// part cannot be given to an operation that goes on.
///
/// ```compile_fail,E0597
/// use ranks::cuda::{Context, CudaStream, Enqueued, PinnedVec, Result, Stream};
/// fn goes_on(context: &Context, stream: &CudaStream, from: PinnedVec<f32>) -> Result<()> {
///     let mut vec = context.alloc::<f32>(8)?;
///     let _enqueued = stream.upload(from, vec.as_view_mut())?;
///     Ok(())
/// }
/// ```
#[doc(alias = "cuMemFree_v2")]
pub struct DeviceVec<T> {
    /// Taken in `drop` only.
    block: Option<Block>,
    len: usize,
    /// Operations that use it.
    users: Users,
    // The elements are never here, so that no thread has them.
    elements: PhantomData<fn() -> T>,
}

/// Memory of the driver's, or of another library.
struct Block {
    context: Context,
    address: Address,
    /// Function that frees it, where the driver is not to.
    free: Option<Free>,
}

type Free = Box<dyn FnOnce() + Send + Sync>;

/// The events of those who work on some memory.
#[derive(Debug, Default)]
struct Users(Mutex<Vec<Event>>);

impl Context {
    /// `len` elements of the device, all bits zero.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::ErrorKind::OutOfMemory); what else the driver reports.
    #[doc(alias = "cuMemAlloc_v2")]
    #[doc(alias = "cuMemsetD8Async")]
    pub fn alloc<T: Pod>(&self, len: usize) -> Result<DeviceVec<T>> {
        DeviceVec::zeroed(self, len)
    }

    /// The elements of `values`, on the device.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc) and [`copy_to_device`](Self::copy_to_device).
    pub fn device_vec_of<T: Pod>(&self, values: &[T]) -> Result<DeviceVec<T>> {
        let mut vec = self.alloc(values.len())?;
        self.copy_to_device(values, &mut vec)?;
        Ok(vec)
    }
}

impl<T: Pod> DeviceVec<T> {
    pub(crate) fn zeroed(context: &Context, len: usize) -> Result<Self> {
        context.cuda().driver().aside.collect(Some(context));
        let bytes = size_of::<T>().checked_mul(len).ok_or_else(|| {
            let text = format_args!("{len} elements of {} bytes are too many", size_of::<T>());
            Error::refused(ErrorKind::Argument, "cuMemAlloc_v2", text)
        })?;
        // The driver has no empty memory.
        let block = Block::new(context, bytes.max(1))?;
        Self::cleared(block, len, bytes)
    }

    /// `len` elements in memory that another library has allocated, all bits zero. When nobody
    /// works on them any more `free` is called, once, on any thread.
    ///
    /// # Errors
    /// Errors of the driver; the memory is then never freed.
    ///
    /// # Safety
    /// At `address` there is memory of the context's device for so many elements, aligned to them,
    /// which is nobody else's until `free` is called, which may free it.
    pub unsafe fn adopt(
        context: &Context,
        address: u64,
        len: usize,
        free: impl FnOnce() + Send + Sync + 'static,
    ) -> Result<Self> {
        let block = Block {
            context: context.clone(),
            address,
            free: Some(Box::new(free)),
        };
        // Does not overflow: the memory is there.
        Self::cleared(block, len, len * size_of::<T>())
    }

    fn cleared(block: Block, len: usize, bytes: usize) -> Result<Self> {
        let context = block.context.clone();
        let stream = context.own_stream();
        let clear = || {
            context.call("cuMemsetD8Async", |table| {
                // SAFETY: the memory has so many bytes, and the stream lives as long as the
                // context.
                unsafe { (table.cuMemsetD8Async)(block.address, 0, bytes, stream.raw().0) }
            })
        };
        let cleared = if bytes == 0 { Ok(()) } else { clear() };
        if let Err(error) = cleared.and_then(|()| stream.synchronize()) {
            // It may still be pending.
            std::mem::forget(block);
            return Err(error);
        }
        Ok(DeviceVec {
            block: Some(block),
            len,
            users: Users::default(),
            elements: PhantomData,
        })
    }

    /// The context that it belongs to.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.block().context
    }

    /// All of it.
    #[must_use]
    pub fn as_view(&self) -> DeviceView<'_, T> {
        DeviceView::of(self.part())
    }

    /// All of it, to be written to.
    #[must_use]
    pub fn as_view_mut(&mut self) -> DeviceViewMut<'_, T> {
        DeviceViewMut::of(self.part())
    }

    /// Some of it.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) for a range that it does not have.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<DeviceView<'_, T>> {
        self.as_view().slice(range)
    }

    /// Some of it, to be written to.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) for a range that it does not have.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<DeviceViewMut<'_, T>> {
        self.as_view_mut().slice_mut(range)
    }

    /// Returns the elements before `middle`, and those from there on.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) for a middle behind the end.
    pub fn split_at_mut(
        &mut self,
        middle: usize,
    ) -> Result<(DeviceViewMut<'_, T>, DeviceViewMut<'_, T>)> {
        self.as_view_mut().split_at_mut(middle)
    }

    /// The elements, on the host.
    ///
    /// # Errors
    /// As [`Context::copy_to_host`].
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.as_view().to_vec()
    }

    fn part(&self) -> Part<'_> {
        Part {
            block: self.block(),
            users: &self.users,
            address: self.block().address,
            len: self.len,
        }
    }
}

impl<T> DeviceVec<T> {
    fn block(&self) -> &Block {
        match &self.block {
            Some(block) => block,
            None => unreachable!("the block is taken by `drop` alone"),
        }
    }
}

impl<T> Drop for DeviceVec<T> {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            let users = std::mem::take(&mut *lock(&self.users.0));
            let context = block.context.clone();
            let aside = &context.cuda().driver().aside;
            aside.release(&context, users, block);
        }
    }
}

impl Block {
    fn new(context: &Context, bytes: usize) -> Result<Block> {
        let mut address: Address = 0;
        let mut allocate = || {
            context.call("cuMemAlloc_v2", |table| {
                // SAFETY: the driver writes one address to the address of one.
                unsafe { (table.cuMemAlloc_v2)(&raw mut address, bytes) }
            })
        };
        match allocate() {
            // Deferred frees may make room.
            Err(error) if error.code() == Some(OUT_OF_MEMORY) => {
                context.cuda().collect();
                allocate()?;
            }
            other => other?,
        }
        Ok(Block {
            context: context.clone(),
            address,
            free: None,
        })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(free) = self.free.take() {
            return free();
        }
        // A failure here is reported by the next call that matters.
        let _ = self.context.call("cuMemFree_v2", |table| {
            // SAFETY: the memory was allocated by `Block::new`, and all events of its users are
            // complete: see `Aside::release`.
            unsafe { (table.cuMemFree_v2)(self.address) }
        });
    }
}

impl Users {
    fn add(&self, event: &Event) {
        let mut users = lock(&self.0);
        let former = std::mem::take(&mut *users);
        let (over, mut left): (Vec<_>, Vec<_>) = former.into_iter().partition(Event::is_over);
        left.push(event.clone());
        *users = left;
        drop(users);
        drop(over);
    }

    fn pending(&self) -> Vec<Event> {
        let users = lock(&self.0);
        users
            .iter()
            .filter(|user| !user.is_over())
            .cloned()
            .collect()
    }
}
