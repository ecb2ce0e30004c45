//! Receives that never write past their buffer.
//!
//! Open MPI may write a message that is too long past the end of the buffer (`overruns`): there a
//! message is matched first, its length compared, and only then received. Other libraries stop at
//! the end. `receives` has the decision.
//!
//! The same is done on MPICH 3.4 with its device ch3: of long messages that do not fit, it leaves
//! receiver or sender waiting for ever, now and then (3.4.3; with three ranks that all send one,
//! once in a few dozen).
//!
//! Intel's MPI (2021.19.0) may report success for a message of which it has received only what
//! fits: if it has 16 kB and more, comes over shared memory, and its beginning was there before the
//! receive. Its status has as many bytes as there is room for, and these are written. To find that
//! out every message would have to be matched first, and no receive be posted; as nothing is wrong
//! in memory and the program is, that is not done.
//!
//! It is also done on MPICH from 4.1 on if UCX is its transport to other hosts and a job is on
//! several: a receive from any source does not see messages that are there, and waits for ever
//! (4.3.2 and 5.0.2; in most runs, after one message or three, also in C; not 4.0.2, nor over
//! libfabric). A probe sees them.
//!
//! MPICH from 4.3 on now and then reports success for a message from any source of which it has
//! received only what fits (4.3.2 and 5.0.2, within a host of three ranks; not 4.0.2). Its status
//! has the whole length, so that it is compared with the room after each such receive. Where a
//! scope waits for all at once there is no status: such receives are waited for by themselves.
//!
//! If there is no room at all, others fail as well: Intel's MPI (2021.19.0) reports no error for a
//! short message that arrives there, MPICH 3.4.3 waits for ever for a long one. So a receive of no
//! bytes is matched first everywhere.
//!
//! MPICH and its derivatives end the process by a failed assertion if the message is no whole
//! number of items of the datatype (seen in 4.3.2 and 5.0.2: `typerep_yaksa_pack.c`,
//! `actual_unpack_bytes % element_size == 0`). There everything is received as bytes, and the
//! number of whole elements is found out here.

use std::ffi::{c_int, c_void};

use ranks_launch::Count;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Count, MPI_Datatype, MPI_Status, native};

use super::buffer::{bytes, is_small_in_bytes, large_bytes, large_count, small_bytes, to_write};
use super::communicator::Comm;
use super::error::{class, failed, library, text};
use super::fast_path::Unclaimed;
use super::peer::STANDARD;
use super::status;
use crate::call::record::Over;
use crate::data::datatype::TypeOf;
use crate::data::element::Pod;
use crate::data::raw_slice::Element;
use crate::data::source::Source;
use crate::data::tag::Tag;
use crate::result::status::{EMPTY_STATUS, Kind, Status, Words};
use crate::result::{Error, ErrorKind, Result, error};

impl Comm {
    pub(crate) fn recv<T: Pod>(&self, buf: &mut [T], source: Source, tag: Tag) -> Result<Status> {
        if is_small_in_bytes(buf) && !self.must_claim(buf) {
            let mut words = EMPTY_STATUS;
            let kind = Unclaimed(self).recv_small(buf, source, tag, &mut words)?;
            return Ok(Status::new(kind, words));
        }
        let room = self.room(buf);
        // SAFETY: the slice is borrowed until this returns.
        unsafe { self.recv_into("MPI_Recv", &room, source, tag) }
    }

    /// Returns `true` if all receives on this library must be matched first.
    pub(crate) fn claims_everything(&self) -> bool {
        self.claim_below == usize::MAX
    }

    /// Returns `true` if a receive into `buf` must be matched first, or wait for its turn.
    pub(crate) fn must_claim<T>(&self, buf: &[T]) -> bool {
        self.must_claim_bytes(size_of_val(buf))
    }

    /// As [`must_claim`](Self::must_claim), into so many bytes.
    pub(crate) fn must_claim_bytes(&self, bytes: usize) -> bool {
        bytes < self.claim_below || self.claims.is_waiting()
    }

    /// The outcome of a receive into `capacity` elements of `T`.
    #[inline(always)]
    pub(crate) fn received<T: Pod>(
        &self,
        code: c_int,
        operation: &'static str,
        words: &mut Words,
        source: Source,
        capacity: usize,
    ) -> Result<Kind> {
        if code != sys::MPI_SUCCESS {
            let status = Status::of_failed(words);
            return Err(not_received(
                code,
                operation,
                capacity,
                size_of::<T>(),
                &status,
            ));
        }
        // Known where this is compiled, as a rule.
        let most = match source {
            Source::Any => capacity,
            Source::Rank(_) | Source::Null => usize::MAX / size_of::<T>().max(1),
        };
        if !(self.count_word).surely_fits(words, size_of::<T>(), most) {
            fits(operation, Element::of::<T>(), words, capacity)?;
        }
        Ok(Kind::MPI)
    }

    /// The place of a message in `buf`.
    pub(crate) fn room<T: Pod>(&self, buf: &mut [T]) -> Room<impl Fits + use<T>> {
        let claims = self.must_claim(buf);
        let room = Room::of(buf);
        match claims {
            true => room,
            false => Room {
                count: large_bytes(buf),
                datatype: sys::MPI_BYTE,
                claims,
                ..room
            },
        }
    }

    /// Receives, after the message was matched and its length compared where it must be.
    ///
    /// # Safety
    /// The room may be written to until this returns.
    pub(crate) unsafe fn recv_into(
        &self,
        operation: &'static str,
        room: &Room<impl Fits>,
        source: Source,
        tag: Tag,
    ) -> Result<Status> {
        if room.claims {
            let (message, status) = self.mprobe_in_turn(source, tag)?;
            // SAFETY: by this function's contract.
            return unsafe { message.recv_into(operation, &status, room) };
        }
        let (from, under) = (STANDARD.source(source), STANDARD.tag(tag));
        let (to, datatype, comm) = (room.pointer, room.datatype, self.canonical);
        let mut status = MPI_Status::EMPTY;
        let place = &raw mut status;
        let code = match c_int::try_from(room.count) {
            // SAFETY: by this function's contract; this library writes no more; the status is ours.
            Ok(count) => unsafe { sys::MPI_Recv(to, count, datatype, from, under, comm, place) },
            // SAFETY: as above.
            Err(_) => unsafe {
                sys::MPI_Recv_c(to, room.count, datatype, from, under, comm, place)
            },
        };
        room.received(operation, code, &status)
    }
}

/// The place of a message: so many items of a datatype at an address. A message that `fits` reaches
/// no further.
pub(crate) struct Room<F> {
    pub(crate) pointer: *mut c_void,
    pub(crate) count: MPI_Count,
    pub(crate) datatype: MPI_Datatype,
    /// `true` if the message must be matched first.
    pub(crate) claims: bool,
    /// The number of elements, and the bytes of one.
    pub(crate) capacity: usize,
    pub(crate) width: usize,
    /// Checks the length of a message.
    pub(crate) fits: F,
}

/// A check of a length in bytes, for an operation.
pub(crate) trait Fits: Fn(&'static str, usize) -> Result<()> {}

impl<F: Fn(&'static str, usize) -> Result<()>> Fits for F {}

impl Room<()> {
    /// The place of a message that was matched, in `buf`.
    #[inline]
    pub(crate) fn of<T: Pod>(buf: &mut [T]) -> Room<impl Fits + use<T>> {
        let capacity = buf.len();
        Room {
            pointer: to_write(buf),
            count: large_count::<T>(capacity),
            datatype: TypeOf::<T>::datatype(),
            claims: true,
            capacity,
            width: size_of::<T>(),
            fits: move |operation, bytes| fits_in(operation, Element::of::<T>(), bytes, capacity),
        }
    }
}

impl<F: Fits> Room<F> {
    /// The outcome of a receive.
    pub(crate) fn received(
        &self,
        operation: &'static str,
        code: c_int,
        status: &MPI_Status,
    ) -> Result<Status> {
        if code != sys::MPI_SUCCESS {
            let status = status::decode_failed(status);
            return Err(self.not_received(operation, code, &status));
        }
        let status = status::decode(status);
        self.check(operation, &status)?;
        Ok(status)
    }

    /// The error of a receive.
    #[cold]
    pub(crate) fn not_received(
        &self,
        operation: &'static str,
        code: c_int,
        status: &Status,
    ) -> Error {
        not_received(code, operation, self.capacity, self.width, status)
    }

    /// Checks the length of a message.
    pub(crate) fn check(&self, operation: &'static str, status: &Status) -> Result<()> {
        (self.fits)(operation, status.bytes()).map_err(|error| with_class(error).of_message(status))
    }
}

impl<C: Over<Target = Comm>> Unclaimed<C> {
    /// Receives as many bytes as an `int` can count.
    #[inline(always)]
    pub(crate) fn recv_small<T: Pod>(
        &self,
        buf: &mut [T],
        source: Source,
        tag: Tag,
        words: &mut Words,
    ) -> Result<Kind> {
        const OPERATION: &str = "MPI_Recv";
        let count = small_bytes(size_of_val(buf));
        let (from, under) = (self.0.sentinels.source(source), self.0.sentinels.tag(tag));
        // SAFETY: `buf` holds `count` bytes; this library writes no more; the status is ours.
        let code = unsafe {
            native::MPI_Recv(
                buf.as_mut_ptr().cast(),
                count,
                bytes(),
                from,
                under,
                self.0.native,
                status::to_write(words),
            )
        };
        self.0.over();
        self.0
            .received::<T>(code, OPERATION, words, source, buf.len())
    }
}

/// Calls the library for the length of a message, of which it has said that it was received.
#[cold]
#[inline(never)]
pub(crate) fn fits(
    operation: &'static str,
    element: Element,
    status: &Words,
    capacity: usize,
) -> Result<()> {
    let bytes = status::bytes(status).unwrap_or(0);
    fits_in(operation, element, bytes, capacity)
        .map_err(|error| error.of_message(&Status::new(Kind::MPI, *status)))
}

/// Checks the length of a message.
#[inline]
fn fits_in(operation: &'static str, element: Element, bytes: usize, capacity: usize) -> Result<()> {
    if element.holds(bytes, capacity) {
        return Ok(());
    }
    does_not_fit(operation, element, bytes, capacity)
}

#[cold]
#[inline(never)]
fn does_not_fit(
    operation: &'static str,
    element: Element,
    bytes: usize,
    capacity: usize,
) -> Result<()> {
    let fits = element.fits(operation, bytes, capacity, library());
    fits.map_err(with_class)
}

/// The error of a message that does not fit, with the library's class.
#[cold]
pub(crate) fn with_class(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Truncated => error.with_class(sys::MPI_ERR_TRUNCATE),
        _ => error,
    }
}

/// The error of a receive into `capacity` elements of `width` bytes; the status is null where there
/// is none.
#[cold]
#[inline(never)]
pub(crate) fn not_received(
    code: c_int,
    operation: &'static str,
    capacity: usize,
    width: usize,
    status: &Status,
) -> Error {
    if sys::missing(code).is_some() || class(code) != sys::MPI_ERR_TRUNCATE {
        let attempt = format!("receiving up to {}", Count(capacity, "element"));
        return failed(code, operation, &attempt);
    }
    let arrived = arrived(&text(code), capacity.saturating_mul(width));
    error::truncated(operation, arrived, capacity, width, library())
        .with_code(code, sys::MPI_ERR_TRUNCATE)
        .of_message(status)
}

/// The length of a truncated message, as MPICH and Intel's MPI report it in the stack of calls of
/// their text: "… truncated; 72000 bytes received but buffer size is 800 …". MPICH 4.3.2 has the
/// two numbers the wrong way round, but the message is always the longer one. Some versions report
/// nothing.
fn arrived(text: &str, capacity: usize) -> Option<usize> {
    let (_, rest) = text.split_once("truncated; ")?;
    let (first, rest) = rest.split_once(" bytes received but buffer size is ")?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (first, second): (usize, usize) = (first.parse().ok()?, rest[..end].parse().ok()?);
    Some(first.max(second)).filter(|&longer| longer > capacity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_read_from_the_stack_of_calls() {
        let text = "Message truncated, error stack:\ninternal_Recv(127): failed\n\
                    MPIDIG(99): Message from rank 0 and tag 5 truncated; 72000 bytes received but buffer size is 800";
        assert_eq!(arrived(text, 800), Some(72_000));
        let wrong_way_round =
            "X(1): Message truncated; 800 bytes received but buffer size is 72000\n";
        assert_eq!(arrived(wrong_way_round, 800), Some(72_000));
        assert_eq!(arrived("MPI_ERR_TRUNCATE: message truncated", 800), None);
    }
}
