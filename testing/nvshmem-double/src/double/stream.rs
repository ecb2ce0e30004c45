//! What is done when a stream comes to it: in functions of the host, in which no function of the
//! driver may be called. What they need of other memory of the device is copied to pinned memory
//! before them, or from there behind them.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use super::abi::Stream;
use super::cuda::{Place, must};
use super::pe::Pe;
use super::{fatal, lock};

type Work = Box<dyn FnOnce(&Pe) + Send>;

struct Enqueued {
    pe: Arc<Pe>,
    work: Work,
}

/// Does `work` when the stream comes to it.
pub(crate) fn enqueue(pe: &Arc<Pe>, stream: Stream, work: impl FnOnce(&Pe) + Send + 'static) {
    let place = &pe.machine().place;
    let _entered = place.enter();
    let enqueued = Box::new(Enqueued {
        pe: Arc::clone(pe),
        work: Box::new(work),
    });
    let data = Box::into_raw(enqueued).cast::<c_void>();
    // SAFETY: the function takes the box, once; the stream is the caller's.
    must(unsafe { place.driver.cuLaunchHostFunc(stream, run, data) });
}

/// # Safety
/// `data` is a box of `Enqueued` that nobody else has.
unsafe extern "C" fn run(data: *mut c_void) {
    // SAFETY: the caller's promise.
    let Enqueued { pe, work } = *unsafe { Box::from_raw(data.cast::<Enqueued>()) };
    if catch_unwind(AssertUnwindSafe(|| work(&pe))).is_err() {
        fatal::abort("the double itself has failed");
    }
}

/// Pinned memory, which is used again and again.
#[derive(Default)]
pub(crate) struct Pool(Mutex<Vec<Pinned>>);

/// Some of it.
pub(crate) struct Pinned {
    pub(crate) memory: *mut u8,
    bytes: usize,
}

// SAFETY: it belongs to no thread.
unsafe impl Send for Pinned {}

impl Pool {
    /// So many bytes at least. The context is current.
    pub(crate) fn take(&self, place: &Place, bytes: usize) -> Pinned {
        let bytes = bytes.next_power_of_two().max(4096);
        let mut free = lock(&self.0);
        if let Some(index) = free.iter().position(|pinned| pinned.bytes == bytes) {
            return free.swap_remove(index);
        }
        let mut memory = std::ptr::null_mut();
        // SAFETY: it writes the address there.
        must(unsafe { place.driver.cuMemHostAlloc(&raw mut memory, bytes, 0) });
        Pinned { memory, bytes }
    }

    pub(crate) fn give(&self, pinned: Pinned) {
        lock(&self.0).push(pinned);
    }

    /// Gives all back that is not in use. The context is current.
    pub(crate) fn release(&self, place: &Place) {
        for pinned in lock(&self.0).drain(..) {
            // SAFETY: allocated by `take`, and in nobody's use.
            must(unsafe { place.driver.cuMemFreeHost(pinned.memory) });
        }
    }
}
