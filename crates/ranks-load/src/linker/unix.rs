//! The dynamic linker of Unix.

use std::ffi::{CStr, c_void};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use libloading::os::unix::Library;

#[path = "elf.rs"]
mod elf;

/// An open library, which is never closed.
#[derive(Debug)]
pub(crate) struct Handle(ManuallyDrop<Library>);

impl Handle {
    /// Opens a file. The error has the dynamic linker's own words, which are about a missing file
    /// where it is one for another processor.
    ///
    /// # Safety
    /// The initialisers of the file may run in this process.
    pub(crate) unsafe fn open(file: &Path) -> Result<Handle, String> {
        if file.is_absolute() && file.exists() && !file.is_file() {
            // The dynamic linker would wait for a pipe's first byte.
            return Err("it is no file".to_owned());
        }
        if file.is_absolute() && elf::is_cut_off(file) {
            return Err("it ends before its own header says: copy or install it again".to_owned());
        }
        let flags = libc::RTLD_LAZY | libc::RTLD_LOCAL;
        // SAFETY: the caller vouches for the initialisers.
        let opened = unsafe { Library::open(Some(file), flags) };
        let kept = opened.map(Handle::keep);
        kept.map_err(|error| match elf::is_of_another_processor(file) {
            true => format!("it is made for another processor than this program is: {error}"),
            false => error.to_string(),
        })
    }

    /// All that is in this process, if `symbol` is; with its address.
    pub(crate) fn of_process(symbol: &CStr) -> Option<(Handle, NonNull<c_void>)> {
        let process = process()?;
        let address = find(&process, symbol)?;
        Some((Handle::keep(process), address))
    }

    /// The library of that name, if it is loaded.
    pub(crate) fn opened_as(soname: &str) -> Option<Handle> {
        let flags = libc::RTLD_LAZY | libc::RTLD_LOCAL | libc::RTLD_NOLOAD;
        // SAFETY: RTLD_NOLOAD runs no initialiser: it only finds what is loaded already.
        let opened = unsafe { Library::open(Some(soname), flags) };
        opened.map(Handle::keep).ok()
    }

    /// Makes the symbols of this library, which lies at `path`, visible to all.
    pub(crate) fn promote(&self, path: &Path) -> bool {
        let flags = libc::RTLD_LAZY | libc::RTLD_GLOBAL | libc::RTLD_NOLOAD;
        // SAFETY: RTLD_NOLOAD runs no initialiser: it only changes the visibility of a loaded
        // library.
        let promoted = unsafe { Library::open(Some(path), flags) };
        promoted.map(std::mem::forget).is_ok()
    }

    /// The address of a symbol of this library.
    pub(crate) fn find(&self, symbol: &CStr) -> Option<NonNull<c_void>> {
        find(&self.0, symbol)
    }

    /// The address of a symbol that all libraries see.
    pub(crate) fn find_globally(&self, symbol: &CStr) -> Option<NonNull<c_void>> {
        find(&process()?, symbol)
    }

    fn keep(library: Library) -> Handle {
        Handle(ManuallyDrop::new(library))
    }
}

/// All that is in this process; `None` in one without a dynamic linker.
fn process() -> Option<Library> {
    // SAFETY: without a file nothing is opened.
    unsafe { Library::open(None::<&Path>, libc::RTLD_LAZY) }.ok()
}

fn find(library: &Library, symbol: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the symbol is read as an untyped address and not used through this type.
    let found = unsafe { library.get::<*mut c_void>(symbol.to_bytes_with_nul()) }.ok()?;
    NonNull::new(found.as_raw_ptr())
}

/// The number of libraries that were loaded so far.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn loads() -> Option<u64> {
    let mut loads: u64 = 0;
    // SAFETY: the callback writes one number to the address of one.
    unsafe { libc::dl_iterate_phdr(Some(read_loads), (&raw mut loads).cast()) };
    Some(loads)
}

/// Reads the count of the first library, which is that of all, and asks for no other.
#[cfg(not(target_vendor = "apple"))]
unsafe extern "C" fn read_loads(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    loads: *mut c_void,
) -> libc::c_int {
    // SAFETY: the dynamic linker passes what it knows of a library.
    let count = unsafe { (*info).dlpi_adds };
    // SAFETY: `loads` passes the address of such a number.
    unsafe { loads.cast::<u64>().write(count) };
    1
}

/// `dyld` counts the libraries that are there, and not those that are gone.
#[cfg(target_vendor = "apple")]
pub(crate) fn loads() -> Option<u64> {
    None
}

/// The file that defines the code or data at `address`.
pub(crate) fn file_of(address: NonNull<c_void>) -> Option<PathBuf> {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr accepts any address and writes nothing but `info`.
    if unsafe { libc::dladdr(address.as_ptr(), info.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: zero bytes are a valid Dl_info and dladdr has filled it.
    let info = unsafe { info.assume_init() };
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr gives a C string that lives as long as the library, which is never unloaded.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())))
}
