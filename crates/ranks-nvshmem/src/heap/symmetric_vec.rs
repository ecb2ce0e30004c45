//! Elements of the symmetric heap, and parts of them.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use bytemuck::Pod;
use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::Count;

use crate::backend::block::{Block, Offset};
use crate::heap::arguments::part::Part;
use crate::heap::arguments::{Symmetric, SymmetricMut};
use crate::pe::deferred_free::Dropped;
use crate::pe::handle::Nvshmem;

/// Elements of the symmetric heap: as many on every PE, each with a part of its own. They are never
/// uninitialised.
///
/// It is made by [`Nvshmem::alloc`], and freed by [`free`](Self::free), both collective. One that
/// is dropped is put aside, and freed when it was dropped on every PE, at the next collective
/// point.
///
/// Nothing refers to the elements directly, since other PEs may write to them at any time: they are
/// copied from and to the host.
///
/// It does not outlive its heap, and stays on the heap's thread:
///
/// ```compile_fail,E0597
/// # use ranks::nvshmem::{Nvshmem, NvshmemOptions};
/// # fn outlives(bootstrap: &dyn ranks::bootstrap::Bootstrap) -> ranks::Result<()> {
/// let vec = {
///     let pe = Nvshmem::init(bootstrap, &NvshmemOptions::new())?;
///     pe.alloc::<f32>(8)?
/// };
/// vec.to_vec().map(drop)
/// # }
/// ```
///
/// ```compile_fail,E0277
/// fn is_send<T: Send>() {}
/// is_send::<ranks::nvshmem::SymmetricVec<'_, f32>>();
/// ```
///
/// It is one block, which one value owns:
///
/// ```compile_fail,E0382
/// # fn twice(vec: ranks::nvshmem::SymmetricVec<'_, f32>) -> ranks::Result<()> {
/// vec.free()?;
/// vec.free()
/// # }
/// ```
pub struct SymmetricVec<'c, T: Pod> {
    heap: &'c Nvshmem<'c>,
    /// `None` if there are no bytes. Taken when it is freed.
    block: Option<Block>,
    len: usize,
    elements: PhantomData<fn() -> T>,
}

/// Some elements of a [`SymmetricVec`].
pub struct SymmetricSlice<'a, T: Pod> {
    span: Span<'a>,
    elements: PhantomData<fn() -> T>,
}

/// Some elements of a [`SymmetricVec`], to be written to on this PE. Nobody else here has them:
///
/// ```compile_fail,E0499
/// # fn overlap(vec: &mut ranks::nvshmem::SymmetricVec<'_, f32>) -> ranks::Result<()> {
/// let first = vec.slice_mut(..5)?;
/// let second = vec.slice_mut(4..)?; // `split_at_mut` gives two that do not overlap
/// drop((first, second));
/// # Ok(())
/// # }
/// ```
pub struct SymmetricSliceMut<'a, T: Pod> {
    span: Span<'a>,
    elements: PhantomData<fn() -> T>,
}

/// The place of some elements.
#[derive(Clone, Copy)]
pub(crate) struct Span<'a> {
    pub(crate) heap: &'a Nvshmem<'a>,
    block: Option<&'a Block>,
    /// The first one.
    from: usize,
    len: usize,
}

impl<'c, T: Pod> SymmetricVec<'c, T> {
    pub(crate) fn of(heap: &'c Nvshmem<'c>, block: Option<Block>, len: usize) -> Self {
        let elements = PhantomData;
        Self {
            heap,
            block,
            len,
            elements,
        }
    }

    /// The heap that it is of.
    #[must_use]
    pub fn heap(&self) -> &'c Nvshmem<'c> {
        self.heap
    }

    /// The number of elements that each PE has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All of it.
    #[must_use]
    pub fn as_slice(&self) -> SymmetricSlice<'_, T> {
        SymmetricSlice::of(self.span())
    }

    /// All of it, to be written to here.
    #[must_use]
    pub fn as_slice_mut(&mut self) -> SymmetricSliceMut<'_, T> {
        SymmetricSliceMut::of(self.span())
    }

    /// Some of it.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for a range that it does not have.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<SymmetricSlice<'_, T>> {
        self.as_slice().slice(range)
    }

    /// Some of it, to be written to here.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for a range that it does not have.
    pub fn slice_mut(
        &mut self,
        range: impl RangeBounds<usize>,
    ) -> Result<SymmetricSliceMut<'_, T>> {
        self.as_slice_mut().slice_mut(range)
    }

    /// Splits at `middle` into the elements before it and those from there, to be written to here.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for a middle behind the end.
    pub fn split_at_mut(
        &mut self,
        middle: usize,
    ) -> Result<(SymmetricSliceMut<'_, T>, SymmetricSliceMut<'_, T>)> {
        self.as_slice_mut().split_at_mut(middle)
    }

    #[inline]
    pub(crate) fn span(&self) -> Span<'_> {
        Span {
            heap: self.heap,
            block: self.block.as_ref(),
            from: 0,
            len: self.len,
        }
    }

    /// The block, which is now the caller's to free.
    pub(crate) fn take(mut self) -> Option<Block> {
        self.block.take()
    }
}

impl<T: Pod> Drop for SymmetricVec<'_, T> {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.heap.put_aside(Dropped::Block(block));
        }
    }
}

impl<'a, T: Pod> SymmetricSlice<'a, T> {
    fn of(span: Span<'a>) -> Self {
        let elements = PhantomData;
        Self { span, elements }
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.span.len
    }

    /// Returns whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.span.len == 0
    }

    /// Some of them.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for a range that is not there.
    pub fn slice(self, range: impl RangeBounds<usize>) -> Result<SymmetricSlice<'a, T>> {
        Ok(Self::of(self.span.part(&range)?))
    }

    #[inline]
    pub(crate) fn span(&self) -> Span<'a> {
        self.span
    }
}

impl<'a, T: Pod> SymmetricSliceMut<'a, T> {
    fn of(span: Span<'a>) -> Self {
        let elements = PhantomData;
        Self { span, elements }
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.span.len
    }

    /// Returns whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.span.len == 0
    }

    /// Some of them.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for a range that is not there.
    pub fn slice_mut(self, range: impl RangeBounds<usize>) -> Result<SymmetricSliceMut<'a, T>> {
        Ok(Self::of(self.span.part(&range)?))
    }

    /// Splits at `middle` into the elements before it and those from there.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for a middle behind the end.
    pub fn split_at_mut(
        self,
        middle: usize,
    ) -> Result<(SymmetricSliceMut<'a, T>, SymmetricSliceMut<'a, T>)> {
        let before = self.span.part(&(..middle))?;
        let from = self.span.part(&(middle..))?;
        Ok((Self::of(before), Self::of(from)))
    }

    /// The same elements for a shorter time.
    #[must_use]
    pub fn reborrow(&mut self) -> SymmetricSliceMut<'_, T> {
        SymmetricSliceMut::of(self.span)
    }

    /// The same elements, to be read.
    #[must_use]
    pub fn as_slice(&self) -> SymmetricSlice<'_, T> {
        SymmetricSlice::of(self.span)
    }

    /// The same elements, which nobody else has.
    pub(crate) fn into_slice(self) -> SymmetricSlice<'a, T> {
        SymmetricSlice::of(self.span)
    }

    #[inline]
    pub(crate) fn span(&self) -> Span<'_> {
        self.span
    }
}

impl<T: Pod> Clone for SymmetricSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Pod> Copy for SymmetricSlice<'_, T> {}

impl<'a> Span<'a> {
    fn part(self, range: &impl RangeBounds<usize>) -> Result<Self> {
        let (from, to) = ranks_cuda::bounds(range, self.len);
        if from > to || to > self.len {
            let text = format_args!("{from}..{to} is no range of {}", Count(self.len, "element"));
            return Err(Error::new(ErrorKind::Argument, "slice", text));
        }
        Ok(Self {
            // Does not overflow: the elements are there.
            from: self.from + from,
            len: to - from,
            ..self
        })
    }

    /// The number of elements.
    pub(crate) fn len(self) -> usize {
        self.len
    }

    /// The place at which they begin; `None` if there are no bytes.
    #[inline]
    pub(crate) fn place(self, size: usize) -> Option<Offset<'a>> {
        let block = self.block.filter(|_| self.len > 0 && size > 0)?;
        // Does not overflow: the elements lie within the block, whose bytes were counted when it
        // was made.
        let offset = self.from * size;
        Some(Offset { block, offset })
    }
}

macro_rules! parts {
    ($($type:ty),*) => {$(
        impl<T: Pod> Part for $type {
            type Element = T;

            #[inline]
            fn place(&self) -> Option<Offset<'_>> {
                self.span().place(size_of::<T>())
            }

            #[inline]
            fn count(&self) -> usize {
                self.len()
            }
        }

        impl<T: Pod> Symmetric for $type {}

        impl<T: Pod> fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} symmetric elements", self.len())
            }
        }
    )*};
}

parts!(
    SymmetricVec<'_, T>,
    SymmetricSlice<'_, T>,
    SymmetricSliceMut<'_, T>
);

impl<T: Pod> SymmetricMut for SymmetricVec<'_, T> {}
impl<T: Pod> SymmetricMut for SymmetricSliceMut<'_, T> {}
