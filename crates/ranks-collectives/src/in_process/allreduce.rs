//! Reduction to all: rank 0 combines, tells all whether that went well, and sends them the result.
//!
//! The word before the result keeps ranks from waiting for a result that a rank of another length
//! has spoilt.

use bytemuck::Pod;
use ranks_comm::backend::InProcessComm as Comm;
use ranks_comm::{Error, ErrorKind, Result};

use super::bcast::bcast_bytes;
use super::bytes::bytes_mut;
use super::call::{Call, Outcome};
use super::reduce::reduce_slices;
use crate::arguments::reducing::Reducing;
use crate::ops::Reduction;

/// The words of rank 0 before the result.
const WELL: u8 = 0;
const LENGTHS_DIFFER: u8 = 1;
const FAILED: u8 = 2;

pub(crate) fn allreduce<T: Pod, O: Reduction<T>>(
    comm: &Comm,
    op: &O,
    Reducing { transfer, .. }: Reducing<'_, T>,
) -> Result<()> {
    let call = Call::of::<T>(comm, transfer.operation());
    let own = 0..transfer.block();
    let (send, recv) = transfer.into_copied(own);
    let reduced = reduce_slices(&call, op, &send, recv, 0);
    if call.rank() == 0 {
        announce(&call, reduced)?;
    } else {
        reduced?;
        listen(&call)?;
    }
    bcast_bytes(&call, bytes_mut(recv), 0)
}

/// Rank 0 says how the reduction went, and fails itself if it did.
fn announce(call: &Call<'_>, reduced: Result<()>) -> Result<()> {
    let word = match &reduced {
        Ok(()) => WELL,
        Err(error) if error.kind() == ErrorKind::Length => LENGTHS_DIFFER,
        Err(_) => FAILED,
    };
    let mut outcome = Outcome::default();
    outcome.note(reduced);
    for rank in call.others() {
        outcome.note(call.send(rank, &[word]));
    }
    outcome.result()
}

/// The other ranks hear it.
fn listen(call: &Call<'_>) -> Result<()> {
    let mut word = [FAILED];
    call.receive(0, &mut word)?;
    let (kind, detail) = match word[0] {
        WELL => return Ok(()),
        LENGTHS_DIFFER => (
            ErrorKind::Length,
            "not all ranks pass the same length and type; the error of rank 0 names one that does not",
        ),
        _ => (
            ErrorKind::PeerFailed,
            "rank 0 could not collect every rank's contribution; its error says why",
        ),
    };
    Err(Error::new(kind, call.operation, detail))
}
