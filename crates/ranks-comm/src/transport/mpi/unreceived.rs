//! The messages that have arrived on a communicator which is about to be freed, or whose library is
//! about to end. They are looked at, and left where they are: of each rank the first.

use std::sync::atomic::{AtomicBool, Ordering};

use ranks_launch::Count;
use ranks_mpi_sys::MPI_Comm;

use super::communicator::{is_between, name_of, rank_and_size};
use super::detached::DetachedOps;
use super::probe::iprobe;
use super::session::whoami;
use crate::call::unreceived::{self, IS_TOLD, Left, MESSAGES, RECEIVES};
use crate::data::source::Source;
use crate::data::tag::Tag;
use crate::result::{Result, Status};

/// The number of looks at a communicator: some libraries take in what has arrived at the second
/// one.
const LOOKS: usize = 4;

/// The ranks from which a first message is looked for.
const RANKS: usize = 1024;

/// `true` once the program has failed: it has said why, and not received what follows.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

pub(crate) fn say_nothing() {
    HAS_FAILED.store(true, Ordering::Relaxed);
}

fn is_told() -> bool {
    IS_TOLD && !HAS_FAILED.load(Ordering::Relaxed) && !std::thread::panicking()
}

/// Tells of the receives that are about to be cancelled, since nobody waits for them.
pub(super) fn tell_of_receives(detached: &DetachedOps) {
    if is_told() {
        let receives = Left::of(detached.receives().into_iter(), str::to_owned);
        unreceived::warn(whoami().unwrap_or_default(), RECEIVES, &receives);
    }
}

/// Tells of what has arrived on the communicator. The thread may call the library.
pub(super) fn tell(comm: MPI_Comm) {
    // A communicator that cannot be looked at has failed before.
    if is_told()
        && let Ok(messages) = first_of_each(comm)
    {
        unreceived::warn(whoami().unwrap_or_default(), MESSAGES, &messages);
    }
}

fn first_of_each(comm: MPI_Comm) -> Result<Left> {
    let mut any = None;
    for _ in 0..LOOKS {
        any = any.or(look(comm, Source::Any)?);
    }
    let Some(any) = any else {
        return Ok(Left::default());
    };
    let mut found = Vec::new();
    if is_between(comm)? {
        found.push(any);
    } else {
        for source in 0..rank_and_size(comm)?.1.min(RANKS) {
            found.extend(look(comm, Source::Rank(source))?);
        }
    }
    let name = name_of(comm)?;
    Ok(Left::of(found.into_iter(), |status: Status| {
        let origin = unreceived::origin(status.source(), status.tag(), &name);
        format!("{} {origin}", Count(status.bytes(), "byte"))
    }))
}

fn look(comm: MPI_Comm, source: Source) -> Result<Option<Status>> {
    // SAFETY: the communicator is alive, and has that rank.
    unsafe { iprobe(comm, source, Tag::Any) }
}
