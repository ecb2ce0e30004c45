//! How ranks find their common memory: the unique id says which process made it, and which of its
//! files it is.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::process;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::abi::{self, UniqueId};
use super::failure::{Failure, Outcome};
use super::hooks;
use super::lock;
use super::region::{HEADER, MAX_RANKS, Region};
use super::waiting::{Stop, Waiting, start_of};
use super::world::{self, World};

/// What an id begins with.
const MAGIC: [u8; 8] = *b"ncclDbl1";

/// Files of this process that ranks may still come for.
static MADE: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// Makes memory for a communicator, and the id under which its ranks find it.
pub(crate) fn create() -> Outcome<UniqueId> {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    // As in the library, this is the first to read settings.
    hooks::blocking();
    let file = memfd(HEADER)?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = since.map_or(0, |since| since.as_nanos() & u128::from(u64::MAX));
    let now = u64::try_from(now).unwrap_or(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let nonce = (now ^ count << 48 ^ u64::from(process::id()) << 32).max(1);
    file.write_all_at(&nonce.to_ne_bytes(), 8 * world::NONCE as u64)
        .map_err(|_| Failure::system("pwrite"))?;
    let mut id = [0; 128];
    id[..8].copy_from_slice(&MAGIC);
    id[8..12].copy_from_slice(&process::id().to_ne_bytes());
    id[12..16].copy_from_slice(&file.as_raw_fd().to_ne_bytes());
    id[16..24].copy_from_slice(&nonce.to_ne_bytes());
    let mut made = lock(&MADE);
    made.retain(|file| !is_complete(file));
    made.push(file);
    Ok(UniqueId(id))
}

/// Returns `true` if all ranks have come, so that the file itself is needed no more.
fn is_complete(file: &File) -> bool {
    let word = |index: usize| {
        let mut bytes = [0; 8];
        let read = file.read_exact_at(&mut bytes, 8 * index as u64);
        read.map_or(0, |()| u64::from_ne_bytes(bytes))
    };
    let ranks = word(world::RANKS);
    ranks != 0 && word(world::MAPPED) >= ranks
}

fn memfd(length: usize) -> Outcome<File> {
    // SAFETY: the name is a C string; a new descriptor comes back, or -1.
    let fd = unsafe { libc::memfd_create(c"nccl-double".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(Failure::system("memfd_create"));
    }
    // SAFETY: the descriptor was made just now, and nobody else knows it.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    file.set_len(length as u64)
        .map_err(|_| Failure::system("ftruncate"))?;
    Ok(file)
}

/// Memory of so many ranks that nobody else finds.
#[cfg(test)]
pub(crate) fn scratch(ranks: usize) -> Outcome<Region> {
    let length = Region::length_for(ranks);
    Region::map(memfd(length)?.as_fd(), length)
}

/// Comes to the communicator of `id` as one of its ranks, and waits for the others.
pub(crate) fn join(
    id: &UniqueId,
    ranks: usize,
    rank: usize,
    device: i32,
    stop: Stop<'_>,
) -> Outcome<World> {
    let field = |from: usize| <[u8; 4]>::try_from(&id.0[from..from + 4]).unwrap_or_default();
    if id.0[..8] != MAGIC {
        return Err(Failure::new(
            abi::SYSTEM_ERROR,
            "the unique id is none that ncclGetUniqueId has made",
        ));
    }
    if ranks > MAX_RANKS {
        let text = format!("the double has room for {MAX_RANKS} ranks, not for {ranks}");
        return Err(Failure::argument(text));
    }
    let (pid, fd) = (u32::from_ne_bytes(field(8)), i32::from_ne_bytes(field(12)));
    let nonce = <[u8; 8]>::try_from(&id.0[16..24]).map_or(0, u64::from_ne_bytes);
    let path = format!("/proc/{pid}/fd/{fd}");
    let gone = || {
        let text = format!(
            "connect to the root of the unique id (process {pid}) failed: Connection refused"
        );
        Failure::new(abi::SYSTEM_ERROR, text)
    };
    let mut options = File::options();
    let file = options.read(true).write(true).open(path);
    let file = file.map_err(|_| gone())?;
    let mut found = [0; 8];
    let read = file.read_exact_at(&mut found, 8 * world::NONCE as u64);
    if read.is_err() || u64::from_ne_bytes(found) != nonce {
        return Err(gone());
    }
    let length = Region::length_for(ranks);
    if file.metadata().is_ok_and(|data| data.len() < length as u64) {
        file.set_len(length as u64)
            .map_err(|_| Failure::system("ftruncate"))?;
    }
    let region = Region::map(file.as_fd(), length)?;
    let agreed = region.word(world::RANKS).compare_exchange(
        0,
        ranks as u64,
        Ordering::AcqRel,
        Ordering::Acquire,
    );
    if let Err(others) = agreed
        && others != ranks as u64
    {
        let text = format!("rank {rank} says {ranks} ranks, others of the same id say {others}");
        return Err(Failure::argument(text));
    }
    let taken = region.slot(rank, world::PID).compare_exchange(
        0,
        u64::from(process::id()),
        Ordering::AcqRel,
        Ordering::Acquire,
    );
    if taken.is_err() {
        let text = format!("rank {rank} of {ranks} ranks has already checked in");
        return Err(Failure::new(abi::SYSTEM_ERROR, text));
    }
    let own = |index| region.slot(rank, index);
    own(world::START).store(start_of(process::id()), Ordering::Relaxed);
    own(world::DEVICE).store(u64::from(device.unsigned_abs()), Ordering::Relaxed);
    region.word(world::MAPPED).fetch_add(1, Ordering::AcqRel);
    let world = World::new(region, ranks, rank);
    let mut waiting = Waiting::new(stop);
    while world.region().word(world::MAPPED).load(Ordering::Acquire) < ranks as u64 {
        waiting.pause()?;
    }
    Ok(world)
}
