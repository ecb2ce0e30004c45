//! The symmetric heap: this PE's memory of the driver's, the views that the host has of all PEs',
//! and the blocks in it.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::cuda::Place;
use super::driver::IpcHandle;
use super::meeting::wait_until;
use super::pe::Pe;
use super::region::{Mapping, Region, own};
use super::rendezvous::file_of;
use super::{fatal, hooks, lock};

/// How blocks are aligned.
pub(crate) const ALIGNMENT: usize = 512;
const PAGE: usize = 4096;
/// `CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD`
const DMA_BUF: c_int = 1;
/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`
const LAZY_PEER_ACCESS: u32 = 1;
/// What fresh blocks are filled with, and those that were freed.
const NONSENSE: u8 = 0xA5;

/// How often bytes were used that are in no block any more, or never were.
pub(crate) static USES_AFTER_FREE: AtomicUsize = AtomicUsize::new(0);

pub(crate) struct Heap {
    /// What the driver gave.
    allocation: u64,
    /// Where this PE's heap begins, for the device.
    base: u64,
    pub(crate) bytes: usize,
    views: Vec<View>,
    /// Length by offset: the same on all PEs, as long as they allocate the same.
    blocks: Mutex<BTreeMap<usize, usize>>,
    /// Where the heaps of other PEs are for this PE's device, of those that were asked for.
    peers: Mutex<BTreeMap<usize, u64>>,
    /// Set if it was unmapped.
    lost: AtomicBool,
}

/// One PE's heap, for the host.
struct View {
    mapping: Mapping,
    skew: usize,
}

impl View {
    fn of(file: &File, skew: usize, bytes: usize) -> Result<Self, String> {
        let mapping = Mapping::of(file.as_fd(), skew + bytes);
        let mapping = mapping.map_err(|error| format!("a heap cannot be mapped: {error}"))?;
        Ok(Self { mapping, skew })
    }
}

impl Heap {
    /// Allocates this PE's heap, and maps those of the others when they have. The context of
    /// `place` is current.
    pub(crate) fn create(
        place: &Place,
        region: &Region,
        pes: usize,
        pe: usize,
    ) -> Result<Self, String> {
        let bytes = hooks::symmetric_size().next_multiple_of(PAGE);
        // No two heaps begin at the same address, wherever the driver puts them.
        let skew = (pe + 1) * PAGE;
        let mut allocation = 0;
        // SAFETY: it writes the address there.
        unsafe { place.driver.cuMemAlloc(&raw mut allocation, skew + bytes) }?;
        let mut fd = -1;
        // SAFETY: it writes the descriptor there, of what was allocated just now.
        unsafe {
            place.driver.cuMemGetHandleForAddressRange(
                &raw mut fd,
                allocation,
                skew + bytes,
                DMA_BUF,
                0,
            )
        }?;
        // SAFETY: the driver has made it for the caller.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
        let mut handle = IpcHandle::default();
        // SAFETY: it writes the handle there, of what was allocated just now.
        unsafe { place.driver.cuIpcGetMemHandle(&raw mut handle, allocation) }?;
        for (index, &word) in handle.0.iter().enumerate() {
            let place = region.own(pe, own::HEAP_HANDLE + index);
            place.store(word, Ordering::Relaxed);
        }
        let say = |index, value: usize, order| region.own(pe, index).store(value as u64, order);
        say(own::HEAP_SKEW, skew, Ordering::Relaxed);
        say(own::HEAP_BYTES, bytes, Ordering::Relaxed);
        let fd = usize::try_from(file.as_raw_fd()).unwrap_or(0);
        say(own::HEAP_FILE, fd + 1, Ordering::Release);
        let views = (0..pes).map(|other| {
            let word = |index| region.own(other, index).load(Ordering::Acquire);
            let there = || word(own::HEAP_FILE) != 0;
            wait_until(there, || {
                format!("PE {pe} waits for the heap of PE {other}")
            });
            if word(own::HEAP_BYTES) != bytes as u64 {
                fatal::abort("PEs disagree: their NVSHMEM_SYMMETRIC_SIZE differs");
            }
            let file = file_of(word(own::PID), word(own::HEAP_FILE) - 1);
            let file = file.map_err(|error| format!("the heap of PE {other}: {error}"))?;
            let skew = usize::try_from(word(own::HEAP_SKEW)).unwrap_or(0);
            View::of(&file, skew, bytes)
        });
        let views = views.collect::<Result<_, String>>()?;
        say(own::READY, 1, Ordering::Release);
        for other in 0..pes {
            let ready = || region.own(other, own::READY).load(Ordering::Acquire) != 0;
            wait_until(ready, || {
                format!("PE {pe} waits for PE {other} in its init")
            });
        }
        drop(file);
        Ok(Self {
            allocation,
            base: allocation + skew as u64,
            bytes,
            views,
            blocks: Mutex::default(),
            peers: Mutex::default(),
            lost: AtomicBool::new(false),
        })
    }

    /// The address of another PE's bytes, for this PE's device: that of an IPC handle, which is
    /// opened once.
    pub(crate) fn peer(&self, place: &Place, region: &Region, pe: usize, offset: usize) -> *mut u8 {
        let mut peers = lock(&self.peers);
        let base = *peers.entry(pe).or_insert_with(|| {
            let mut handle = IpcHandle::default();
            for (index, word) in handle.0.iter_mut().enumerate() {
                let place = region.own(pe, own::HEAP_HANDLE + index);
                *word = place.load(Ordering::Relaxed);
            }
            let mut address = 0;
            let _entered = place.enter();
            // SAFETY: it writes the address there; the handle is that of a PE that is there.
            let opened = unsafe {
                place
                    .driver
                    .cuIpcOpenMemHandle(&raw mut address, handle, LAZY_PEER_ACCESS)
            };
            super::cuda::must(opened);
            address
        });
        let address = base + self.views[pe].skew as u64 + offset as u64;
        std::ptr::without_provenance_mut(usize::try_from(address).unwrap_or(0))
    }

    /// Unmaps all of it: `cleanup_symmetric_heap`.
    pub(crate) fn lose(&self, place: &Place) {
        let _entered = place.enter();
        self.release(place);
        self.lost.store(true, Ordering::SeqCst);
    }

    /// Gives this PE's memory back. The context is current.
    pub(crate) fn release(&self, place: &Place) {
        if self.lost.load(Ordering::SeqCst) {
            fatal::exit("the symmetric heap was unmapped when an allocation had failed");
        }
        for (_, address) in std::mem::take(&mut *lock(&self.peers)) {
            // SAFETY: opened by `peer`, and this is the end.
            super::cuda::must(unsafe { place.driver.cuIpcCloseMemHandle(address) });
        }
        // SAFETY: allocated by `create`, and this is the end.
        super::cuda::must(unsafe { place.driver.cuMemFree(self.allocation) });
    }

    /// The address of an offset, for this PE's device.
    pub(crate) fn address(&self, offset: usize) -> *mut u8 {
        let address = usize::try_from(self.base).unwrap_or(0) + offset;
        std::ptr::without_provenance_mut(address)
    }

    /// The offset of an address of this PE's heap.
    pub(crate) fn offset(&self, address: usize) -> Option<usize> {
        if self.lost.load(Ordering::SeqCst) {
            fatal::exit("the symmetric heap was unmapped when an allocation had failed");
        }
        let offset = (address as u64).checked_sub(self.base)?;
        usize::try_from(offset)
            .ok()
            .filter(|&offset| offset < self.bytes)
    }

    /// The offset of so many bytes, which have to be in this PE's heap.
    pub(crate) fn symmetric(&self, name: &str, address: usize, bytes: usize) -> usize {
        let offset = self.offset(address);
        let inside = |offset: &usize| bytes <= self.bytes - offset;
        let Some(offset) = offset.filter(inside) else {
            fatal::abort(format_args!(
                "{name}: {bytes} bytes at {address:#x} are not in the symmetric heap"
            ));
        };
        self.check(name, offset, bytes);
        offset
    }

    /// Counts a use of what is not allocated.
    pub(crate) fn check(&self, name: &str, offset: usize, bytes: usize) {
        let blocks = lock(&self.blocks);
        let block = blocks.range(..=offset).next_back();
        if block.is_none_or(|(&begin, &length)| offset + bytes > begin + length) {
            eprintln!(
                "nvshmem double: {name}: {bytes} bytes at {offset} of the heap are in no live block"
            );
            USES_AFTER_FREE.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Where the host finds so many bytes of a PE.
    pub(crate) fn at(&self, pe: usize, offset: usize, bytes: usize) -> *mut u8 {
        let view = &self.views[pe];
        view.mapping.at(view.skew + offset, bytes)
    }

    /// Copies bytes of a PE's heap, whoever else works on them.
    pub(crate) fn read(&self, pe: usize, offset: usize, bytes: usize) -> Vec<u8> {
        let mut copy = vec![0; bytes];
        let from = self.at(pe, offset, bytes);
        // SAFETY: so many bytes are mapped there.
        unsafe { std::ptr::copy_nonoverlapping(from, copy.as_mut_ptr(), bytes) };
        copy
    }

    pub(crate) fn write(&self, pe: usize, offset: usize, bytes: &[u8]) {
        let to = self.at(pe, offset, bytes.len());
        // SAFETY: so many bytes are mapped there.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    }

    /// The first place that is large enough, filled with nonsense on this PE.
    pub(crate) fn allocate(&self, pe: &Pe, bytes: usize, alignment: usize) -> Option<usize> {
        let mut blocks = lock(&self.blocks);
        let length = bytes.checked_next_multiple_of(ALIGNMENT)?;
        let mut begin = 0_usize;
        for (&offset, &taken) in blocks.iter() {
            if begin.checked_add(length)? <= offset {
                break;
            }
            let end = (offset + taken).next_multiple_of(ALIGNMENT);
            begin = end.checked_next_multiple_of(alignment)?;
        }
        if begin.checked_add(length)? > self.bytes {
            return None;
        }
        blocks.insert(begin, bytes);
        drop(blocks);
        self.spoil(pe, begin, bytes);
        Some(begin)
    }

    /// The length of the block that begins there.
    pub(crate) fn block(&self, offset: usize) -> Option<usize> {
        lock(&self.blocks).get(&offset).copied()
    }

    /// The end of a block, which holds nonsense on this PE from then on.
    pub(crate) fn free(&self, pe: &Pe, offset: usize) {
        if let Some(bytes) = lock(&self.blocks).remove(&offset) {
            self.spoil(pe, offset, bytes);
        }
    }

    fn spoil(&self, pe: &Pe, offset: usize, bytes: usize) {
        let memory = self.at(pe.my_pe, offset, bytes);
        // SAFETY: so many bytes are mapped there.
        unsafe { std::ptr::write_bytes(memory, NONSENSE, bytes) };
    }

    pub(crate) fn live_blocks(&self) -> usize {
        lock(&self.blocks).len()
    }
}
