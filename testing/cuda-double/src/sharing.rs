//! Memory of a device that other processes map.

use std::ffi::{c_int, c_uint, c_ulonglong};
use std::fs::File;
use std::os::fd::{BorrowedFd, IntoRawFd};

use crate::devices::current;
use crate::memory::{PAGE, forget, needs_context, open_file};
use crate::state::{
    Answer, Code, INVALID_CONTEXT, INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY, call, lock, put,
};

/// `CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD`
const DMA_BUF: c_int = 1;

/// A descriptor whose memory is that of a whole block, page after page. Small blocks have none, as
/// those of a pool have none in a real driver.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetHandleForAddressRange(
    handle: Option<&mut c_int>,
    address: usize,
    bytes: usize,
    kind: c_int,
    flags: c_ulonglong,
) -> Code {
    call("cuMemGetHandleForAddressRange", |state| {
        needs_context(state)?;
        let whole_pages = address.is_multiple_of(PAGE) && bytes.is_multiple_of(PAGE);
        if kind != DMA_BUF || flags != 0 || bytes == 0 || !whole_pages {
            return Err(INVALID_VALUE);
        }
        let blocks = lock(&state.blocks);
        let (base, block) = blocks.find(address, bytes).ok_or(INVALID_VALUE)?;
        let file = block
            .file
            .filter(|_| base == address)
            .ok_or(NOT_SUPPORTED)?;
        put(handle, duplicate(file)?)
    })
}

fn duplicate(file: c_int) -> Answer<c_int> {
    // SAFETY: the block is there while all blocks are locked, and its file is open as long.
    let file = unsafe { BorrowedFd::borrow_raw(file) };
    let twin = file.try_clone_to_owned().map_err(|_| OUT_OF_MEMORY)?;
    Ok(twin.into_raw_fd())
}

/// `CUipcMemHandle`: what another process finds the memory by.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct IpcHandle {
    process: u32,
    file: c_int,
    bytes: u64,
    reserved: [u64; 6],
}

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`
const LAZY_PEER_ACCESS: c_uint = 1;

/// A handle of the whole block that holds an address.
#[unsafe(no_mangle)]
pub extern "C" fn cuIpcGetMemHandle(handle: Option<&mut IpcHandle>, address: usize) -> Code {
    call("cuIpcGetMemHandle", |state| {
        let blocks = lock(&state.blocks);
        let (_, block) = blocks.find(address, 1).ok_or(INVALID_VALUE)?;
        let found = IpcHandle {
            process: std::process::id(),
            file: block.file.ok_or(NOT_SUPPORTED)?,
            bytes: block.bytes as u64,
            reserved: [0; 6],
        };
        put(handle, found)
    })
}

/// Memory of another process, at an address of this one's. Its own a process cannot open.
#[unsafe(no_mangle)]
pub extern "C" fn cuIpcOpenMemHandle_v2(
    address: Option<&mut u64>,
    handle: IpcHandle,
    flags: c_uint,
) -> Code {
    call("cuIpcOpenMemHandle_v2", |state| {
        let device = current(state)?;
        if flags != LAZY_PEER_ACCESS {
            return Err(INVALID_VALUE);
        }
        if handle.process == std::process::id() {
            return Err(INVALID_CONTEXT);
        }
        let path = format!("/proc/{}/fd/{}", handle.process, handle.file);
        let file = File::options().read(true).write(true).open(path);
        let file = file.map_err(|_| INVALID_VALUE)?;
        let bytes = usize::try_from(handle.bytes).map_err(|_| INVALID_VALUE)?;
        put(address, open_file(state, device, file, bytes)? as u64)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuIpcCloseMemHandle(address: usize) -> Code {
    call("cuIpcCloseMemHandle", |state| {
        needs_context(state)?;
        forget(state, address)
    })
}
