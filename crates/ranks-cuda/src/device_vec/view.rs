//! Parts of the memory of a device.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use bytemuck::Pod;

use super::{Block, DeviceVec, Users};
use crate::driver::{Cuda, Event};
use crate::error::{Error, ErrorKind, Result};
use crate::stream::{DeviceSlice, DeviceSliceMut, Stream};
use crate::table::Address;

/// Location of some elements, and the users of the memory around them.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) block: &'a Block,
    pub(super) users: &'a Users,
    pub(super) address: Address,
    pub(super) len: usize,
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
}

/// The first of a range of so many elements, and the one behind its last.
#[doc(hidden)]
pub fn bounds(range: &impl RangeBounds<usize>, len: usize) -> (usize, usize) {
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
    pub(super) fn of(part: Part<'a>) -> Self {
        DeviceView {
            part,
            elements: PhantomData,
        }
    }

    /// Some of them.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) for a range that is not there.
    pub fn slice(self, range: impl RangeBounds<usize>) -> Result<DeviceView<'a, T>> {
        Ok(Self::of(self.part.slice::<T>(range)?))
    }

    /// The elements, on the host.
    ///
    /// # Errors
    /// As [`Context::copy_to_host`](crate::Context::copy_to_host).
    pub fn to_vec(self) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); self.part.len];
        self.part.block.context.copy_to_host(&self, &mut values)?;
        Ok(values)
    }
}

impl<'a, T: Pod> DeviceViewMut<'a, T> {
    pub(super) fn of(part: Part<'a>) -> Self {
        DeviceViewMut {
            part,
            elements: PhantomData,
        }
    }

    /// Some of them.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) for a range that is not there.
    pub fn slice_mut(self, range: impl RangeBounds<usize>) -> Result<DeviceViewMut<'a, T>> {
        Ok(Self::of(self.part.slice::<T>(range)?))
    }

    /// Returns the elements before `middle`, and those from there on.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) for a middle behind the end.
    pub fn split_at_mut(
        self,
        middle: usize,
    ) -> Result<(DeviceViewMut<'a, T>, DeviceViewMut<'a, T>)> {
        let before = self.part.slice::<T>(..middle)?;
        let from = self.part.slice::<T>(middle..)?;
        Ok((Self::of(before), Self::of(from)))
    }

    /// The same elements for a shorter time.
    #[must_use]
    pub fn reborrow(&mut self) -> DeviceViewMut<'_, T> {
        DeviceViewMut::of(self.part)
    }

    /// The same elements, to be read.
    #[must_use]
    pub fn as_view(&self) -> DeviceView<'_, T> {
        DeviceView::of(self.part)
    }
}

// SAFETY: the elements lie in a block of that size, on the device of its context, until the
// `DeviceVec` is dropped, which it is not while it is borrowed; its drop frees the block when all
// users are complete.
unsafe impl<T: Pod> DeviceSlice for DeviceView<'_, T> {
    type Element = T;

    fn address(&self) -> u64 {
        self.part.address
    }

    fn len(&self) -> usize {
        self.part.len
    }

    fn ordinal(&self) -> usize {
        self.part.block.context.device().ordinal()
    }

    fn cuda(&self) -> Result<Cuda> {
        Ok(self.part.block.context.cuda())
    }

    fn used_until(&self, event: &Event) {
        self.part.users.add(event);
    }

    fn order_after_use(&self, stream: &dyn Stream) -> Result<()> {
        for event in self.part.users.pending() {
            stream.wait_event(&event)?;
        }
        Ok(())
    }
}

crate::device_slice_by! {
    // SAFETY: the view is one of its own elements.
    unsafe impl[T: Pod] DeviceVec<T>: T, |this| this.as_view();
    // SAFETY: as above.
    unsafe impl[T: Pod] DeviceViewMut<'_, T>: T, |this| this.as_view();
}

macro_rules! debug {
    ($($name:ty),*) => {$(
        impl<T: Pod> fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} elements on device {}", self.len(), self.ordinal())
            }
        }
    )*};
}

debug!(DeviceVec<T>, DeviceView<'_, T>, DeviceViewMut<'_, T>);

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
