//! Memory of the host that streams copy to and from: pinned, since a driver reads other memory
//! before its turn has come.
//!
//! It is used again rather than freed: freeing it waits for the device, which a function of a
//! stream must not, and an abort better not. It goes when the last communicator of its context has.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::comm::{self, Comm};
use super::cuda::Driver;
use super::failure::{Failure, Outcome};
use super::group::THREADS;
use super::{abi, lock};

/// A piece of it, as large as was asked for at least.
struct Piece {
    driver: &'static Driver,
    context: usize,
    address: NonNull<u8>,
    size: usize,
}

// SAFETY: pinned memory belongs to no thread.
unsafe impl Send for Piece {}

/// What nobody uses at the moment.
static FREE: Mutex<Vec<Piece>> = Mutex::new(Vec::new());

/// `CU_MEMHOSTALLOC_PORTABLE`
const PORTABLE: u32 = 1;
/// Pieces are no smaller.
const LEAST: usize = 4096;

/// Bytes in pinned memory.
pub(crate) struct Pinned {
    piece: Option<ManuallyDrop<Piece>>,
    length: usize,
}

impl Pinned {
    /// So many zeros. The context is current.
    pub(crate) fn zeroed(driver: &'static Driver, context: usize, length: usize) -> Outcome<Self> {
        if length == 0 {
            return Ok(Self {
                piece: None,
                length,
            });
        }
        let piece = match reused(driver, context, length) {
            Some(piece) => piece,
            None => Piece::new(driver, context, length)?,
        };
        let piece = Some(ManuallyDrop::new(piece));
        let mut pinned = Self { piece, length };
        pinned.fill(0);
        Ok(pinned)
    }

    fn address(&self) -> NonNull<u8> {
        self.piece
            .as_ref()
            .map_or(NonNull::dangling(), |piece| piece.address)
    }
}

fn reused(driver: &'static Driver, context: usize, length: usize) -> Option<Piece> {
    let mut free = lock(&FREE);
    let fits = |piece: &Piece| {
        std::ptr::eq(piece.driver, driver) && piece.context == context && piece.size >= length
    };
    let place = free.iter().position(fits)?;
    Some(free.swap_remove(place))
}

impl Piece {
    fn new(driver: &'static Driver, context: usize, length: usize) -> Outcome<Self> {
        let size = length.max(LEAST).checked_next_power_of_two();
        let size = size.ok_or_else(|| Failure::argument("no memory is as large"))?;
        let mut address = std::ptr::null_mut();
        // SAFETY: it writes the address there.
        unsafe { driver.cuMemHostAlloc(&raw mut address, size, PORTABLE) }?;
        let none = || Failure::new(abi::UNHANDLED_CUDA_ERROR, "cuMemHostAlloc gave no memory");
        let address = NonNull::new(address).ok_or_else(none)?;
        // SAFETY: it was allocated just now, with that size.
        unsafe { address.write_bytes(0, size) };
        Ok(Self {
            driver,
            context,
            address,
            size,
        })
    }
}

impl Deref for Pinned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the piece is as long at least and was filled when it was made; it is this one's
        // alone. Empty, the address does not matter.
        unsafe { std::slice::from_raw_parts(self.address().as_ptr(), self.length) }
    }
}

impl DerefMut for Pinned {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the same.
        unsafe { std::slice::from_raw_parts_mut(self.address().as_ptr(), self.length) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(piece) = self.piece.take() {
            lock(&FREE).push(ManuallyDrop::into_inner(piece));
        }
    }
}

/// How long a communicator that goes waits for its memory to go, in milliseconds; and how long that
/// is tried.
const MOMENT: u64 = 200;
const LONG: u64 = 10_000;

/// Frees what nobody uses, if this communicator was the last in its context. A thread does it,
/// which may have to wait for what is on streams; the caller waits for the thread only a moment.
pub(crate) fn free_behind(comm: &Arc<Comm>) {
    let comm = Arc::clone(comm);
    if comm::is_any_in(comm.place.context) {
        return;
    }
    let (sender, over) = mpsc::channel::<()>();
    let body = move || {
        let since = Instant::now();
        while !comm.turns.are_over() && since.elapsed() < Duration::from_millis(LONG) {
            thread::sleep(Duration::from_millis(1));
        }
        if comm.turns.are_over() && !comm::is_any_in(comm.place.context) {
            free_all(comm.place.context);
        }
        THREADS.fetch_sub(1, Ordering::AcqRel);
        drop(sender);
    };
    THREADS.fetch_add(1, Ordering::AcqRel);
    let thread = thread::Builder::new().name("nccl-double-free".into());
    if thread.spawn(body).is_err() {
        THREADS.fetch_sub(1, Ordering::AcqRel);
        return;
    }
    let _ = over.recv_timeout(Duration::from_millis(MOMENT));
}

fn free_all(context: usize) {
    let mut free = lock(&FREE);
    let (own, others) = std::mem::take(&mut *free)
        .into_iter()
        .partition(|piece| piece.context == context);
    *free = others;
    drop(free);
    let own: Vec<Piece> = own;
    for piece in own {
        let Ok(_entered) = piece.driver.enter(piece.context) else {
            continue;
        };
        // SAFETY: it was allocated there, and nobody uses it any more.
        let _ = unsafe { piece.driver.cuMemFreeHost(piece.address.as_ptr()) };
    }
}
