//! Operations on the memory of a rank: started here, and complete when an epoch ends or is flushed.

use std::ffi::{c_int, c_void};

use bytemuck::Pod;
use ranks_collectives::Integer;
use ranks_comm::backend::{TypeOf, check_with, is_wrong_extreme};
use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::Count;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Count, MPI_Datatype, MPI_Op, native};

use super::window::Window;
use super::{narrow_sums, network_atomics};
use crate::epoch::accumulation::Accumulation;
use crate::epoch::table::TargetRange;

impl<T: Pod> Window<T> {
    /// Begins to write `data`, which has at least a byte, to `place`.
    ///
    /// # Safety
    /// `data` stays until the operation is complete, and as many elements are at `place`.
    #[inline(always)]
    pub(crate) unsafe fn put(&self, data: &[T], place: TargetRange) -> Result<()> {
        const NAME: &str = "MPI_Put";
        let (from, rank, at) = (data.as_ptr().cast(), place.rank(), place.displacement());
        let (datatype, win) = (self.datatype, self.win);
        let code = match TypeOf::<T>::small_count(data.len()) {
            // SAFETY: by contract.
            Some(count) => unsafe {
                native::MPI_Put(from, count, datatype, rank, at, count, datatype, win)
            },
            // SAFETY: by contract.
            None => unsafe { self.put_large(from, items::<T>(data.len()), place) },
        };
        check_access(code, NAME, "to", data.len(), place)
    }

    #[cold]
    #[inline(never)]
    unsafe fn put_large(&self, from: *const c_void, count: MPI_Count, place: TargetRange) -> c_int {
        let datatype = TypeOf::<T>::datatype();
        let (rank, at, win) = (place.rank(), place.displacement(), self.canonical);
        // SAFETY: by contract of `put`.
        unsafe { sys::MPI_Put_c(from, count, datatype, rank, at, count, datatype, win) }
    }

    /// Begins to read from `place` into `into`, which has room for at least a byte.
    ///
    /// # Safety
    /// `into` stays and nobody else uses it until the operation is complete, and as many elements
    /// are at `place`.
    #[inline(always)]
    pub(crate) unsafe fn get(&self, into: &mut [T], place: TargetRange) -> Result<()> {
        const NAME: &str = "MPI_Get";
        let (to, rank, at) = (into.as_mut_ptr().cast(), place.rank(), place.displacement());
        let (datatype, win) = (self.datatype, self.win);
        let code = match TypeOf::<T>::small_count(into.len()) {
            // SAFETY: by contract.
            Some(count) => unsafe {
                native::MPI_Get(to, count, datatype, rank, at, count, datatype, win)
            },
            // SAFETY: by contract.
            None => unsafe { self.get_large(to, items::<T>(into.len()), place) },
        };
        check_access(code, NAME, "from", into.len(), place)
    }

    #[cold]
    #[inline(never)]
    unsafe fn get_large(&self, to: *mut c_void, count: MPI_Count, place: TargetRange) -> c_int {
        let datatype = TypeOf::<T>::datatype();
        let (rank, at, win) = (place.rank(), place.displacement(), self.canonical);
        // SAFETY: by contract of `get`.
        unsafe { sys::MPI_Get_c(to, count, datatype, rank, at, count, datatype, win) }
    }

    /// Begins to combine `data`, which has at least a byte, with what is at `place`.
    ///
    /// # Safety
    /// As [`put`](Self::put).
    #[inline(always)]
    pub(crate) unsafe fn accumulate<O: Accumulation<T>>(
        &self,
        data: &[T],
        place: TargetRange,
    ) -> Result<()> {
        const NAME: &str = "MPI_Accumulate";
        let (op, datatype) = self.known::<O>(NAME)?;
        if is_in_pieces::<T>(op, data.len()) {
            // SAFETY: by contract.
            return unsafe { self.accumulate_in_pieces::<O>(data, place) };
        }
        // SAFETY: by contract.
        unsafe { self.accumulate_at_once(data, place, op, datatype) }
    }

    /// The same in pieces that the library adds rightly.
    ///
    /// # Safety
    /// As [`put`](Self::put).
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn accumulate_in_pieces<O: Accumulation<T>>(
        &self,
        data: &[T],
        place: TargetRange,
    ) -> Result<()> {
        const NAME: &str = "MPI_Accumulate";
        let (op, datatype) = self.known::<O>(NAME)?;
        let piece = piece::<T>(NAME, op)?;
        let first = place.at_bytes;
        let mut at_bytes = first;
        for data in data.chunks(piece) {
            let place = TargetRange { at_bytes, ..place };
            // SAFETY: by contract, of a part.
            let begun = unsafe { self.accumulate_at_once(data, place, op, datatype) };
            narrow_sums::all_or_none(begun, at_bytes == first)?;
            at_bytes += size_of_val(data);
        }
        Ok(())
    }

    /// # Safety
    /// As [`put`](Self::put).
    #[inline(always)]
    unsafe fn accumulate_at_once(
        &self,
        data: &[T],
        place: TargetRange,
        op: MPI_Op,
        datatype: MPI_Datatype,
    ) -> Result<()> {
        const NAME: &str = "MPI_Accumulate";
        let from = data.as_ptr().cast();
        let (rank, at, win) = (place.rank(), place.displacement(), self.canonical);
        let count = few(data.len());
        // SAFETY: by contract; an item of the datatype is an element.
        let code = unsafe {
            sys::MPI_Accumulate(from, count, datatype, rank, at, count, datatype, op, win)
        };
        check_access(code, NAME, "to", data.len(), place)
    }

    /// The same, and to read what was there before.
    ///
    /// # Safety
    /// As [`put`](Self::put) and [`get`](Self::get); both slices are of one length.
    pub(crate) unsafe fn get_accumulate<O: Accumulation<T>>(
        &self,
        data: &[T],
        into: &mut [T],
        place: TargetRange,
    ) -> Result<()> {
        const NAME: &str = "MPI_Get_accumulate";
        let (op, datatype) = self.known::<O>(NAME)?;
        if self.is_got_in_pieces(op, data.len()) {
            // SAFETY: by contract.
            return unsafe { self.get_accumulate_in_pieces::<O>(data, into, place) };
        }
        // SAFETY: by contract.
        unsafe { self.get_accumulate_at_once(data, into, place, op, datatype) }
    }

    /// The same in pieces that the library computes rightly.
    ///
    /// # Safety
    /// As [`get_accumulate`](Self::get_accumulate).
    #[cold]
    #[inline(never)]
    unsafe fn get_accumulate_in_pieces<O: Accumulation<T>>(
        &self,
        data: &[T],
        into: &mut [T],
        place: TargetRange,
    ) -> Result<()> {
        const NAME: &str = "MPI_Get_accumulate";
        let (op, datatype) = self.known::<O>(NAME)?;
        let piece = piece::<T>(NAME, op)?.min(self.faults.got_at_once);
        let first = place.at_bytes;
        let mut at_bytes = first;
        for (data, into) in data.chunks(piece).zip(into.chunks_mut(piece)) {
            let place = TargetRange { at_bytes, ..place };
            // SAFETY: by contract, of parts.
            let begun = unsafe { self.get_accumulate_at_once(data, into, place, op, datatype) };
            narrow_sums::all_or_none(begun, at_bytes == first)?;
            at_bytes += size_of_val(data);
        }
        Ok(())
    }

    /// # Safety
    /// As [`get_accumulate`](Self::get_accumulate).
    unsafe fn get_accumulate_at_once(
        &self,
        data: &[T],
        into: &mut [T],
        place: TargetRange,
        op: MPI_Op,
        datatype: MPI_Datatype,
    ) -> Result<()> {
        const NAME: &str = "MPI_Get_accumulate";
        let (from, to) = (data.as_ptr().cast(), into.as_mut_ptr().cast());
        let (rank, at, win) = (place.rank(), place.displacement(), self.canonical);
        let count = few(data.len());
        // SAFETY: by contract; an item of the datatype is an element.
        let code = unsafe {
            sys::MPI_Get_accumulate(
                from, count, datatype, to, count, datatype, rank, at, count, datatype, op, win,
            )
        };
        check_access(code, NAME, "to and from", data.len(), place)
    }

    /// Begins to combine `value` with the element at `place`, and to read what was there before.
    ///
    /// # Safety
    /// `value` and `old` stay, and nobody else uses `old`, until the operation is complete; an
    /// element is at `place`.
    #[inline(always)]
    pub(crate) unsafe fn fetch_and_op<O: Accumulation<T>>(
        &self,
        value: &T,
        old: &mut T,
        place: TargetRange,
    ) -> Result<()> {
        const NAME: &str = "MPI_Fetch_and_op";
        let (op, datatype) = self.known::<O>(NAME)?;
        let (value, old) = ((&raw const *value).cast(), (&raw mut *old).cast());
        let (rank, at, win) = (place.rank(), place.displacement(), self.win);
        // SAFETY: the library is loaded, as it made the window.
        let op = unsafe { native::op(op) };
        // SAFETY: as above.
        let datatype = unsafe { native::datatype(datatype) };
        // SAFETY: by contract; the elements are of a type that operations are defined for, whose
        // datatype is one item.
        let code = unsafe { native::MPI_Fetch_and_op(value, old, datatype, rank, at, op, win) };
        check_access(code, NAME, "to and from", 1, place)
    }

    /// Begins to put `new` at `place` if the element there is `expected`, and to read what was
    /// there before.
    ///
    /// # Safety
    /// As [`fetch_and_op`](Self::fetch_and_op).
    #[inline(always)]
    pub(crate) unsafe fn compare_and_swap(
        &self,
        expected: &T,
        new: &T,
        old: &mut T,
        place: TargetRange,
    ) -> Result<()>
    where
        T: Integer,
    {
        const NAME: &str = "MPI_Compare_and_swap";
        if size_of::<T>() == 8 && !self.faults.swaps_words {
            return Err(no_swap());
        }
        let (new, expected) = ((&raw const *new).cast(), (&raw const *expected).cast());
        let (old, datatype) = ((&raw mut *old).cast(), self.datatype);
        let (rank, at, win) = (place.rank(), place.displacement(), self.win);
        // SAFETY: by contract; the datatype of an integer is one item.
        let code =
            unsafe { native::MPI_Compare_and_swap(new, expected, old, datatype, rank, at, win) };
        check_access(code, NAME, "to and from", 1, place)
    }

    /// Returns `true` if so many elements are accumulated and read by more than one call, or may
    /// be.
    pub(super) fn is_got_in_pieces(&self, op: MPI_Op, len: usize) -> bool {
        is_in_pieces::<T>(op, len) || len > self.faults.got_at_once
    }

    /// The operation and the datatype, if MPI computes with such elements, and the library does so
    /// rightly here.
    #[inline(always)]
    pub(super) fn known<O: Accumulation<T>>(
        &self,
        operation: &'static str,
    ) -> Result<(MPI_Op, MPI_Datatype)> {
        let (op, datatype) = O::predefined().ok_or_else(|| unknown::<T>(operation))?;
        if network_atomics::is_wrong(self.faults.wrong_atomics, op, datatype, size_of::<T>()) {
            return Err(network_atomics::wrong(operation));
        }
        if is_wrong_extreme(op, datatype) {
            return Err(wrong_extreme(operation));
        }
        Ok((op, datatype))
    }
}

#[cold]
#[inline(never)]
fn wrong_extreme(operation: &'static str) -> Error {
    let why = "MPICH 4.0 to 4.0.2 compares unsigned integers as signed ones, without an error; use signed ones, get and put under an \
               exclusive lock, or take another version";
    Error::new(ErrorKind::NotInLibrary, operation, why)
}

#[cold]
#[inline(never)]
fn unknown<T>(operation: &'static str) -> Error {
    Error::new(
        ErrorKind::Type,
        operation,
        format_args!(
            "MPI does not compute with {}; get elements under an exclusive lock, and put the results",
            std::any::type_name::<T>()
        ),
    )
}

#[cold]
#[inline(never)]
fn no_swap() -> Error {
    Error::new(
        ErrorKind::NotInLibrary,
        "MPI_Compare_and_swap",
        "Open MPI up to 4.1.4 cannot swap elements of 8 bytes; use elements of 4 bytes, an exclusive lock, or a newer library",
    )
}

pub(super) fn attempt(direction: &str, len: usize, place: TargetRange) -> String {
    let TargetRange { rank, at_bytes } = place;
    let (elements, at) = (Count(len, "element"), Count(at_bytes, "byte"));
    format!("{elements} {direction} rank {rank}, {at} into its part")
}

/// Checks the return code of an operation on `len` elements. Nothing is built in memory for a call
/// that succeeds.
#[inline(always)]
fn check_access(
    code: c_int,
    operation: &'static str,
    direction: &'static str,
    len: usize,
    place: TargetRange,
) -> Result<()> {
    if code == sys::MPI_SUCCESS {
        return Ok(());
    }
    failed(code, operation, direction, len, place)
}

#[cold]
#[inline(never)]
fn failed(
    code: c_int,
    operation: &'static str,
    direction: &str,
    len: usize,
    place: TargetRange,
) -> Result<()> {
    check_with(code, operation, || attempt(direction, len, place))
}

/// Number of bytes that are accumulated in one call. Of 2^31 elements Intel MPI (2021.15 and
/// 2021.19) accumulates none, without an error; MPICH (4.1 to 5.0) ends the process where the
/// memory is not the library's; and others have no such call.
const AT_ONCE: usize = 1 << 30;

/// Returns `true` if so many elements are accumulated by more than one call, or may be.
#[inline(always)]
pub(super) fn is_in_pieces<T>(op: MPI_Op, len: usize) -> bool {
    narrow_sums::may_be_wrong(op, size_of::<T>()) || len * size_of::<T>() > AT_ONCE
}

/// Number of elements that are accumulated rightly by one call.
///
/// # Errors
/// That of [`narrow_sums::piece`].
fn piece<T>(operation: &'static str, op: MPI_Op) -> Result<usize> {
    let most = AT_ONCE / size_of::<T>().max(1);
    if !narrow_sums::may_be_wrong(op, size_of::<T>()) {
        return Ok(most);
    }
    narrow_sums::piece(operation).map(|piece| piece.min(most))
}

/// A number of elements that [is no piece's](is_in_pieces).
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "their bytes are no more than `AT_ONCE`, and each has one"
)]
fn few(len: usize) -> c_int {
    len as c_int
}

/// Number of items of their datatype in so many elements.
fn items<T: Pod>(elements: usize) -> MPI_Count {
    wide(elements * TypeOf::<T>::items())
}

/// A slice has at most `isize::MAX` bytes, and an item at least one: this always fits.
pub(super) fn wide(count: usize) -> MPI_Count {
    MPI_Count::try_from(count).unwrap_or(0)
}
