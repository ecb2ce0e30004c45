//! Memory that is fast to send: aligned, and on huge pages where it is large.

use std::alloc::handle_alloc_error;
use std::borrow::{Borrow, BorrowMut};
use std::ops::{Deref, DerefMut};
use std::{fmt, slice};

use crate::data::element::Pod;
use crate::result::{Error, ErrorKind, Result};

mod memory;

pub(crate) use memory::{Memory, NoMemory};

/// A slice that owns its memory, of fixed length, placed where it is fast to send and to receive.
///
/// It is aligned to 64 bytes; from 2 MiB on to 2 MiB, and the system is asked to use huge pages for
/// it. Libraries copy messages within a node, and copy them faster from and to huge pages, and on
/// some processors from and to whole cache lines; the memory of a `Vec` is aligned to 16 bytes.
/// Otherwise it is used as a `Box<[T]>` is: it derefs to `[T]`, owns its memory, and its elements
/// do not move when it does.
///
/// ```
/// use ranks::Buffer;
///
/// let mut field = Buffer::<f64>::zeroed(1000);
/// field[1..4].copy_from_slice(&[1.0, 2.0, 3.0]);
/// assert_eq!(field.iter().sum::<f64>(), 6.0);
/// let squares: Buffer<u32> = (0..5).map(|i| i * i).collect();
/// assert_eq!(squares, [0, 1, 4, 9, 16]);
/// ```
pub struct Buffer<T: Pod>(Memory<T>);

impl<T: Pod> Buffer<T> {
    /// The number of elements, without a reference to them.
    pub(crate) fn count(&self) -> usize {
        self.0.length()
    }

    /// An empty buffer, which allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(Memory::new())
    }

    /// `length` elements, all of whose bytes are zero.
    ///
    /// A large buffer comes untouched from the system: a page takes memory when it is first
    /// written.
    ///
    /// # Panics
    /// If the address space cannot hold so many elements. If the allocation fails the program is
    /// aborted, as with a `Vec`; see [`try_zeroed`](Self::try_zeroed).
    #[must_use]
    pub fn zeroed(length: usize) -> Self {
        Self(had(Memory::zeroed(length)))
    }

    /// As [`zeroed`](Self::zeroed), but returns an error if the allocation fails: for lengths that
    /// come from outside.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if there is no memory for so many elements.
    pub fn try_zeroed(length: usize) -> Result<Self> {
        Memory::zeroed(length).map(Self).map_err(|reason| {
            let (width, element) = (size_of::<T>(), std::any::type_name::<T>());
            let detail = format_args!(
                "there is no memory for {length} elements of {element} of {width} bytes ({reason})"
            );
            Error::new(ErrorKind::Length, "Buffer::try_zeroed", detail)
        })
    }

    /// A buffer of `length` elements, each the result of `value` for its index. Each is written
    /// once.
    ///
    /// # Panics
    /// As [`zeroed`](Self::zeroed), and if `value` does.
    #[must_use]
    pub fn from_fn(length: usize, value: impl FnMut(usize) -> T) -> Self {
        Self(had(Memory::from_fn(length, value)))
    }

    /// Copies the elements to a `Vec`.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.to_vec()
    }

    /// A buffer of the elements that `memory` holds.
    pub(crate) fn filled(memory: Memory<T>) -> Self {
        Self(memory)
    }
}

/// The memory, or the same end of the program as `Vec` makes when the allocation fails.
#[track_caller]
fn had<T>(memory: Result<Memory<T>, NoMemory>) -> Memory<T> {
    match memory {
        Ok(memory) => memory,
        Err(NoMemory::Refused(layout)) => handle_alloc_error(layout),
        Err(reason @ NoMemory::TooMuch) => panic!("no memory for a buffer: {reason}"),
    }
}

impl<T: Pod> Deref for Buffer<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        self.0.as_slice()
    }
}

impl<T: Pod> DerefMut for Buffer<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        self.0.as_mut_slice()
    }
}

impl<T: Pod> AsRef<[T]> for Buffer<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T: Pod> AsMut<[T]> for Buffer<T> {
    fn as_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T: Pod> Borrow<[T]> for Buffer<T> {
    fn borrow(&self) -> &[T] {
        self
    }
}

impl<T: Pod> BorrowMut<[T]> for Buffer<T> {
    fn borrow_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T: Pod> Default for Buffer<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Pod> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Self::from(&**self)
    }

    /// Reuses the memory if the lengths are the same.
    fn clone_from(&mut self, source: &Self) {
        if self.len() == source.len() {
            self.copy_from_slice(source);
        } else {
            *self = source.clone();
        }
    }
}

impl<T: Pod> From<&[T]> for Buffer<T> {
    fn from(values: &[T]) -> Self {
        Self(had(Memory::copy_of(values)))
    }
}

impl<T: Pod, const N: usize> From<[T; N]> for Buffer<T> {
    fn from(values: [T; N]) -> Self {
        Self::from(&values[..])
    }
}

/// Copies the elements: a `Vec` has other memory.
impl<T: Pod> From<Vec<T>> for Buffer<T> {
    fn from(values: Vec<T>) -> Self {
        Self::from(&values[..])
    }
}

impl<T: Pod> From<Buffer<T>> for Vec<T> {
    fn from(buffer: Buffer<T>) -> Self {
        buffer.into_vec()
    }
}

impl<T: Pod> FromIterator<T> for Buffer<T> {
    /// If the iterator knows its length, each element is written once; otherwise elements are
    /// copied.
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut values = values.into_iter();
        let least = values.size_hint().0;
        let mut memory = had(Memory::with_room(least));
        values
            .by_ref()
            .take(least)
            .for_each(|value| memory.push(value));
        let Some(next) = values.next() else {
            return Self(memory);
        };
        let mut all = memory.as_slice().to_vec();
        all.push(next);
        all.extend(values);
        Self::from(all)
    }
}

impl<'a, T: Pod> IntoIterator for &'a Buffer<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: Pod> IntoIterator for &'a mut Buffer<T> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Pod + PartialEq, S: AsRef<[T]> + ?Sized> PartialEq<S> for Buffer<T> {
    fn eq(&self, other: &S) -> bool {
        **self == *other.as_ref()
    }
}

impl<T: Pod + Eq> Eq for Buffer<T> {}

#[cfg(test)]
mod tests {
    use super::memory::{HUGE, LINE};
    use super::*;

    fn address<T: Pod>(buffer: &Buffer<T>) -> usize {
        buffer.as_ptr().addr()
    }

    #[test]
    fn small_ones_begin_with_a_line_and_large_ones_with_a_huge_page() {
        for length in [1, 3, 64, 100, 4096] {
            assert_eq!(address(&Buffer::<u8>::zeroed(length)) % LINE, 0);
            assert_eq!(address(&Buffer::from(vec![1u16; length])) % LINE, 0);
        }
        assert_eq!(address(&Buffer::<u8>::zeroed(HUGE - 1)) % LINE, 0);
        for bytes in [HUGE, HUGE + 1, 2 * HUGE + 12_345] {
            let buffer = Buffer::<u8>::zeroed(bytes);
            assert_eq!(address(&buffer) % HUGE, 0);
            assert_eq!((buffer[0], buffer[bytes - 1]), (0, 0));
        }
    }

    #[test]
    fn large_ones_can_be_written_to_their_end() {
        let length = HUGE / 8 + 5;
        let mut buffer = Buffer::<u64>::zeroed(length);
        buffer[length - 1] = 7;
        let copy = buffer.clone();
        assert_eq!(copy[length - 1], 7);
        assert_eq!(copy.len(), length);
    }

    #[test]
    fn it_is_filled_once_from_functions_slices_and_vecs() {
        assert_eq!(Buffer::from_fn(4, |i| i as f32), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(Buffer::from(&[1u8, 2][..]), vec![1, 2]);
        assert_eq!(Buffer::from([1i64]).into_vec(), [1]);
        assert_eq!(Vec::from(Buffer::from(vec![5u16; 3])), [5; 3]);
    }

    #[test]
    fn iterators_that_know_their_length_and_those_that_do_not() {
        let known: Buffer<usize> = (0..100).collect();
        let unknown: Buffer<usize> = (0..200).filter(|i| i % 2 == 0).map(|i| i / 2).collect();
        assert_eq!(known, unknown);
        // An iterator whose lower bound is smaller than its length.
        let mut left = 10u8;
        let odd = std::iter::once(0).chain(std::iter::from_fn(|| {
            left = left.checked_sub(1)?;
            Some(left)
        }));
        assert_eq!(
            odd.collect::<Buffer<u8>>(),
            [0, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
        );
    }

    #[test]
    fn nothing_and_elements_of_no_size_need_no_memory() {
        let empty = Buffer::<u64>::new();
        assert_eq!(empty, []);
        assert!(empty.clone().into_vec().is_empty());
        assert_eq!(Buffer::<u64>::zeroed(0).len(), 0);
        assert_eq!(Buffer::<()>::zeroed(usize::MAX).len(), usize::MAX);
        let units: Buffer<()> = std::iter::repeat_n((), 5).collect();
        assert_eq!(units.len(), 5);
        assert_eq!(Buffer::from_fn(3, |_| ()).clone(), [(); 3]);
        let _ = Buffer::<[u64; 0]>::zeroed(9);
    }

    #[test]
    fn too_long_a_length_is_an_error() {
        for length in [usize::MAX, isize::MAX as usize / 8, usize::MAX / 8] {
            let error = Buffer::<u64>::try_zeroed(length).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Length);
            let text = error.to_string();
            assert!(text.contains(&length.to_string()), "{text}");
        }
        assert_eq!(Buffer::<u64>::try_zeroed(3).unwrap(), [0; 3]);
    }

    #[test]
    #[should_panic(expected = "more than the address space holds")]
    fn too_long_a_length_panics_where_no_error_can_be_returned() {
        let _ = Buffer::<u64>::zeroed(usize::MAX);
    }

    #[test]
    fn a_function_that_panics_leaves_nothing_behind() {
        let made = std::panic::catch_unwind(|| {
            Buffer::from_fn(10, |i| if i < 5 { i } else { panic!("enough") })
        });
        assert!(made.is_err());
    }

    #[test]
    fn it_clones_compares_and_shows_itself_as_a_slice() {
        let mut one = Buffer::from([1u32, 2, 3]);
        let other = one.clone();
        assert_eq!(one, other);
        assert_ne!(address(&one), address(&other));
        one[0] = 9;
        assert_ne!(one, other);
        one.clone_from(&other);
        assert_eq!(one, [1, 2, 3]);
        one.clone_from(&Buffer::from([4]));
        assert_eq!(format!("{one:?}"), "[4]");
        for value in &mut one {
            *value += 1;
        }
        assert_eq!((&one).into_iter().sum::<u32>(), 5);
    }

    #[test]
    fn elements_stay_where_they_are_when_it_moves() {
        let buffer = Buffer::from([1u8, 2, 3]);
        let before = address(&buffer);
        let boxed = Box::new(buffer);
        assert_eq!(address(&boxed), before);
    }

    #[test]
    fn it_crosses_threads() {
        fn crosses<T: Send + Sync + 'static>() {}
        crosses::<Buffer<f64>>();
        let buffer = Buffer::from([1, 2, 3]);
        let sum = std::thread::spawn(move || buffer.iter().sum::<i32>()).join();
        assert_eq!(sum.unwrap(), 6);
    }

    #[test]
    fn bytes_become_elements() {
        let memory = Memory::<u32>::of_bytes(2, &[1, 0, 0, 0, 2, 0, 0, 0]).unwrap();
        assert_eq!(Buffer::filled(memory), [1u32.to_le(), 2u32.to_le()]);
    }
}
