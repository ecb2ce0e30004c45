//! Messages to oneself that Open MPI cuts and does not say so, and what is sent instead.
//!
//! Where pml ob1 hands a message of up to btl self's eager limit to a receive that is posted, header and data are two segments, and it compares
//! the room of the receive with the length of the first one (`pml_ob1_recvfrag.c`, `mca_pml_ob1_recv_frag_callback_match`): what is longer is cut
//! to the room, as a success. So it is from 4.1.4 to 5.0.11 (in C). What it has to pack is one segment, and longer than the room then. It packs
//! what it does not know to be contiguous, and a datatype that begins where it is placed for the second time is that: bytes side by side all
//! the same. It costs some 340 instructions a message.

use std::ffi::c_int;
use std::sync::OnceLock;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{Loaded, MPI_Count, MPI_Datatype, native};

use super::buffer::{datatype, large_count};
use super::communicator::Comm;
use super::datatypes;
use super::element::TypeOf;
use super::peer::to_standard;
use crate::element::Pod;
use crate::error::Result;
use crate::source::Destination;

/// A number that no rank has, nor nobody, in any library.
const NOBODY: c_int = c_int::MIN;

/// The eager limit of btl self, unless somebody has set it.
const DEFAULT: usize = 1024;

/// So many bytes go at once, whatever that limit is.
const INLINE: usize = 256;

/// No longer ones are packed, whatever that limit is.
const MOST: usize = 1 << 16;

/// Datatypes of bytes side by side that Open MPI packs, by their length, each made when it is used first.
///
/// None at all where messages to oneself are as others are.
#[derive(Debug, Default)]
pub(super) struct Packed {
    by_length: Box<[OnceLock<MPI_Datatype>]>,
}

impl Packed {
    /// For this library, which is initialised; `trusting` is that nothing is too long.
    pub(super) fn on(loaded: &Loaded, trusting: bool) -> Self {
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

    /// Which rank of `comm` has to pack what it sends to itself: this one, or nobody.
    pub(super) fn rank_in(&self, comm: sys::MPI_Comm) -> c_int {
        let mut rank = NOBODY;
        if !self.by_length.is_empty() {
            // SAFETY: the communicator is alive, and the rank is ours; if it fails, nobody has it.
            unsafe { sys::MPI_Comm_rank(comm, &raw mut rank) };
        }
        rank
    }

    /// That of so many bytes; `None` if they are packed anyway, and if the library cannot make it.
    fn of(&self, bytes: usize) -> Option<MPI_Datatype> {
        // Of one byte nothing is cut: into nothing nothing is posted.
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

    /// Frees all of them. Nobody may use one any more.
    pub(super) fn free(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        for made in self.by_length.iter_mut().filter_map(OnceLock::take) {
            outcome = outcome.and(datatypes::free(made));
        }
        outcome
    }
}

impl Comm {
    /// How many items of what `data` is when it is sent to `to`; an `int` can count them.
    #[inline(always)]
    pub(super) fn to_send_small<T: Pod>(&self, data: &[T], to: c_int) -> (c_int, native::Datatype) {
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

    /// The same for functions of the standard, of anything.
    pub(super) fn to_send_to<T: Pod>(
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

    /// Whether what goes there has to be packed.
    pub(super) fn is_oneself(&self, dest: Destination) -> bool {
        to_standard::destination(dest) == self.oneself && !self.between
    }
}
