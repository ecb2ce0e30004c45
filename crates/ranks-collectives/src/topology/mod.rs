//! The places of ranks: the machines, their CPUs, memories and GPUs, and what starts and carries
//! the job.

use std::collections::HashMap;

use ranks_comm::backend::digest;
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
pub mod fuzzing;
mod report;
#[cfg(test)]
mod scale;
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
    /// The libraries that carry messages, in the order of their lowest ranks.
    pub libraries: Vec<Carrier>,
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
    /// The place in [`Topology::libraries`] of the one that carries its messages; `None` if it
    /// gave no answer that is understood.
    pub library: Option<usize>,
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
    process: u32,
    allowed: CpuSet,
    visible_gpus: Option<Vec<String>>,
    most: Most,
    /// Of the lowest rank of each host, and of each library: the others say the same.
    host: Option<Host>,
    library: Option<Carrier>,
    /// Of rank 0.
    allocation: Option<String>,
}

/// The threads that a rank has room for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Most {
    /// Cores that it may run on.
    cores: usize,
    /// CPUs that its control groups allow, with the others of its host.
    limit: Option<usize>,
    /// CPUs that the batch system gave it.
    of_task: Option<usize>,
}

/// Numbers of the host of a rank and of its library, which are the same for all ranks of one; 0 for
/// one of its own.
type Keys = [u64; 2];

impl Topology {
    /// Of what all ranks have answered, in their order; bytes that are not understood are a rank
    /// that is somewhere unknown.
    fn of(rank: usize, keys: &[Keys], answers: &[&[u8]]) -> Topology {
        let mut topology = Topology {
            rank,
            hosts: Vec::new(),
            ranks: Vec::with_capacity(answers.len()),
            libraries: Vec::new(),
            allocation: None,
        };
        let mut known: [HashMap<u64, Option<usize>>; 2] = Default::default();
        let mut asked = Vec::with_capacity(answers.len());
        for (rank, (keys, answer)) in keys.iter().zip(answers).enumerate() {
            let answer: Option<Answer> = postcard::from_bytes(answer).ok();
            let Some(mut answer) = answer else {
                // What it would have said for others is not known.
                for (known, key) in known.iter_mut().zip(keys) {
                    known.entry(*key).or_default();
                }
                topology.ranks.push(RankPlace::unknown());
                asked.push(Most::default());
                continue;
            };
            let host = answer.host.take().map(|host| HostRanks {
                host,
                ranks: Vec::new(),
            });
            let host = place(&mut known[0], keys[0], &mut topology.hosts, host);
            let library = answer.library.take();
            let library = place(&mut known[1], keys[1], &mut topology.libraries, library);
            if rank == 0 {
                topology.allocation = answer.allocation.take();
            }
            let mut local_rank = 0;
            if let Some(host) = host.and_then(|host| topology.hosts.get_mut(host)) {
                local_rank = host.ranks.len();
                host.ranks.push(rank);
            }
            topology.ranks.push(RankPlace {
                host,
                local_rank,
                process: answer.process,
                allowed: answer.allowed,
                visible_gpus: answer.visible_gpus,
                threads: 1,
                library,
            });
            asked.push(answer.most);
        }
        for host in &topology.hosts {
            deal_threads(&mut topology.ranks, &asked, &host.ranks);
        }
        topology
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
            library: None,
        }
    }
}

/// The place of what a rank tells of `key` in `all`, or of what another one has told of it before.
fn place<T>(
    known: &mut HashMap<u64, Option<usize>>,
    key: u64,
    all: &mut Vec<T>,
    told: Option<T>,
) -> Option<usize> {
    if let Some(place) = known.get(&key).filter(|_| key != 0) {
        return *place;
    }
    let place = told.map(|told| {
        all.push(told);
        all.len() - 1
    });
    known.insert(key, place);
    place
}

/// Gives each rank of a host its share of the cores.
fn deal_threads(ranks: &mut [RankPlace], most: &[Most], here: &[usize]) {
    for &rank in here {
        let (Some(mine), Some(most)) = (ranks.get(rank), most.get(rank)) else {
            continue;
        };
        let sharing = here
            .iter()
            .filter_map(|other| ranks.get(*other))
            .filter(|other| other.allowed.overlaps(&mine.allowed))
            .count();
        let cores = most.cores / sharing.max(1);
        let limit = most.limit.map_or(cores, |limit| limit / here.len());
        let share = cores.min(limit);
        let threads = share.min(most.of_task.unwrap_or(share)).max(1);
        if let Some(mine) = ranks.get_mut(rank) {
            mine.threads = threads;
        }
    }
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
        let host = Host::detect();
        let limit = host.cpu_limit.map(|thousandths| thousandths / 1000);
        Answer {
            process: std::process::id(),
            allowed: host.processors.allowed.clone(),
            visible_gpus: visible.map(names),
            most: Most {
                cores: host.processors.allowed_cores(),
                limit: limit.and_then(|limit| usize::try_from(limit).ok()),
                of_task: allocation.as_ref().and_then(|all| all.cpus_per_task),
            },
            host: Some(host),
            library: Some(Carrier {
                launcher: Environment::detect()
                    .launcher
                    .map(|launcher| launcher.to_string()),
                ..library
            }),
            allocation: allocation.as_ref().map(report::allocation),
        }
    }

    fn keys(&self) -> Keys {
        let text = |text: &str| {
            let bytes = text.bytes().map(u64::from);
            bytes.chain([text.len() as u64]).collect::<Vec<_>>()
        };
        // As `Host::is_same` compares them.
        let host = self.host.as_ref().filter(|host| !host.kernel.is_empty());
        let host =
            host.map(|host| [&host.kernel, &host.container, &host.name].map(|name| text(name)));
        let library = postcard::to_stdvec(&self.library).unwrap_or_default();
        [
            host.map_or(0, |names| digest(names.concat()).max(1)),
            digest(library.into_iter().map(u64::from)).max(1),
        ]
    }

    /// Leaves out what a lower rank says, given the keys of all.
    fn without_what_others_say(mut self, rank: usize, keys: &[Keys]) -> Self {
        let is_said = |which: usize| {
            let key = |keys: &Keys| keys[which];
            let mine = keys.get(rank).map_or(0, key);
            mine != 0 && keys.iter().take(rank).any(|keys| key(keys) == mine)
        };
        self.host = self.host.filter(|_| !is_said(0));
        self.library = self.library.filter(|_| !is_said(1));
        self.allocation = self.allocation.filter(|_| rank == 0);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::CpuSet;

    #[test]
    fn cpus_of_another_rank_may_come_in_any_order() {
        let set: CpuSet = postcard::from_bytes(&[3, 8, 8, 1, 2, 2, 3]).unwrap();
        assert_eq!((set.to_string().as_str(), set.len()), ("1-3,8", 4));
        assert!(set.contains(8));
        let largest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        let bytes = [&[1, 3][..], &largest].concat();
        assert!(postcard::from_bytes::<CpuSet>(&bytes).is_err());
    }
}
