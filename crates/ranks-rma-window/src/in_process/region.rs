//! The memory of a segment, and what owns it.
//!
//! # Safety
//!
//! `base` is the beginning of `bytes` initialised bytes that `keep` owns and nobody reaches through
//! it before it is taken out again. The elements are plain data (`Pod`): all bytes are a value,
//! nothing is dropped, and it does not matter on which thread they are freed. Who makes a reference
//! says why there is no other at the time; see [`Segment`](super::segment::Segment).
#![allow(unsafe_code)]

use std::any::Any;
use std::ptr;
use std::slice;

use ranks_comm::{Buffer, Error, ErrorKind, Pod, Result};
use ranks_launch::Count;

/// Memory that peers read and write.
#[derive(Debug)]
pub(super) struct Region {
    base: Base,
    bytes: usize,
    keep: Box<dyn Any>,
}

/// An address; it is not dereferenced but by a region, and by who owns the window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base(*mut u8);

impl Base {
    /// Address of a window without memory: aligned for all elements.
    pub(super) const NOWHERE: Self = Self(ptr::without_provenance_mut(64));

    pub(super) fn pointer(self) -> *mut u8 {
        self.0
    }
}

// SAFETY: an address is a number; see above for who dereferences it.
unsafe impl Send for Base {}
// SAFETY: the same.
unsafe impl Sync for Base {}
// SAFETY: what it keeps is a vector or a buffer of plain data.
unsafe impl Send for Region {}

impl Region {
    /// So many zeros, aligned to 64 bytes.
    pub(super) fn zeroed(bytes: usize) -> Result<Self> {
        let mut memory = Buffer::<u8>::try_zeroed(bytes)?;
        let base = if bytes == 0 {
            Base::NOWHERE
        } else {
            Base(memory.as_mut_ptr())
        };
        Ok(Self {
            base,
            bytes,
            keep: Box::new(memory),
        })
    }

    /// The memory of a vector.
    pub(super) fn of_vec<T: Pod>(mut values: Vec<T>) -> Self {
        Self {
            base: Base(values.as_mut_ptr().cast()),
            bytes: size_of_val(&*values),
            keep: Box::new(values),
        }
    }

    /// The vector that it is made of.
    pub(super) fn into_vec<T: Pod>(self) -> Option<Vec<T>> {
        self.keep.downcast().ok().map(|values| *values)
    }

    pub(super) fn base(&self) -> Base {
        self.base
    }

    /// So many elements of it, from byte `at` on.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if they are not all in it; [`ErrorKind::Argument`] if they are not
    /// aligned.
    ///
    /// # Safety
    /// There is no other reference to them while this one lives.
    pub(super) unsafe fn elements<T: Pod>(
        &mut self,
        operation: &'static str,
        at: usize,
        length: usize,
    ) -> Result<&mut [T]> {
        let end = length
            .checked_mul(size_of::<T>())
            .and_then(|bytes| bytes.checked_add(at));
        if end.is_none_or(|end| end > self.bytes) {
            let detail = format_args!(
                "the target has {}, not {} of {} from byte {at} on",
                Count(self.bytes, "byte"),
                Count(length, "element"),
                Count(size_of::<T>(), "byte")
            );
            return Err(Error::new(ErrorKind::Length, operation, detail));
        }
        // It stays in the memory, or one past its end.
        let start = self.base.0.wrapping_add(at).cast::<T>();
        if !start.is_aligned() {
            let (name, align) = (std::any::type_name::<T>(), align_of::<T>());
            let detail = format_args!(
                "byte {at} of the target is no place for a {name}, which is aligned to {align} bytes"
            );
            return Err(Error::new(ErrorKind::Argument, operation, detail));
        }
        // SAFETY: they are initialised bytes of memory that `keep` owns, as just compared, which
        // are values of any `Pod`; aligned; and the caller knows of no other reference.
        Ok(unsafe { slice::from_raw_parts_mut(start, length) })
    }
}
