//! Systems on which this crate opens nothing: [`REFUSAL`](super::REFUSAL) says so.

use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// An open library, of which there is none.
#[derive(Debug)]
pub(crate) enum Handle {}

impl Handle {
    /// # Safety
    /// None is asked for: nothing is opened.
    pub(crate) unsafe fn open(_: &Path) -> Result<Handle, String> {
        Err(super::REFUSAL.unwrap_or_default().to_owned())
    }

    pub(crate) fn of_process(_: &CStr) -> Option<(Handle, NonNull<c_void>)> {
        None
    }

    pub(crate) fn opened_as(_: &str) -> Option<Handle> {
        None
    }

    pub(crate) fn promote(&self, _: &Path) -> bool {
        match *self {}
    }

    pub(crate) fn find(&self, _: &CStr) -> Option<NonNull<c_void>> {
        match *self {}
    }

    pub(crate) fn find_globally(&self, _: &CStr) -> Option<NonNull<c_void>> {
        match *self {}
    }
}

pub(crate) fn loads() -> Option<u64> {
    Some(0)
}

pub(crate) fn file_of(_: NonNull<c_void>) -> Option<PathBuf> {
    None
}
