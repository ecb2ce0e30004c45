//! All the memory of a node that arrays lie in, and when which of it may be written to.
//!
//! # Safety
//!
//! Bytes of the region are written to by the rank that fills them, or receives them, before any
//! rank has an array there; and again only when the ranks have agreed that none of them has a
//! reference to it, as [`update`](super::update) does. Which rank does so when is the business of
//! [`fill`](super::fill); between two ranks there is a message, and a [`sync`](Whole::sync) on both
//! sides.
#![allow(unsafe_code)]

use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::slice;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;
use ranks_collectives::Hierarchy;
use ranks_comm::{Error, ErrorKind, Result};

use super::backend::{Chosen, NodeBackend};
use super::having::Having;
use crate::page::page_size;
use crate::region::Region;

/// A region, with the ranks that have one.
#[derive(Debug)]
pub(crate) struct Whole {
    /// Always there, but when it is dropped.
    region: Option<Region>,
    nodes: Hierarchy,
    backend: NodeBackend,
    why: String,
    /// Bytes from the begin that only can be read, as far as they are whole pages.
    sealed: Mutex<usize>,
}

impl Whole {
    /// `bytes` bytes for each node. Collective over all ranks, which pass the same.
    pub(crate) fn make(nodes: Hierarchy, bytes: usize, asked: &NodeBackend) -> Result<Self> {
        let chosen = Chosen::make(&nodes, bytes, asked)?;
        Ok(Self {
            region: Some(chosen.region),
            nodes,
            backend: chosen.backend,
            why: chosen.why,
            sealed: Mutex::new(0),
        })
    }

    pub(crate) fn nodes(&self) -> &Hierarchy {
        &self.nodes
    }

    pub(crate) fn backend(&self) -> &NodeBackend {
        &self.backend
    }

    pub(crate) fn why(&self) -> &str {
        &self.why
    }

    pub(crate) fn len(&self) -> usize {
        self.region.as_ref().map_or(0, Region::len)
    }

    /// Orders loads and stores of this rank, before and after it tells others of them.
    pub(crate) fn sync(&self) -> Result<()> {
        self.region.as_ref().map_or(Ok(()), Region::sync)
    }

    pub(crate) fn welcome_large_pages(&self) {
        if let Some(region) = &self.region {
            region.welcome_large_pages();
        }
    }

    /// Has the system give the pages of these bytes; those of a heap if they are `placed`
    /// somewhere.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`] if there are none.
    ///
    /// # Safety
    /// They are zero, and nobody else touches them.
    pub(super) unsafe fn take(&self, bytes: Range<usize>, placed: bool) -> Result<()> {
        match &self.region {
            // SAFETY: by contract.
            Some(region) => unsafe { region.take(bytes, placed) },
            None => Ok(()),
        }
    }

    /// Address of `length` elements that begin at byte `at`, if they lie in it; aligned for
    /// elements of up to 64 bytes where `at` is.
    pub(super) fn address<T: Pod>(&self, at: usize, length: usize) -> Option<NonNull<T>> {
        let region = self.region.as_ref()?;
        let end = length.checked_mul(size_of::<T>())?.checked_add(at)?;
        if end > region.len() {
            return None;
        }
        // SAFETY: it is not behind the region's end, as was just seen.
        let first = unsafe { region.base().add(at) }.cast::<T>();
        first.is_aligned().then_some(first)
    }

    /// Elements to be written.
    ///
    /// # Safety
    /// There is no other reference to any of them, on no rank of the node, as long as this one is
    /// in use.
    #[allow(clippy::mut_from_ref, reason = "that is what the contract is for")]
    pub(super) unsafe fn elements_mut<T: Pod>(&self, at: usize, length: usize) -> Option<&mut [T]> {
        let first = self.address::<T>(at, length)?;
        // SAFETY: so many elements lie there, in memory that was zero at first, for which this is
        // the only reference, as the caller says; any bytes are elements.
        Some(unsafe { slice::from_raw_parts_mut(first.as_ptr(), length) })
    }

    /// From now on the first `bytes` bytes are read, and a write to a whole page of them ends the
    /// process.
    pub(super) fn seal(&self, bytes: usize) {
        let mut sealed = self.sealed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(region) = self.region.as_ref().filter(|_| bytes > *sealed) {
            // Where the system does not, that it is not written to is up to the types alone.
            region.make_writable(0..bytes, false);
            *sealed = bytes;
        }
    }

    /// Does something during which these bytes can be written to.
    ///
    /// # Errors
    /// [`ErrorKind::Library`] if the system does not allow it; then it is not done.
    pub(super) fn unsealed<R>(
        &self,
        bytes: Range<usize>,
        write: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let sealed = self.sealed.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(region) = &self.region else {
            return write();
        };
        let page = page_size();
        let end = bytes.end.checked_next_multiple_of(page).unwrap_or(*sealed);
        let pages = bytes.start / page * page..end.min(*sealed);
        if !region.make_writable(pages.clone(), true) {
            let why = "the system does not let the pages of the array be written to again";
            return Err(Error::new(ErrorKind::Library, "NodeShared::update", why));
        }
        let outcome = write();
        region.make_writable(pages, false);
        outcome
    }

    /// Frees it immediately. Collective over all ranks.
    pub(crate) fn free(mut self) -> Result<()> {
        self.open().map_or(Ok(()), Region::free)
    }

    /// The region as it was made; `None` if it cannot be made so, in which case it stays for ever.
    fn open(&mut self) -> Option<Region> {
        let region = self.region.take()?;
        let sealed = *self
            .sealed
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if region.make_writable(0..sealed, true) {
            return Some(region);
        }
        std::mem::forget(region);
        None
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        drop(self.open());
    }
}

/// An array that lies in memory of the node and that nobody writes to as long as there is a handle
/// of it that may be read.
#[derive(Debug)]
pub(super) struct Array<T> {
    first: NonNull<T>,
    /// 0 while the elements are [hidden](Self::hide).
    length: usize,
    piece: Arc<Piece>,
    is_lost: bool,
}

/// Elements that were taken out of the reach of their handle; `None` if they were so before.
#[derive(Debug)]
#[must_use = "elements that are not shown again are lost"]
pub(super) struct Hidden(Option<usize>);

/// Counts the handles of one array, of several in the same memory.
#[derive(Debug)]
struct Piece {
    whole: Arc<Whole>,
    /// Number that identifies the array on all ranks.
    number: u64,
    at: usize,
}

// SAFETY: it is a shared reference to elements that live as long as the array does.
unsafe impl<T: Pod + Sync> Send for Array<T> {}

// SAFETY: as above.
unsafe impl<T: Pod + Sync> Sync for Array<T> {}

impl<T: Pod> Array<T> {
    /// The elements that begin at byte `at`; `None` if they do not lie there.
    ///
    /// # Safety
    /// All ranks of the node have stored what they had to store there, and store nothing else
    /// before each of them has one handle alone and has [hidden](Self::hide) its elements.
    pub(super) unsafe fn of(
        whole: Arc<Whole>,
        number: u64,
        at: usize,
        length: usize,
    ) -> Option<Self> {
        Some(Self {
            first: whole.address(at, length)?,
            length,
            piece: Arc::new(Piece { whole, number, at }),
            is_lost: false,
        })
    }

    /// Memory that it lies in.
    pub(super) fn whole(&self) -> &Whole {
        &self.piece.whole
    }

    /// Offset in that memory, in bytes.
    pub(super) fn at(&self) -> usize {
        self.piece.at
    }

    /// Number that identifies it on all ranks.
    pub(super) fn number(&self) -> u64 {
        self.piece.number
    }

    /// Takes the elements out of reach: the handle is that of an empty array until they are shown
    /// again.
    pub(super) fn hide(&mut self) -> Hidden {
        let was_lost = std::mem::replace(&mut self.is_lost, true);
        let length = std::mem::take(&mut self.length);
        Hidden((!was_lost).then_some(length))
    }

    /// Undoes that. No rank of the node stores there any more.
    pub(super) fn show(&mut self, Hidden(length): Hidden) {
        if let Some(length) = length {
            self.length = length;
            self.is_lost = false;
        }
    }

    /// Tells if this rank has another handle of the array.
    pub(super) fn having(&mut self) -> Having {
        let alone = Arc::get_mut(&mut self.piece).is_some();
        self.if_not_lost(alone)
    }

    /// Tells if this rank has another handle of anything in that memory.
    pub(super) fn having_all(&mut self) -> Having {
        let piece = Arc::get_mut(&mut self.piece);
        let alone = piece.is_some_and(|piece| Arc::get_mut(&mut piece.whole).is_some());
        self.if_not_lost(alone)
    }

    fn if_not_lost(&self, alone: bool) -> Having {
        if self.is_lost {
            return Having::Lost;
        }
        Having::alone_if(alone)
    }

    /// Memory that it lies in, if nobody else has it.
    pub(super) fn into_whole(self) -> Option<Whole> {
        let piece = Arc::into_inner(self.piece)?;
        Arc::into_inner(piece.whole)
    }
}

impl<T> Clone for Array<T> {
    fn clone(&self) -> Self {
        Self {
            first: self.first,
            length: self.length,
            piece: Arc::clone(&self.piece),
            is_lost: self.is_lost,
        }
    }
}

impl<T: Pod> Deref for Array<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: so many elements lie there, in memory that the array keeps and to which nobody
        // writes, as `of` was promised.
        unsafe { slice::from_raw_parts(self.first.as_ptr(), self.length) }
    }
}
