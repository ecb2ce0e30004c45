//! Memory that processes can have in common: that of files without a name.

use std::ffi::c_void;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::ptr;

use crate::memory::PAGE;
use crate::state::{Answer, OUT_OF_MEMORY};

/// Maps the memory of a fresh file without a name, which is gone with its last descriptor and
/// mapping.
pub(crate) fn map_file(bytes: usize) -> Answer<(usize, RawFd)> {
    // SAFETY: the name is a C string; a new descriptor comes back, or -1.
    let fd = unsafe { libc::memfd_create(c"cuda-double".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(OUT_OF_MEMORY);
    }
    // SAFETY: the descriptor was made just now, and nobody else knows it.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    let bytes = bytes.next_multiple_of(PAGE);
    file.set_len(bytes as u64).map_err(|_| OUT_OF_MEMORY)?;
    Ok((map_shared(&file, bytes)?, file.into_raw_fd()))
}

/// Maps a file that is as long.
pub(crate) fn map_shared(file: &File, bytes: usize) -> Answer<usize> {
    let fd = file.as_raw_fd();
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, of a file that is as long.
    let address = unsafe { libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_SHARED, fd, 0) };
    if address == libc::MAP_FAILED {
        return Err(OUT_OF_MEMORY);
    }
    Ok(address.expose_provenance())
}

/// Gives back what `map_file` has made.
pub(crate) fn unmap_file(memory: *mut c_void, bytes: usize, file: RawFd) {
    // SAFETY: mapped by `map_file` with this length, and nothing works on it.
    unsafe { libc::munmap(memory, bytes.next_multiple_of(PAGE)) };
    // SAFETY: the descriptor that `map_file` gave, which nobody else closes.
    drop(unsafe { OwnedFd::from_raw_fd(file) });
}
