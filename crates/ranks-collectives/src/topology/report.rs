//! A topology in words.

use std::fmt;

use ranks_launch::{Allocation, Count};

use super::{Carrier, HostRanks, Topology};

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            hosts,
            ranks,
            libraries,
            ..
        } = self;
        write!(
            f,
            "{} on {}",
            Count(ranks.len(), "rank"),
            Count(hosts.len(), "host")
        )?;
        if let Some(first) = ranks.first().filter(|first| first.host.is_some()) {
            let unknown = Carrier::default();
            let library = first.library.and_then(|place| libraries.get(place));
            let library = library.unwrap_or(&unknown);
            write!(f, ", {}", library.name)?;
            if let Some((major, minor)) = library.standard {
                write!(f, " (MPI {major}.{minor})")?;
            }
            if let Some(file) = &library.file {
                write!(f, " from {file}")?;
            }
            if let Some(launcher) = &library.launcher {
                write!(f, ", started by {launcher}")?;
            }
        }
        writeln!(f)?;
        if let Some(allocation) = &self.allocation {
            writeln!(f, "{allocation}")?;
        }
        for host in hosts {
            self.host(f, host)?;
        }
        for (rank, place) in ranks.iter().enumerate() {
            if place.host.is_none() {
                writeln!(
                    f,
                    "rank {rank} gave no answer that is understood: is it another version of this program?"
                )?;
            } else if let Some(library) = place.library.and_then(|place| libraries.get(place))
                && libraries
                    .first()
                    .is_some_and(|first| first.name != library.name)
            {
                writeln!(f, "rank {rank} has another library: {}", library.name)?;
            }
        }
        Ok(())
    }
}

impl Topology {
    fn host(
        &self,
        f: &mut fmt::Formatter<'_>,
        HostRanks { host, ranks }: &HostRanks,
    ) -> fmt::Result {
        let processors = &host.processors;
        let cores: std::collections::BTreeSet<usize> =
            processors.cpus.iter().map(|cpu| cpu.core).collect();
        write!(
            f,
            "{}: {}, {} of {} threads, ",
            host.name,
            Count(ranks.len(), "rank"),
            Count(cores.len(), "core"),
            processors.cpus.len()
        )?;
        write!(
            f,
            "{}, {} of memory",
            Count(processors.numa_nodes.len().max(1), "NUMA domain"),
            gibibytes(host.memory)
        )?;
        if let Some(limit) = host.memory_limit {
            write!(f, " (limited to {})", gibibytes(limit))?;
        }
        if let Some(limit) = host.cpu_limit {
            write!(
                f,
                ", limited to {}.{} CPUs",
                limit / 1000,
                limit % 1000 / 100
            )?;
        }
        if !host.gpus.is_empty() {
            write!(f, ", {}", Count(host.gpus.len(), "GPU"))?;
        }
        writeln!(f)?;
        for rank in ranks {
            let Some(place) = self.ranks.get(*rank) else {
                continue;
            };
            write!(
                f,
                "  rank {rank}: process {}, CPUs {}",
                place.process, place.allowed
            )?;
            if let Some(gpus) = &place.visible_gpus {
                write!(f, ", GPUs {}", gpus.join(","))?;
            }
            writeln!(f, ", {} advised", Count(place.threads, "thread"))?;
        }
        Ok(())
    }
}

/// A job in words.
pub(super) fn allocation(all: &Allocation) -> String {
    let mut text = format!("{} job {}", all.scheduler, all.job);
    if let Some(name) = &all.name {
        text += &format!(" ({name})");
    }
    if let Some(step) = &all.step {
        text += &format!(", step {step}");
    }
    if !all.nodes.is_empty() {
        text += &format!(", {}", Count(all.nodes.len(), "node"));
    }
    if all.restarts > 0 {
        text += &format!(", restarted {}", Count(all.restarts, "time"));
    }
    if let Some(left) = all.remaining() {
        text += &format!(", {} min left", left.as_secs() / 60);
    }
    for bad in &all.malformed {
        text += &format!("; {bad}");
    }
    text
}

fn gibibytes(bytes: u64) -> String {
    const GIB: u64 = 1 << 30;
    format!("{}.{} GiB", bytes / GIB, bytes % GIB * 10 / GIB)
}
