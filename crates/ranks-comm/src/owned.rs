//! Memory that a request can hold while a message travels.
#![allow(unsafe_code)]

use std::any::Any;
use std::mem::MaybeUninit;
use std::sync::Arc;

use crate::backend::Begun;
use crate::buffer::Buffer;
use crate::communicator::Communicator;
use crate::element::Pod;
use crate::flight::Flight;
use crate::landing::Role;
use crate::request::Request;

/// Memory from which a message can be sent while its owner waits in a request.
///
/// Implemented for `Vec<T>`, [`Buffer<T>`](Buffer), `Box<[T]>`, `Arc<[T]>`, `Arc<Vec<T>>` and `&[T]`; implement it for an array type of your own,
/// if it keeps its elements on the heap and side by side.
///
/// # Safety
/// However often the value is moved, and until it is dropped or borrowed mutably, [`as_slice`](Self::as_slice) returns
/// the same elements at the same address, and nobody else changes them.
pub unsafe trait SendBuffer {
    /// What travels.
    type Element: Pod;

    /// The elements.
    fn as_slice(&self) -> &[Self::Element];
}

/// Memory into which a message can be received while its owner waits in a request.
///
/// # Safety
/// As for [`SendBuffer`]: the address stays the same when the value is moved; and nobody else looks at the elements
/// while a message arrives, so that a shared buffer is none. [`as_mut_slice`](Self::as_mut_slice) itself moves no elements.
pub unsafe trait RecvBuffer: SendBuffer {
    /// The elements, which [`SendBuffer::as_slice`] returns as well.
    fn as_mut_slice(&mut self) -> &mut [Self::Element];
}

// SAFETY: the elements of a vector are on the heap and stay there when it is moved.
unsafe impl<T: Pod> SendBuffer for Vec<T> {
    type Element = T;
    fn as_slice(&self) -> &[T] {
        self
    }
}

// SAFETY: as above; a vector is the only owner of its elements.
unsafe impl<T: Pod> RecvBuffer for Vec<T> {
    fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }
}

// SAFETY: as for a vector.
unsafe impl<T: Pod> SendBuffer for Box<[T]> {
    type Element = T;
    fn as_slice(&self) -> &[T] {
        self
    }
}

// SAFETY: as for a vector.
unsafe impl<T: Pod> RecvBuffer for Box<[T]> {
    fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }
}

// SAFETY: shared elements stay on the heap, and plain data behind an `Arc` that another holder has cannot be changed.
unsafe impl<T: Pod> SendBuffer for Arc<[T]> {
    type Element = T;
    fn as_slice(&self) -> &[T] {
        self
    }
}

// SAFETY: as above.
unsafe impl<T: Pod> SendBuffer for Arc<Vec<T>> {
    type Element = T;
    fn as_slice(&self) -> &[T] {
        self
    }
}

// SAFETY: a buffer's elements are on the heap and stay there when it is moved.
unsafe impl<T: Pod> SendBuffer for Buffer<T> {
    type Element = T;
    fn as_slice(&self) -> &[T] {
        self
    }
}

// SAFETY: as above; a buffer is the only owner of its elements.
unsafe impl<T: Pod> RecvBuffer for Buffer<T> {
    fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }
}

// SAFETY: what is borrowed is moved by nobody, and plain data behind a shared reference does not change.
unsafe impl<T: Pod> SendBuffer for &[T] {
    type Element = T;
    fn as_slice(&self) -> &[T] {
        self
    }
}

// SAFETY: as above; the reference is the only way to the elements.
unsafe impl<T: Pod> SendBuffer for &mut [T] {
    type Element = T;
    fn as_slice(&self) -> &[T] {
        self
    }
}

// SAFETY: as above.
unsafe impl<T: Pod> RecvBuffer for &mut [T] {
    fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }
}

/// A copy of elements, for an operation that may outlast the call that it is made for.
#[derive(Debug)]
pub struct Plain<T: Pod>(Buffer<T>);

impl<T: Pod> Plain<T> {
    /// A copy of these.
    #[must_use]
    pub fn copy(data: &[T]) -> Self {
        Self(Buffer::from(data))
    }

    /// A copy of these parts, `length` elements in all, one after the other.
    #[must_use]
    pub fn joined<'a>(length: usize, parts: impl Iterator<Item = &'a [T]>) -> Self {
        let mut joined = Buffer::zeroed(length);
        let mut rest = &mut *joined;
        for part in parts {
            let (place, after) = rest.split_at_mut(part.len().min(rest.len()));
            place.copy_from_slice(&part[..place.len()]);
            rest = after;
        }
        Self(joined)
    }
}

// SAFETY: it holds plain data, which any thread can make of bytes and drop; none but its maker looks at it.
unsafe impl<T: Pod> Send for Plain<T> {}

// SAFETY: as for the vector that it is.
unsafe impl<T: Pod> SendBuffer for Plain<T> {
    type Element = T;
    fn as_slice(&self) -> &[T] {
        &self.0
    }
}

// SAFETY: as above.
unsafe impl<T: Pod> RecvBuffer for Plain<T> {
    fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<B: Send + 'static> Request<B> {
    /// A request for what a sibling crate has begun.
    ///
    /// # Safety
    /// The memory that the operation works on belongs to `buffer`, and stays where it is when that is moved.
    #[doc(hidden)]
    pub unsafe fn begun(comm: &Communicator, role: &'static Role, begun: Begun, buffer: B) -> Self {
        Self::new(comm, Flight::begun(comm, role, begun), buffer)
    }
}

/// A value put away while libmpi works on memory that it owns.
///
/// While it is here the compiler assumes nothing of it, above all not that it alone has access to what it owns, as it
/// would of a `Box` or a `&mut` that is moved. Dropped as the value would be.
pub(crate) struct Kept<B> {
    value: MaybeUninit<B>,
    /// Whether `value` is there.
    present: bool,
}

impl<B> Kept<B> {
    pub(crate) fn new(value: B) -> Self {
        Self {
            value: MaybeUninit::new(value),
            present: true,
        }
    }

    /// Puts a value away and has addresses taken of what it owns, which stay good: it is not moved as a `Box` or a
    /// `&mut` any more.
    pub(crate) fn lending<R>(value: B, lend: impl FnOnce(&mut B) -> R) -> (Self, R) {
        let mut value = MaybeUninit::new(value);
        // SAFETY: it was written in the line above.
        let lent = lend(unsafe { value.assume_init_mut() });
        let present = true;
        (Self { value, present }, lent)
    }

    /// Nothing.
    pub(crate) fn gone() -> Self {
        Self {
            value: MaybeUninit::uninit(),
            present: false,
        }
    }

    /// Whether there is a value.
    pub(crate) fn is_present(&self) -> bool {
        self.present
    }

    /// The value, of which something is assumed again.
    pub(crate) fn get(&self) -> Option<&B> {
        if !self.present {
            return None;
        }
        // SAFETY: the value is there.
        Some(unsafe { self.value.assume_init_ref() })
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self) -> Option<&mut B> {
        if !self.present {
            return None;
        }
        // SAFETY: the value is there.
        Some(unsafe { self.value.assume_init_mut() })
    }

    /// The value, once.
    pub(crate) fn take(&mut self) -> Option<B> {
        if !std::mem::replace(&mut self.present, false) {
            return None;
        }
        // SAFETY: the value was there, and from now on is not.
        Some(unsafe { self.value.assume_init_read() })
    }

    /// Lets go of the value, which from now on is owned by what is returned.
    pub(crate) fn into_any(mut self) -> Box<dyn Any + Send>
    where
        B: Send + 'static,
    {
        let moved = Self {
            value: std::mem::replace(&mut self.value, MaybeUninit::uninit()),
            present: std::mem::replace(&mut self.present, false),
        };
        Box::new(moved)
    }
}

impl<B> Drop for Kept<B> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_value_is_dropped_once() {
        let value = Arc::new([1u8, 2]);
        drop(Kept::new(Arc::clone(&value)));
        assert_eq!(Arc::strong_count(&value), 1);
        let mut kept = Kept::new(Arc::clone(&value));
        assert_eq!(Arc::strong_count(&value), 2);
        assert!(kept.take().is_some() && kept.take().is_none());
        drop(kept);
        drop(Kept::new(Arc::clone(&value)).into_any());
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[test]
    fn elements_stay_where_they_are_when_their_owner_moves() {
        let vector = vec![1u32, 2, 3];
        let address = SendBuffer::as_slice(&vector).as_ptr();
        let moved = Box::new(vector);
        assert_eq!(SendBuffer::as_slice(&*moved).as_ptr(), address);
        let mut kept = Kept::new(vec![7u8; 4].into_boxed_slice());
        assert_eq!(kept.take().as_deref(), Some(&[7u8; 4][..]));
    }
}
