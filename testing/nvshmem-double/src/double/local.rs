//! Memory of this PE that something is put from, or gotten into: now, or when a stream comes to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::abi::Stream;
use super::cuda::must;
use super::driver::MemoryKind;
use super::memory;
use super::pe::Pe;
use super::stream::Pinned;

/// How often memory of the host was used that is neither pinned nor registered, which works between
/// GPUs of a node only.
pub(crate) static PAGEABLE_USES: AtomicUsize = AtomicUsize::new(0);

/// Where it is.
#[derive(Clone, Copy)]
pub(crate) enum Local {
    Heap(usize),
    Device(u64),
    Host(usize),
}

/// Looks an address up.
pub(crate) fn find(pe: &Pe, name: &str, address: usize, bytes: usize) -> Local {
    let machine = pe.machine();
    if machine.heap.offset(address).is_some() {
        return Local::Heap(machine.heap.symmetric(name, address, bytes));
    }
    let _entered = machine.place.enter();
    match machine.place.driver.kind_of(address as u64) {
        MemoryKind::Device => Local::Device(address as u64),
        MemoryKind::Pinned => Local::Host(address),
        MemoryKind::Other => {
            if !memory::is_registered(address, bytes) {
                PAGEABLE_USES.fetch_add(1, Ordering::Relaxed);
            }
            Local::Host(address)
        }
    }
}

impl Local {
    /// Returns `true` if functions of the driver are needed for it.
    pub(crate) fn needs_driver(self) -> bool {
        matches!(self, Local::Device(_))
    }

    /// The place so many bytes behind it.
    pub(crate) fn behind(self, bytes: isize) -> Self {
        match self {
            Local::Heap(offset) => Local::Heap(offset.wrapping_add_signed(bytes)),
            Local::Device(address) => Local::Device(address.wrapping_add_signed(bytes as i64)),
            Local::Host(address) => Local::Host(address.wrapping_add_signed(bytes)),
        }
    }

    /// What is there now. Not in a host function if it needs the driver.
    pub(crate) fn read(self, pe: &Pe, bytes: usize) -> Vec<u8> {
        let machine = pe.machine();
        match self {
            Local::Heap(offset) => {
                machine.heap.check("what is under way", offset, bytes);
                machine.heap.read(pe.my_pe, offset, bytes)
            }
            Local::Device(address) => {
                let mut copy = vec![0; bytes];
                let _entered = machine.place.enter();
                let (driver, to) = (machine.place.driver, copy.as_mut_ptr());
                // SAFETY: there is room for as many; the driver checks the address.
                must(unsafe { driver.cuMemcpyDtoHAsync(to, address, bytes, machine.copies) });
                // SAFETY: this PE's stream.
                must(unsafe { driver.cuStreamSynchronize(machine.copies) });
                copy
            }
            Local::Host(address) => {
                let from = std::ptr::with_exposed_provenance::<u8>(address);
                // SAFETY: the program vouches for its memory.
                unsafe { std::slice::from_raw_parts(from, bytes) }.to_vec()
            }
        }
    }

    /// Writes there now. Not in a host function if it needs the driver.
    pub(crate) fn write(self, pe: &Pe, bytes: &[u8]) {
        let machine = pe.machine();
        match self {
            Local::Heap(offset) => {
                machine.heap.check("what is under way", offset, bytes.len());
                machine.heap.write(pe.my_pe, offset, bytes);
            }
            Local::Device(address) => {
                let _entered = machine.place.enter();
                let (driver, from) = (machine.place.driver, bytes.as_ptr());
                // SAFETY: as many are there; the driver checks the address.
                must(unsafe {
                    driver.cuMemcpyHtoDAsync(address, from, bytes.len(), machine.copies)
                });
                // SAFETY: this PE's stream.
                must(unsafe { driver.cuStreamSynchronize(machine.copies) });
            }
            Local::Host(address) => {
                let to = std::ptr::with_exposed_provenance_mut::<u8>(address);
                // SAFETY: the program vouches for its memory.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
            }
        }
    }
}

/// Bytes that a function of the host reads when the stream comes to it.
pub(crate) enum Staged {
    There(Local),
    Copied(Pinned),
}

/// Makes bytes readable for a function that is enqueued behind.
pub(crate) fn stage(pe: &Arc<Pe>, stream: Stream, local: Local, bytes: usize) -> Staged {
    let Local::Device(address) = local else {
        return Staged::There(local);
    };
    let machine = pe.machine();
    let _entered = machine.place.enter();
    let pinned = machine.pinned.take(&machine.place, bytes);
    let driver = machine.place.driver;
    // SAFETY: there is room for as many, until the stream has been there; the driver checks the
    // address.
    must(unsafe { driver.cuMemcpyDtoHAsync(pinned.memory, address, bytes, stream) });
    Staged::Copied(pinned)
}

impl Staged {
    /// What is there, in a host function.
    pub(crate) fn read(self, pe: &Pe, bytes: usize) -> Vec<u8> {
        match self {
            Staged::There(local) => local.read(pe, bytes),
            Staged::Copied(pinned) => {
                // SAFETY: so many bytes were copied there.
                let copy = unsafe { std::slice::from_raw_parts(pinned.memory, bytes) }.to_vec();
                pe.machine().pinned.give(pinned);
                copy
            }
        }
    }
}
