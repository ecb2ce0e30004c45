//! Promises of device memory that enqueued operations work on, as traits.

use std::sync::Arc;

use bytemuck::Pod;

use crate::driver::{Cuda, Event};
use crate::error::Result;
use crate::stream::Stream;

/// Elements in the memory of a device.
///
/// Implemented for [`DeviceVec`](crate::DeviceVec), its [views](crate::DeviceView), references and
/// `Arc`s of them; with the feature `cudarc` also for its slices and views.
///
/// Two pending operations on the same elements, which are not ordered by a stream or an event, make
/// wrong numbers, but nothing worse: any bits are an element, and the program cannot look into the
/// memory of a device.
///
/// # Safety
///
/// * As long as the value lives, [`len`](Self::len) elements lie at [`address`](Self::address), on
///   the device [`ordinal`](Self::ordinal) of the driver [`cuda`](Self::cuda); that does not
///   change, and not when the value is moved either.
/// * After [`used_until`](Self::used_until) the memory is neither freed nor used for anything else
///   before the event is complete, also when the value is dropped.
pub unsafe trait DeviceSlice {
    /// Type of the elements.
    type Element: Pod;

    /// Address of the first element, as the device counts.
    fn address(&self) -> u64;

    /// Number of elements.
    fn len(&self) -> usize;

    /// Returns true if there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of the device.
    fn ordinal(&self) -> usize;

    /// The driver.
    ///
    /// # Errors
    /// If this crate cannot open the driver that it belongs to.
    fn cuda(&self) -> Result<Cuda>;

    /// Keeps the memory until `event` is complete: an operation uses it until then.
    fn used_until(&self, event: &Event);

    /// As [`used_until`](Self::used_until), where somebody may write to it.
    fn written_until(&mut self, event: &Event) {
        self.used_until(event);
    }

    /// Makes what is enqueued on `stream` from now on wait for those who are known to work on it.
    ///
    /// # Errors
    /// Errors of the driver.
    fn order_after_use(&self, stream: &dyn Stream) -> Result<()>;

    /// As [`order_after_use`](Self::order_after_use), for what writes there: it waits for those who
    /// only read, too.
    ///
    /// # Errors
    /// Errors of the driver.
    fn order_writes_after_use(&mut self, stream: &dyn Stream) -> Result<()> {
        self.order_after_use(stream)
    }
}

/// Elements of a device that may be written to.
///
/// # Safety
/// While the value lives, nobody else was lent these elements.
pub unsafe trait DeviceSliceMut: DeviceSlice {}

/// Implements [`DeviceSlice`] for what holds another, `|this| held`; behind `mut` as what writes
/// reach it.
///
/// # Safety
/// As long as the value lives it holds the same one, wherever it is moved.
#[doc(hidden)]
#[macro_export]
macro_rules! device_slice_by {
    ($(unsafe impl[$($generics:tt)*] $type:ty: $element:ty, |$this:ident| $held:expr $(, mut $held_mut:expr)?;)*) => {$(
        // SAFETY: the promises of the other, which is held as long, by who writes this line.
        unsafe impl<$($generics)*> $crate::DeviceSlice for $type {
            type Element = $element;

            fn address(&self) -> u64 {
                let $this = self;
                $held.address()
            }

            fn len(&self) -> usize {
                let $this = self;
                $held.len()
            }

            fn ordinal(&self) -> usize {
                let $this = self;
                $held.ordinal()
            }

            fn cuda(&self) -> $crate::Result<$crate::Cuda> {
                let $this = self;
                $held.cuda()
            }

            fn used_until(&self, event: &$crate::Event) {
                let $this = self;
                $held.used_until(event);
            }

            fn order_after_use(&self, stream: &dyn $crate::Stream) -> $crate::Result<()> {
                let $this = self;
                $held.order_after_use(stream)
            }

            $(
                fn written_until(&mut self, event: &$crate::Event) {
                    let $this = self;
                    $held_mut.written_until(event);
                }

                fn order_writes_after_use(&mut self, stream: &dyn $crate::Stream) -> $crate::Result<()> {
                    let $this = self;
                    $held_mut.order_writes_after_use(stream)
                }
            )?
        }
    )*};
}

device_slice_by! {
    // SAFETY: a pointer to elements is as good as the elements, which outlive it. So below.
    unsafe impl[S: DeviceSlice + ?Sized] &S: S::Element, |this| (**this);
    unsafe impl[S: DeviceSlice + ?Sized] Arc<S>: S::Element, |this| (**this);
    unsafe impl[S: DeviceSlice + ?Sized] &mut S: S::Element, |this| (**this), mut (**this);
}

// SAFETY: what is borrowed mutably was lent to nobody else.
unsafe impl<S: DeviceSliceMut + ?Sized> DeviceSliceMut for &mut S {}

/// Buffers that an enqueued operation works on and gives back to a stream: device memory, pairs,
/// options and vectors of such.
pub trait DeviceBuffers {
    /// [`DeviceSlice::written_until`] of each.
    fn written_until(&mut self, event: &Event);
}

impl<S: DeviceSlice> DeviceBuffers for S {
    fn written_until(&mut self, event: &Event) {
        DeviceSlice::written_until(self, event);
    }
}

impl DeviceBuffers for () {
    fn written_until(&mut self, _event: &Event) {}
}

impl<A: DeviceBuffers, B: DeviceBuffers> DeviceBuffers for (A, B) {
    fn written_until(&mut self, event: &Event) {
        self.0.written_until(event);
        self.1.written_until(event);
    }
}

impl<A: DeviceBuffers> DeviceBuffers for Option<A> {
    fn written_until(&mut self, event: &Event) {
        if let Some(one) = self {
            one.written_until(event);
        }
    }
}

impl<A: DeviceBuffers> DeviceBuffers for Vec<A> {
    fn written_until(&mut self, event: &Event) {
        for one in self {
            one.written_until(event);
        }
    }
}
