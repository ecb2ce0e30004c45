//! Calls each operation a known number of times, for a tool that counts. For two ranks.

use ranks::collectives::PersistentCollectives;
use ranks::communicator::Info;
use ranks::ops::Max;
use ranks::{Collectives, Communicator, Error, ErrorKind, Requests};

use crate::outcome::Outcome;

pub(crate) fn main(what: &str) -> Outcome {
    ranks::run(|world| match what {
        "nothing" => Ok(()),
        "collectives" => collectives(&world),
        "messages" => messages(&world),
        "prepared" => {
            let sum = world.allreduce_init(vec![1], vec![0], Max)?;
            sum.start()?.wait().map(drop)
        }
        "communicators" => communicators(&world),
        "promises" => promises(&world),
        other => Err(Error::new(ErrorKind::Argument, "counted", other)),
    })?;
    Ok(())
}

fn collectives(world: &Communicator) -> ranks::Result<()> {
    times(2, || world.barrier())?;
    times(3, || world.bcast(&mut [1], 0))?;
    times(4, || world.reduce(&[1], &mut [0], Max, 0))?;
    times(5, || world.allreduce(&[1], &mut [0], Max))?;
    let mut all = vec![0; world.size()];
    times(6, || world.gather(&[1], &mut all, 0))?;
    times(7, || world.allgather(&[1], &mut all))?;
    times(8, || world.scatter(&all, &mut [0], 0))?;
    let each = all.clone();
    times(9, || world.alltoall(&each, &mut all))
}

/// Communicators that are dropped are freed at the end at the latest, and freeing one is a call for
/// each.
fn communicators(world: &Communicator) -> ranks::Result<()> {
    let other = world.dup()?;
    times(2, || other.split(Some(0), 0).map(drop))?;
    other.free()
}

fn times(count: usize, mut operation: impl FnMut() -> ranks::Result<()>) -> ranks::Result<()> {
    (0..count).try_for_each(|_| operation())
}

fn messages(world: &Communicator) -> ranks::Result<()> {
    let peer = 1 - world.rank();
    times(10, || {
        world.sendrecv(&[1], peer, 0, &mut [0], peer, 0).map(drop)
    })?;
    let send = || times(11, || world.send(&[1], peer, 1));
    let recv = || times(11, || world.recv(&mut [0], peer, 1).map(drop));
    if world.rank() == 0 {
        send()?;
        recv()?;
    } else {
        recv()?;
        send()?;
    }
    times(12, || world.iprobe(peer, 9).map(drop))
}

/// Receives of unknown length where the library may assume that nothing is asked for from any rank
/// or of any tag, if it is one that reports either.
fn promises(world: &Communicator) -> ranks::Result<()> {
    const KEYS: [&str; 2] = ["mpi_assert_no_any_source", "mpi_assert_no_any_tag"];
    let info = Info::new().with(KEYS[0], "true")?.with(KEYS[1], "true")?;
    let comm = world.dup_with_info(&info)?;
    let known = comm.info()?;
    if KEYS.iter().any(|key| known.get(key) == Some("true")) {
        let peer = 1 - comm.rank();
        let mut arriving: Requests<_> = (0..10)
            .map(|tag| comm.irecv_vec::<i32>(peer, tag))
            .collect::<ranks::Result<_>>()?;
        for tag in (0..10).rev() {
            comm.isend(vec![tag; 3], peer, tag)?.wait()?;
        }
        for (tag, done) in (0..10).zip(arriving.wait_all()?) {
            assert_eq!(done.buffer, [tag; 3]);
        }
    }
    comm.free()
}
