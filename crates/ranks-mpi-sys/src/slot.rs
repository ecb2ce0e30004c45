//! Statics that are written once, before MPI is initialised, and read plainly afterwards.

use std::cell::UnsafeCell;
use std::ffi::c_void;

use crate::fill::AnyCall;

/// A static that [`crate::load()`] fills and that everybody else only reads.
///
/// A read is one plain load, with no lock and no atomic operation. That is sound because writing
/// happens under the lock of [`crate::load()`], and whoever calls MPI has seen `load` return.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Slot<T>(UnsafeCell<T>);

// SAFETY: `set` is called only under the lock of `load`, before any reader may call `get`; both
// functions are unsafe and say so.
unsafe impl<T> Sync for Slot<T> {}

impl<T> Slot<T> {
    pub(crate) const fn new(value: T) -> Self {
        Slot(UnsafeCell::new(value))
    }

    /// # Safety
    /// No `set` runs at the same time: the caller has seen [`crate::load()`] return, or is inside
    /// it.
    #[inline(always)]
    pub(crate) unsafe fn get(&'static self) -> &'static T {
        // SAFETY: nobody writes at the same time, by this function's contract.
        unsafe { &*self.0.get() }
    }

    /// # Safety
    /// Called only under the lock of [`crate::load()`], before any call of MPI.
    pub(crate) unsafe fn set(&'static self, value: T) {
        // SAFETY: nobody else reads or writes before `load` has returned.
        unsafe { *self.0.get() = value };
    }

    /// The slot of a function, as one of a function of any type.
    pub(crate) const fn of_any_type(&'static self) -> &'static Slot<AnyCall> {
        const { assert!(size_of::<T>() == size_of::<AnyCall>()) };
        // SAFETY: one pointer to a function, as in the other.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }

    /// # Safety
    /// As [`Slot::set`], and no reference from [`Slot::get`] lives on.
    #[expect(
        clippy::mut_from_ref,
        reason = "the static is filled in place, under load's lock"
    )]
    pub(crate) unsafe fn fill(&'static self) -> &'static mut T {
        // SAFETY: nobody else reads or writes before `load` has returned.
        unsafe { &mut *self.0.get() }
    }
}

impl Slot<*const c_void> {
    /// The library's own function, from the slot that holds its address; null is `None`.
    ///
    /// # Safety
    /// As [`Slot::get`], and `F` is the type of that function, or an `Option` of it where the
    /// library may lack it.
    #[inline(always)]
    pub(crate) unsafe fn function<F: Copy>(&'static self) -> F {
        const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
        // SAFETY: by this function's contract.
        let address = unsafe { self.get() };
        // SAFETY: equal in size; the type is the caller's promise.
        unsafe { std::mem::transmute_copy(address) }
    }
}
