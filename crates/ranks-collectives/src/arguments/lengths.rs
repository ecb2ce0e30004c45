//! The lengths of two slices, and the errors where they do not fit together.

use std::fmt;

use ranks_comm::{Communicator, Error, ErrorKind, Result};
use ranks_launch::Count;

/// Those that have a block each.
#[derive(Debug, Clone, Copy)]
pub struct Holders {
    /// The number of them.
    pub count: usize,
    /// The word for one of them, for errors.
    pub name: &'static str,
}

impl From<&Communicator> for Holders {
    #[inline]
    fn from(comm: &Communicator) -> Self {
        Self {
            count: comm.size(),
            name: "rank",
        }
    }
}

/// That `all` is a block of each of them.
///
/// # Errors
/// [`ErrorKind::Length`] if `all` is not as long as a block of each of them.
#[inline]
pub fn one_of_each(
    operation: &'static str,
    holders: impl Into<Holders>,
    block: (&str, usize),
    all: (&str, usize),
) -> Result<()> {
    let holders = holders.into();
    if block.1.checked_mul(holders.count) == Some(all.1) {
        return Ok(());
    }
    Err(not_one_of_each(operation, holders, block, all))
}

/// The length of a block, of which `length` elements are one for each rank.
///
/// # Errors
/// [`ErrorKind::Length`] if they cannot be divided so.
#[inline]
pub fn block_of(
    operation: &'static str,
    holders: impl Into<Holders>,
    length: usize,
) -> Result<usize> {
    let count = holders.into().count;
    if length.is_multiple_of(count) {
        return Ok(length / count);
    }
    Err(indivisible(operation, length, count))
}

/// The error for two slices of which one is longer than the other.
#[cold]
#[inline(never)]
pub fn unequal(operation: &'static str, send: usize, recv: usize) -> Error {
    lengths(
        operation,
        format_args!(
            "send has {}, recv {recv}; they must be as long as each other",
            Count(send, "element")
        ),
    )
}

#[cold]
#[inline(never)]
fn not_one_of_each(
    operation: &'static str,
    holders: Holders,
    (block, block_len): (&str, usize),
    (all, all_len): (&str, usize),
) -> Error {
    lengths(
        operation,
        format_args!(
            "{all} has {} and {block} {block_len}; with {} {all} must be {} as long as {block}",
            Count(all_len, "element"),
            Count(holders.count, holders.name),
            Count(holders.count, "time")
        ),
    )
}

#[cold]
#[inline(never)]
fn indivisible(operation: &'static str, length: usize, size: usize) -> Error {
    lengths(
        operation,
        format_args!(
            "{} cannot be divided evenly among {}",
            Count(length, "element"),
            Count(size, "rank")
        ),
    )
}

fn lengths(operation: &'static str, detail: fmt::Arguments<'_>) -> Error {
    Error::new(ErrorKind::Length, operation, detail)
}
