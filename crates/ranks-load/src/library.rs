//! An open library.

use std::ffi::{CStr, c_void};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use libloading::os::unix;

use crate::{Attempt, Candidate, LoadError};

/// A library that stays open until the process ends.
///
/// The handle of a library that is never closed may be used from any thread, and so may this.
#[derive(Debug)]
pub struct Library {
    handle: ManuallyDrop<unix::Library>,
    path: PathBuf,
}

impl Library {
    /// Opens the first of `candidates` that loads and that `accept` takes.
    ///
    /// The library is opened with `RTLD_LAZY | RTLD_LOCAL`; see [`Library::promote`]. A candidate
    /// that `accept` refuses stays loaded but is not used. `what` names the kind of library in the
    /// error ("MPI library").
    ///
    /// # Errors
    /// [`LoadError`] with every candidate and its own reason if none serves.
    ///
    /// # Safety
    /// Opening a library runs its initialisers: each candidate must name a library whose
    /// initialisers may run in this process.
    pub unsafe fn open(
        what: &'static str,
        candidates: &[Candidate],
        mut accept: impl FnMut(&Library) -> Result<(), String>,
    ) -> Result<Library, LoadError> {
        let mut attempts = Vec::new();
        for candidate in candidates {
            // SAFETY: the caller vouches for the initialisers of every candidate.
            let opened = unsafe { open_local(&candidate.file) };
            match opened.and_then(|library| accept(&library).map(|()| library)) {
                Ok(library) => return Ok(library),
                Err(reason) => attempts.push(Attempt {
                    candidate: candidate.clone(),
                    reason,
                }),
            }
        }
        Err(LoadError::new(what, attempts))
    }

    /// The library that already provides `symbol` in this process, if there is one: linked,
    /// preloaded, or opened globally by somebody else.
    pub fn in_process(symbol: &CStr) -> Option<Library> {
        let process = unix::Library::this();
        let address = find(&process, symbol)?;
        Some(Library {
            handle: ManuallyDrop::new(process),
            path: file_of(address).unwrap_or_default(),
        })
    }

    /// The library `soname` if somebody has opened it in this process, privately or not. It is not
    /// opened anew.
    pub fn opened_as(soname: &str) -> Option<Library> {
        let flags = libc::RTLD_LAZY | libc::RTLD_LOCAL | libc::RTLD_NOLOAD;
        // SAFETY: RTLD_NOLOAD runs no initialiser: it only finds what is loaded already.
        let handle = unsafe { unix::Library::open(Some(soname), flags) }.ok()?;
        Some(Library {
            handle: ManuallyDrop::new(handle),
            path: PathBuf::from(soname),
        })
    }

    /// The number of libraries that the dynamic linker has loaded in this process so far, those
    /// that are gone included. As long as it stays the same, a library that was not
    /// [opened](Library::opened_as) still is not: asking for a file that is not there takes a
    /// thousand times longer.
    pub fn loads() -> u64 {
        let mut loads: u64 = 0;
        // SAFETY: the callback writes one number to the address of one.
        unsafe { libc::dl_iterate_phdr(Some(read_loads), (&raw mut loads).cast()) };
        loads
    }

    /// The file. A soname is resolved to the path that the dynamic linker chose once
    /// [`Library::locate`] has seen a symbol of it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Learns the real path of the library from the file that defines `symbol`.
    pub fn locate(&mut self, symbol: &CStr) {
        if let Some(path) = self.own_symbol(symbol).and_then(file_of) {
            self.path = path;
        }
    }

    /// Makes the library's symbols visible to libraries that are loaded later, as linking would
    /// have.
    ///
    /// Components that a library opens itself, and preloaded tools that look for the functions they
    /// wrap, depend on it. Returns whether the dynamic linker agreed.
    pub fn promote(&self) -> bool {
        let flags = libc::RTLD_LAZY | libc::RTLD_GLOBAL | libc::RTLD_NOLOAD;
        // SAFETY: RTLD_NOLOAD runs no initialiser: it only changes the visibility of a loaded
        // library.
        let promoted = unsafe { unix::Library::open(Some(&self.path), flags) };
        promoted.map(std::mem::forget).is_ok()
    }

    /// The address of `symbol`: from the global scope, where a preloaded tool comes first, or else
    /// from this library.
    pub fn symbol(&self, symbol: &CStr) -> Option<NonNull<c_void>> {
        find(&unix::Library::this(), symbol).or_else(|| self.own_symbol(symbol))
    }

    /// The address of `symbol` in this library and its dependencies, whatever is preloaded.
    pub fn own_symbol(&self, symbol: &CStr) -> Option<NonNull<c_void>> {
        find(&self.handle, symbol)
    }
}

/// Reads the count of the first library, which is that of all, and asks for no other.
unsafe extern "C" fn read_loads(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    loads: *mut c_void,
) -> libc::c_int {
    // SAFETY: the dynamic linker passes what it knows of a library.
    let count = unsafe { (*info).dlpi_adds };
    // SAFETY: `Library::loads` passes the address of such a number.
    unsafe { loads.cast::<u64>().write(count) };
    1
}

/// # Safety
/// The initialisers of `file` may run in this process.
unsafe fn open_local(file: &Path) -> Result<Library, String> {
    let flags = libc::RTLD_LAZY | libc::RTLD_LOCAL;
    // SAFETY: the caller vouches for the initialisers.
    let opened = unsafe { unix::Library::open(Some(file), flags) };
    let handle = opened.map_err(|error| reason(&error))?;
    Ok(Library {
        handle: ManuallyDrop::new(handle),
        path: file.to_path_buf(),
    })
}

fn find(handle: &unix::Library, symbol: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the symbol is read as an untyped address and not used through this type.
    let found = unsafe { handle.get::<*mut c_void>(symbol.to_bytes_with_nul()) }.ok()?;
    NonNull::new(found.as_raw_ptr())
}

/// The file that defines the code or data at `address`.
fn file_of(address: NonNull<c_void>) -> Option<PathBuf> {
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

/// The dynamic linker's own words.
fn reason(error: &libloading::Error) -> String {
    match error {
        libloading::Error::DlOpen { desc } => {
            // Formatting the description is the only way to read it on every version of libloading.
            let text = format!("{desc:?}");
            text.trim_matches('"').to_owned()
        }
        other => other.to_string(),
    }
}
