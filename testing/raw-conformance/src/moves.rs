//! Operations that move blocks.

use super::memory::Memory;
use super::round::{Round, pattern};
use super::text;
use ranks_raw::{Dtype, RawCollectives};

/// Each type with a few elements, and three of them with every form and many lengths.
pub(super) fn every_type(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    let mut round = Round::new(comm, memory);
    for (number, dtype) in Dtype::ALL.into_iter().enumerate() {
        bcast(&mut round, dtype, 5, number % comm.size())?;
        allgather(&mut round, dtype, 3)?;
    }
    round.finish()?;
    for (dtype, count) in [(Dtype::U8, 7), (Dtype::F32, 1), (Dtype::Complex128, 65)] {
        let root = count % comm.size();
        let mut round = Round::new(comm, memory);
        bcast(&mut round, dtype, count, root)?;
        allgather(&mut round, dtype, count)?;
        alltoall(&mut round, dtype, count)?;
        gather(&mut round, dtype, count, root)?;
        scatter(&mut round, dtype, count, root)?;
        round.finish()?;
    }
    let mut round = Round::new(comm, memory);
    bcast(&mut round, Dtype::I16, 40_001, comm.size() - 1)?;
    allgather(&mut round, Dtype::I16, 20_001)?;
    round.finish()
}

/// Operations of no elements, also with addresses that are null.
pub(super) fn nothing(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    let mut round = Round::new(comm, memory);
    bcast(&mut round, Dtype::F64, 0, 0)?;
    allgather(&mut round, Dtype::F64, 0)?;
    alltoall(&mut round, Dtype::F64, 0)?;
    gather(&mut round, Dtype::F64, 0, 0)?;
    scatter(&mut round, Dtype::F64, 0, 0)?;
    let (from, to) = (std::ptr::null(), std::ptr::null_mut());
    // SAFETY: no elements are read or written.
    unsafe { comm.allgather(from, to, 0, Dtype::U8) }.map_err(text)?;
    // SAFETY: as above.
    unsafe { comm.allreduce(from, to, 0, Dtype::F32, ranks_raw::RawOp::Sum) }.map_err(text)?;
    round.finish()
}

/// One buffer for both sides.
pub(super) fn in_place(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    let (rank, size) = (comm.rank(), comm.size());
    for (dtype, count) in [(Dtype::U16, 9), (Dtype::F64, 3)] {
        let bytes = count * dtype.size();
        let root = count % size;
        let all: Vec<u8> = (0..size)
            .flat_map(|from| pattern(dtype, from, 0, count))
            .collect();
        let mut own = vec![0xa5; all.len()];
        own[rank * bytes..][..bytes].copy_from_slice(&pattern(dtype, rank, 0, count));

        let mut round = Round::new(comm, memory);
        let whole = round.block("allgather in place", &own, all.clone())?;
        let part = whole.wrapping_byte_add(rank * bytes);
        // SAFETY: the part is this rank's of the whole, which the round keeps until all is over,
        // and compares then only.
        unsafe { comm.allgather(part, whole, count, dtype) }.map_err(text)?;

        let after = if rank == root {
            all.clone()
        } else {
            own.clone()
        };
        let whole = round.block("gather in place", &own, after)?;
        let part = whole.wrapping_byte_add(rank * bytes);
        // SAFETY: as above.
        unsafe { comm.gather(part, whole, count, dtype, root) }.map_err(text)?;

        let mut after = all.clone();
        let before = if rank == root {
            all
        } else {
            vec![0; size * bytes]
        };
        if rank != root {
            after = before.clone();
            let dealt = pattern(dtype, rank, 0, count);
            after[rank * bytes..][..bytes].copy_from_slice(&dealt);
        }
        let whole = round.block("scatter in place", &before, after)?;
        let part = whole.wrapping_byte_add(rank * bytes);
        // SAFETY: as above.
        unsafe { comm.scatter(whole, part, count, dtype, root) }.map_err(text)?;
        round.finish()?;
    }
    Ok(())
}

fn bcast(round: &mut Round<'_>, dtype: Dtype, count: usize, root: usize) -> Result<(), String> {
    let what = format!("bcast of {count} {dtype:?} from {root}");
    let sent = pattern(dtype, root, 0, count);
    let buffer = if round.comm.rank() == root {
        round.sent(&what, &sent)?
    } else {
        round.received(&what, sent)?
    };
    // SAFETY: the round keeps the buffer, which is that long, until all is over, and compares then
    // only.
    unsafe { round.comm.bcast(buffer, count, dtype, root) }.map_err(text)
}

fn allgather(round: &mut Round<'_>, dtype: Dtype, count: usize) -> Result<(), String> {
    let what = format!("allgather of {count} {dtype:?}");
    let send = round.sent(&what, &pattern(dtype, round.comm.rank(), 1, count))?;
    let all = (0..round.comm.size()).flat_map(|from| pattern(dtype, from, 1, count));
    let recv = round.received(&what, all.collect())?;
    // SAFETY: as for `bcast`.
    unsafe { round.comm.allgather(send, recv, count, dtype) }.map_err(text)
}

fn alltoall(round: &mut Round<'_>, dtype: Dtype, count: usize) -> Result<(), String> {
    let what = format!("alltoall of {count} {dtype:?}");
    let (rank, size) = (round.comm.rank(), round.comm.size());
    let sent: Vec<u8> = (0..size)
        .flat_map(|to| pattern(dtype, rank, to, count))
        .collect();
    let send = round.sent(&what, &sent)?;
    let received = (0..size).flat_map(|from| pattern(dtype, from, rank, count));
    let recv = round.received(&what, received.collect())?;
    // SAFETY: as for `bcast`.
    unsafe { round.comm.alltoall(send, recv, count, dtype) }.map_err(text)
}

fn gather(round: &mut Round<'_>, dtype: Dtype, count: usize, root: usize) -> Result<(), String> {
    let what = format!("gather of {count} {dtype:?} to {root}");
    let (rank, size) = (round.comm.rank(), round.comm.size());
    let send = round.sent(&what, &pattern(dtype, rank, 2, count))?;
    let recv = if rank == root {
        let all = (0..size).flat_map(|from| pattern(dtype, from, 2, count));
        round.received(&what, all.collect())?
    } else {
        std::ptr::null_mut()
    };
    // SAFETY: as for `bcast`; null where nothing is received.
    unsafe { round.comm.gather(send, recv, count, dtype, root) }.map_err(text)
}

fn scatter(round: &mut Round<'_>, dtype: Dtype, count: usize, root: usize) -> Result<(), String> {
    let what = format!("scatter of {count} {dtype:?} from {root}");
    let (rank, size) = (round.comm.rank(), round.comm.size());
    let send = if rank == root {
        let all: Vec<u8> = (0..size)
            .flat_map(|to| pattern(dtype, root, to, count))
            .collect();
        round.sent(&what, &all)?
    } else {
        std::ptr::null_mut()
    };
    let recv = round.received(&what, pattern(dtype, root, rank, count))?;
    // SAFETY: as for `bcast`; null where nothing is sent.
    unsafe { round.comm.scatter(send, recv, count, dtype, root) }.map_err(text)
}
