//! Tests that `ranks doctor --run` runs on its ranks: messages, reductions, shared memory, NCCL;
//! each checked, with its time. Before that, facts that only initialised ranks can tell.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ranks_launch::Count;

use ranks::bootstrap::ThreadBootstrap;
use ranks::nccl::{NcclCommunicator, NcclOptions};
use ranks::prelude::*;
use ranks::{Communicator, Number, SharedWindow};

use crate::Outcome;
use crate::tell::say;

/// The mark before a line of results.
pub(crate) const MARK: &str = "ranks-self-test:";
/// The last word of each rank: a launcher reports success for a job that lost ranks.
pub(crate) const DONE: &str = "done";

/// The number of messages that go to and fro.
const PINGS: u32 = 100;
/// The bytes of the shared window, of all ranks together.
const SHARED: usize = 1 << 20;

/// The time limit for ranks of NCCL that wait for each other.
const LIMIT: Duration = Duration::from_secs(30);
/// The number of ranks that add something: an `i8` holds 1 + 2 + … + 15.
const MOST: usize = 15;

type Checked = Result<bool, ranks::Error>;
type Case = (&'static str, fn(&Communicator) -> Checked);

const CASES: [Case; 15] = [
    ("ping", ping),
    ("allreduce of f64", sum_of::<f64>),
    ("allreduce of f32", sum_of::<f32>),
    ("allreduce of i64", sum_of::<i64>),
    ("allreduce of u64", sum_of::<u64>),
    ("allreduce of isize", sum_of::<isize>),
    ("allreduce of usize", sum_of::<usize>),
    ("allreduce of i32", sum_of::<i32>),
    ("allreduce of u32", sum_of::<u32>),
    ("allreduce of i16", sum_of::<i16>),
    ("allreduce of u16", sum_of::<u16>),
    ("allreduce of i8", sum_of::<i8>),
    ("allreduce of u8", sum_of::<u8>),
    ("split, and back to the world", split),
    ("shared window of 1 MiB", shared_window),
];

/// The test for machines with a GPU and NCCL.
const OF_NCCL: Case = ("NCCL with one rank on GPU 0", nccl_alone);

/// A rank of the test.
pub(crate) fn main() -> Outcome {
    ranks::run(|world| {
        facts(&world)?;
        let nccl = world.allreduce_one(i32::from(world.rank() == 0 && has_nccl()), Max)? == 1;
        for (name, case) in CASES.into_iter().chain(nccl.then_some(OF_NCCL)) {
            world.barrier()?;
            let began = Instant::now();
            let good = case(&world)?;
            let took = began.elapsed().as_secs_f64() * 1e6;
            let all = world.allreduce_one(i32::from(good), Min)? == 1;
            if world.rank() == 0 {
                let verdict = if all { "pass" } else { "FAIL" };
                println!("{MARK} {verdict} {took:.1} {name}");
            }
        }
        println!("{MARK} {DONE}");
        Ok::<(), ranks::Error>(())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Prints facts about the library and the launcher that are known once the ranks are there, and
/// where these are.
fn facts(world: &Communicator) -> Result<(), ranks::Error> {
    let topology = world.topology()?;
    let level = world.thread_level();
    let same = world.allreduce_one(level as i32, Min)? == world.allreduce_one(level as i32, Max)?;
    let clock = world.wtime_is_global()?;
    if world.rank() != 0 {
        return Ok(());
    }
    let told = ranks_launch::Environment::detect();
    let launcher = match (told.launcher, told.size) {
        (Some(launcher), Some(size)) => format!("{launcher}, which started {size}"),
        (Some(launcher), None) => format!("{launcher}, which does not say how many it started"),
        (None, _) => "no launcher".to_owned(),
    };
    let loaded = ranks_mpi_sys::loaded();
    let memory = match loaded.and_then(ranks_mpi_sys::Loaded::takes_gpu_memory) {
        Some(true) => "taken, the library says (MPIX_Query_cuda_support)",
        Some(false) => "not taken, the library says (MPIX_Query_cuda_support)",
        None => "not said",
    };
    let library = loaded.map_or_else(
        || "none".to_owned(),
        |loaded| format!("{} ({})", loaded.name(), loaded.path().display()),
    );
    let receives = match loaded {
        Some(_) => {
            let runtime = ranks::Runtime::builder().init()?;
            runtime.facts().receives().to_owned()
        }
        None => "posted".to_owned(),
    };
    for (name, fact) in [
        ("library", library),
        (
            "world",
            format!("{}, by {launcher}", Count(world.size(), "rank")),
        ),
        (
            "threads",
            format!(
                "{level}{}",
                if same {
                    ""
                } else {
                    ", and other levels on other ranks"
                }
            ),
        ),
        ("tags", format!("0 to {} (MPI_TAG_UB)", world.max_tag())),
        (
            "clock",
            format!(
                "{} (MPI_WTIME_IS_GLOBAL)",
                if clock {
                    "the same on all ranks"
                } else {
                    "each rank's own"
                }
            ),
        ),
        ("GPU memory", memory.to_owned()),
        ("receives", receives),
    ] {
        println!("{MARK} fact {name}: {fact}");
    }
    for line in topology.to_string().lines() {
        println!("{MARK} fact where: {line}");
    }
    Ok(())
}

/// Messages to and fro between neighbours of a ring.
fn ping(world: &Communicator) -> Checked {
    let (rank, size) = (world.rank(), world.size());
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    let mut good = true;
    for n in 0..PINGS {
        let mut got = [0_u64];
        let mine = [rank as u64 + u64::from(n)];
        world.sendrecv(&mine, next, 7, &mut got, before, 7)?;
        good &= got == [before as u64 + u64::from(n)];
    }
    Ok(good)
}

/// The sum of 1 to the number of ranks, as far as it is small enough for every type.
fn sum_of<T: Number + PartialEq + TryFrom<u8>>(world: &Communicator) -> Checked {
    let last = world.size().min(MOST);
    let share = if world.rank() < MOST {
        world.rank() + 1
    } else {
        0
    };
    let number = |number: usize| {
        u8::try_from(number)
            .ok()
            .and_then(|number| T::try_from(number).ok())
    };
    let (Some(share), Some(expected)) = (number(share), number(last * (last + 1) / 2)) else {
        return Ok(false);
    };
    Ok(world.allreduce_one(share, Sum)? == expected)
}

/// Ranks in twos, and who they were.
fn split(world: &Communicator) -> Checked {
    let part = i32::try_from(world.rank() / 2).unwrap_or(0);
    let Some(pair) = world.split(Some(part), 0)? else {
        return Ok(false);
    };
    let mut ranks = vec![0_u64; pair.size()];
    pair.allgather(&[world.rank() as u64], &mut ranks)?;
    let first = world.rank() as u64 / 2 * 2;
    Ok(ranks.iter().copied().eq(first..first + pair.size() as u64))
}

fn has_nccl() -> bool {
    let cuda = ranks::cuda::Cuda::load();
    let count = cuda.and_then(|cuda| cuda.device_count());
    count.is_ok_and(|count| count > 0) && ranks_nccl_sys::Nccl::load().is_ok()
}

/// Rank 0 begins and ends a communicator of NCCL.
fn nccl_alone(world: &Communicator) -> Checked {
    if world.rank() != 0 {
        return Ok(true);
    }
    let Some(alone) = ThreadBootstrap::of(1, LIMIT)?.pop() else {
        return Ok(false);
    };
    let made = NcclCommunicator::new(&alone, 0, &NcclOptions::new());
    if let Err(error) = &made {
        say(error);
    }
    Ok(made.is_ok())
}

/// Each rank of a node writes its part, and reads that of all.
fn shared_window(world: &Communicator) -> Checked {
    let node = world.split_shared(0)?;
    let len = SHARED / node.size();
    let mut window = SharedWindow::<u8>::allocate(&node, len)?;
    let mark = |rank: usize| u8::try_from(rank % 251).unwrap_or(0) + 1;
    window.mine_mut().fill(mark(node.rank()));
    let window = window.fence()?;
    let good = window.segments().enumerate().all(|(rank, segment)| {
        segment.len() == len && segment.iter().all(|&byte| byte == mark(rank))
    });
    window.free()?;
    Ok(good)
}
