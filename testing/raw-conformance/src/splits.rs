//! Parts of a communicator.

use super::memory::Memory;
use super::round::{Round, pattern};
use super::{ensure, text};
use ranks_raw::{Dtype, RawCollectives};

/// Even and odd ranks, each in reverse order.
pub(super) fn by_color(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    let (rank, size) = (comm.rank(), comm.size());
    let color = u32::from(rank % 2 == 1);
    let key = u32::try_from(size - rank).unwrap_or(0);
    let part = comm.split(Some(color), key).map_err(text)?;
    let part = part.ok_or("split gives None to a rank with a color")?;
    let members: Vec<_> = (0..size)
        .rev()
        .filter(|other| other % 2 == rank % 2)
        .collect();
    let expected = members.iter().position(|member| *member == rank);
    ensure(part.size() == members.len(), || {
        format!(
            "the part has {} ranks instead of {}",
            part.size(),
            members.len()
        )
    })?;
    ensure(Some(part.rank()) == expected, || {
        format!("rank {} of the part instead of {expected:?}", part.rank())
    })?;
    gathers(&*part, memory, &members)?;
    // The whole goes on beside its part.
    gathers(comm, memory, &(0..size).collect::<Vec<_>>())
}

/// The last rank belongs to no part.
pub(super) fn without_color(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    let (rank, size) = (comm.rank(), comm.size());
    let outside = rank == size - 1;
    let color = if outside { None } else { Some(7) };
    let part = comm.split(color, 0).map_err(text)?;
    ensure(part.is_none() == outside, || {
        format!("a rank that passes {color:?} gets {part:?}")
    })?;
    match part {
        Some(part) => gathers(&*part, memory, &(0..size - 1).collect::<Vec<_>>()),
        None => Ok(()),
    }
}

/// What each rank has comes from the rank of the whole that it is.
fn gathers(
    comm: &dyn RawCollectives,
    memory: &dyn Memory,
    members: &[usize],
) -> Result<(), String> {
    const COUNT: usize = 6;
    let mut round = Round::new(comm, memory);
    let own = pattern(Dtype::F32, members[comm.rank()], 0, COUNT);
    let send = round.sent("allgather in a part", &own)?;
    let all = members
        .iter()
        .flat_map(|member| pattern(Dtype::F32, *member, 0, COUNT));
    let recv = round.received("allgather in a part", all.collect())?;
    // SAFETY: the round keeps the buffers, which are that long, until all is over, and compares
    // then only.
    unsafe { comm.allgather(send, recv, COUNT, Dtype::F32) }.map_err(text)?;
    round.finish()
}
