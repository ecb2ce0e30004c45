//! Operations on copies of their slices, which a time limit leaves to the runtime.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use bytemuck::Pod;
use ranks_comm::backend::{OpInfo, Plain, StartedOp};
use ranks_comm::{Communicator, RecvBuffer, Request, Result, SendBuffer};

use super::Stable;
use crate::arguments::blocks::Blocks;
use crate::arguments::proven::Movable;

/// Blocks that leave gaps, and the same without them.
struct Gaps<'a> {
    wide: &'a Blocks,
    close: Box<Blocks>,
}

impl<'a> Gaps<'a> {
    /// If there are any, the slice is to be divided in the second way from here on.
    ///
    /// # Safety
    /// `blocks` is used no longer than what this returns.
    unsafe fn closed_up(blocks: &mut &'a Blocks) -> Result<Option<Self>> {
        let wide = *blocks;
        if !wide.leave_gaps() {
            return Ok(None);
        }
        let close = Box::new(Blocks::from_counts(wide.counts())?);
        let place = NonNull::from(&*close);
        // SAFETY: the box keeps it where it is, and is there as long as `blocks` is used, by this
        // function's contract.
        *blocks = unsafe { place.as_ref() };
        Ok(Some(Self { wide, close }))
    }

    /// A copy of the blocks of a slice, or of all of it if there are no gaps.
    fn copy<T: Pod>(gaps: Option<&Self>, slice: &[T]) -> Plain<T> {
        // Where the slice does not count it is empty, and the blocks are another rank's.
        let Some(gaps) = gaps.filter(|_| !slice.is_empty()) else {
            return Plain::copy(slice);
        };
        let blocks = (0..gaps.wide.len()).map(|rank| &slice[gaps.wide.range(rank)]);
        Plain::joined(gaps.close.end(), blocks)
    }

    /// Puts the blocks of a copy back.
    fn put_back<T: Pod>(gaps: Option<&Self>, copy: &[T], slice: &mut [T]) {
        let Some(gaps) = gaps.filter(|_| !slice.is_empty()) else {
            return slice.copy_from_slice(copy);
        };
        for rank in 0..gaps.wide.len() {
            slice[gaps.wide.range(rank)].copy_from_slice(&copy[gaps.close.range(rank)]);
        }
    }
}

/// Copies of what is sent and of what is received into.
type Copies<T> = (Option<Plain<T>>, Option<Plain<T>>);

/// Does an operation on copies of its slices, until its time limit: from there on the copies are
/// the runtime's, and the slices as they were. What lies between blocks is not copied.
pub(crate) fn on_copies<'a, P: Movable<'a>>(
    comm: &Communicator,
    role: &'static OpInfo,
    mut proven: P,
    begin: impl FnOnce(Stable<P>) -> Result<StartedOp>,
) -> Result<()> {
    let [sent_blocks, received_blocks] = proven.divisions().map(|blocks| {
        // SAFETY: what is made lives until this function ends, and `begin` takes `proven` and
        // returns nothing that borrows.
        blocks.map(|blocks| unsafe { Gaps::closed_up(blocks) })
    });
    let sent_gaps = sent_blocks.transpose()?.flatten();
    let received_gaps = received_blocks.transpose()?.flatten();
    let (send, recv) = proven.slices();
    let sent = send
        .as_ref()
        .map(|slice| Gaps::copy(sent_gaps.as_ref(), slice));
    let received = recv
        .as_ref()
        .map(|slice| Gaps::copy(received_gaps.as_ref(), slice));
    let mut result = None;
    let begin = |(sent, received): &mut Copies<P::Element>| {
        let (send, recv) = proven.slices();
        if let (Some(slice), Some(copy)) = (send, sent) {
            let place = NonNull::from(copy.as_slice());
            // SAFETY: the copy stays where it is until the operation is over, as the request below
            // has it, and does not change.
            *slice = unsafe { place.as_ref() };
        }
        if let (Some(slice), Some(copy)) = (recv, received) {
            let mut place = NonNull::from(copy.as_mut_slice());
            // SAFETY: the same, and the copy is looked at when the operation is over.
            let there = unsafe { place.as_mut() };
            result = Some(std::mem::replace(slice, there));
        }
        begin(Stable(proven))
    };
    // SAFETY: the operation works on the copies and on what is in what was begun; the copies stay
    // where they are when they move.
    let request = unsafe { Request::begun(comm, role, (sent, received), begin)? };
    let ((_, received), _) = request.wait()?;
    if let (Some(received), Some(result)) = (received, result) {
        Gaps::put_back(received_gaps.as_ref(), received.as_slice(), result);
    }
    Ok(())
}
