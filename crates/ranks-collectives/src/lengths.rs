//! How the lengths of two slices go together, and the errors where they do not.

use std::fmt;

use ranks_comm::{Communicator, Error, ErrorKind, Result};

/// # Errors
/// [`ErrorKind::Length`] if `all` is not as long as a block of every rank.
#[inline]
pub(crate) fn one_of_each_rank(
    operation: &'static str,
    comm: &Communicator,
    block: (&str, usize),
    all: (&str, usize),
) -> Result<()> {
    if block.1.checked_mul(comm.size()) == Some(all.1) {
        return Ok(());
    }
    Err(not_one_of_each_rank(operation, comm.size(), block, all))
}

/// The length of a block, of which `length` elements are one for each rank.
///
/// # Errors
/// [`ErrorKind::Length`] if they cannot be divided so.
#[inline]
pub(crate) fn block_of(
    operation: &'static str,
    comm: &Communicator,
    length: usize,
) -> Result<usize> {
    if length % comm.size() == 0 {
        return Ok(length / comm.size());
    }
    Err(indivisible(operation, length, comm.size()))
}

#[cold]
#[inline(never)]
pub(crate) fn unequal(operation: &'static str, send: usize, recv: usize) -> Error {
    lengths(
        operation,
        format_args!("send has {send} elements, recv {recv}; they must be as long as each other"),
    )
}

#[cold]
#[inline(never)]
fn not_one_of_each_rank(
    operation: &'static str,
    size: usize,
    (block, block_len): (&str, usize),
    (all, all_len): (&str, usize),
) -> Error {
    lengths(
        operation,
        format_args!(
            "{all} has {all_len} elements and {block} {block_len}; with {size} ranks {all} must be {size} times as long as {block}"
        ),
    )
}

#[cold]
#[inline(never)]
fn indivisible(operation: &'static str, length: usize, size: usize) -> Error {
    lengths(
        operation,
        format_args!("{length} elements cannot be divided evenly among {size} ranks"),
    )
}

fn lengths(operation: &'static str, detail: fmt::Arguments<'_>) -> Error {
    Error::new(ErrorKind::Length, operation, detail)
}
