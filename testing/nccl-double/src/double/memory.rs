//! Memory of `ncclMemAlloc`, and buffers that are registered for zero copies, which change nothing
//! here.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::abi::{self, WINDOW_ALIGNMENT};
use super::comm::Comm;
use super::cuda;
use super::driver::MemoryKind;
use super::failure::{Failure, Outcome};
use super::lock;

/// What was allocated: size, context, and the address that the driver gave.
struct Allocation {
    size: u64,
    context: usize,
    address: u64,
}

/// All of it, by the address that the program knows.
static ALLOCATIONS: Mutex<BTreeMap<u64, Allocation>> = Mutex::new(BTreeMap::new());
/// The number of buffers that are registered.
pub(crate) static REGISTERED: AtomicUsize = AtomicUsize::new(0);

/// The number of allocations.
pub(crate) fn live() -> usize {
    lock(&ALLOCATIONS).len()
}

/// Memory of the current device, which begins with a page.
pub(crate) fn allocate(size: usize) -> Outcome<u64> {
    let driver = cuda::driver()?;
    let place = driver.current()?;
    let more = |size: usize| {
        size.checked_add(WINDOW_ALIGNMENT)
            .ok_or_else(|| Failure::argument("no memory is as large"))
    };
    let mut address = 0;
    // SAFETY: it writes the address there.
    unsafe { driver.cuMemAlloc(&raw mut address, more(size)?) }?;
    let aligned = address.next_multiple_of(WINDOW_ALIGNMENT as u64);
    let allocation = Allocation {
        size: size as u64,
        context: place.context,
        address,
    };
    lock(&ALLOCATIONS).insert(aligned, allocation);
    Ok(aligned)
}

/// Gives it back.
pub(crate) fn free(address: u64) -> Outcome {
    if address == 0 {
        return cuda::driver().map(|_| ());
    }
    let found = lock(&ALLOCATIONS).remove(&address);
    let Some(allocation) = found else {
        let text = format!("{address:#x} is not of ncclMemAlloc");
        return Err(Failure::new(abi::UNHANDLED_CUDA_ERROR, text));
    };
    let driver = cuda::driver()?;
    let _entered = driver.enter(allocation.context)?;
    // SAFETY: the address came from there, and is forgotten here.
    Ok(unsafe { driver.cuMemFree(allocation.address) }?)
}

/// Returns `true` if so many bytes lie in one allocation.
pub(crate) fn is_allocated(address: u64, size: u64) -> bool {
    let allocations = lock(&ALLOCATIONS);
    let below = allocations.range(..=address).next_back();
    below.is_some_and(|(&start, allocation)| {
        let end = (address - start).checked_add(size);
        end.is_some_and(|end| end <= allocation.size)
    })
}

/// `ncclCommRegister`
pub(crate) fn register(comm: &Comm, address: u64, size: usize) -> Outcome<usize> {
    comm.ready()?;
    if address == 0 || size == 0 {
        return Err(Failure::argument("nothing to register"));
    }
    if comm.driver.kind_of(address) != MemoryKind::Device {
        let text = format!("{address:#x} is not in the memory of a device");
        return Err(Failure::new(abi::UNHANDLED_CUDA_ERROR, text));
    }
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    let handle = 0x5245_4700_0000 + 64 * NEXT.fetch_add(1, Ordering::Relaxed);
    lock(&comm.registrations).insert(handle);
    REGISTERED.fetch_add(1, Ordering::Relaxed);
    Ok(handle)
}

/// `ncclCommDeregister`
pub(crate) fn deregister(comm: &Comm, handle: usize) -> Outcome {
    if !lock(&comm.registrations).remove(&handle) {
        return Err(Failure::argument(
            "the handle is none of a registered buffer",
        ));
    }
    REGISTERED.fetch_sub(1, Ordering::Relaxed);
    Ok(())
}
