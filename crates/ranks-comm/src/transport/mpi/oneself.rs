//! Messages to oneself that Open MPI truncates without an error, and the datatype that prevents it.
//!
//! If pml ob1 hands a message of up to btl self's eager limit to a posted receive, header and data
//! are two segments, and it compares the room of the receive with the length of the first one
//! (`pml_ob1_recvfrag.c`, `mca_pml_ob1_recv_frag_callback_match`): a longer message is truncated to
//! the room, as a success. It does so from 4.1.4 to 5.0.11 (in C). A message that it has to pack is
//! one segment, which is then longer than the room. It packs datatypes that it does not know to be
//! contiguous, and a datatype that begins where it is placed for the second time is such:
//! contiguous bytes all the same. It costs some 340 instructions a message.

use std::ffi::c_int;
use std::sync::OnceLock;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{Loaded, MPI_Count, MPI_Datatype, native};

use super::buffer::{datatype, large_count};
use super::communicator::Comm;
use super::datatypes;
use super::peer::STANDARD;
use crate::data::datatype::TypeOf;
use crate::data::element::Pod;
use crate::data::source::Destination;
use crate::result::Result;

/// A number that is neither a rank nor null in any library.
const NOBODY: c_int = c_int::MIN;

/// The eager limit of btl self, unless it has been set.
const DEFAULT: usize = 1024;

/// The number of bytes that are sent eagerly, whatever that limit is.
const INLINE: usize = 256;

/// The length up to which messages are packed, whatever that limit is.
const MOST: usize = 1 << 16;

/// Datatypes of contiguous bytes that Open MPI packs, by their length, each made on first use.
///
/// Empty if messages to oneself need no packing.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    by_length: Box<[OnceLock<MPI_Datatype>]>,
}

impl Packed {
    /// The datatypes for this library, which is initialised; `trusting` means that no message is
    /// too long.
    pub(crate) fn on(loaded: &Loaded, trusting: bool) -> Self {
        if trusting || !loaded.is_openmpi() || loaded.selected_pml().as_deref() == Some("ucx") {
            return Self::default();
        }
        // SAFETY: MPI is initialised; the parameter is a `size_t`, whose first half is an int.
        let limit = unsafe { loaded.parameter(c"btl_self_eager_limit") };
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        let longest = limit.unwrap_or(DEFAULT).clamp(INLINE, MOST);
        Self {
            by_length: (0..=longest).map(|_| OnceLock::new()).collect(),
        }
    }

    /// The rank of `comm` that has to pack messages to itself: this one, or none.
    pub(crate) fn rank_in(&self, comm: sys::MPI_Comm) -> c_int {
        let mut rank = NOBODY;
        if !self.by_length.is_empty() {
            // SAFETY: the communicator is alive, and the rank is ours; if it fails, nobody has it.
            unsafe { sys::MPI_Comm_rank(comm, &raw mut rank) };
        }
        rank
    }

    /// The datatype of so many bytes; `None` if those are packed anyway, and if the library cannot
    /// make it.
    fn of(&self, bytes: usize) -> Option<MPI_Datatype> {
        // A message of one byte is not truncated: receives of no bytes are not posted.
        let place = self.by_length.get(bytes).filter(|_| bytes > 1)?;
        if let Some(made) = place.get() {
            return Some(*made);
        }
        let made = datatypes::packed(bytes).ok()?;
        if place.set(made).is_err() {
            // Another thread was first.
            let _ = datatypes::free(made);
        }
        place.get().copied()
    }

    /// Frees all of them. None may be in use any more.
    pub(crate) fn free(&mut self) -> Result<()> {
        let made = self.by_length.iter_mut().filter_map(OnceLock::take);
        made.map(datatypes::free).fold(Ok(()), Result::and)
    }
}

impl Comm {
    /// The count and the datatype of `data` in a send to `to`; an `int` can count its items.
    #[inline(always)]
    pub(crate) fn to_send_small<T: Pod>(&self, data: &[T], to: c_int) -> (c_int, native::Datatype) {
        if to == self.oneself
            && let Some(packed) = self.packed(size_of_val(data))
        {
            return (1, packed);
        }
        (TypeOf::<T>::count(data.len()), datatype::<T>())
    }

    #[cold]
    #[inline(never)]
    fn packed(&self, bytes: usize) -> Option<native::Datatype> {
        // Ranks there are those of another group.
        let packed = self.session.packed.of(bytes).filter(|_| !self.between)?;
        // SAFETY: the library is loaded, as there is a `Comm`.
        Some(unsafe { native::datatype(packed) })
    }

    /// As [`to_send_small`](Self::to_send_small), for functions of the standard and of any number
    /// of items.
    pub(crate) fn to_send_to<T: Pod>(
        &self,
        data: &[T],
        dest: Destination,
    ) -> (MPI_Count, MPI_Datatype) {
        if self.is_oneself(dest)
            && let Some(packed) = self.session.packed.of(size_of_val(data))
        {
            return (1, packed);
        }
        (large_count::<T>(data.len()), TypeOf::<T>::datatype())
    }

    /// Returns `true` if a message to `dest` has to be packed.
    pub(crate) fn is_oneself(&self, dest: Destination) -> bool {
        STANDARD.destination(dest) == self.oneself && !self.between
    }
}
