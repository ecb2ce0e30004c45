//! How a communicator begins.

use std::ffi::c_int;
use std::sync::Arc;
use std::thread;

use super::abi::{self, CommHandle, UniqueId};
use super::comm::{self, Comm};
use super::config::Wishes;
use super::cuda::{self, Place};
use super::failure::{Failure, Outcome, tell};
use super::group::{self, Background};
use super::hooks;
use super::rendezvous;
use super::waiting::Stop;
use super::world::World;

/// Checks how many ranks there are, and which this one is.
pub(crate) fn rank_of(ranks: c_int, rank: c_int) -> Outcome<(usize, usize)> {
    match (usize::try_from(ranks), usize::try_from(rank)) {
        (Ok(ranks), Ok(rank)) if rank < ranks => Ok((ranks, rank)),
        _ => Err(Failure::argument(format!(
            "Invalid rank requested : {rank}/{ranks}"
        ))),
    }
}

/// Writes down a new communicator's handle where the caller wants it, unless the call has failed.
///
/// # Safety
/// `out` may be written.
pub(crate) unsafe fn hand_out(out: *mut CommHandle, comm: Arc<Comm>, outcome: Outcome) -> Outcome {
    let under_way = outcome
        .as_ref()
        .map_or_else(|failure| failure.code == abi::IN_PROGRESS, |()| true);
    if under_way {
        // SAFETY: the caller's promise.
        unsafe { out.write(comm::publish(comm)) };
    }
    outcome
}

/// `ncclCommInitRank` and its kin.
///
/// # Safety
/// `out` is null or may be written.
pub(crate) unsafe fn init_rank(
    out: *mut CommHandle,
    ranks: c_int,
    id: UniqueId,
    rank: c_int,
    wishes: Option<Wishes>,
) -> Outcome {
    if out.is_null() {
        return Err(Failure::argument("newcomm argument is NULL"));
    }
    let (ranks, rank) = rank_of(ranks, rank)?;
    let driver = cuda::driver()?;
    let place = driver.current()?;
    let comm = Comm::new(driver, place, wishes.unwrap_or_else(Wishes::none));
    let outcome = begin(&comm, id, ranks, rank);
    // SAFETY: not null by the check above, and the caller's promise.
    unsafe { hand_out(out, comm, outcome) }
}

/// Comes to the others, at the end of the group.
fn begin(comm: &Arc<Comm>, id: UniqueId, ranks: usize, rank: usize) -> Outcome {
    let of_job = Arc::clone(comm);
    let work = move |background: &Background| {
        let comm = of_job;
        let stop = comm.stop(background);
        come_to(&comm, &id, ranks, rank, &stop)
    };
    group::join(
        vec![Arc::clone(comm)],
        comm.wishes.is_blocking(),
        Box::new(work),
    )
}

/// Waits for all ranks, and refuses those who would share a device.
pub(crate) fn come_to(
    comm: &Comm,
    id: &UniqueId,
    ranks: usize,
    rank: usize,
    stop: Stop<'_>,
) -> Outcome {
    let outcome = rendezvous::join(id, ranks, rank, comm.place.device, stop)
        .and_then(|world| refuse_duplicates(&world).map(|()| comm.begin_in(world)));
    if let Err(failure) = &outcome {
        tell(&failure.text);
        comm.fail(failure.code);
    }
    outcome
}

fn refuse_duplicates(world: &World) -> Outcome {
    if hooks::allows_duplicates() {
        return Ok(());
    }
    for second in 0..world.ranks {
        let device = world.device(second);
        if let Some(first) = (0..second).find(|&first| world.device(first) == device) {
            return Err(Failure::usage(format!(
                "Duplicate GPU detected : rank {first} and rank {second} both on CUDA device {device}"
            )));
        }
    }
    Ok(())
}

/// `ncclCommInitAll`
///
/// # Safety
/// `out` is null or has room for `count`; `devices` is null or has as many.
pub(crate) unsafe fn init_all(
    out: *mut CommHandle,
    count: c_int,
    devices: *const c_int,
) -> Outcome {
    if out.is_null() {
        return Err(Failure::argument("comms argument is NULL"));
    }
    let (ranks, _) = rank_of(count, 0)?;
    let driver = cuda::driver()?;
    let mut available = 0;
    // SAFETY: it writes the number there.
    unsafe { driver.cuDeviceGetCount(&raw mut available) }?;
    let mut places: Vec<Place> = Vec::new();
    for rank in 0..count {
        let device = if devices.is_null() {
            rank
        } else {
            // SAFETY: one of the devices that the caller lists.
            let device = unsafe { devices.offset(isize::try_from(rank).unwrap_or(0)) };
            // SAFETY: the same.
            unsafe { device.read() }
        };
        if !(0..available).contains(&device) {
            return Err(Failure::argument(format!(
                "Invalid device {device}: there are {available}"
            )));
        }
        if !hooks::allows_duplicates() && places.iter().any(|place| place.device == device) {
            return Err(Failure::usage(format!(
                "Duplicate GPU {device} in the list"
            )));
        }
        places.push(driver.primary(device)?);
    }
    let id = rendezvous::create()?;
    let comms: Vec<_> = places
        .into_iter()
        .map(|place| Comm::new(driver, place, Wishes::none()))
        .collect();
    let background = Background::default();
    thread::scope(|scope| {
        let come = |(rank, comm): (usize, &Arc<Comm>)| {
            let (background, id, comm) = (&background, &id, Arc::clone(comm));
            scope.spawn(move || come_to(&comm, id, ranks, rank, &comm.stop(background)))
        };
        let all: Vec<_> = comms.iter().enumerate().map(come).collect();
        let panicked = |_| Err(Failure::new(abi::INTERNAL_ERROR, "a rank has panicked"));
        all.into_iter()
            .map(|one| one.join().unwrap_or_else(panicked))
            .fold(Ok(()), Outcome::and)
    })?;
    for (rank, comm) in comms.into_iter().enumerate() {
        // SAFETY: there is room for as many.
        let place = unsafe { out.add(rank) };
        // SAFETY: the same.
        unsafe { place.write(comm::publish(comm)) };
    }
    Ok(())
}
