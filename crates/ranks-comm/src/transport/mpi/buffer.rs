//! Slices as arguments of MPI: pointer, count, datatype.

use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicU64;

use ranks_mpi_sys::{MPI_BYTE, MPI_Count, native};

use crate::data::datatype::TypeOf;
use crate::data::element::Pod;

/// Stand-ins for the pointers of empty slices, which may have the values of sentinels: that of an
/// empty `&[u8]` is 1, `MPI_IN_PLACE` in two of three ABIs. One for each side, because a library
/// may refuse equal ones. They are never written.
static NOTHING_TO_SEND: AtomicU64 = AtomicU64::new(0);
static NOTHING_TO_RECEIVE: AtomicU64 = AtomicU64::new(0);

/// The pointer that libmpi reads from.
#[inline(always)]
pub(crate) fn to_read<T>(data: &[T]) -> *const c_void {
    if size_of_val(data) == 0 {
        NOTHING_TO_SEND.as_ptr().cast_const().cast()
    } else {
        data.as_ptr().cast()
    }
}

/// The pointer that libmpi writes to.
#[inline(always)]
pub(crate) fn to_write<T>(buf: &mut [T]) -> *mut c_void {
    if size_of_val(buf) == 0 {
        NOTHING_TO_RECEIVE.as_ptr().cast()
    } else {
        buf.as_mut_ptr().cast()
    }
}

/// Returns `true` if an `int` can count the items of `buf`.
#[inline(always)]
pub(crate) fn is_small<T: Pod>(buf: &[T]) -> bool {
    TypeOf::<T>::small_count(buf.len()).is_some()
}

/// Returns `true` if an `int` can count the bytes of `buf`.
#[inline(always)]
pub(crate) fn is_small_in_bytes<T>(buf: &[T]) -> bool {
    c_int::try_from(size_of_val(buf)).is_ok()
}

/// The count of bytes for a receive through a function that takes an `int`; see [`TypeOf::count`].
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "as in TypeOf::count"
)]
pub(crate) fn small_bytes(bytes: usize) -> c_int {
    bytes as c_int
}

/// The count of bytes for a receive through a large-count function.
pub(crate) fn large_bytes<T>(buf: &[T]) -> MPI_Count {
    // A slice has at most isize::MAX bytes; see `large_count`.
    MPI_Count::try_from(size_of_val(buf)).unwrap_or(0)
}

/// The datatype of bytes, in the library's own form.
#[inline(always)]
pub(crate) fn bytes() -> native::Datatype {
    // SAFETY: the library is loaded, as there is a `Comm` (see the module).
    unsafe { native::datatype(MPI_BYTE) }
}

/// The count for the large-count functions.
pub(crate) fn large_count<T: Pod>(length: usize) -> MPI_Count {
    // A slice has at most isize::MAX bytes, so this always fits; if it did not, a count of 0 is the
    // safe one.
    MPI_Count::try_from(length * TypeOf::<T>::items()).unwrap_or(0)
}

/// The datatype of `T`, in the library's own form.
#[inline(always)]
pub(crate) fn datatype<T: Pod>() -> native::Datatype {
    // SAFETY: the library is loaded, as there is a `Comm` (see the module).
    unsafe { native::datatype(TypeOf::<T>::datatype()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_slices_have_addresses_that_are_no_sentinels() {
        let (read, write) = (to_read::<u8>(&[]).addr(), to_write::<u16>(&mut []).addr());
        assert!(read > 4096 && write > 4096);
        assert_ne!(read, write);
    }

    #[test]
    fn elements_of_no_size_have_such_addresses_too() {
        let (read, write) = (to_read(&[(); 5]).addr(), to_write(&mut [(); 5]).addr());
        assert!(read > 4096 && write > 4096);
    }

    #[test]
    fn other_slices_have_their_own() {
        let mut data = [1u8, 2];
        assert_eq!(to_read(&data).addr(), data.as_ptr().addr());
        assert_eq!(to_write(&mut data).addr(), data.as_ptr().addr());
    }
}
