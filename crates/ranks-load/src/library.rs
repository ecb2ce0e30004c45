//! An open library.

use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use crate::linker::{self, Handle};
use crate::{Attempt, Candidate, LoadError};

/// A library that stays open until the process ends.
///
/// The handle of a library that is never closed may be used from any thread, and so may this.
#[derive(Debug)]
pub struct Library {
    handle: Handle,
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
    /// [`LoadError`] with every candidate and its own reason if none serves. Where no library can
    /// be opened at all, as on Windows and in a program that is statically linked with musl, it has
    /// that reason, and nothing is tried.
    ///
    /// # Safety
    /// Opening a library runs its initialisers: each candidate must name a library whose
    /// initialisers may run in this process.
    pub unsafe fn open(
        what: &'static str,
        candidates: &[Candidate],
        mut accept: impl FnMut(&Library) -> Result<(), String>,
    ) -> Result<Library, LoadError> {
        if let Some(why) = linker::REFUSAL {
            return Err(LoadError::nothing_opens(what, why));
        }
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
        let (handle, address) = Handle::of_process(symbol)?;
        Some(Library {
            handle,
            path: linker::file_of(address).unwrap_or_default(),
        })
    }

    /// The library `soname` if somebody has opened it in this process, privately or not. It is not
    /// opened anew.
    pub fn opened_as(soname: &str) -> Option<Library> {
        Some(Library {
            handle: Handle::opened_as(soname)?,
            path: PathBuf::from(soname),
        })
    }

    /// The number of libraries that the dynamic linker has loaded in this process so far, those
    /// that are gone included. As long as it stays the same, a library that was not
    /// [opened](Library::opened_as) still is not: asking for a file that is not there takes a
    /// thousand times longer. `None` where it does not count them, as on macOS.
    pub fn loads() -> Option<u64> {
        linker::loads()
    }

    /// The file. A soname is resolved to the path that the dynamic linker chose once
    /// [`Library::locate`] has seen a symbol of it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Learns the real path of the library from the file that defines `symbol`.
    pub fn locate(&mut self, symbol: &CStr) {
        if let Some(path) = self.own_symbol(symbol).and_then(linker::file_of) {
            self.path = path;
        }
    }

    /// Makes the library's symbols visible to libraries that are loaded later, as linking would
    /// have.
    ///
    /// Components that a library opens itself, and preloaded tools that look for the functions they
    /// wrap, depend on it. Returns whether the dynamic linker agreed.
    pub fn promote(&self) -> bool {
        self.handle.promote(&self.path)
    }

    /// The address of `symbol`: from the global scope, where a preloaded tool comes first, or else
    /// from this library.
    pub fn symbol(&self, symbol: &CStr) -> Option<NonNull<c_void>> {
        self.handle
            .find_globally(symbol)
            .or_else(|| self.own_symbol(symbol))
    }

    /// The address of `symbol` in this library and its dependencies, whatever is preloaded.
    pub fn own_symbol(&self, symbol: &CStr) -> Option<NonNull<c_void>> {
        self.handle.find(symbol)
    }
}

/// # Safety
/// The initialisers of `file` may run in this process.
unsafe fn open_local(file: &Path) -> Result<Library, String> {
    // SAFETY: the caller vouches for the initialisers.
    let handle = unsafe { Handle::open(file) }?;
    Ok(Library {
        handle,
        path: file.to_path_buf(),
    })
}
