//! Memory of a device, and parts of it.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Mutex;

use bytemuck::Pod;

use crate::context::Context;
use crate::driver::{Cuda, lock};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Event;
use crate::memory::{DeviceSlice, DeviceSliceMut};
use crate::stream::Stream;
use crate::table::{Address, OUT_OF_MEMORY};

/// Elements in the memory of a device, which this owns. They are never uninitialised.
///
/// If it is dropped while anything is pending that was enqueued through this crate, the free of its
/// memory is deferred, because the driver waits for a device to free its memory: it is freed at the
/// next drop, allocation or wait that finds nothing pending, when an allocation finds no room, or
/// by [`Cuda::collect`]. With nothing pending it is freed in `drop`; then the driver waits at most
/// for kernels of others.
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
        DeviceView {
            part: self.part(),
            elements: PhantomData,
        }
    }

    /// All of it, to be written to.
    #[must_use]
    pub fn as_view_mut(&mut self) -> DeviceViewMut<'_, T> {
        DeviceViewMut {
            part: self.part(),
            elements: PhantomData,
        }
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

    fn all(&self) -> Vec<Event> {
        lock(&self.0).clone()
    }
}

/// Location of some elements, and the users of the memory around them.
#[derive(Clone, Copy)]
struct Part<'a> {
    block: &'a Block,
    users: &'a Users,
    address: Address,
    len: usize,
}

impl Part<'_> {
    /// The part of these elements, if they are there.
    fn slice<T>(self, range: impl RangeBounds<usize>) -> Result<Self> {
        let (from, to) = bounds(&range, self.len);
        if from > to || to > self.len {
            let text = format_args!("{from}..{to} is no range of {} elements", self.len);
            return Err(Error::refused(ErrorKind::Argument, "slice", text));
        }
        // Does not overflow: it lies within memory that has an address.
        let address = self.address + (from * size_of::<T>()) as u64;
        Ok(Part {
            address,
            len: to - from,
            ..self
        })
    }

    fn order_after_use(self, stream: &dyn Stream) -> Result<()> {
        for event in self.users.all() {
            if !event.is_over() {
                stream.wait_event(&event)?;
            }
        }
        Ok(())
    }
}

/// The first of a range, and the one behind its last.
fn bounds(range: &impl RangeBounds<usize>, len: usize) -> (usize, usize) {
    let from = match range.start_bound() {
        Bound::Included(&from) => from,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let to = match range.end_bound() {
        Bound::Included(&last) => last.saturating_add(1),
        Bound::Excluded(&to) => to,
        Bound::Unbounded => len,
    };
    (from, to)
}

/// Some elements of a [`DeviceVec`].
#[derive(Clone, Copy)]
pub struct DeviceView<'a, T> {
    part: Part<'a>,
    elements: PhantomData<fn() -> T>,
}

/// Some elements of a [`DeviceVec`], to be written to. Nobody else has them:
///
/// ```compile_fail,E0499
/// fn twice(vec: &mut ranks::cuda::DeviceVec<f32>) -> ranks::cuda::Result<()> {
///     let first = vec.slice_mut(..4)?;
///     let second = vec.slice_mut(4..)?; // `split_at_mut` gives both
///     drop((first, second));
///     Ok(())
/// }
/// ```
pub struct DeviceViewMut<'a, T> {
    part: Part<'a>,
    elements: PhantomData<fn() -> T>,
}

impl<'a, T: Pod> DeviceView<'a, T> {
    /// Some of them.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) for a range that is not there.
    pub fn slice(self, range: impl RangeBounds<usize>) -> Result<DeviceView<'a, T>> {
        Ok(DeviceView {
            part: self.part.slice::<T>(range)?,
            elements: PhantomData,
        })
    }

    /// The elements, on the host.
    ///
    /// # Errors
    /// As [`Context::copy_to_host`].
    pub fn to_vec(self) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); self.part.len];
        self.part.block.context.copy_to_host(&self, &mut values)?;
        Ok(values)
    }
}

impl<'a, T: Pod> DeviceViewMut<'a, T> {
    /// Some of them.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) for a range that is not there.
    pub fn slice_mut(self, range: impl RangeBounds<usize>) -> Result<DeviceViewMut<'a, T>> {
        Ok(DeviceViewMut {
            part: self.part.slice::<T>(range)?,
            elements: PhantomData,
        })
    }

    /// Returns the elements before `middle`, and those from there on.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) for a middle behind the end.
    pub fn split_at_mut(
        self,
        middle: usize,
    ) -> Result<(DeviceViewMut<'a, T>, DeviceViewMut<'a, T>)> {
        let of = |part| DeviceViewMut {
            part,
            elements: PhantomData,
        };
        let before = self.part.slice::<T>(..middle)?;
        let from = self.part.slice::<T>(middle..)?;
        Ok((of(before), of(from)))
    }

    /// The same elements for a shorter time.
    #[must_use]
    pub fn reborrow(&mut self) -> DeviceViewMut<'_, T> {
        DeviceViewMut {
            part: self.part,
            elements: PhantomData,
        }
    }

    /// The same elements, to be read.
    #[must_use]
    pub fn as_view(&self) -> DeviceView<'_, T> {
        DeviceView {
            part: self.part,
            elements: PhantomData,
        }
    }
}

macro_rules! device_slice {
    ($($name:ty, $part:ident;)*) => {$(
        // SAFETY: the elements lie in a block of that size, on the device of its context, until the
        // `DeviceVec` is dropped, which it is not while it is borrowed; its drop frees the block
        // when all users are complete.
        unsafe impl<T: Pod> DeviceSlice for $name {
            type Element = T;

            fn address(&self) -> u64 {
                $part(self).address
            }

            fn len(&self) -> usize {
                $part(self).len
            }

            fn ordinal(&self) -> usize {
                $part(self).block.context.device().ordinal()
            }

            fn cuda(&self) -> Result<Cuda> {
                Ok($part(self).block.context.cuda())
            }

            fn used_until(&self, event: &Event) {
                $part(self).users.add(event);
            }

            fn order_after_use(&self, stream: &dyn Stream) -> Result<()> {
                $part(self).order_after_use(stream)
            }
        }

        impl<T: Pod> fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} elements on device {}", self.len(), self.ordinal())
            }
        }
    )*};
}

fn of_vec<T: Pod>(vec: &DeviceVec<T>) -> Part<'_> {
    vec.part()
}

fn of_view<'a, T>(view: &DeviceView<'a, T>) -> Part<'a> {
    view.part
}

fn of_view_mut<'a, T>(view: &'a DeviceViewMut<'_, T>) -> Part<'a> {
    view.part
}

device_slice! {
    DeviceVec<T>, of_vec;
    DeviceView<'_, T>, of_view;
    DeviceViewMut<'_, T>, of_view_mut;
}

// SAFETY: a vector that is borrowed mutably, or owned, was lent to nobody.
unsafe impl<T: Pod> DeviceSliceMut for DeviceVec<T> {}
// SAFETY: the view borrows its elements mutably.
unsafe impl<T: Pod> DeviceSliceMut for DeviceViewMut<'_, T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_as_those_of_slices() {
        assert_eq!(bounds(&(..), 7), (0, 7));
        assert_eq!(bounds(&(2..), 7), (2, 7));
        assert_eq!(bounds(&(2..=4), 7), (2, 5));
        assert_eq!(bounds(&(..=usize::MAX), 7), (0, usize::MAX));
        let excluded = (Bound::Excluded(2), Bound::Excluded(4));
        assert_eq!(bounds(&excluded, 7), (3, 4));
    }
}
