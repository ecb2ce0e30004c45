//! Puts and gets of a scope: the library's functions and the stream, found once.
//!
//! # Safety
//!
//! As in [`one_sided`](super::one_sided): places lie in their blocks with all their bytes, other
//! memory is of the PE's device, both stay until the stream is past the operation. The scope has
//! made the device the current one; that it stays so is not relied on.
#![allow(unsafe_code)]

use std::fmt;

use ranks_nvshmem_sys::cudaStream_t;

use super::LibraryHeap;
use super::one_sided::{MoveOn, Moved};
use crate::backend::stream::StreamRef;
use crate::backend::{Access, Direction, Reuse};

/// Puts and gets on one stream, without asking anew what and where.
#[derive(Clone, Copy)]
pub(crate) struct Direct {
    put: MoveOn,
    put_nbi: MoveOn,
    get: MoveOn,
    get_nbi: MoveOn,
    stream: cudaStream_t,
}

impl Direct {
    /// `None` if the library lacks any of them, or some PE is reached over a network.
    ///
    /// Between PEs that reach each other's memory these calls are copies of the driver's, which it
    /// does whatever device is the current one. For a network they are kernels, which the device
    /// must be current for, and a program can make another one current in the middle of a scope.
    pub(super) fn of(heap: &LibraryHeap, stream: StreamRef<'_>) -> Option<Self> {
        if heap.all_near.get() != Some(true) {
            return None;
        }
        let table = heap.library.table();
        let StreamRef::Cuda(_, stream) = stream else {
            return None;
        };
        Some(Self {
            put: table.nvshmemx_putmem_on_stream?,
            put_nbi: table.nvshmemx_putmem_nbi_on_stream?,
            get: table.nvshmemx_getmem_on_stream?,
            get_nbi: table.nvshmemx_getmem_nbi_on_stream?,
            stream: stream.0.cast(),
        })
    }

    #[inline]
    pub(crate) fn access(&self, access: Access<'_>, reuse: Reuse) {
        let function = match (access.direction, reuse) {
            (Direction::Put, Reuse::After) => self.put,
            (Direction::Put, Reuse::AfterQuiet) => self.put_nbi,
            (Direction::Get, Reuse::After) => self.get,
            (Direction::Get, Reuse::AfterQuiet) => self.get_nbi,
        };
        let Moved { dest, source, pe } = Moved::of(access);
        // SAFETY: so many bytes are there on both sides until the stream is past it; the stream
        // lives, and is of the PE's device.
        unsafe { function(dest, source, access.bytes, pe, self.stream) };
    }
}

impl fmt::Debug for Direct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Direct")
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}
