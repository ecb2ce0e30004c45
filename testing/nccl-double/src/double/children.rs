//! Communicators that are made of others: some of their ranks, all but a few, or more.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::abi::{self, CommHandle, NO_COLOR, SHRINK_ABORT, UniqueId};
use super::comm::Comm;
use super::config::Wishes;
use super::control::About;
use super::failure::{Failure, Outcome};
use super::group::{self, Background, Work};
use super::waiting::{Stop, Waiting};
use super::world::World;
use super::{init, launch, rendezvous};

/// A communicator on the device of `parent`, which asks for what that one has asked for unless it
/// says something itself.
///
/// One that shares the parent's resources is aborted with it, and it with the child: there is one
/// flag for both. What is revoked shares nothing.
fn child_of(parent: &Comm, wishes: Option<Wishes>, share: bool) -> Arc<Comm> {
    let wishes = wishes.unwrap_or_else(|| parent.wishes.clone());
    if share && !parent.stopped.load(Ordering::Acquire) {
        let aborted = Arc::clone(&parent.aborted);
        return Comm::sharing(parent.driver, parent.place, wishes, aborted);
    }
    Comm::new(parent.driver, parent.place, wishes)
}

/// `ncclCommSplit`
///
/// # Safety
/// `out` is null or may be written.
pub(crate) unsafe fn split(
    parent: &Arc<Comm>,
    color: c_int,
    key: c_int,
    out: *mut CommHandle,
    wishes: Option<Wishes>,
) -> Outcome {
    if out.is_null() {
        return Err(Failure::argument("newcomm argument is NULL"));
    }
    parent.ready()?;
    if color < NO_COLOR {
        return Err(Failure::argument(format!(
            "invalid color {color}: it is NCCL_SPLIT_NOCOLOR or not negative"
        )));
    }
    let call = parent.next_call();
    let child = child_of(parent, wishes, parent.wishes.split_share());
    let comms = vec![Arc::clone(parent), Arc::clone(&child)];
    let (of_parent, of_child) = (Arc::clone(parent), Arc::clone(&child));
    let work = move |background: &Background| {
        let stop = stop_of(&of_parent, &of_child, background);
        let outcome = split_off(&of_parent, &of_child, call, color, key, &stop);
        told_to(&of_child, outcome)
    };
    let outcome = group::join(comms, parent.wishes.is_blocking(), Box::new(work));
    if color == NO_COLOR {
        // SAFETY: not null by the check above, and the caller's promise.
        unsafe { out.write(0) };
        return outcome;
    }
    // SAFETY: the same.
    unsafe { init::hand_out(out, child, outcome) }
}

/// Both communicators can stop it.
fn stop_of<'a>(
    parent: &'a Comm,
    child: &'a Comm,
    background: &'a Background,
) -> [&'a std::sync::atomic::AtomicBool; 3] {
    [&parent.aborted, &child.aborted, &background.stop]
}

/// A failure is the new communicator's as well.
fn told_to(child: &Comm, outcome: Outcome) -> Outcome {
    if let Err(failure) = &outcome {
        child.fail(failure.code);
    }
    outcome
}

fn split_off(
    parent: &Comm,
    child: &Comm,
    call: u64,
    color: c_int,
    key: c_int,
    stop: Stop<'_>,
) -> Outcome {
    let world = parent.world()?;
    let mut mine = color.to_ne_bytes().to_vec();
    mine.extend_from_slice(&key.to_ne_bytes());
    let all: Vec<usize> = (0..world.ranks).collect();
    let said = world.all_say(&all, About::Split, call, &mine, stop)?;
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, c_int::from_ne_bytes);
    let mut members: Vec<(c_int, usize)> = Vec::new();
    for (rank, bytes) in said.iter().enumerate() {
        if bytes.len() == 8 && number(&bytes[..4]) == color {
            members.push((number(&bytes[4..]), rank));
        }
    }
    if color == NO_COLOR {
        return Ok(());
    }
    members.sort_unstable();
    let members: Vec<usize> = members.into_iter().map(|(_, rank)| rank).collect();
    meet(world, child, &members, call, stop)
}

/// Makes `child` the communicator of these ranks of the parent, in this order.
fn meet(world: &World, child: &Comm, members: &[usize], call: u64, stop: Stop<'_>) -> Outcome {
    let place = members.iter().position(|&rank| rank == world.rank);
    let (Some(place), Some(&leader)) = (place, members.first()) else {
        return Err(Failure::argument("the caller is none of the new ranks"));
    };
    if place == 0 {
        let id = rendezvous::create()?;
        for &rank in members {
            world.tell(rank, About::NewId, call, &id.0, stop)?;
        }
    }
    let id = world.listen(leader, About::NewId, call, stop)?;
    init::come_to(child, &id_of(&id), members.len(), place, stop)
}

fn id_of(bytes: &[u8]) -> UniqueId {
    UniqueId(bytes.try_into().unwrap_or([0; 128]))
}

/// `ncclCommShrink`
///
/// # Safety
/// `out` is null or may be written.
pub(crate) unsafe fn shrink(
    parent: &Arc<Comm>,
    excluded: &[c_int],
    out: *mut CommHandle,
    wishes: Option<Wishes>,
    flags: c_int,
) -> Outcome {
    if out.is_null() {
        return Err(Failure::argument("newcomm argument is NULL"));
    }
    let abort = flags & SHRINK_ABORT != 0;
    if !abort || parent.state() == abi::IN_PROGRESS {
        parent.ready()?;
    }
    let world = parent.world()?;
    let mut left: Vec<usize> = (0..world.ranks).collect();
    for &rank in excluded {
        let before = left.len();
        left.retain(|&other| usize::try_from(rank) != Ok(other));
        if left.len() == before {
            return Err(Failure::argument(format!(
                "excludeRanksList has {rank}, twice or out of 0..{}",
                world.ranks
            )));
        }
    }
    if excluded.is_empty() || !left.contains(&world.rank) {
        return Err(Failure::argument(
            "excludeRanksList is empty, or has the rank that calls",
        ));
    }
    if abort {
        parent.stopped.store(true, Ordering::Release);
    }
    // Ranks that have given up different calls before still agree on who is left.
    let call = left.iter().fold(1 << 63, |hash: u64, &rank| {
        hash ^ 1_u64.rotate_left(u32::try_from(rank).unwrap_or(0))
    });
    let share = parent.wishes.shrink_share() && !abort;
    let child = child_of(parent, wishes, share);
    let mut comms = vec![Arc::clone(&child)];
    if parent.state() == abi::SUCCESS {
        comms.push(Arc::clone(parent));
    }
    let (of_parent, of_child) = (Arc::clone(parent), Arc::clone(&child));
    let work = move |background: &Background| {
        let stop = stop_of(&of_parent, &of_child, background);
        let drained = if abort {
            launch::drain(&of_parent, &stop)
        } else {
            Ok(())
        };
        let met = drained.and_then(|()| meet(of_parent.world()?, &of_child, &left, call, &stop));
        told_to(&of_child, met)
    };
    let outcome = group::join(comms, parent.wishes.is_blocking(), Box::new(work));
    // SAFETY: not null by the check above, and the caller's promise.
    unsafe { init::hand_out(out, child, outcome) }
}

/// `ncclCommGetUniqueId`: the id under which more ranks come.
pub(crate) fn id_for_growth(comm: &Comm) -> Outcome<UniqueId> {
    comm.ready()?;
    if comm.id_for_growth.swap(true, Ordering::AcqRel) {
        return Err(Failure::usage(
            "the former unique id of this communicator was not used yet",
        ));
    }
    rendezvous::create()
}

/// `ncclCommGrow` on a rank that is there already; the root has the id.
///
/// # Safety
/// `out` is null or may be written.
pub(crate) unsafe fn grow(
    parent: &Arc<Comm>,
    ranks: c_int,
    id: Option<UniqueId>,
    rank: c_int,
    out: *mut CommHandle,
    wishes: Option<Wishes>,
) -> Outcome {
    if out.is_null() {
        return Err(Failure::argument("newcomm argument is NULL"));
    }
    parent.ready()?;
    let world = parent.world()?;
    let (ranks, _) = init::rank_of(ranks, 0)?;
    if rank != -1 || ranks <= world.ranks {
        return Err(Failure::argument(format!(
            "rank {rank} of {ranks}: ranks that are there pass -1, and more than {}",
            world.ranks
        )));
    }
    if id.is_some() && !parent.id_for_growth.swap(false, Ordering::AcqRel) {
        return Err(Failure::usage(
            "the unique id is none of ncclCommGetUniqueId, or was used before",
        ));
    }
    let child = child_of(parent, wishes, false);
    let comms = vec![Arc::clone(parent), Arc::clone(&child)];
    let (of_parent, of_child) = (Arc::clone(parent), Arc::clone(&child));
    let work: Work = Box::new(move |background| {
        let stop = stop_of(&of_parent, &of_child, background);
        let met = meet_more(&of_parent, &of_child, id, ranks, &stop);
        told_to(&of_child, met)
    });
    let outcome = group::join(comms, parent.wishes.is_blocking(), work);
    // SAFETY: not null by the check above, and the caller's promise.
    unsafe { init::hand_out(out, child, outcome) }
}

fn meet_more(
    parent: &Comm,
    child: &Comm,
    id: Option<UniqueId>,
    ranks: usize,
    stop: Stop<'_>,
) -> Outcome {
    let world = parent.world()?;
    if let Some(id) = id {
        for rank in 0..world.ranks {
            world.tell(rank, About::Grow, 0, &id.0, stop)?;
        }
    }
    let mut waiting = Waiting::new(stop);
    let id = loop {
        let mut all = 0..world.ranks;
        let heard = all.find_map(|source| world.heard(source, About::Grow, 0));
        if let Some(id) = heard {
            break id_of(&id);
        }
        waiting.pause()?;
    };
    init::come_to(child, &id, ranks, world.rank, stop)
}
