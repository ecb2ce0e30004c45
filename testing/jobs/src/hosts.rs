//! Jobs over several hosts: they say where their ranks are, and send data of known size from the
//! first host to the others.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use ranks::prelude::*;
use ranks::{Hierarchy, NodeShared, Topologies};

use crate::outcome::Outcome;

/// 4 MiB, which must reach every host.
const ELEMENTS: usize = 1 << 19;

pub(crate) fn main() -> Outcome {
    ranks::run(|world| {
        let topology = world.topology()?;
        if world.rank() == 0 {
            println!("{topology}");
        }
        let expected = (0u64..).take(ELEMENTS);
        let mut data = match world.rank() {
            0 => expected.clone().collect(),
            _ => vec![0; ELEMENTS],
        };
        world.bcast(&mut data, 0)?;
        if !data.iter().copied().eq(expected) {
            return Err(format!("rank {} got other data than rank 0 sent", world.rank()).into());
        }
        mark(&world)
    })
}

/// An array that rank 0 fills, of which each host has one copy: it comes to each once, however many
/// ranks are there.
pub(crate) fn node_shared() -> Outcome {
    ranks::run(|world| {
        let array = NodeShared::from_root(&world, 0, ELEMENTS, |out: &mut [u64]| {
            out.iter_mut()
                .zip(0..)
                .for_each(|(place, value)| *place = value);
        })?;
        if !array.iter().copied().eq((0u64..).take(ELEMENTS)) {
            return Err(format!("rank {} reads other data than rank 0 wrote", world.rank()).into());
        }
        array.free()?;
        mark(&world)
    })
}

/// A broadcast of which each host hears once, and a sum of which it hears at most twice.
pub(crate) fn in_two_steps() -> Outcome {
    ranks::run(|world| {
        let hierarchy = Hierarchy::new(&world)?;
        let mut data: Vec<u64> = match world.rank() {
            0 => (0u64..).take(ELEMENTS).collect(),
            _ => vec![0; ELEMENTS],
        };
        hierarchy.bcast(&mut data, 0)?;
        let mut sums = vec![0; ELEMENTS];
        hierarchy.allreduce(&data, &mut sums, ops::Sum)?;
        let expected = (0u64..)
            .take(ELEMENTS)
            .map(|value| value * world.size() as u64);
        if !sums.iter().copied().eq(expected) {
            return Err(format!("rank {} has other sums", world.rank()).into());
        }
        mark(&world)
    })
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Says that this rank has done its work, and where. In one write, so that the launcher does not
/// mix it with others' lines.
fn mark(world: &Communicator) -> Result<(), Failure> {
    let topology = world.topology()?;
    let place = topology
        .place()
        .ok_or("this rank is not in its own topology")?;
    let host = place.host.ok_or("this rank does not know its host")?;
    let (rank, size, hosts) = (world.rank(), world.size(), topology.hosts.len());
    println!("rank {rank} of {size}, host {host} of {hosts}");
    Ok(())
}

/// Works until it is ended: what happens to a job when a host is lost can be watched.
pub(crate) fn for_ever() -> Outcome {
    ranks::run(|world| {
        let mut steps = vec![0u64];
        loop {
            world.allreduce(&[1u64], &mut steps, ops::Sum)?;
            println!("rank {} goes on", world.rank());
            std::thread::sleep(Duration::from_millis(100));
        }
    })
}

/// Works for so many seconds, as rank 0 counts them, or until something fails. What becomes of each
/// rank it writes down in a folder that all hosts see: a launcher reads no more what is written on
/// a host that it has lost.
pub(crate) fn watched(folder: &str, seconds: &str) -> Outcome {
    let seconds = Duration::from_secs(seconds.parse()?);
    ranks::run(|world| {
        let (rank, size) = (world.rank(), world.size());
        let path = Path::new(folder).join(format!("rank-{rank}"));
        let mut goes_on = [0u64];
        let mut since = None;
        loop {
            let mine = u64::from(
                rank == 0 && since.is_none_or(|since: Instant| since.elapsed() < seconds),
            );
            if let Err(error) = world.allreduce(&[mine], &mut goes_on, ops::Sum) {
                fs::write(&path, format!("error: {error}"))?;
                return Err(error.into());
            }
            if since.is_none() {
                since = Some(Instant::now());
                fs::write(&path, "at work")?;
                println!("rank {rank} of {size} is at work");
            }
            if goes_on == [0] {
                fs::write(&path, "done")?;
                return Ok::<(), Failure>(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    })
}
