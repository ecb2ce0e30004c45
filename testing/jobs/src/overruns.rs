//! Collectives whose ranks pass lengths that differ, without comparing them: nothing is written
//! past a slice.

use std::ptr;

use ranks::collectives::NeighborCollectives;
use ranks::ops::Sum;
use ranks::{
    Checks, Collectives, Communicator, NonblockingCollectives, Runtime, ScopedCollectives, Source,
    Tag,
};
use ranks_launch::Environment;
use ranks_mpi_sys as sys;

use crate::outcome::{Failure, Outcome};

pub(crate) const CANARY: u64 = 0x5555_5555_5555_5555;

/// How much is behind a slice: as much as the longest one has.
const BEHIND: usize = 20_000;

/// Lengths of rank 1 and of the others.
const LENGTHS: [(usize, usize); 4] = [(16, 4096), (4096, 16), (10, 600), (10, BEHIND)];

/// The runtime initialises MPI. The first lengths are those at `from`.
pub(crate) fn own(form: &str, from: &str) -> Outcome {
    let runtime = Runtime::builder().checks(Checks::Local).init()?;
    all_lengths(&runtime, form, from)
}

/// Frees the memory of calls that may have failed, and looks at what is there next.
pub(crate) fn given_back(form: &str) -> Outcome {
    const BLOCK: usize = 3000;
    const ROUNDS: usize = 10;
    let runtime = Runtime::builder().checks(Checks::Local).init()?;
    let world = runtime.world();
    let (rank, size) = (world.rank(), world.size());
    let block = (rank + 1) * BLOCK;
    for _ in 0..ROUNDS {
        let ring = world.cart_create(&[size], &[true], false)?;
        let ring = ring.ok_or("a rank has no place in the ring")?;
        let (blocks_sent, blocks) = match form {
            "alltoall" => (size, size),
            "neighbor_alltoall" => (2, 2),
            "neighbor_allgather" => (1, 2),
            other => return Err(format!("nothing is known of {other}").into()),
        };
        let from = vec![7_u64; block * blocks_sent];
        let mut into = vec![7_u64; block * blocks];
        let called = match form {
            "alltoall" => ring.alltoall(&from, &mut into),
            "neighbor_alltoall" => ring.neighbor_alltoall(&from, &mut into),
            _ => ring.neighbor_allgather(&from, &mut into),
        };
        let lengths = [from.len(), into.len()];
        drop((from, into));
        let next = lengths.map(|length| vec![CANARY; length]);
        println!("{form} of {block}: {}", told(called));
        // What is in flight arrives.
        for _ in 0..1000 {
            world.iprobe(Source::Any, Tag::Any)?;
        }
        next.iter().try_for_each(|memory| untouched(memory))?;
    }
    Ok(())
}

/// Tells how many fragments of a message Open MPI has on their way, and up to which length it has
/// but one in shared memory.
pub(crate) fn pipeline() -> Outcome {
    let _runtime = Runtime::builder().init()?;
    let loaded = sys::loaded().ok_or("no library is loaded")?;
    // SAFETY: MPI is initialised, and the parameter is an int.
    let depth = unsafe { loaded.parameter(c"pml_ob1_send_pipeline_depth") };
    // SAFETY: the same; this one is a `size_t`, whose first half is an int.
    let limit = unsafe { loaded.parameter(c"btl_vader_eager_limit") };
    println!("a pipeline of {depth:?}, a limit of {limit:?}");
    Ok(())
}

/// Another part of the program has initialised it.
pub(crate) fn adopted(form: &str, from: &str) -> Outcome {
    let candidates = ranks_launch::candidates(&Environment::detect())?;
    // SAFETY: the candidates are MPI libraries of this machine, as the program's runtime would open
    // them.
    unsafe { sys::load(&candidates) }?;
    // SAFETY: the library is loaded, nobody has initialised, and MPI takes null for the arguments.
    let code = unsafe { sys::MPI_Init(ptr::null_mut(), ptr::null_mut()) };
    if code != sys::MPI_SUCCESS {
        return Err(format!("MPI_Init returned {code}").into());
    }
    let runtime = Runtime::builder().checks(Checks::Local).init()?;
    all_lengths(&runtime, form, from)?;
    drop(runtime);
    // SAFETY: this program has initialised, and no handle of a runtime is left.
    unsafe { sys::MPI_Finalize() };
    Ok(())
}

fn all_lengths(runtime: &Runtime, form: &str, from: &str) -> Outcome {
    let world = runtime.world();
    println!("receives are {}", runtime.facts().receives());
    for &(small, big) in &LENGTHS[from.parse()?..] {
        let (mine, other) = match world.rank() {
            1 => (small, big),
            _ => (big, small),
        };
        // What a library leaves of one call is not met by the next.
        let comm = world.dup()?;
        let called = call(&comm, form, mine, other).unwrap_or_else(|found| {
            // The other rank may wait for this one.
            println!("{form} of {mine} and {other}: {found}");
            std::process::exit(1)
        });
        println!("{form} of {mine} and {other}: {called}");
    }
    Ok(())
}

/// Makes the call on a slice with others behind it, and tells what it returned.
fn call(comm: &Communicator, form: &str, mine: usize, other: usize) -> Result<String, Failure> {
    if form == "ibcast" {
        return owned(comm, mine);
    }
    let (size, rank) = (comm.size(), comm.rank());
    let (send, recv) = match form {
        "gather" => (other, other * size),
        "scatter" => (mine * size, mine),
        "allgather" => (mine, mine * size),
        "alltoall" => (mine * size, mine * size),
        _ => (mine, mine),
    };
    let from = vec![7_u64; send];
    let mut memory = vec![CANARY; recv + BEHIND * size];
    let (into, behind) = memory.split_at_mut(recv);
    into.fill(7);
    let called = match form {
        "bcast" => comm.bcast(into, 0),
        "gather" if rank == 0 => comm.gather(&from, into, 0),
        "gather" => comm.gather(&from, &mut [], 0),
        "scatter" if rank == 0 => comm.scatter(&from, into, 0),
        "scatter" => comm.scatter(&[], into, 0),
        "allgather" => comm.allgather(&from, into),
        "allreduce" => comm.allreduce(&from, into, Sum),
        "alltoall" => comm.alltoall(&from, into),
        "scoped_ibcast" => comm.scope(|scope| scope.ibcast(into, 0)?.wait().map(drop)),
        other => return Err(format!("nothing is known of {other}").into()),
    };
    untouched(behind)?;
    Ok(told(called))
}

/// The same for a buffer that the operation owns, among others of its length.
fn owned(comm: &Communicator, mine: usize) -> Result<String, Failure> {
    let others = || vec![vec![CANARY; mine]; 32];
    let (before, buffer, after) = (others(), vec![7_u64; mine], others());
    let called = comm.ibcast(buffer, 0).and_then(|request| request.wait());
    before
        .iter()
        .chain(&after)
        .try_for_each(|other| untouched(other))?;
    Ok(told(called.map(drop)))
}

fn untouched(words: &[u64]) -> Outcome {
    match words.iter().filter(|&&word| word != CANARY).count() {
        0 => Ok(()),
        written => Err(format!("{written} words were written past the slice").into()),
    }
}

fn told(called: ranks::Result<()>) -> String {
    called.map_or_else(|error| error.to_string(), |()| "ok".to_owned())
}
