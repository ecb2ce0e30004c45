//! After the end: every operation is refused, and MPI has ended when the last handle went.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::thread;

use ranks::ops::Sum;
use ranks::{
    Backend, Collectives, Communicator, Error, ErrorKind, Runtime, Source, Status, ThreadLevel,
};
use ranks_mpi_sys as sys;

use crate::outcome::{Outcome, refused};

fn start() -> ranks::Result<Runtime> {
    Runtime::builder().backend(Backend::Mpi).init()
}

/// Returns `true` if `MPI_Finalize` has run.
pub(crate) fn has_ended() -> bool {
    let mut flag: c_int = 0;
    // SAFETY: the library is loaded, and this may be asked at any time.
    let code = unsafe { sys::MPI_Finalized(&raw mut flag) };
    code == sys::MPI_SUCCESS && flag != 0
}

pub(crate) fn every_operation() -> Outcome {
    let runtime = start()?;
    let world = runtime.world();
    let other = world.dup()?;
    let me = world.rank();
    let status = world.sendrecv(&[1_u16, 2, 3], me, 5, &mut [0_u16; 3], me, 5)?;
    if status.count::<u16>()? != 3 {
        return Err(format!("{status:?} should count 3").into());
    }
    // Whoever starts while a runtime lives joins it, and does not end it.
    start()?.world().barrier()?;
    ranks::run(|world| world.barrier())?;
    world.barrier()?;

    let message = world.mprobe(Source::Null, 0)?;
    runtime.finalize()?;
    if has_ended() {
        return Err("MPI ended under living handles".into());
    }
    refused("start", start(), ErrorKind::Finalized)?;
    refused(
        "message.recv",
        message.recv(&mut [0_u8]),
        ErrorKind::Finalized,
    )?;
    for comm in [&world, &other] {
        messages(comm)?;
        collectives(comm)?;
        management(comm)?;
    }
    counts(&status)?;
    refused("free", other.free(), ErrorKind::Finalized)?;

    drop(world);
    if !has_ended() {
        return Err("the last handle has gone, and MPI has not ended".into());
    }
    refused("start", start(), ErrorKind::Finalized)?;
    let run = ranks::run(|_| Err::<(), Error>(unexpected()));
    refused("run", run, ErrorKind::Finalized)?;
    Ok(())
}

fn unexpected() -> Error {
    Error::new(ErrorKind::Argument, "run", "the closure was called")
}

fn messages(comm: &Communicator) -> Result<(), String> {
    let kind = ErrorKind::Finalized;
    let me = comm.rank();
    refused("send", comm.send(&[1_u8], me, 0), kind)?;
    refused("ssend", comm.ssend(&[1_u8], me, 0), kind)?;
    refused("send to nobody", comm.send(&[1_u8], None, 0), kind)?;
    refused("recv", comm.recv(&mut [0_u8], me, 0), kind)?;
    refused("recv from nobody", comm.recv(&mut [0_u8], None, 0), kind)?;
    refused("recv_vec", comm.recv_vec::<u8>(me, 0), kind)?;
    refused("probe", comm.probe(me, 0), kind)?;
    refused("iprobe", comm.iprobe(me, 0), kind)?;
    refused("mprobe", comm.mprobe(me, 0), kind)?;
    refused("improbe", comm.improbe(me, 0), kind)?;
    let both = comm.sendrecv(&[1_u8], me, 0, &mut [0_u8], me, 0);
    refused("sendrecv", both, kind)?;
    let replaced = comm.sendrecv_replace(&mut [0_u8], me, 0, me, 0);
    refused("sendrecv_replace", replaced, kind)
}

fn collectives(comm: &Communicator) -> Result<(), String> {
    let kind = ErrorKind::Finalized;
    let size = comm.size();
    let mut all = vec![0; size];
    refused("barrier", comm.barrier(), kind)?;
    refused("bcast", comm.bcast(&mut [0], 0), kind)?;
    refused("reduce", comm.reduce(&[1], &mut [0], Sum, 0), kind)?;
    refused("allreduce", comm.allreduce(&[1], &mut [0], Sum), kind)?;
    refused("gather", comm.gather(&[1], &mut all, 0), kind)?;
    refused("allgather", comm.allgather(&[1], &mut all), kind)?;
    refused("scatter", comm.scatter(&vec![1; size], &mut [0], 0), kind)?;
    refused("alltoall", comm.alltoall(&vec![1; size], &mut all), kind)
}

fn management(comm: &Communicator) -> Result<(), String> {
    let kind = ErrorKind::Finalized;
    refused("dup", comm.dup(), kind)?;
    refused("split", comm.split(Some(0), 0), kind)?;
    refused("split_shared", comm.split_shared(0), kind)?;
    refused("group", comm.group(), kind)?;
    refused("name", comm.name(), kind)?;
    refused("set_name", comm.set_name("x"), kind)?;
    refused("compare", comm.compare(&comm.clone()), kind)
}

/// What the library would have to be asked for is refused; what was decoded before, or lies in the
/// status, is told.
fn counts(status: &Status) -> Result<(), String> {
    match status.count::<u16>() {
        Ok(3) => {}
        other => refused("count", other, ErrorKind::Finalized)?,
    }
    match (status.source(), status.tag()) {
        (Some(_), Some(5)) => Ok(()),
        other => Err(format!("source and tag need no library: {other:?}")),
    }
}

/// At `MPI_THREAD_MULTIPLE` the last handle may go on any thread.
pub(crate) fn last_handle_elsewhere() -> Outcome {
    let runtime = start()?;
    if runtime.facts().thread_level() != ThreadLevel::Multiple {
        return Err(format!("this is about another level: {}", runtime.facts()).into());
    }
    let world = runtime.world();
    drop(runtime);
    world.barrier()?;
    thread::spawn(move || drop(world))
        .join()
        .map_err(|_| "the other thread panicked")?;
    if !has_ended() {
        return Err("the last handle has gone, and MPI has not ended".into());
    }
    Ok(())
}

/// `run` returns while a handle lives on, which nobody will drop any more.
pub(crate) fn kept(how: &str) -> Outcome {
    static KEPT: OnceLock<Communicator> = OnceLock::new();
    ranks::run(|world| {
        world.barrier()?;
        match how {
            "static" => drop(KEPT.set(world)),
            "forgotten" => std::mem::forget([world.clone(), world.dup()?]),
            "thread" => drop(thread::spawn(move || {
                loop {
                    thread::park();
                    std::hint::black_box(&world);
                }
            })),
            other => return Err(format!("nothing is kept by {other}").into()),
        }
        Ok(())
    })
}
