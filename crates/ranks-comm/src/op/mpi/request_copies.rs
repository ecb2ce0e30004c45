//! Requests of several operations in an array, as the library takes them.

use std::ffi::c_int;
use std::ptr;

use ranks_mpi_sys::native;

use crate::result::Result;
use crate::result::status::{EMPTY_STATUS, Words};
use crate::transport::mpi::error::check;
use crate::transport::mpi::pending_op::Native;
use crate::transport::mpi::status;
use crate::transport::mpi::waitall::wait_all;

/// The number of requests that one call starts or completes.
pub(crate) const ROOMS: usize = 64;

/// Copies of up to [`ROOMS`] requests, on the stack.
///
/// A call may change a copy, and then its [`Native`] must have it back: the library has freed the
/// original.
pub(crate) struct RequestCopies {
    request_stride: usize,
    words: [u64; ROOMS],
    used: usize,
}

impl RequestCopies {
    /// An empty array; the library is loaded, as there are requests to be added.
    pub(crate) fn new() -> Self {
        Self {
            request_stride: native::request_stride(),
            words: [0; ROOMS],
            used: 0,
        }
    }

    /// Appends a request; returns `true` if there was room.
    pub(crate) fn put(&mut self, native: &Native) -> bool {
        if self.used == ROOMS {
            return false;
        }
        let place = self.place(self.used);
        let from = (&raw const native.cell).cast::<u8>();
        // SAFETY: a request of the library's has that many bytes, in its cell and here, which are
        // apart.
        unsafe { ptr::copy_nonoverlapping(from, place, self.request_stride) };
        self.used += 1;
        true
    }

    /// Copies the request at `index` back to its owner: a call may have changed it.
    pub(crate) fn give_back(&mut self, index: usize, native: &mut Native) {
        if index < self.used {
            let place = self.place(index);
            let to = (&raw mut native.cell).cast::<u8>();
            // SAFETY: a request of the library's has that many bytes, in its cell and here, which
            // are apart.
            unsafe { ptr::copy_nonoverlapping(place, to, self.request_stride) };
        }
    }

    /// Starts all of them, all of which are inactive. After an error any may have been started.
    pub(crate) fn start(&mut self) -> Result<()> {
        // SAFETY: that many requests lie side by side, each made by an `_init` and not started.
        let code = unsafe { native::MPI_Startall(self.count(), self.words.as_mut_ptr().cast()) };
        check(code, "MPI_Startall")
    }

    /// Waits until one of them is complete, none of which is yet; returns the code, and the index
    /// if the library reports one.
    pub(crate) fn wait_any(&mut self, words: &mut Words) -> (c_int, Option<usize>) {
        let mut index: c_int = -1;
        // SAFETY: that many requests that are not over lie side by side; index and status are ours.
        let code = unsafe {
            native::MPI_Waitany(
                self.count(),
                self.words.as_mut_ptr().cast(),
                &raw mut index,
                status::to_write(words),
            )
        };
        let index = usize::try_from(index).ok();
        (code, index.filter(|&index| index < self.used))
    }

    /// Waits until all of them are complete. After an error some may not be.
    pub(crate) fn wait_all(&mut self, statuses: &mut Statuses) -> c_int {
        // SAFETY: that many requests lie side by side, begun or not started; there is room for a
        // status of each.
        unsafe {
            wait_all(
                self.count(),
                self.words.as_mut_ptr().cast(),
                statuses.words.as_mut_ptr().cast(),
            )
        }
    }

    fn place(&mut self, index: usize) -> *mut u8 {
        let start = self.words.as_mut_ptr().cast::<u8>();
        // SAFETY: `index` is less than `ROOMS`, as callers have compared, and a request has at most
        // 8 bytes.
        unsafe { start.add(index * self.request_stride) }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "at most ROOMS"
    )]
    fn count(&self) -> c_int {
        self.used as c_int
    }
}

/// The statuses of requests that are completed together.
pub(crate) struct Statuses {
    stride: usize,
    words: [Words; ROOMS],
}

impl Statuses {
    /// Statuses that are not written yet; the library is loaded, as there are requests.
    pub(crate) fn new() -> Self {
        Self {
            stride: native::status_stride(),
            words: [EMPTY_STATUS; ROOMS],
        }
    }

    /// The status of the request at `index`.
    pub(crate) fn of(&self, index: usize) -> Words {
        let start = index * self.stride;
        let all: &[u8] = bytemuck::must_cast_slice(&self.words);
        let mut words = EMPTY_STATUS;
        let into: &mut [u8] = bytemuck::must_cast_slice_mut(&mut words);
        for (to, from) in into.iter_mut().zip(&all[start..start + self.stride]) {
            *to = *from;
        }
        words
    }
}
