//! What is wrong before anything is begun, and the ways to wait.

use ranks_comm::ErrorKind;

use super::memory::Memory;
use super::reductions::allreduce;
use super::round::Round;
use super::{ensure, fails, text};
use ranks_raw::{Dtype, RawCollectives, RawOp};

/// Roots, peers, tags, lengths and addresses that cannot be; afterwards the communicator works as
/// before.
pub(super) fn seen_before(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    let size = comm.size();
    let block = memory.allocate(256)?;
    let at = block.address();
    let null = std::ptr::null_mut();
    let of = Dtype::F32;
    let root: &[ErrorKind] = &[ErrorKind::Root];
    // SAFETY: the buffer is long enough, and an operation that is refused is not begun. So below.
    let outcome = unsafe { comm.bcast(at, 4, of, size) };
    fails("bcast from a root that is not there", outcome, root)?;
    // SAFETY: as above.
    let outcome = unsafe { comm.reduce(at, at, 4, of, RawOp::Sum, size) };
    fails("reduce to a root that is not there", outcome, root)?;
    // SAFETY: as above.
    let outcome = unsafe { comm.gather(at, null, 4, of, usize::MAX) };
    fails("gather to a root that is not there", outcome, root)?;
    // SAFETY: as above.
    let outcome = unsafe { comm.scatter(null, at, 4, of, size + 1) };
    fails("scatter from a root that is not there", outcome, root)?;
    let rank: &[ErrorKind] = &[ErrorKind::Rank];
    // SAFETY: as above.
    let outcome = unsafe { comm.send(at, 4, of, size, 0) };
    fails("send to a rank that is not there", outcome, rank)?;
    // SAFETY: as above.
    let outcome = unsafe { comm.recv(at, 4, of, usize::MAX, 0) };
    fails("recv from a rank that is not there", outcome, rank)?;
    if comm.has_tags() {
        // SAFETY: as above.
        let outcome = unsafe { comm.send(at, 4, of, 0, u32::MAX) };
        fails(
            "send with a tag above all limits",
            outcome,
            &[ErrorKind::Tag],
        )?;
        // SAFETY: as above.
        let outcome = unsafe { comm.recv(at, 4, of, 0, u32::MAX) };
        fails(
            "recv with a tag above all limits",
            outcome,
            &[ErrorKind::Tag],
        )?;
    }
    let length: &[ErrorKind] = &[ErrorKind::Length];
    // SAFETY: as above.
    let outcome = unsafe { comm.allreduce(at, at, usize::MAX / 2, of, RawOp::Sum) };
    fails("a length that overflows", outcome, length)?;
    // SAFETY: as above.
    let outcome = unsafe { comm.bcast(at, isize::MAX.unsigned_abs(), Dtype::F64, 0) };
    fails("a length in bytes that overflows", outcome, length)?;
    if size > 1 {
        let count = isize::MAX.unsigned_abs() / 4;
        // SAFETY: as above.
        let outcome = unsafe { comm.allgather(at, at, count, of) };
        fails("a length of all ranks that overflows", outcome, length)?;
    }
    // SAFETY: as above.
    let outcome = unsafe { comm.allreduce(at, null, 4, of, RawOp::Sum) };
    fails("null with a count", outcome, &[ErrorKind::Argument])?;
    // SAFETY: as above.
    let outcome = unsafe { comm.allreduce(at, at, 4, Dtype::Bool, RawOp::Sum) };
    fails("a sum of bool", outcome, &[ErrorKind::Type])?;

    let mut round = Round::new(comm, memory);
    allreduce(&mut round, "allreduce after mistakes", of, RawOp::Sum, 6)?;
    round.finish()
}

/// Results are there after a barrier, and nothing is under way.
pub(super) fn barrier(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    let mut round = Round::new(comm, memory);
    allreduce(
        &mut round,
        "allreduce before a barrier",
        Dtype::I64,
        RawOp::Sum,
        33,
    )?;
    comm.barrier().map_err(text)?;
    round.compare()?;
    let over = comm.progress().map_err(text)?;
    ensure(over, || "something is under way after a barrier".to_owned())
}

/// By `progress` alone an operation comes to its end; `wait` says so at once then.
pub(super) fn progress(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    let mut round = Round::new(comm, memory);
    allreduce(
        &mut round,
        "allreduce by progress",
        Dtype::F64,
        RawOp::Sum,
        500,
    )?;
    let begun = std::time::Instant::now();
    while !comm.progress().map_err(text)? {
        let late = begun.elapsed() > super::ends::LONG;
        ensure(!late, || "an operation does not come to its end".to_owned())?;
        std::thread::yield_now();
    }
    comm.wait(super::ends::LONG).map_err(text)?;
    round.compare()?;
    // Nobody leaves who is needed for the progress of others.
    comm.barrier().map_err(text)
}
