//! Windows: memory of each rank that the others may put to, registered by all of them together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::abi::WINDOW_ALIGNMENT;
use super::comm::Comm;
use super::control::About;
use super::failure::{Failure, Outcome};
use super::memory;
use super::{group, lock, one_sided};

/// This rank's part of a window.
pub(crate) struct Window {
    /// What the program knows it by.
    pub(crate) handle: u64,
    pub(crate) address: u64,
    pub(crate) size: u64,
    /// The size of each rank's part.
    pub(crate) sizes: Vec<u64>,
}

/// The number of windows.
pub(crate) static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Where a result is written, maybe by another thread.
struct Place(*mut u64);

// SAFETY: the caller of the function keeps the place until the communicator is ready again, or
// aborted, which waits for the thread.
unsafe impl Send for Place {}

impl Place {
    fn write(&self, value: u64) {
        // SAFETY: the caller's pointer, as at `Send`.
        unsafe { self.0.write(value) };
    }
}

/// `ncclCommWindowRegister`
///
/// # Safety
/// `handle` may be written until the communicator is ready again.
pub(crate) unsafe fn register(
    comm: &Arc<Comm>,
    address: u64,
    size: u64,
    handle: *mut u64,
) -> Outcome {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    comm.ready_for_operations()?;
    if !address.is_multiple_of(WINDOW_ALIGNMENT as u64) {
        return Err(Failure::argument(format!(
            "window address {address:#x} must be aligned to {WINDOW_ALIGNMENT} bytes"
        )));
    }
    if size == 0 || !memory::is_allocated(address, size) {
        return Err(Failure::argument(format!(
            "window of {size} bytes at {address:#x} is not in memory of ncclMemAlloc"
        )));
    }
    let place = Place(handle);
    let of_job = Arc::clone(comm);
    let call = comm.next_call();
    let work = move |background: &group::Background| {
        let comm = of_job;
        let world = comm.world()?;
        let stop = comm.stop(background);
        let all: Vec<usize> = (0..world.ranks).collect();
        let said = world.all_say(&all, About::Window, call, &size.to_ne_bytes(), &stop)?;
        let number = |bytes: &Vec<u8>| bytes[..].try_into().map_or(0, u64::from_ne_bytes);
        let handle = 0x5749_4e44_0000 + 64 * NEXT.fetch_add(1, Ordering::Relaxed);
        let window = Window {
            handle,
            address,
            size,
            sizes: said.iter().map(number).collect(),
        };
        lock(&comm.windows).insert(call, Arc::new(window));
        LIVE.fetch_add(1, Ordering::Relaxed);
        one_sided::attend(&comm)?;
        place.write(handle);
        Ok(())
    };
    let blocking = comm.wishes.is_blocking();
    group::join(vec![Arc::clone(comm)], blocking, Box::new(work))
}

/// The number that all ranks know a window by, and this rank's part of it.
pub(crate) fn find(comm: &Comm, handle: u64) -> Outcome<(u64, Arc<Window>)> {
    let windows = lock(&comm.windows);
    let mut all = windows.iter();
    let found = all.find(|(_, window)| window.handle == handle);
    let found = found.map(|(&number, window)| (number, Arc::clone(window)));
    found.ok_or_else(|| Failure::argument("the window is none of this communicator"))
}

/// `ncclCommWindowDeregister`
pub(crate) fn deregister(comm: &Arc<Comm>, handle: u64) -> Outcome {
    let (number, _) = find(comm, handle)?;
    if lock(&comm.windows).remove(&number).is_some() {
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
    Ok(())
}
