//! Memory: of devices, under addresses that the host cannot use; pinned; managed.

use std::alloc::Layout;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint, c_void};
use std::fs::File;
use std::os::fd::{IntoRawFd, RawFd};
use std::ptr;
use std::sync::atomic::Ordering;

use crate::devices::current;
use crate::files::{map_file, map_shared, unmap_file};
use crate::state::{
    Answer, Code, INVALID_CONTEXT, INVALID_VALUE, OUT_OF_MEMORY, STATE, State, call, lock, put,
};
use crate::streams::{self, Operation};

/// The number of bytes of addresses. Address space costs nothing.
const ADDRESSES: usize = 1 << 40;

/// The same where there is no room for so many.
const FEWER: usize = 1 << 30;
/// What fresh memory of a device is filled with.
const NONSENSE: u8 = 0xA5;
const ALIGNMENT: usize = 512;
pub(crate) const PAGE: usize = 4096;
/// From how many bytes on the memory of a device is that of a file, so that other processes can map
/// it.
const SHARED: usize = 1 << 16;

/// All memory that is allocated, by address.
pub(crate) struct Blocks {
    blocks: BTreeMap<usize, Block>,
    /// The next address of a device's memory; 0 before the first.
    next: usize,
    end: usize,
    /// The size of a device's memory in bytes.
    pub(crate) per_device: usize,
}

#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub(crate) bytes: usize,
    /// Where the bytes are.
    memory: usize,
    /// The file whose memory they are, if they are one's.
    pub(crate) file: Option<RawFd>,
    pub(crate) kind: Kind,
    pub(crate) device: usize,
    /// The number of enqueued operations that work on it.
    users: usize,
    /// Set if a stream frees it later, so that nobody may use it any more.
    leaving: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Device,
    Pinned,
    Managed,
    /// Another process's.
    Peer,
}

/// Bytes that an operation works on.
pub(crate) struct Use {
    block: usize,
    /// Where they are.
    pub(crate) memory: usize,
}

impl Default for Blocks {
    fn default() -> Self {
        Blocks {
            blocks: BTreeMap::new(),
            next: 0,
            end: 0,
            per_device: 4 << 30,
        }
    }
}

impl Blocks {
    /// The block that holds these bytes.
    pub(crate) fn find(&self, address: usize, bytes: usize) -> Option<(usize, &Block)> {
        let (&base, block) = self.blocks.range(..=address).next_back()?;
        let end = address.checked_add(bytes)?;
        (!block.leaving && end <= base + block.bytes && address < base + block.bytes)
            .then_some((base, block))
    }

    fn used(&self, device: usize) -> usize {
        let own = |kind| matches!(kind, Kind::Device | Kind::Managed);
        let of_device = |block: &&Block| own(block.kind) && block.device == device;
        self.blocks
            .values()
            .filter(of_device)
            .map(|block| block.bytes)
            .sum()
    }

    /// An address that nothing can be read or written at, and that was never given before.
    fn address(&mut self, bytes: usize) -> Answer<usize> {
        if self.next == 0 {
            // A program that is run by another, such as valgrind, has fewer.
            let (begin, bytes) = match map(ADDRESSES, libc::PROT_NONE) {
                Ok(begin) => (begin, ADDRESSES),
                Err(_) => (map(FEWER, libc::PROT_NONE)?, FEWER),
            };
            self.next = begin;
            self.end = begin + bytes;
        }
        let address = self.next;
        // Between two blocks there is a gap, so that the end of one is not the beginning of the
        // next.
        let alignment = if bytes < SHARED { ALIGNMENT } else { PAGE };
        let address = address.next_multiple_of(alignment);
        self.next = address + bytes.next_multiple_of(ALIGNMENT) + ALIGNMENT;
        if self.next > self.end {
            return Err(OUT_OF_MEMORY);
        }
        Ok(address)
    }

    pub(crate) fn live(&self, kind: Kind) -> usize {
        self.blocks
            .values()
            .filter(|block| block.kind == kind)
            .count()
    }
}

/// Maps fresh memory.
fn map(bytes: usize, access: c_int) -> Answer<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping, at an address that nobody has.
    let address = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
    if address == libc::MAP_FAILED {
        return Err(OUT_OF_MEMORY);
    }
    Ok(address.expose_provenance())
}

/// Memory of another process, as a block of this one's that is not freed but forgotten.
pub(crate) fn open_file(state: &State, device: usize, file: File, bytes: usize) -> Answer<usize> {
    let memory = map_shared(&file, bytes.next_multiple_of(PAGE))?;
    let mut blocks = lock(&state.blocks);
    let address = blocks.address(bytes)?;
    let block = Block {
        bytes,
        memory,
        file: Some(file.into_raw_fd()),
        kind: Kind::Peer,
        device,
        users: 0,
        leaving: false,
    };
    blocks.blocks.insert(address, block);
    Ok(address)
}

/// The end of a block of another process: after all that is enqueued on the device.
pub(crate) fn forget(state: &State, address: usize) -> Answer {
    free_now(state, address, &[Kind::Peer])
}

/// Memory of a device.
pub(crate) fn allocate(state: &State, device: usize, bytes: usize) -> Answer<usize> {
    if bytes == 0 {
        return Err(INVALID_VALUE);
    }
    let mut blocks = lock(&state.blocks);
    if blocks.used(device).saturating_add(bytes) > blocks.per_device {
        return Err(OUT_OF_MEMORY);
    }
    let address = blocks.address(bytes)?;
    let (memory, file) = if bytes < SHARED {
        let layout = Layout::from_size_align(bytes, ALIGNMENT).map_err(|_| OUT_OF_MEMORY)?;
        // SAFETY: there is at least one byte.
        let memory = unsafe { std::alloc::alloc(layout) };
        if memory.is_null() {
            return Err(OUT_OF_MEMORY);
        }
        (memory.expose_provenance(), None)
    } else {
        let (memory, file) = map_file(bytes)?;
        (memory, Some(file))
    };
    // SAFETY: so many bytes were allocated just now.
    unsafe {
        ptr::write_bytes(
            ptr::with_exposed_provenance_mut::<u8>(memory),
            NONSENSE,
            bytes,
        )
    };
    let block = Block {
        bytes,
        memory,
        file,
        kind: Kind::Device,
        device,
        users: 0,
        leaving: false,
    };
    blocks.blocks.insert(address, block);
    Ok(address)
}

/// Memory of the host.
fn allocate_host(state: &State, device: usize, bytes: usize, kind: Kind) -> Answer<usize> {
    if bytes == 0 {
        return Err(INVALID_VALUE);
    }
    let address = map(
        bytes.next_multiple_of(PAGE),
        libc::PROT_READ | libc::PROT_WRITE,
    )?;
    let pointer = ptr::with_exposed_provenance_mut::<u8>(address);
    // SAFETY: so many bytes were mapped just now.
    unsafe { ptr::write_bytes(pointer, NONSENSE, bytes) };
    let block = Block {
        bytes,
        memory: address,
        file: None,
        kind,
        device,
        users: 0,
        leaving: false,
    };
    lock(&state.blocks).blocks.insert(address, block);
    Ok(address)
}

/// Takes a block out, and gives its bytes back unless somebody works on them.
pub(crate) fn free(state: &State, address: usize) {
    let Some(block) = lock(&state.blocks).blocks.remove(&address) else {
        return;
    };
    let pointer = ptr::with_exposed_provenance_mut::<c_void>(block.memory);
    if matches!(block.kind, Kind::Pinned | Kind::Managed) {
        // The addresses are kept and forbidden, so that nobody is given them again.
        let bytes = block.bytes.next_multiple_of(PAGE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: the mapping was made by `allocate_host`, and nothing of the driver works on it
        // any more.
        unsafe { libc::mmap(pointer, bytes, libc::PROT_NONE, flags, -1, 0) };
    } else if block.users > 0 {
        // Somebody works on it still: it is lost.
    } else if let Some(file) = block.file {
        unmap_file(pointer, block.bytes, file);
    } else if let Ok(layout) = Layout::from_size_align(block.bytes, ALIGNMENT) {
        // SAFETY: allocated by `allocate` with this layout, and nothing works on it.
        unsafe { std::alloc::dealloc(pointer.cast(), layout) };
    }
}

/// Begins to use bytes of a device, or of the host if they are pinned.
pub(crate) fn begin_use(state: &State, address: usize, bytes: usize) -> Answer<Use> {
    let mut blocks = lock(&state.blocks);
    let (base, block) = blocks.find(address, bytes).ok_or(INVALID_VALUE)?;
    let memory = block.memory + (address - base);
    if let Some(block) = blocks.blocks.get_mut(&base) {
        block.users += 1;
    }
    Ok(Use {
        block: base,
        memory,
    })
}

/// Returns `true` if bytes lie in memory of this kind.
pub(crate) fn is(state: &State, address: usize, kind: Kind) -> bool {
    let blocks = lock(&state.blocks);
    blocks
        .find(address, 1)
        .is_some_and(|(_, block)| block.kind == kind)
}

impl Drop for Use {
    fn drop(&mut self) {
        if let Some(block) = lock(&STATE.blocks).blocks.get_mut(&self.block) {
            block.users -= 1;
        }
    }
}

/// The end of a block that is freed at once: after all that is enqueued on its device.
fn free_now(state: &State, address: usize, kinds: &[Kind]) -> Answer {
    let known = lock(&state.blocks)
        .blocks
        .get(&address)
        .copied()
        .filter(|block| kinds.contains(&block.kind) && !block.leaving);
    let block = known.ok_or(INVALID_VALUE)?;
    if block.users > 0 {
        state.uses_after_free.fetch_add(1, Ordering::SeqCst);
    }
    streams::finish_device(state, block.device);
    free(state, address);
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAlloc_v2(address: Option<&mut u64>, bytes: usize) -> Code {
    call("cuMemAlloc_v2", |state| {
        let fresh = allocate(state, current(state)?, bytes)?;
        put(address, fresh as u64)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAllocAsync(address: Option<&mut u64>, bytes: usize, stream: usize) -> Code {
    call("cuMemAllocAsync", |state| {
        let device = streams::stream(state, stream)?.device;
        put(address, allocate(state, device, bytes)? as u64)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAllocManaged(
    address: Option<&mut u64>,
    bytes: usize,
    _flags: c_uint,
) -> Code {
    call("cuMemAllocManaged", |state| {
        let fresh = allocate_host(state, current(state)?, bytes, Kind::Managed)?;
        put(address, fresh as u64)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: usize) -> Code {
    call("cuMemFree_v2", |state| {
        current(state)?;
        free_now(state, address, &[Kind::Device, Kind::Managed])
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeAsync(address: usize, stream: usize) -> Code {
    call("cuMemFreeAsync", |state| {
        let stream = streams::stream(state, stream)?;
        let mut blocks = lock(&state.blocks);
        let block = blocks.blocks.get_mut(&address).ok_or(INVALID_VALUE)?;
        if block.leaving || block.kind != Kind::Device {
            return Err(INVALID_VALUE);
        }
        block.leaving = true;
        drop(blocks);
        stream.enqueue(Operation::Order(Box::new(move || {
            let users = lock(&STATE.blocks)
                .blocks
                .get(&address)
                .map(|block| block.users);
            if users.is_some_and(|users| users > 0) {
                STATE.uses_after_free.fetch_add(1, Ordering::SeqCst);
            }
            free(&STATE, address);
        })));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostAlloc(
    address: Option<&mut usize>,
    bytes: usize,
    _flags: c_uint,
) -> Code {
    call("cuMemHostAlloc", |state| {
        let fresh = allocate_host(state, current(state)?, bytes, Kind::Pinned)?;
        put(address, fresh)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeHost(address: usize) -> Code {
    call("cuMemFreeHost", |state| {
        current(state)?;
        free_now(state, address, &[Kind::Pinned])
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetInfo_v2(
    free_bytes: Option<&mut usize>,
    total: Option<&mut usize>,
) -> Code {
    call("cuMemGetInfo_v2", |state| {
        let device = current(state)?;
        let blocks = lock(&state.blocks);
        put(
            free_bytes,
            blocks.per_device.saturating_sub(blocks.used(device)),
        )?;
        put(total, blocks.per_device)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetAddressRange_v2(
    base: Option<&mut u64>,
    bytes: Option<&mut usize>,
    address: usize,
) -> Code {
    call("cuMemGetAddressRange_v2", |state| {
        let blocks = lock(&state.blocks);
        let (start, block) = blocks.find(address, 1).ok_or(INVALID_VALUE)?;
        if let Some(place) = base {
            *place = start as u64;
        }
        if let Some(place) = bytes {
            *place = block.bytes;
        }
        Ok(())
    })
}

/// An error unless a context is current.
pub(crate) fn needs_context(state: &State) -> Answer {
    current(state).map(|_| ()).map_err(|_| INVALID_CONTEXT)
}
