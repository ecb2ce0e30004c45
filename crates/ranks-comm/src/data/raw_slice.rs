//! Memory that a message is received into while its receive is pending.
#![allow(unsafe_code)]

use std::alloc::{self, Layout};
use std::any::{TypeId, type_name};
use std::ptr::NonNull;

use crate::data::element::Pod;
use crate::result::{Error, Result, can_be_counted, error};

/// The C name of a pending operation, and the type of element that it receives.
#[derive(Debug)]
pub struct OpInfo {
    /// The C name.
    pub(crate) operation: &'static str,
    /// The type that is received; `None` if nothing is.
    pub(crate) element: Option<Element>,
}

impl OpInfo {
    /// An operation of that C name, all of whose lengths are known.
    #[must_use]
    pub const fn of(operation: &'static str) -> Self {
        Self {
            operation,
            element: None,
        }
    }

    /// An operation of that C name that receives elements of `T`.
    pub(crate) const fn receiving<T>(operation: &'static str) -> Self {
        can_be_counted::<T>();
        Self {
            operation,
            element: Some(Element::of::<T>()),
        }
    }

    /// The C name.
    #[must_use]
    pub const fn operation(&self) -> &'static str {
        self.operation
    }
}

/// The properties of an element type that lengths and texts need.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element {
    /// Its size in bytes.
    pub(crate) width: usize,
    name: fn() -> &'static str,
}

/// The name of a type, and the type.
type Number = (&'static str, fn() -> TypeId);

/// The element types that are told apart. Bytes are not among them: they, and structs, may be parts
/// of any type.
pub(crate) const NUMBERS: [Number; 10] = [
    ("i16", TypeId::of::<i16>),
    ("u16", TypeId::of::<u16>),
    ("i32", TypeId::of::<i32>),
    ("u32", TypeId::of::<u32>),
    ("i64", TypeId::of::<i64>),
    ("u64", TypeId::of::<u64>),
    ("i128", TypeId::of::<i128>),
    ("u128", TypeId::of::<u128>),
    ("f32", TypeId::of::<f32>),
    ("f64", TypeId::of::<f64>),
];

impl Element {
    pub(crate) const fn of<T>() -> Self {
        Self {
            width: size_of::<T>(),
            name: type_name::<T>,
        }
    }

    /// The bytes of elements, or of some of their fields.
    const fn bytes_of<T>() -> Self {
        Self {
            width: 1,
            name: type_name::<T>,
        }
    }

    /// Returns `true` if `bytes` are a whole number of elements.
    pub(crate) fn divides(self, bytes: usize) -> bool {
        match self.width {
            0 => bytes == 0,
            width => bytes.is_multiple_of(width),
        }
    }

    /// Returns `true` if `bytes` bytes are a whole number of elements, and no more than `capacity`.
    #[inline]
    pub(crate) fn holds(self, bytes: usize, capacity: usize) -> bool {
        bytes <= capacity.saturating_mul(self.width) && self.divides(bytes)
    }

    /// Checks that a message of `bytes` bytes is a whole number of elements, and of no more than
    /// `capacity`.
    pub(crate) fn fits(
        self,
        operation: &'static str,
        bytes: usize,
        capacity: usize,
        library: &str,
    ) -> Result<()> {
        if self.holds(bytes, capacity) {
            return Ok(());
        }
        let width = self.width;
        Err(if bytes > capacity.saturating_mul(width) {
            error::truncated(operation, Some(bytes), capacity, width, library)
        } else {
            self.not_whole(operation, bytes)
        })
    }

    /// Returns an error if elements of type `sent` must not be received as these: if both are
    /// numbers, of different types. Bytes and structs, whose parts are unknown, are received as any
    /// type of the same size.
    pub(crate) fn takes(self, operation: &'static str, bytes: usize, sent: Self) -> Result<()> {
        if std::ptr::fn_addr_eq(sent.name, self.name) || bytes == 0 {
            return Ok(());
        }
        let [theirs, ours] = [sent, self].map(|element| (element.name)());
        let is_number = |name| NUMBERS.iter().any(|&(number, _)| number == name);
        let told_apart = is_number(theirs) && is_number(ours);
        if theirs == ours || !told_apart {
            return Ok(());
        }
        Err(error::other_type(operation, bytes, theirs, ours))
    }

    #[cold]
    pub(crate) fn not_whole(self, operation: &'static str, bytes: usize) -> Error {
        error::not_whole(operation, bytes, self.width, (self.name)())
    }
}

/// An address and a length of memory that an operation may use while it is pending.
#[derive(Debug, Clone, Copy)]
pub struct RawSlice {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: an address and a length; what may be done with it is the promise of `RawSlice::of`, which
// names no thread.
unsafe impl Send for RawSlice {}
// SAFETY: as above.
unsafe impl Sync for RawSlice {}

impl RawSlice {
    /// The memory of `buf`.
    ///
    /// # Safety
    /// Until the operation that gets the span is complete, the memory stays there and nobody else
    /// reads or writes it.
    pub unsafe fn of<T: Pod>(buf: &mut [T]) -> Self {
        Self {
            bytes: size_of_val(buf),
            start: NonNull::from(buf).cast(),
        }
    }

    /// The memory of `data`.
    ///
    /// # Safety
    /// Nothing is written through the span, which is given to no operation that does.
    pub(crate) unsafe fn to_read<T: Pod>(data: &[T]) -> Self {
        Self {
            bytes: size_of_val(data),
            start: NonNull::from(data).cast(),
        }
    }

    /// The bytes of the memory.
    ///
    /// # Safety
    /// All of it is initialised, and for as long as the slice is used it stays there and does not
    /// change.
    pub(crate) unsafe fn as_bytes<'a>(self) -> &'a [u8] {
        // SAFETY: by this function's contract.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    /// The bytes of the memory, to write to.
    ///
    /// # Safety
    /// All of it is initialised, it was given to be written to, and for as long as the slice is
    /// used it stays there and nobody else reads or writes it.
    pub(crate) unsafe fn as_bytes_mut<'a>(self) -> &'a mut [u8] {
        // SAFETY: by this function's contract.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// The number of bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// The part of it from `start` on, of at most `length` bytes; empty if it has no such part.
    #[must_use]
    pub fn part(self, start: usize, length: usize) -> Self {
        let start = start.min(self.bytes);
        Self {
            // SAFETY: no further than the end of the span.
            start: unsafe { self.start.add(start) },
            bytes: length.min(self.bytes - start),
        }
    }

    pub(crate) fn start(self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Copies as much of `payload` as fits to the beginning.
    pub fn fill(self, payload: &[u8]) {
        let length = payload.len().min(self.bytes);
        // SAFETY: the span has room for `length` bytes, which are nobody else's now (see `of`).
        unsafe { std::ptr::copy_nonoverlapping(payload.as_ptr(), self.start(), length) };
    }
}

/// New memory for a message, of the layout that a `Vec` of its elements has.
///
/// After the receive is complete (see `Completion`) all of it is written: the message is as long as
/// the memory.
#[derive(Debug)]
pub(crate) struct RecvStorage {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its memory, in which there is plain data.
unsafe impl Send for RecvStorage {}
// SAFETY: as above; nothing is changed through a shared reference.
unsafe impl Sync for RecvStorage {}

impl RecvStorage {
    /// Memory for `bytes`, aligned to `align`, uninitialised.
    pub(crate) fn new(operation: &'static str, bytes: usize, align: usize) -> Result<Self> {
        let layout = Layout::from_size_align(bytes, align)
            .map_err(|reason| error::no_memory(operation, bytes, &reason))?;
        if bytes == 0 {
            let start = NonNull::<u64>::dangling().cast();
            return Ok(Self { start, layout });
        }
        // SAFETY: the layout has a size.
        let start = NonNull::new(unsafe { alloc::alloc(layout) });
        match start {
            Some(start) => Ok(Self { start, layout }),
            None => Err(error::no_memory(operation, bytes, &"out of memory")),
        }
    }

    /// A copy of `payload`.
    pub(crate) fn copy(operation: &'static str, payload: &[u8], align: usize) -> Result<Self> {
        let room = Self::new(operation, payload.len(), align)?;
        room.span().fill(payload);
        Ok(room)
    }

    pub(crate) fn span(&self) -> RawSlice {
        RawSlice {
            start: self.start,
            bytes: self.layout.size(),
        }
    }

    /// The elements of memory that a message was received into.
    pub(crate) fn into_initialised<T: Pod>(self) -> Vec<T> {
        // SAFETY: a room is handed out with what landed only when a message of its length was
        // received.
        unsafe { self.into_vec() }
    }

    /// The elements, if the memory has their alignment and a whole number of them.
    ///
    /// # Safety
    /// All of the memory was written.
    unsafe fn into_vec<T: Pod>(self) -> Vec<T> {
        let length = match size_of::<T>() {
            0 => 0,
            width => self.layout.size() / width,
        };
        let fits =
            self.layout.size() == length * size_of::<T>() && self.layout.align() == align_of::<T>();
        if !fits || length == 0 {
            return Vec::new();
        }
        let start = self.start.cast();
        std::mem::forget(self);
        // SAFETY: allocated with the layout of `length` elements, and all of it written with what
        // may be any bytes.
        unsafe { Vec::from_raw_parts(start.as_ptr(), length, length) }
    }
}

impl Drop for RecvStorage {
    fn drop(&mut self) {
        if self.layout.size() > 0 {
            // SAFETY: allocated by `new` with this layout, and not given away.
            unsafe { alloc::dealloc(self.start.as_ptr(), self.layout) };
        }
    }
}

/// The destination of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RecvTarget {
    /// Existing memory.
    Into(RawSlice),
    /// New memory with this alignment, as long as the message.
    New(usize),
}

impl RecvTarget {
    /// The number of elements that fit; unlimited for new memory.
    pub(crate) fn capacity(self, element: Element) -> usize {
        match self {
            Self::Into(span) => span.bytes() / element.width.max(1),
            Self::New(_) => usize::MAX,
        }
    }

    /// The error if a message of that many bytes does not fit; `None` if it does.
    pub(crate) fn refuses(
        self,
        operation: &'static str,
        element: Element,
        bytes: usize,
        library: &str,
    ) -> Option<Error> {
        let capacity = self.capacity(element);
        element.fits(operation, bytes, capacity, library).err()
    }
}

/// The name of a receive of `T` in calls and errors, and its element type.
pub(crate) fn receive_of<T>() -> &'static OpInfo {
    const { &OpInfo::receiving::<T>("MPI_Irecv") }
}

/// As [`receive_of`], for the elements that a layout selects, whose number is checked when the
/// message is unpacked.
pub(crate) fn receive_view_of<T>() -> &'static OpInfo {
    const {
        &OpInfo {
            operation: "MPI_Irecv",
            element: Some(Element::bytes_of::<T>()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_becomes_a_vector_of_its_elements() {
        let room = RecvStorage::copy("x", &[1, 0, 0, 0, 2, 0, 0, 0], align_of::<u32>()).unwrap();
        // SAFETY: all of it was written by `copy`.
        let numbers = unsafe { room.into_vec::<u32>() };
        assert_eq!(numbers, [1u32.to_le(), 2u32.to_le()]);
        let none = RecvStorage::new("x", 0, 8).unwrap();
        // SAFETY: there is nothing to be written.
        assert_eq!(unsafe { none.into_vec::<u64>() }, [0u64; 0]);
    }

    #[test]
    fn a_message_that_does_not_fit_is_refused() {
        let mut buf = [0u16; 3];
        // SAFETY: nothing is received.
        let landing = RecvTarget::Into(unsafe { RawSlice::of(&mut buf) });
        let element = Element::of::<u16>();
        assert_eq!(landing.capacity(element), 3);
        assert!(landing.refuses("x", element, 6, "in process").is_none());
        assert!(landing.refuses("x", element, 8, "in process").is_some());
        assert!(landing.refuses("x", element, 5, "in process").is_some());
        assert!(
            RecvTarget::New(2)
                .refuses("x", element, 8, "in process")
                .is_none()
        );
    }

    #[test]
    fn a_span_takes_no_more_than_it_has() {
        let mut buf = [0u8; 4];
        // SAFETY: `buf` lives on and is not used meanwhile.
        unsafe { RawSlice::of(&mut buf[..2]) }.fill(&[1, 2, 3]);
        assert_eq!(buf, [1, 2, 0, 0]);
    }
}
