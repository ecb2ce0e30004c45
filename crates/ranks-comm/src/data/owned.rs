//! Buffers that a request can own while a message is in flight.
#![allow(unsafe_code)]

use std::sync::Arc;

use crate::data::buffer::Buffer;
use crate::data::element::Pod;

/// Memory from which a message can be sent while a request owns it.
///
/// Implemented for `Vec<T>`, [`Buffer<T>`](Buffer), `Box<[T]>`, `Arc<[T]>`, `Arc<Vec<T>>` and
/// `&[T]`; implement it for an array type of your own, if it keeps its elements on the heap and
/// contiguous.
///
/// # Safety
/// However often the value is moved, and until it is dropped or borrowed mutably,
/// [`as_slice`](Self::as_slice) returns the same elements at the same address, and nobody else
/// changes them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be owned by a request that sends it",
    label = "not a buffer whose elements stay where they are",
    note = "pass a `Vec<T>`, `Box<[T]>`, `Arc<[T]>`, `Buffer<T>` or `&'static [T]` of plain data; the operations of `Communicator::scope` borrow slices"
)]
pub unsafe trait SendBuffer {
    /// The type of the elements.
    type Element: Pod;

    /// The elements.
    fn as_slice(&self) -> &[Self::Element];

    /// The number of elements; without a reference to them, on which an operation may be pending,
    /// where the type can tell.
    fn length(&self) -> usize {
        self.as_slice().len()
    }
}

/// Memory into which a message can be received while a request owns it.
///
/// # Safety
/// As for [`SendBuffer`]: the address stays the same when the value is moved; and nobody else looks
/// at the elements while a message arrives, so that a shared buffer is none.
/// [`as_mut_slice`](Self::as_mut_slice) itself moves no elements.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be owned by a request that receives into it",
    label = "not a buffer that this request alone may write to",
    note = "pass a `Vec<T>`, `Box<[T]>` or `Buffer<T>` of plain data; the operations of `Communicator::scope` borrow slices"
)]
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
    fn length(&self) -> usize {
        self.len()
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
    fn length(&self) -> usize {
        (&raw const **self).len()
    }
}

// SAFETY: as for a vector.
unsafe impl<T: Pod> RecvBuffer for Box<[T]> {
    fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }
}

// SAFETY: shared elements stay on the heap, and plain data behind an `Arc` that another holder has
// cannot be changed.
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
    fn length(&self) -> usize {
        self.count()
    }
}

// SAFETY: as above; a buffer is the only owner of its elements.
unsafe impl<T: Pod> RecvBuffer for Buffer<T> {
    fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }
}

// SAFETY: what is borrowed is moved by nobody, and plain data behind a shared reference does not
// change.
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
    /// A copy of `data`.
    #[must_use]
    pub fn copy(data: &[T]) -> Self {
        Self(Buffer::from(data))
    }

    /// A copy of these parts, `length` elements in all, concatenated.
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

// SAFETY: it holds plain data, which any thread can make of bytes and drop; none but its maker
// looks at it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_stay_where_they_are_when_their_owner_moves() {
        let vector = vec![1u32, 2, 3];
        let address = SendBuffer::as_slice(&vector).as_ptr();
        let moved = Box::new(vector);
        assert_eq!(SendBuffer::as_slice(&*moved).as_ptr(), address);
    }
}
