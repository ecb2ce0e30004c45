//! Messages from rank to rank.

use ranks_comm::ErrorKind;

use super::memory::Memory;
use super::reductions;
use super::round::{Round, pattern};
use super::{ensure, fails, text};
use ranks_raw::{Dtype, RawCollectives, RawOp};

/// All ranks send to all, themselves as well, and begin to receive after that.
pub(super) fn exchange(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    const COUNT: usize = 300;
    let (rank, size) = (comm.rank(), comm.size());
    let mut round = Round::new(comm, memory);
    let mut sends = Vec::new();
    let mut recvs = Vec::new();
    for peer in 0..size {
        let what = format!("a message to {peer}");
        sends.push(round.sent(&what, &pattern(Dtype::F32, rank, peer, COUNT))?);
        let what = format!("a message from {peer}");
        recvs.push(round.received(&what, pattern(Dtype::F32, peer, rank, COUNT))?);
    }
    comm.group(&mut || {
        for (peer, send) in sends.iter().enumerate() {
            // SAFETY: the round keeps the buffers, which are that long, until all is over, and
            // compares then only.
            unsafe { comm.send(*send, COUNT, Dtype::F32, peer, 3) }?;
        }
        for (peer, recv) in recvs.iter().enumerate() {
            // SAFETY: as above.
            unsafe { comm.recv(*recv, COUNT, Dtype::F32, peer, 3) }?;
        }
        Ok(())
    })
    .map_err(text)?;
    round.finish()
}

/// Two messages that are received in the other order than they were sent.
pub(super) fn tags(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    if !comm.has_tags() {
        return Ok(());
    }
    let (next, previous) = neighbours(comm);
    let mut round = Round::new(comm, memory);
    for tag in [1, 2] {
        let bytes = pattern(Dtype::U64, comm.rank(), index(tag), 4);
        let send = round.sent("a message with a tag", &bytes)?;
        // SAFETY: the round keeps the buffers, which are that long, until all is over, and compares
        // then only.
        unsafe { comm.send(send, 4, Dtype::U64, next, tag) }.map_err(text)?;
    }
    for tag in [2, 1] {
        let bytes = pattern(Dtype::U64, previous, index(tag), 4);
        let recv = round.received("a message with a tag", bytes)?;
        // SAFETY: as above.
        unsafe { comm.recv(recv, 4, Dtype::U64, previous, tag) }.map_err(text)?;
    }
    round.finish()
}

/// Seven elements come into room for ten, and leave the rest as it was.
pub(super) fn shorter(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    if !comm.has_tags() {
        return Ok(());
    }
    let (next, previous) = neighbours(comm);
    let mut round = Round::new(comm, memory);
    let send = round.sent("a short message", &pattern(Dtype::U64, comm.rank(), 0, 7))?;
    let before = [0xa5; 80];
    let mut after = pattern(Dtype::U64, previous, 0, 7);
    after.extend(&before[after.len()..]);
    let recv = round.block("a short message", &before, after)?;
    // SAFETY: the round keeps the buffers, which are that long, until all is over, and compares
    // then only.
    unsafe { comm.send(send, 7, Dtype::U64, next, 0) }.map_err(text)?;
    // SAFETY: as above.
    unsafe { comm.recv(recv, 10, Dtype::U64, previous, 0) }.map_err(text)?;
    round.finish()
}

/// A message that does not fit is an error of the `sync`, writes nothing behind the buffer, and
/// what was begun besides is over.
pub(super) fn longer(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    if !comm.has_tags() {
        return Ok(());
    }
    let (next, previous) = neighbours(comm);
    let mut round = Round::new(comm, memory);
    let send = round.sent("a long message", &pattern(Dtype::I32, comm.rank(), 0, 9))?;
    let recv = memory.allocate(9 * 4)?;
    recv.write(&[0xa5; 9 * 4])?;
    // SAFETY: the round keeps the buffer, which is that long, until all is over.
    unsafe { comm.send(send, 9, Dtype::I32, next, 0) }.map_err(text)?;
    // SAFETY: `recv` is longer than that, and lives until the operation is over.
    if let Err(error) = unsafe { comm.recv(recv.address(), 5, Dtype::I32, previous, 0) } {
        std::mem::forget(recv);
        return Err(text(error));
    }
    reductions::allreduce(
        &mut round,
        "what was begun after it",
        Dtype::F32,
        RawOp::Sum,
        12,
    )?;
    fails("sync", comm.sync(), &[ErrorKind::Truncated])?;
    let behind = recv.read()?.split_off(5 * 4);
    ensure(behind == [0xa5; 4 * 4], || {
        format!("a message was written past its buffer: {behind:02x?}")
    })?;
    round.compare()?;
    let failure = comm.failure();
    ensure(failure.is_none(), || {
        format!("a message that is too long made the communicator unusable: {failure:?}")
    })?;
    let mut round = Round::new(comm, memory);
    reductions::allreduce(&mut round, "allreduce after it", Dtype::F32, RawOp::Sum, 3)?;
    round.finish()
}

fn index(tag: u32) -> usize {
    usize::try_from(tag).unwrap_or(0)
}

/// The ranks after and before this one.
fn neighbours(comm: &dyn RawCollectives) -> (usize, usize) {
    let (rank, size) = (comm.rank(), comm.size());
    ((rank + 1) % size, (rank + size - 1) % size)
}
