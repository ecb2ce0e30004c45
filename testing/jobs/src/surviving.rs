//! Rank 1 is lost, and the others go on without it: or are told that they cannot, and why.

use std::process::{Command, id};
use std::thread;
use std::time::{Duration, Instant};

use ranks::collectives::InPlaceCollectives;
use ranks::communicator::Agreed;
use ranks::ops::{Sum, UserOp};
use ranks::{Collectives, Communicator, Error, ErrorKind, Request, Requests, Result, Source};
use ranks_mpi_sys::{
    MPI_ANY_SOURCE, MPI_BYTE, MPI_COMM_NULL, MPI_Irecv, MPI_REQUEST_NULL, MPI_SUCCESS,
};

use crate::outcome::Outcome;
use crate::overruns::CANARY;

/// The rank that is lost.
const LOST: usize = 1;

pub(crate) fn main(how: &str) -> Outcome {
    let how = how.to_owned();
    ranks::run(move |world| match world.fault_tolerance() {
        Ok(()) => survive(&world, &how),
        Err(why_not) => refused(&world, &why_not),
    })?;
    Ok(())
}

/// Every function says the same.
fn refused(world: &Communicator, why_not: &Error) -> Outcome {
    let kinds = [
        Err(why_not.kind()),
        world.revoke().map_err(|error| error.kind()),
        world.shrink().map(drop).map_err(|error| error.kind()),
        world.agree_flags(1).map(drop).map_err(|error| error.kind()),
        world.failed_ranks().map(drop).map_err(|error| error.kind()),
        world.ack_failed().map(drop).map_err(|error| error.kind()),
    ];
    if kinds
        .iter()
        .any(|kind| *kind != Err(ErrorKind::NotInLibrary))
        || world.is_revoked()?
    {
        return Err(format!("not all say that this is not in the library: {kinds:?}").into());
    }
    world.barrier()?;
    println!("{why_not}");
    Ok(())
}

fn survive(world: &Communicator, how: &str) -> Outcome {
    if how == "abort" {
        world.barrier()?;
        world.abort(3);
    }
    let (rank, size) = (world.rank(), world.size());
    // These are dropped with the old world, and freed by nobody.
    let (comm, _other) = (world.dup()?, world.split(Some(0), 0)?);
    let mut sum = [0];
    comm.allreduce(&[1], &mut sum, Sum)?;
    // Nobody is in the midst of what came before when it goes.
    if rank == LOST {
        for other in (0..size).filter(|&other| other != LOST) {
            comm.recv(&mut [0_u8], other, 8)?;
        }
        return die(how);
    }
    comm.send(&[1_u8], LOST, 8)?;
    let error = match wait(&comm, how) {
        Ok(()) => return Err(format!("{how} went well without rank {LOST}").into()),
        Err(error) => error,
    };
    println!("{:?}: {error}", error.kind());
    if !error.kind().is_loss() {
        return Err(error.into());
    }
    comm.revoke()?;
    if !comm.is_revoked()?
        || comm.barrier().map_err(|error| error.kind()) != Err(ErrorKind::Revoked)
    {
        return Err("the communicator is not revoked".into());
    }
    let shrunk = comm.shrink()?;
    if (shrunk.before(), shrunk.size(), shrunk.has_quorum()) != (size, size - 1, true) {
        return Err(format!("{shrunk:?} of {size}").into());
    }
    let left = shrunk.quorum()?;
    let mut ranks = [0];
    left.allreduce(&[rank], &mut ranks, Sum)?;
    if ranks != [size * (size - 1) / 2 - LOST] {
        return Err(format!("the ranks that are left make {ranks:?}").into());
    }
    if comm.failed_ranks()? != [LOST] || !left.failed_ranks()?.is_empty() {
        return Err(format!(
            "{:?} and {:?} are lost",
            comm.failed_ranks(),
            left.failed_ranks()
        )
        .into());
    }
    agreed(&comm, &left)?;
    // What is made of the new one is freed as ever.
    for _ in 0..3 {
        left.dup()?.barrier()?;
    }
    println!("went on");
    Ok(())
}

fn agreed(comm: &Communicator, left: &Communicator) -> Outcome {
    let mine = 0b110 | u32::from(left.rank() == 0);
    let as_expected = |agreed: Agreed| (agreed.flags, agreed.news) == (0b110, false);
    let agreed = left.agree_flags(mine)?;
    if !as_expected(agreed) {
        return Err(format!("{agreed:?} among those that are left").into());
    }
    if comm.ack_failed()? != [LOST] {
        return Err("another rank is taken note of".into());
    }
    let agreed = comm.agree_flags(mine)?;
    if !as_expected(agreed) {
        return Err(format!("{agreed:?} on the old one").into());
    }
    Ok(())
}

fn die(how: &str) -> Outcome {
    assert_ne!(how, "panic", "out of luck");
    if how == "error" {
        return Err("out of luck".into());
    }
    // Nothing of this process has a chance to say goodbye.
    Command::new("kill")
        .args(["-KILL", &id().to_string()])
        .status()?;
    Err("it lives".into())
}

/// The last rank is lost while the others exchange blocks in place, in memory that they free then.
pub(crate) fn given_back() -> Outcome {
    const BLOCK: usize = 4096;
    /// The time at which the ranks come, in milliseconds; the last one has gone before.
    const COMING: [u64; 4] = [58, 0, 0, 29];
    ranks::run(|world| -> Outcome {
        let (rank, size) = (world.rank(), world.size());
        world.barrier()?;
        if rank == size - 1 {
            thread::spawn(|| {
                thread::sleep(Duration::from_millis(50));
                // What is wrong shows where nobody is lost.
                die("given back").map_err(|error| error.to_string())
            });
        }
        let mut data = vec![7_u64; BLOCK * size];
        thread::sleep(Duration::from_millis(COMING[rank]));
        let outcome = world.alltoall_in_place(&mut data);
        drop(data);
        let memory = vec![vec![CANARY; BLOCK * size]; 8];
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(600) {
            // The others may be lost meanwhile.
            let _ = world.iprobe(Source::Any, 77);
        }
        let written = memory.iter().flatten().filter(|&&word| word != CANARY);
        let kind = outcome.map_err(|error| error.kind());
        println!("{kind:?}: {} elements were written", written.count());
        std::process::exit(0)
    })?;
    Ok(())
}

/// The last rank is lost while the others reduce by an operation that the library calls.
pub(crate) fn reducing() -> Outcome {
    ranks::run(|world| {
        world.barrier()?;
        if world.rank() == world.size() - 1 {
            thread::sleep(Duration::from_millis(50));
            return die("reducing");
        }
        let larger = UserOp::commutative(|one: i32, other: i32| one.max(other));
        Ok(world.allreduce(&[1], &mut [0], larger)?)
    })?;
    Ok(())
}

/// Rank 1 is lost while the others receive from any rank, as another part of the program has begun
/// it: they are told, and it goes on.
pub(crate) fn pending() -> Outcome {
    ranks::run(|world| match world.fault_tolerance() {
        Ok(()) => go_on_receiving(&world),
        Err(why_not) => refused(&world, &why_not),
    })?;
    Ok(())
}

/// A receive of as many bytes, as the library has it: it is not claimed.
fn irecv_any(comm: &Communicator, tag: i32) -> Result<Request<Vec<u8>>> {
    let mut buffer = vec![0_u8; 32];
    let mut request = MPI_REQUEST_NULL;
    // SAFETY: so many bytes, which stay where they are until the request is over; no message is
    // longer.
    let code = unsafe {
        MPI_Irecv(
            buffer.as_mut_ptr().cast(),
            32,
            MPI_BYTE,
            MPI_ANY_SOURCE,
            tag,
            comm.as_raw().unwrap_or(MPI_COMM_NULL),
            &raw mut request,
        )
    };
    assert_eq!(code, MPI_SUCCESS);
    // SAFETY: begun just now, with the address of the first element, and nobody else has it.
    unsafe { comm.recv_request_from_raw(request, buffer) }
}

fn go_on_receiving(world: &Communicator) -> Outcome {
    const ASKED: i32 = 20;
    const LEFT: i32 = 21;
    let (rank, size) = (world.rank(), world.size());
    let comm = world.dup()?;
    if rank == LOST {
        for other in (0..size).filter(|&other| other != LOST) {
            comm.recv(&mut [0_u8], other, 8)?;
        }
        return die("pending");
    }
    let mut asked = irecv_any(&comm, ASKED)?;
    let left = irecv_any(&comm, LEFT)?;
    comm.send(&[1_u8], LOST, 8)?;
    is_told("test", asked.wait_timeout(Duration::from_secs(20)))?;
    is_told("wait", left.wait().map(drop))?;
    let mut many: Requests<_> = std::iter::once(asked).collect();
    is_told("wait_any", many.wait_any().map(drop))?;
    if comm.ack_failed()? != [LOST] || many.test_any()?.is_some() {
        return Err("it is over, though nothing has come".into());
    }
    // All have been told before anybody sends.
    comm.agree_flags(1)?;
    let alive: Vec<usize> = (0..size).filter(|&rank| rank != LOST).collect();
    let mine = alive.iter().position(|&other| other == rank).unwrap_or(0);
    let next = alive[(mine + 1) % alive.len()];
    for tag in [ASKED, LEFT] {
        comm.isend(vec![u8::try_from(next)?; 32], next, tag)?
            .wait()?;
    }
    let received = many.wait_any()?.map(|completed| completed.buffer);
    if received != Some(vec![u8::try_from(rank)?; 32]) {
        return Err(format!("{received:?}").into());
    }
    println!("went on");
    Ok(())
}

/// That it is told of the loss.
fn is_told<T: std::fmt::Debug>(what: &str, outcome: Result<T>) -> Outcome {
    match outcome {
        Err(error) if error.kind() == ErrorKind::ProcFailed => Ok(()),
        other => Err(format!("{what}: {other:?}").into()),
    }
}

/// Waits for what cannot come.
fn wait(comm: &Communicator, how: &str) -> Result<()> {
    let mut value = [0_u64; 4];
    match how {
        "recv" => comm.recv(&mut value, LOST, 7).map(drop),
        "recv-any" => comm.recv(&mut value, Source::Any, 7).map(drop),
        "irecv" => comm.irecv(value.to_vec(), LOST, 7)?.wait().map(drop),
        "irecv-any" => comm.irecv(value.to_vec(), Source::Any, 7)?.wait().map(drop),
        "ssend" => comm.ssend(&value, LOST, 7),
        // The buffer is too large to leave without being asked for.
        "isend" => comm.isend(vec![1_u64; 1 << 18], LOST, 7)?.wait().map(drop),
        _ => comm.barrier(),
    }
}
