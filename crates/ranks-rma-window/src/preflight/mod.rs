//! Checks that every node has the memory that its ranks are about to ask for, before any of them
//! allocates.
//!
//! Shared memory comes from a file system in memory, as a rule `/dev/shm`, which containers make
//! small, and whoever writes to a page that it has no room for is killed. Libraries do not see that
//! coming: MPICH maps what does not fit, and Open MPI leaves ranks waiting for ever. So the ranks
//! look first, tell each other, and come to the same answer.

mod file_system;
mod room;

use std::collections::HashMap;
use std::fmt;

use ranks_collectives::Collectives;
use ranks_comm::backend::Backend;
use ranks_comm::{Communicator, Error, ErrorKind, Result};
use ranks_launch::Count;

use room::Room;

/// Number of bytes that libraries take for themselves with each piece of shared memory: a page or
/// two, and words for their locks.
const OVERHEAD: u64 = 64 << 10;

/// Finds out whether the nodes have room for the memory that their ranks are about to share.
/// Collective.
///
/// Each rank passes how many bytes it adds itself; what the ranks of a node add up to is compared
/// with the free space of the folder that shared memory lies in, and with the memory that the node
/// and the control group of its ranks have left. Memory whose size cannot be found out is taken to
/// be enough. Memory that others have shared and that nobody has written to yet is not seen: what
/// is made after this takes its pages from the system at once, and is an error if there are none.
/// In process, where nothing is shared between processes, it is the same as [`memory`].
///
/// # Errors
/// [`ErrorKind::Memory`], the same on every rank, with the node, what it needs, what it has and
/// what can be done about it; otherwise what the library reports.
pub fn shared_memory(comm: &Communicator, bytes_here: usize) -> Result<()> {
    let between_processes = matches!(comm.backend(), Backend::Mpi(_));
    ask(comm, "MPI_Win_allocate_shared", bytes_here, || {
        Room::here(between_processes)
    })
}

/// As [`shared_memory`], for memory that does not lie in a folder, such as that of `memfd_create`.
/// Collective.
///
/// # Errors
/// As [`shared_memory`].
pub fn memory(comm: &Communicator, bytes_here: usize) -> Result<()> {
    ask(comm, "preflight", bytes_here, || Room::here(false))
}

/// The same on every rank: [`ErrorKind::Memory`], with what the first has to say, if one of them
/// got no memory. Collective.
pub(crate) fn all_have(
    comm: &Communicator,
    operation: &'static str,
    taken: Result<()>,
) -> Result<()> {
    let lacking = comm.exchange(operation, &[u8::from(taken.is_err())])?;
    if lacking.iter().all(|&lacks| lacks == 0) {
        return Ok(());
    }
    comm.agree(taken).map_err(|error| match error.kind() {
        ErrorKind::PeerFailed => Error::with_text(ErrorKind::Memory, operation, error.to_string()),
        _ => error,
    })
}

/// The words of every rank, which all pass as many. Collective.
pub(crate) fn told_by_all<const N: usize>(
    comm: &Communicator,
    operation: &'static str,
    words: [u64; N],
) -> Result<Vec<[u64; N]>> {
    let all = comm.exchange(operation, bytemuck::cast_slice(&words))?;
    let all: Vec<u64> = bytemuck::pod_collect_to_vec(&all);
    Ok(all.as_chunks().0.to_vec())
}

/// Words that each rank tells the others: its machine, the memory it needs there, and the memory it
/// found to be free.
type Need = [u64; 3];

fn ask(
    comm: &Communicator,
    operation: &'static str,
    bytes_here: usize,
    look: impl FnOnce() -> Room,
) -> Result<()> {
    let room = look();
    let need = match bytes_here as u64 {
        0 => 0,
        bytes => bytes.saturating_add(OVERHEAD),
    };
    let mut all = vec![[0; 3]; comm.size()];
    comm.allgather(&[[room.machine(), need, room.free()]], &mut all)?;
    let Some((rank, need)) = lacking(&all) else {
        return Ok(());
    };
    // All ranks have the same table, and so are here together.
    let text = (comm.rank() == rank).then(|| room.refusal(need));
    let text = told_by(comm, rank, text)?;
    Err(Error::new(ErrorKind::Memory, operation, text))
}

/// The rank that found too little for its machine, and what the ranks of that machine need; the
/// lowest, if there are several.
fn lacking(all: &[Need]) -> Option<(usize, u64)> {
    let asking = all.iter().enumerate().filter(|(_, told)| told[1] > 0);
    let mut needs: HashMap<u64, u64> = HashMap::new();
    for (_, &[machine, need, _]) in asking.clone() {
        let sum = needs.entry(machine).or_default();
        *sum = sum.saturating_add(need);
    }
    asking.into_iter().find_map(|(rank, &[machine, _, free])| {
        let need = *needs.get(&machine)?;
        (need > free).then_some((rank, need))
    })
}

/// The text of one rank, on all of them. Collective.
fn told_by(comm: &Communicator, rank: usize, text: Option<String>) -> Result<String> {
    let mut bytes = text.unwrap_or_default().into_bytes();
    let mut length = [bytes.len() as u64];
    comm.bcast(&mut length, rank)?;
    bytes.resize(usize::try_from(length[0]).unwrap_or(0), 0);
    comm.bcast(&mut bytes, rank)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A number of bytes as people read it.
pub(crate) struct Amount(pub(crate) u64);

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
        match units.iter().find(|(_, shift)| self.0 >> shift >= 1) {
            Some((unit, shift)) => {
                let (whole, rest) = (self.0 >> shift, self.0 & ((1 << shift) - 1));
                write!(
                    f,
                    "{} bytes ({whole}.{} {unit})",
                    self.0,
                    (rest * 10) >> shift
                )
            }
            None => write!(f, "{}", Count(self.0, "byte")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_add_up_by_machine() {
        let all = [[1, 60, 100], [2, 90, 100], [1, 50, 100], [2, 0, 10]];
        assert_eq!(lacking(&all), Some((0, 110)));
        assert_eq!(lacking(&all[..2]), None);
    }

    #[test]
    fn who_asks_for_nothing_refuses_nothing() {
        assert_eq!(lacking(&[[1, 0, 0], [1, 5, 5]]), None);
        assert_eq!(lacking(&[[1, 5, 5], [1, 6, 20]]), Some((0, 11)));
    }

    #[test]
    fn sums_past_the_end_are_too_much() {
        let all = [[1, u64::MAX, u64::MAX - 1], [1, u64::MAX, u64::MAX - 1]];
        assert_eq!(lacking(&all), Some((0, u64::MAX)));
    }

    #[test]
    fn amounts_are_read_in_units() {
        assert_eq!(Amount(512).to_string(), "512 bytes");
        assert_eq!(Amount(64 << 20).to_string(), "67108864 bytes (64.0 MiB)");
        assert_eq!(Amount(5 << 29).to_string(), "2684354560 bytes (2.5 GiB)");
    }

    #[test]
    fn what_nodes_need_is_added_up_once() {
        ranks_scale::row(
            "shared memory, looked for on hosts of 100 ranks",
            (1, 1 << 10),
            |ranks| {
                let told =
                    (0..ranks as u64).map(|rank| [rank / 100, u64::from(rank % 100 == 0), 9]);
                told.collect::<Vec<_>>()
            },
            |_, told| lacking(told),
        );
    }
}
