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

use std::ffi::c_int;

use ranks_launch::Count;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Status, native};

use super::buffer::{bytes, is_small_in_bytes, large_bytes, small_bytes, to_write};
use super::communicator::Comm;
use super::error::{class, failed, library, text};
use super::fast_path::Unclaimed;
use super::peer::to_standard;
use super::status;
use crate::call::record::Over;
use crate::data::element::Pod;
use crate::data::raw_slice::Element;
use crate::data::source::Source;
use crate::data::tag::Tag;
use crate::result::status::{EMPTY_STATUS, Kind, Status, Words};
use crate::result::{Error, Result, error};

impl Comm {
    pub(crate) fn recv<T: Pod>(&self, buf: &mut [T], source: Source, tag: Tag) -> Result<Status> {
        if self.must_claim(buf) {
            self.recv_claimed("MPI_Recv", buf, source, tag)
        } else if is_small_in_bytes(buf) {
            let mut words = EMPTY_STATUS;
            let kind = Unclaimed(self).recv_small(buf, source, tag, &mut words)?;
            Ok(Status::new(kind, words))
        } else {
            self.recv_large("MPI_Recv", buf, source, tag)
        }
    }

    /// Returns `true` if all receives on this library must be matched first.
    pub(crate) fn claims_everything(&self) -> bool {
        self.claim_below == usize::MAX
    }

    /// Returns `true` if a receive into `buf` must be matched first, or wait for its turn.
    pub(crate) fn must_claim<T>(&self, buf: &[T]) -> bool {
        size_of_val(buf) < self.claim_below || self.claims.is_waiting()
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
            return Err(not_received(code, operation, capacity, size_of::<T>()));
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

    /// Matches the message, compares its length, receives it.
    pub(crate) fn recv_claimed<T: Pod>(
        &self,
        operation: &'static str,
        buf: &mut [T],
        source: Source,
        tag: Tag,
    ) -> Result<Status> {
        let (message, status) = self.mprobe_in_turn(source, tag)?;
        message.recv(operation, &status, buf)
    }

    fn recv_large<T: Pod>(
        &self,
        operation: &'static str,
        buf: &mut [T],
        source: Source,
        tag: Tag,
    ) -> Result<Status> {
        let (from, under) = (to_standard::source(source), to_standard::tag(tag));
        let count = large_bytes(buf);
        let mut status = MPI_Status::EMPTY;
        // SAFETY: `buf` holds `count` bytes; this library writes no more; the status is ours.
        let code = unsafe {
            sys::MPI_Recv_c(
                to_write(buf),
                count,
                sys::MPI_BYTE,
                from,
                under,
                self.canonical,
                &raw mut status,
            )
        };
        large_received::<T>(code, operation, &status, buf.len())
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
}

fn fits_in(operation: &'static str, element: Element, bytes: usize, capacity: usize) -> Result<()> {
    let width = element.width;
    if bytes > capacity.saturating_mul(width) {
        let error = error::truncated(operation, Some(bytes), capacity, width, library());
        return Err(error.with_class(sys::MPI_ERR_TRUNCATE));
    }
    if element.divides(bytes) {
        Ok(())
    } else {
        Err(element.not_whole(operation, bytes))
    }
}

/// The outcome of a receive with a status of the standard ABI.
pub(crate) fn large_received<T: Pod>(
    code: c_int,
    operation: &'static str,
    status: &MPI_Status,
    capacity: usize,
) -> Result<Status> {
    if code != sys::MPI_SUCCESS {
        return Err(not_received(code, operation, capacity, size_of::<T>()));
    }
    let status = status::decode(status);
    fits_in(operation, Element::of::<T>(), status.bytes(), capacity)?;
    Ok(status)
}

/// The error of a receive into `capacity` elements of `width` bytes.
#[cold]
#[inline(never)]
pub(crate) fn not_received(
    code: c_int,
    operation: &'static str,
    capacity: usize,
    width: usize,
) -> Error {
    if sys::missing(code).is_some() || class(code) != sys::MPI_ERR_TRUNCATE {
        let attempt = format!("receiving up to {}", Count(capacity, "element"));
        return failed(code, operation, &attempt);
    }
    let arrived = arrived(&text(code), capacity.saturating_mul(width));
    error::truncated(operation, arrived, capacity, width, library())
        .with_code(code, sys::MPI_ERR_TRUNCATE)
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
