//! Files of Linux, in memory and in folders.
//!
//! The leader makes the file, in memory or in a folder, and the others open it as the leader has it
//! open, through `/proc`. What they have opened is compared with the leader's, since in another
//! name space of processes its number is somebody else's.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::{Pod, Zeroable};
use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use ranks_comm::{Communicator, Error, ErrorKind, Result};

use super::{Nameless, OPERATION};
use crate::page::page_size;
use crate::preflight;

/// Pages of a file in the memory of this process.
#[derive(Debug)]
pub(in crate::region) struct Mapping {
    base: NonNull<u8>,
    bytes: NonZeroUsize,
    /// True if its file has the room for it.
    reserved: bool,
}

// SAFETY: it is an address, of pages that are given back once, by whoever drops it; nothing here
// reads or writes behind it.
unsafe impl Send for Mapping {}

// SAFETY: as above.
unsafe impl Sync for Mapping {}

/// Message of the leader: the location of its file, and how to know that it is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct LeaderFile {
    process: u64,
    descriptor: u64,
    device: u64,
    inode: u64,
}

impl LeaderFile {
    /// A leader that has no file.
    const NOTHING: Self = Self {
        process: 0,
        descriptor: 0,
        device: 0,
        inode: 0,
    };

    fn of(file: &File) -> Result<Self> {
        let data = file
            .metadata()
            .map_err(|error| failed("asked about", &error))?;
        Ok(Self {
            process: u64::from(std::process::id()),
            // What is open is not negative.
            descriptor: u64::from(file.as_raw_fd().unsigned_abs()),
            device: data.dev(),
            inode: data.ino(),
        })
    }

    fn is_of(self, data: &Metadata) -> bool {
        (self.device, self.inode) == (data.dev(), data.ino())
    }

    /// The same file, opened here.
    fn open(self) -> Result<File> {
        if self == Self::NOTHING {
            let why = "the leader of this node could not make a file to share";
            return Err(Error::new(ErrorKind::PeerFailed, OPERATION, why));
        }
        let path = format!("/proc/{}/fd/{}", self.process, self.descriptor);
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let file = file.map_err(|error| failed(&format!("opened as {path}"), &error))?;
        let data = file
            .metadata()
            .map_err(|error| failed("asked about", &error))?;
        if self.is_of(&data) {
            return Ok(file);
        }
        let why = format_args!(
            "{path} is not what the leader of this node has shared; the ranks of a node must see the same processes"
        );
        Err(Error::new(ErrorKind::Argument, OPERATION, why))
    }
}

impl Mapping {
    /// `bytes` bytes, zero at first, shared with the ranks of `node`, which pass the same.
    /// Collective over `parent`.
    pub(in crate::region) fn shared(
        parent: &Communicator,
        node: &Communicator,
        bytes: usize,
        kind: Nameless<'_>,
    ) -> Result<Self> {
        let made = (node.rank() == 0).then(|| create(bytes, kind)).transpose();
        let told = match &made {
            Ok(Some(file)) => LeaderFile::of(file),
            _ => Ok(LeaderFile::NOTHING),
        };
        let mine = *told.as_ref().unwrap_or(&LeaderFile::NOTHING);
        let all = preflight::told_by_all::<4>(node, OPERATION, bytemuck::cast(mine))?;
        let leaders: LeaderFile = bytemuck::cast(all[0]);
        let mapped = told.and(made).and_then(|made| match made {
            Some(file) => Self::of(&file, bytes, kind).map(|mapping| (mapping, Some(file))),
            None => Self::of(&leaders.open()?, bytes, kind).map(|mapping| (mapping, None)),
        });
        // The leader keeps its file open until all have come here.
        let (mapping, _file) = parent.agree(mapped)?;
        Ok(mapping)
    }

    fn of(file: &File, bytes: usize, kind: Nameless<'_>) -> Result<Self> {
        let bytes = rounded(bytes)?;
        let rights = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: the system chooses an address that nothing else has.
        let base = unsafe { mmap(None, bytes, rights, MapFlags::MAP_SHARED, file, 0) };
        let base = base.map_err(|error| failed("mapped", &error.into()))?;
        Ok(Self {
            base: base.cast(),
            bytes,
            reserved: kind != Nameless::Memory,
        })
    }

    /// Returns true if its pages need not be asked for: `create` has reserved them.
    pub(in crate::region) fn is_reserved(&self) -> bool {
        self.reserved
    }

    pub(in crate::region) fn base(&self) -> NonNull<u8> {
        self.base
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: these pages were mapped by `of`, and this is their only owner. If it fails they
        // stay, which harms nobody.
        let _ = unsafe { munmap(self.base.cast(), self.bytes.get()) };
    }
}

/// Whole pages, and one at least.
fn rounded(bytes: usize) -> Result<NonZeroUsize> {
    let whole = bytes.max(1).checked_next_multiple_of(page_size());
    whole.and_then(NonZeroUsize::new).ok_or_else(|| {
        let why = format_args!("{bytes} bytes are more than the address space holds");
        Error::new(ErrorKind::Length, OPERATION, why)
    })
}

/// A file of zeros that no other process can find by a name.
fn create(bytes: usize, kind: Nameless<'_>) -> Result<File> {
    let bytes = rounded(bytes)?.get() as u64;
    let file = match kind {
        Nameless::Memory => in_memory(),
        Nameless::In(folder) => in_folder(folder),
    };
    let file = file.map_err(|error| failed("made", &error))?;
    file.set_len(bytes)
        .map_err(|error| failed(&format!("made {bytes} bytes long"), &error))?;
    if let Nameless::In(folder) = kind {
        // Without room for a page whoever writes to it would be killed.
        reserve(&file, bytes).map_err(|error| {
            let what = format!("given {bytes} bytes of {}", folder.display());
            failed(&what, &error)
        })?;
    }
    Ok(file)
}

fn in_memory() -> io::Result<File> {
    use nix::libc::{MFD_CLOEXEC, SYS_memfd_create, syscall};

    // The C library has a function for it from glibc 2.27 on.
    // SAFETY: reads a name that ends with zero, and makes a file of this process.
    let made = unsafe { syscall(SYS_memfd_create, c"ranks-node-shared".as_ptr(), MFD_CLOEXEC) };
    let file = RawFd::try_from(Errno::result(made)?).map_err(io::Error::other)?;
    // SAFETY: the kernel has just made it, and nobody else knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(file) }.into())
}

/// Its name is gone before it has any bytes.
fn in_folder(folder: &Path) -> io::Result<File> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!(".ranks-node-shared-{}-{number}", std::process::id());
    let path = folder.join(name);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    let bytes = i64::try_from(bytes).map_err(io::Error::other)?;
    Ok(nix::fcntl::posix_fallocate(file, 0, bytes)?)
}

#[cold]
fn failed(what: &str, error: &io::Error) -> Error {
    let why = format_args!("a file for the ranks of this node could not be {what}: {error}");
    Error::new(ErrorKind::Argument, OPERATION, why)
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_understood() {
        let file = create(100, Nameless::Memory).unwrap();
        let told = LeaderFile::of(&file).unwrap();
        let words: [u64; 4] = bytemuck::cast(told);
        assert_eq!(bytemuck::cast::<_, LeaderFile>(words), told);
        let mapping = Mapping::of(&told.open().unwrap(), 100, Nameless::Memory).unwrap();
        assert_eq!(mapping.base().addr().get() % page_size(), 0);
    }

    #[test]
    fn the_file_of_somebody_else_is_refused() {
        let file = create(1, Nameless::Memory).unwrap();
        let told = LeaderFile::of(&file).unwrap();
        let other = LeaderFile {
            inode: told.inode + 1,
            ..told
        };
        assert_eq!(other.open().unwrap_err().kind(), ErrorKind::Argument);
        assert_eq!(
            LeaderFile::NOTHING.open().unwrap_err().kind(),
            ErrorKind::PeerFailed
        );
    }

    #[test]
    fn a_file_in_a_folder_has_no_name() {
        let folder = std::env::temp_dir().join(format!("ranks-mapping-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = create(10_000, Nameless::In(&folder)).unwrap();
        assert!(file.metadata().unwrap().len() >= 10_000);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        std::fs::remove_dir(&folder).unwrap();
        assert!(create(10, Nameless::In(&folder)).is_err());
    }
}
