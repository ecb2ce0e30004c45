//! Checks before a call, with errors that say what to do.

use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::Count;

/// # Errors
/// [`ErrorKind::Rank`] unless the PE is one of so many.
#[inline]
pub(crate) fn pe(operation: &'static str, pe: usize, n_pes: usize) -> Result<()> {
    if pe < n_pes {
        return Ok(());
    }
    Err(no_pe(operation, pe, n_pes))
}

#[cold]
fn no_pe(operation: &'static str, pe: usize, n_pes: usize) -> Error {
    let text = format_args!("there is no PE {pe} among {n_pes}; they are counted from 0");
    Error::new(ErrorKind::Rank, operation, text)
}

/// # Errors
/// [`ErrorKind::Length`] unless both have as many elements.
#[inline]
pub(crate) fn same_length(operation: &'static str, dest: usize, source: usize) -> Result<()> {
    if dest == source {
        return Ok(());
    }
    Err(different_lengths(operation, dest, source))
}

#[cold]
fn different_lengths(operation: &'static str, dest: usize, source: usize) -> Error {
    let text = format_args!(
        "{} to be written to {dest}: take a slice of the longer one",
        Count(source, "element")
    );
    Error::new(ErrorKind::Length, operation, text)
}

/// Returns the size of so many elements in bytes.
///
/// # Errors
/// [`ErrorKind::Length`] if no memory has so many.
pub(crate) fn bytes<T>(operation: &'static str, len: usize) -> Result<usize> {
    let bytes = size_of::<T>().checked_mul(len);
    let bytes = bytes.filter(|&bytes| isize::try_from(bytes).is_ok());
    bytes.ok_or_else(|| {
        let text = format_args!("{len} elements of {} bytes are too many", size_of::<T>());
        Error::new(ErrorKind::Length, operation, text)
    })
}
