//! Groups, hints, attributes, intercommunicators, and the environment of a rank.
//!
//! Tests that begin with `rsmpi_` do what the example program of rsmpi with that name does.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "numbers of ranks are small"
)]

mod attributes;
mod groups;
mod hints;
mod intercommunicators;
mod kinds_of_split;
mod surroundings;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use ranks_comm::{
    AttributeKey, Backend, Communicator, Comparison, ErrorKind, Info, Intercommunicator, Result,
    Runtime, Source, SplitType, Tag, ThreadLevel,
};

/// All ranks of `comm` exchange a number in a ring: that of the rank before comes back.
fn ring(comm: &Communicator, number: usize) -> Result<usize> {
    let (rank, size) = (comm.rank(), comm.size());
    let mut got = [0usize];
    comm.sendrecv(
        &[number],
        (rank + 1) % size,
        0,
        &mut got,
        (rank + size - 1) % size,
        0,
    )?;
    Ok(got[0])
}
