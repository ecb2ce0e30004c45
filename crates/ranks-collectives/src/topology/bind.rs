//! The CPUs that ranks are to stay on.

use ranks_launch::{CpuSet, Domain};

use super::Topology;

/// The parts of a machine that ranks are dealt among.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// The memories of each host.
    NumaPerRank,
    /// Its sockets.
    SocketPerRank,
    /// Its cores: each rank gets as many as the others.
    CoresPerRank,
}

/// Those of this rank; `None` if it is to stay as it is.
pub(super) fn cpus(topology: &Topology, policy: Policy) -> Option<CpuSet> {
    let mine = topology.place()?;
    let host = topology.here()?;
    // Those that may run on the same CPUs share them; a rank that was given CPUs of its own has
    // been bound by somebody who knew more.
    let sharing: Vec<usize> = host
        .ranks
        .iter()
        .copied()
        .filter(|rank| {
            let other = topology.ranks.get(*rank);
            other.is_some_and(|other| other.allowed == mine.allowed)
        })
        .collect();
    if sharing.len() < 2 {
        return None;
    }
    let place = sharing.iter().position(|rank| *rank == topology.rank)?;
    let domain = match policy {
        Policy::NumaPerRank => Domain::Numa,
        Policy::SocketPerRank => Domain::Socket,
        Policy::CoresPerRank => Domain::Core,
    };
    let parts: Vec<CpuSet> = host
        .host
        .processors
        .parts(&mine.allowed, domain)
        .into_iter()
        .map(|(_, cpus)| cpus)
        .collect();
    dealt(&parts, place, sharing.len())
}

/// The parts of the `place`th of `many`: several where there are more parts than ranks, one for
/// several ranks where there are fewer.
fn dealt(parts: &[CpuSet], place: usize, many: usize) -> Option<CpuSet> {
    let first = parts.len() * place / many;
    let after = (parts.len() * (place + 1) / many).max(first + 1);
    let mine = parts.get(first..after.min(parts.len()))?;
    let cpus: CpuSet = mine.iter().flat_map(CpuSet::iter).collect();
    (!cpus.is_empty()).then_some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(texts: &[&str]) -> Vec<CpuSet> {
        texts
            .iter()
            .map(|text| CpuSet::parse(text).unwrap())
            .collect()
    }

    fn shares(texts: &[&str], many: usize) -> Vec<String> {
        let parts = parts(texts);
        (0..many)
            .map(|place| dealt(&parts, place, many).unwrap().to_string())
            .collect()
    }

    #[test]
    fn parts_are_dealt_in_blocks() {
        assert_eq!(shares(&["0-3", "4-7"], 2), ["0-3", "4-7"]);
        assert_eq!(shares(&["0-3", "4-7"], 4), ["0-3", "0-3", "4-7", "4-7"]);
        assert_eq!(shares(&["0", "1", "2", "3", "4"], 2), ["0-1", "2-4"]);
        assert_eq!(shares(&["0", "1"], 3), ["0", "0", "1"]);
        assert_eq!(shares(&["0-7"], 3), ["0-7", "0-7", "0-7"]);
        assert_eq!(dealt(&[], 0, 2), None);
    }
}
