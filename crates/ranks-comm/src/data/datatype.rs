//! The description of elements for MPI: primitives by their own types, everything else as bytes.

use std::any::TypeId;
use std::ffi::c_int;
use std::marker::PhantomData;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::MPI_Datatype;

use crate::data::element::Pod;

/// The MPI datatype of elements of `T`, and the number of its items in one element.
///
/// Computed at compile time: nothing of this is left at run time.
#[derive(Debug)]
pub struct TypeOf<T>(PhantomData<T>);

/// The datatype that an element consists of, and its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Item {
    datatype: MPI_Datatype,
    width: usize,
}

impl Item {
    pub(crate) fn datatype(self) -> MPI_Datatype {
        self.datatype
    }

    /// The width in bytes; at least 1.
    pub(crate) fn width(self) -> usize {
        self.width
    }
}

impl<T: Pod> TypeOf<T> {
    /// The datatype that an element consists of.
    pub(crate) fn item() -> Item {
        let (datatype, width) = match Self::primitive() {
            Some(datatype) => (datatype, size_of::<T>()),
            None => (sys::MPI_BYTE, 1),
        };
        Item { datatype, width }
    }

    /// The datatype, as a handle of the standard ABI.
    #[inline(always)]
    #[must_use]
    pub fn datatype() -> MPI_Datatype {
        Self::primitive().unwrap_or(sys::MPI_BYTE)
    }

    /// The number of items of the datatype in an element: 1 for a primitive, else its size.
    #[inline(always)]
    #[must_use]
    pub fn items() -> usize {
        match Self::primitive() {
            Some(_) => 1,
            None => size_of::<T>(),
        }
    }

    /// The number of items in `length` elements of a slice, if it fits an `int`.
    #[inline(always)]
    #[must_use]
    pub fn small_count(length: usize) -> Option<c_int> {
        // No overflow: a slice holds at most isize::MAX bytes, and an item has at least one.
        c_int::try_from(length * Self::items()).ok()
    }

    /// The number of items in `length` elements of a slice, which fits an `int`, as the caller
    /// knows.
    ///
    /// If it did not, the library would be told of fewer items than there are, or of a negative
    /// number, which it refuses: never of memory that is not there.
    #[inline(always)]
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "what is cut off makes the count smaller, see above"
    )]
    pub fn count(length: usize) -> c_int {
        (length * Self::items()) as c_int
    }

    #[inline(always)]
    fn primitive() -> Option<MPI_Datatype> {
        let id = TypeId::of::<T>();
        let is = |other: TypeId| id == other;
        let (is_size, is_signed_size) = (is(TypeId::of::<usize>()), is(TypeId::of::<isize>()));
        let width = size_of::<T>();
        if is(TypeId::of::<f64>()) {
            Some(sys::MPI_DOUBLE)
        } else if is(TypeId::of::<f32>()) {
            Some(sys::MPI_FLOAT)
        } else if is(TypeId::of::<u8>()) {
            Some(sys::MPI_UINT8_T)
        } else if is(TypeId::of::<i8>()) {
            Some(sys::MPI_INT8_T)
        } else if is(TypeId::of::<u16>()) {
            Some(sys::MPI_UINT16_T)
        } else if is(TypeId::of::<i16>()) {
            Some(sys::MPI_INT16_T)
        } else if is(TypeId::of::<u32>()) || is_size && width == 4 {
            Some(sys::MPI_UINT32_T)
        } else if is(TypeId::of::<i32>()) || is_signed_size && width == 4 {
            Some(sys::MPI_INT32_T)
        } else if is(TypeId::of::<u64>()) || is_size && width == 8 {
            Some(sys::MPI_UINT64_T)
        } else if is(TypeId::of::<i64>()) || is_signed_size && width == 8 {
            Some(sys::MPI_INT64_T)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primitives_have_their_own_types() {
        assert_eq!(TypeOf::<f64>::datatype(), sys::MPI_DOUBLE);
        assert_eq!(TypeOf::<u8>::datatype(), sys::MPI_UINT8_T);
        assert_eq!(TypeOf::<i64>::items(), 1);
    }

    #[test]
    fn everything_else_is_bytes() {
        assert_eq!(TypeOf::<[f64; 3]>::datatype(), sys::MPI_BYTE);
        assert_eq!(TypeOf::<[f64; 3]>::items(), 24);
        assert_eq!(TypeOf::<()>::items(), 0);
        assert_eq!(TypeOf::<u128>::small_count(2), Some(32));
    }

    #[test]
    fn what_an_int_cannot_count_is_seen() {
        assert_eq!(TypeOf::<u8>::small_count(1 << 31), None);
        assert_eq!(TypeOf::<u8>::small_count((1 << 31) - 1), Some(c_int::MAX));
        assert_eq!(TypeOf::<[u8; 2]>::small_count(1 << 30), None);
    }
}
