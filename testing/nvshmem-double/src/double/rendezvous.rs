//! How PEs find their control words: the unique id says which process made it, and which of its
//! files they are.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::process;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::abi::{UniqueId, word};
use super::meeting::wait_until;
use super::region::{HEADER, MAX_PES, Region, for_all, own};
use super::{fatal, lock};

/// What an id begins with.
const MAGIC: [u8; 8] = *b"nvshDbl1";

/// Files of this process that PEs may still come for.
static MADE: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// Makes control words, and the id under which PEs find them.
pub(crate) fn create() -> Option<UniqueId> {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    // SAFETY: the name is a C string; a new descriptor comes back, or -1.
    let fd = unsafe { libc::memfd_create(c"nvshmem-double".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return None;
    }
    // SAFETY: the descriptor was made just now, and nobody else knows it.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    file.set_len(HEADER as u64).ok()?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let nonce = since.as_secs() << 32 ^ u64::from(since.subsec_nanos()) << 2;
    let nonce = (nonce ^ COUNT.fetch_add(1, Ordering::Relaxed) << 48).max(1);
    file.write_all_at(&nonce.to_ne_bytes(), 8 * for_all::NONCE as u64)
        .ok()?;
    let mut internal = [0; 124];
    internal[..8].copy_from_slice(&MAGIC);
    internal[8..12].copy_from_slice(&process::id().to_ne_bytes());
    internal[12..16].copy_from_slice(&file.as_raw_fd().to_ne_bytes());
    internal[16..24].copy_from_slice(&nonce.to_ne_bytes());
    let mut made = lock(&MADE);
    made.retain(|file| !is_complete(file));
    made.push(file);
    let version = word(1, 128);
    Some(UniqueId { version, internal })
}

/// Returns `true` if all PEs have come, so that the file itself is needed no more.
fn is_complete(file: &File) -> bool {
    let word = |index: usize| {
        let mut bytes = [0; 8];
        let read = file.read_exact_at(&mut bytes, 8 * index as u64);
        read.map_or(0, |()| u64::from_ne_bytes(bytes))
    };
    let pes = word(for_all::N_PES);
    pes != 0 && word(for_all::MAPPED) >= pes
}

/// A file of another process.
pub(crate) fn file_of(pid: u64, fd: u64) -> std::io::Result<File> {
    let mut options = File::options();
    options
        .read(true)
        .write(true)
        .open(format!("/proc/{pid}/fd/{fd}"))
}

/// Comes to the control words of `id` as one of the PEs, and waits for the others, for ever if they
/// do not come.
pub(crate) fn join(id: &UniqueId, pes: usize, pe: usize) -> Result<Region, String> {
    let bytes = |from: usize| <[u8; 4]>::try_from(&id.internal[from..from + 4]).unwrap_or_default();
    let number = |from| u64::from(u32::from_ne_bytes(bytes(from)));
    if id.internal[..8] != MAGIC {
        return Err("the unique id is none that nvshmemx_get_uniqueid has made".into());
    }
    if pes > MAX_PES {
        fatal::abort(format_args!("there is room for {MAX_PES} PEs, not {pes}"));
    }
    let nonce = number(16) | number(20) << 32;
    let gone = |_| format!("the process {} that made the unique id is gone", number(8));
    let file = file_of(number(8), number(12)).map_err(gone)?;
    let mut found = [0; 8];
    let read = file.read_exact_at(&mut found, 8 * for_all::NONCE as u64);
    if read.is_err() || u64::from_ne_bytes(found) != nonce {
        return Err("the process that made the unique id has other files now".into());
    }
    let length = Region::length_for(pes) as u64;
    if file.metadata().is_ok_and(|data| data.len() < length) {
        file.set_len(length).map_err(|error| error.to_string())?;
    }
    let region = Region::map(file.as_fd(), pes).map_err(|error| error.to_string())?;
    let claim = |word: &AtomicU64, value: u64| {
        word.compare_exchange(0, value, Ordering::AcqRel, Ordering::Acquire)
    };
    if let Err(others) = claim(region.word(for_all::N_PES), pes as u64)
        && others != pes as u64
    {
        fatal::abort(format_args!("PE {pe} says {pes} PEs, others say {others}"));
    }
    if claim(region.own(pe, own::PID), u64::from(process::id())).is_err() {
        fatal::abort(format_args!("PE {pe} of {pes} has come already"));
    }
    let mapped = region.word(for_all::MAPPED);
    mapped.fetch_add(1, Ordering::AcqRel);
    let all = || mapped.load(Ordering::Acquire) >= pes as u64;
    wait_until(all, || format!("PE {pe} waits for all {pes} in its init"));
    Ok(region)
}
