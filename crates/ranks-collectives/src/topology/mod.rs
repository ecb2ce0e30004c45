//! The places of ranks: the machines, their CPUs, memories and GPUs, and what starts and carries
//! the job.

use ranks_launch::Environment;
use serde::{Deserialize, Serialize};

pub use bind::Policy;
pub use ranks_launch::{
    Allocation, Binding, Component, Cpu, CpuSet, Domain, Gpu, Host, MemoryLimit, NumaNode,
    Processors, Scheduler,
};
pub use topologies::Topologies;

mod bind;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod report;
mod topologies;

/// The places of all ranks of a communicator, the same on each of them.
///
/// Made by [`Topologies::topology`]; it is a value, and asks nobody any more.
/// [`Display`](std::fmt::Display) is a report for people, and serde writes and reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Topology {
    /// The rank that this value was made on.
    pub rank: usize,
    /// The machines, or containers of them, in the order of their lowest ranks.
    pub hosts: Vec<HostRanks>,
    /// The ranks, in their order.
    pub ranks: Vec<RankPlace>,
    /// The job of a batch system, as rank 0 sees it: `Slurm job 12 (heat), step 0, 2 nodes`.
    pub allocation: Option<String>,
}

/// A machine, or a container of one, and the ranks there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HostRanks {
    /// The machine, as its lowest rank sees it.
    pub host: Host,
    /// The ranks, ascending; the first is its leader.
    pub ranks: Vec<usize>,
}

/// The place of one rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RankPlace {
    /// Its place in [`Topology::hosts`]; `None` if it gave no answer that is understood.
    pub host: Option<usize>,
    /// Its place among the ranks of its host.
    pub local_rank: usize,
    /// Its process.
    pub process: u32,
    /// The CPUs that it may run on.
    pub allowed: CpuSet,
    /// The GPUs that its environment lets it see, by the numbers or names there; `None` if nothing
    /// is said.
    pub visible_gpus: Option<Vec<String>>,
    /// The number of threads that it should compute with.
    pub threads: usize,
    /// The library that carries its messages.
    pub library: Carrier,
}

/// The library that carries messages, and the launcher of the rank.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Carrier {
    /// The library's name and version, or `in process`.
    pub name: String,
    /// The version of the MPI standard that it claims.
    pub standard: Option<(i32, i32)>,
    /// The file that was opened.
    pub file: Option<String>,
    /// The launcher of the rank: `MPICH's mpiexec`.
    pub launcher: Option<String>,
}

/// The answer of a rank about itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Answer {
    host: Host,
    process: u32,
    visible_gpus: Option<Vec<String>>,
    cpus_per_task: Option<usize>,
    library: Carrier,
    allocation: Option<String>,
}

impl Topology {
    /// Of what all ranks have answered, in their order; bytes that are not understood are a rank
    /// that is somewhere unknown.
    fn of(rank: usize, answers: &[Vec<u8>]) -> Topology {
        let answers: Vec<Option<Answer>> = answers
            .iter()
            .map(|bytes| postcard::from_bytes(bytes).ok())
            .collect();
        let mut hosts: Vec<HostRanks> = Vec::new();
        let mut ranks = Vec::with_capacity(answers.len());
        for (rank, answer) in answers.iter().enumerate() {
            let Some(answer) = answer else {
                ranks.push(RankPlace::unknown());
                continue;
            };
            let known = hosts
                .iter()
                .position(|known| known.host.is_same(&answer.host));
            let place = known.unwrap_or(hosts.len());
            if known.is_none() {
                let host = answer.host.clone();
                hosts.push(HostRanks {
                    host,
                    ranks: Vec::new(),
                });
            }
            let mut local_rank = 0;
            if let Some(host) = hosts.get_mut(place) {
                local_rank = host.ranks.len();
                host.ranks.push(rank);
            }
            ranks.push(RankPlace {
                host: Some(place),
                local_rank,
                process: answer.process,
                allowed: answer.host.processors.allowed.clone(),
                visible_gpus: answer.visible_gpus.clone(),
                threads: 1,
                library: answer.library.clone(),
            });
        }
        for host in &hosts {
            let neighbours: Vec<&Answer> = host
                .ranks
                .iter()
                .filter_map(|rank| answers.get(*rank)?.as_ref())
                .collect();
            for (rank, mine) in host.ranks.iter().zip(&neighbours) {
                if let Some(place) = ranks.get_mut(*rank) {
                    place.threads = threads(mine, &neighbours);
                }
            }
        }
        let allocation = answers.into_iter().next().flatten();
        Topology {
            rank,
            hosts,
            ranks,
            allocation: allocation.and_then(|answer| answer.allocation),
        }
    }

    /// The machine of this rank; `None` if it gave no answer.
    pub fn here(&self) -> Option<&HostRanks> {
        self.hosts.get(self.ranks.get(self.rank)?.host?)
    }

    /// This rank's place.
    pub fn place(&self) -> Option<&RankPlace> {
        self.ranks.get(self.rank)
    }

    /// The lowest rank of each host, in the order of hosts.
    pub fn leaders(&self) -> impl Iterator<Item = usize> + '_ {
        self.hosts
            .iter()
            .filter_map(|host| host.ranks.first().copied())
    }

    /// The number of threads that this rank should compute with: its share of the cores that it may
    /// run on, with ranks that may run on the same ones, and no more than control groups and the
    /// batch system allow. At least one.
    pub fn recommended_threads(&self) -> usize {
        self.place().map_or(1, |place| place.threads)
    }

    /// The number of the part of its machine that a rank is bound to, which ranks of the same host
    /// have in common; `None` if it is bound to none alone.
    ///
    /// For [`Domain::Gpu`] the first of the GPUs that its environment lets it see, if that is the
    /// only one.
    pub fn part(&self, rank: usize, domain: Domain) -> Option<String> {
        let place = self.ranks.get(rank)?;
        let host = &self.hosts.get(place.host?)?.host;
        if domain == Domain::Gpu {
            return match place.visible_gpus.as_deref() {
                Some([only]) => Some(only.clone()),
                _ => None,
            };
        }
        let part = host.processors.only_part(&place.allowed, domain)?;
        Some(part.to_string())
    }
}

impl RankPlace {
    fn unknown() -> Self {
        RankPlace {
            host: None,
            local_rank: 0,
            process: 0,
            allowed: CpuSet::default(),
            visible_gpus: None,
            threads: 1,
            library: Carrier::default(),
        }
    }
}

/// The share of one rank, of which these are all on its host.
fn threads(mine: &Answer, neighbours: &[&Answer]) -> usize {
    let allowed = &mine.host.processors.allowed;
    let sharing = neighbours
        .iter()
        .filter(|other| other.host.processors.allowed.overlaps(allowed))
        .count();
    let cores = mine.host.processors.allowed_cores() / sharing.max(1);
    let limit = mine.host.cpu_limit.and_then(|thousandths| {
        usize::try_from(thousandths / 1000)
            .ok()?
            .checked_div(neighbours.len())
    });
    let share = cores.min(limit.unwrap_or(cores));
    share.min(mine.cpus_per_task.unwrap_or(share)).max(1)
}

impl Answer {
    /// Of this rank.
    fn here(library: Carrier) -> Answer {
        let allocation = Allocation::detect();
        let visible = [
            "CUDA_VISIBLE_DEVICES",
            "ROCR_VISIBLE_DEVICES",
            "ZE_AFFINITY_MASK",
        ];
        let visible = visible.iter().find_map(|name| std::env::var(name).ok());
        let names = |list: String| {
            let names = list
                .split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty());
            names.map(str::to_owned).collect()
        };
        Answer {
            host: Host::detect(),
            process: std::process::id(),
            visible_gpus: visible.map(names),
            cpus_per_task: allocation.as_ref().and_then(|all| all.cpus_per_task),
            library: Carrier {
                launcher: Environment::detect()
                    .launcher
                    .map(|launcher| launcher.to_string()),
                ..library
            },
            allocation: allocation.as_ref().map(report::allocation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CpuSet;

    #[test]
    fn cpus_of_another_rank_may_come_in_any_order() {
        let set: CpuSet = postcard::from_bytes(&[4, 8, 2, 1, 8]).unwrap();
        assert_eq!((set.to_string().as_str(), set.len()), ("1-2,8", 3));
        assert!(set.contains(8));
        let largest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        let bytes = [&[2][..], &largest, &[3]].concat();
        let set: CpuSet = postcard::from_bytes(&bytes).unwrap();
        assert_eq!(set.to_string(), format!("3,{}", usize::MAX));
    }
}
