//! Pointers for libmpi out of slices that may have no bytes.
//!
//! The pointer of an empty `&[u8]` is 1, of an empty `&[u16]` 2: the values of `MPI_IN_PLACE` and
//! of `MPI_BUFFER_AUTOMATIC` in the standard ABI. So a slice that is empty, or whose elements are
//! of no size, is given as the address of a static instead; one for each side, because MPICH
//! rejects equal addresses.
//!
//! `None` is `MPI_IN_PLACE`, and nothing else is.

use std::ffi::c_void;
use std::sync::atomic::AtomicU64;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::native;

static NOTHING_TO_SEND: AtomicU64 = AtomicU64::new(0);
static NOTHING_TO_RECEIVE: AtomicU64 = AtomicU64::new(0);

/// The address that the functions of [`native`] read from.
#[inline(always)]
pub(super) fn send_pointer<T>(send: Option<&[T]>) -> *const c_void {
    match send {
        Some(slice) => read_from(slice),
        None => native::in_place(),
    }
}

/// The address that the functions of [`native`] write to.
#[inline(always)]
pub(super) fn recv_pointer<T>(recv: Option<&mut [T]>) -> *mut c_void {
    match recv {
        Some(slice) => write_to(slice),
        None => native::in_place(),
    }
}

/// The address that the functions in the standard's terms read from.
pub(super) fn standard_send_pointer<T>(send: Option<&[T]>) -> *const c_void {
    send.map_or(sys::MPI_IN_PLACE.cast_const(), read_from)
}

/// The address that the functions in the standard's terms write to.
pub(super) fn standard_recv_pointer<T>(recv: Option<&mut [T]>) -> *mut c_void {
    recv.map_or(sys::MPI_IN_PLACE, write_to)
}

#[inline]
fn read_from<T>(slice: &[T]) -> *const c_void {
    if size_of_val(slice) == 0 {
        NOTHING_TO_SEND.as_ptr().cast_const().cast()
    } else {
        slice.as_ptr().cast()
    }
}

#[inline]
fn write_to<T>(slice: &mut [T]) -> *mut c_void {
    if size_of_val(slice) == 0 {
        NOTHING_TO_RECEIVE.as_ptr().cast()
    } else {
        slice.as_mut_ptr().cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_slices_have_real_addresses_and_different_ones() {
        let send = send_pointer::<u8>(Some(&[])).addr();
        let recv = recv_pointer::<u8>(Some(&mut [])).addr();
        assert!(send > 4096 && recv > 4096, "{send:#x} {recv:#x}");
        assert_ne!(send, recv);
    }

    #[test]
    fn elements_of_no_size_have_a_real_address_too() {
        assert!(send_pointer(Some(&[(); 5])).addr() > 4096);
        assert!(recv_pointer(Some(&mut [(); 5])).addr() > 4096);
    }

    #[test]
    fn other_slices_keep_theirs() {
        let mut data = [1_u16, 2];
        assert_eq!(send_pointer(Some(&data)).addr(), data.as_ptr().addr());
        assert_eq!(recv_pointer(Some(&mut data)).addr(), data.as_ptr().addr());
    }
}
