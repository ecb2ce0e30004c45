//! A communicator of the library, and its accessors.

use std::ffi::c_int;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Comm, MPI_Group, native};

use super::children::Children;
use super::claims::Claims;
use super::deferred_free::Waiting;
use super::error::check;
use super::free_by_group::{Dropped, Members};
use super::object_name::{LIMIT, name_from, object_name_within};
use super::peer::Sentinels;
use super::session::Session;
use super::status::{CountWord, StatusIgnore};
use super::topology::{count, ints};
use super::unreceived;
use crate::call::callback;
use crate::call::limit;
use crate::call::thread_guard::THREAD_GUARD;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::comparison::Comparison;

/// A communicator over MPI.
pub struct Comm {
    /// The handle in the standard ABI.
    pub canonical: MPI_Comm,
    /// The handle in the library's own form.
    pub native: native::Comm,
    /// Receives into fewer bytes than this are matched first. It and others are the session's; here
    /// they are one load away.
    pub(crate) claim_below: usize,
    pub(crate) sentinels: Sentinels,
    /// This rank, if messages to itself must be packed (see `oneself`); otherwise no rank.
    pub(crate) oneself: c_int,
    pub(crate) count_word: CountWord,
    pub(crate) status_ignore: StatusIgnore,
    /// The distance of requests in an array of the library's: the logarithm of the bytes.
    pub(crate) request_shift: u32,
    pub(crate) session: Arc<Session>,
    pub(crate) children: Arc<Children>,
    /// Its ranks in the world; empty if it was made by nobody here, is between two groups, or has
    /// too many.
    pub(crate) members: Members,
    /// Receives that are matched before the length of their message is known.
    pub(crate) claims: Arc<Claims>,
    /// `true` if ranks compare their collective calls on it.
    pub(crate) compares: bool,
    /// `true` for an intercommunicator: peers are the ranks of the remote group.
    pub(crate) between: bool,
    /// `true` if another part of the program frees it, once nobody here has a handle of it.
    pub(crate) lent: bool,
    /// Its place in the order of creation in this process, and its origin; `None` for the world,
    /// and for what is lent.
    pub(crate) origin: Option<(u64, Origin)>,
    pub(crate) freed: AtomicBool,
}

/// The ranks that agree on when a communicator can be freed.
pub(crate) enum Origin {
    /// All ranks of its parent, among whose children it has a number.
    Parent {
        siblings: Arc<Children>,
        number: u64,
    },
    /// Its own ranks.
    FreeByGroup { members: Members, number: u64 },
}

impl Origin {
    /// The number that all of its ranks know it by; 0 if there is none.
    fn number(&self) -> u64 {
        match self {
            Self::Parent { siblings, number } => siblings.number_everywhere(*number),
            Self::FreeByGroup { number, .. } => *number,
        }
    }

    /// The origin of one that has no number, or none yet: without one it is not freed.
    pub(crate) fn unnumbered() -> Self {
        Self::FreeByGroup {
            members: Members::default(),
            number: 0,
        }
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Comm")
            .field("canonical", &self.canonical)
            .finish_non_exhaustive()
    }
}

impl Comm {
    pub(crate) fn new(
        canonical: MPI_Comm,
        session: Arc<Session>,
        children: Arc<Children>,
        origin: Option<(u64, Origin)>,
    ) -> Self {
        let claims = session.claims_on(canonical);
        Self {
            canonical,
            // SAFETY: the library is loaded, as there is a session.
            native: unsafe { native::comm(canonical) },
            claim_below: session.receives.claim_below(),
            sentinels: session.sentinels,
            oneself: session.packed.rank_in(canonical),
            count_word: session.count_word,
            status_ignore: StatusIgnore::of_library(),
            request_shift: native::request_stride().trailing_zeros(),
            compares: session.compares(),
            session,
            children,
            members: Members::default(),
            claims,
            between: false,
            lent: false,
            origin,
            freed: AtomicBool::new(false),
        }
    }

    /// The word of a request in an array of the library's.
    pub(crate) fn request_at(&self, place: *const native::Cell<sys::MPI_Request>) -> usize {
        if self.request_shift == 2 {
            // SAFETY: a request of this library, which is an int, has been written there.
            unsafe { place.cast::<u32>().read() as usize }
        } else {
            // SAFETY: a request of this library, which is a pointer, has been written there.
            unsafe { place.cast::<usize>().read() }
        }
    }

    /// The world ranks of the members.
    pub(crate) fn world_ranks(&self) -> Result<Vec<usize>> {
        Group::of(self.canonical)?.world_ranks()
    }

    pub(crate) fn compare(&self, other: &Self) -> Result<Comparison> {
        self.compare_with(other.canonical)
    }

    /// Returns `true` if it is of the same ranks as the world, in the same order.
    pub(crate) fn is_world(&self) -> Result<bool> {
        let how = self.compare_with(sys::MPI_COMM_WORLD)?;
        Ok(matches!(how, Comparison::Identical | Comparison::Congruent))
    }

    /// Compares it with a communicator that is alive.
    fn compare_with(&self, other: MPI_Comm) -> Result<Comparison> {
        let mut result = sys::MPI_UNEQUAL;
        // SAFETY: both communicators are alive, and the result is ours.
        let code = unsafe { sys::MPI_Comm_compare(self.canonical, other, &raw mut result) };
        check(code, "MPI_Comm_compare")?;
        Ok(match result {
            sys::MPI_IDENT => Comparison::Identical,
            sys::MPI_CONGRUENT => Comparison::Congruent,
            sys::MPI_SIMILAR => Comparison::Similar,
            _ => Comparison::Unequal,
        })
    }

    pub(crate) fn name(&self) -> Result<String> {
        name_of(self.canonical)
    }

    /// Sets the name, which is cut to the room that there is.
    pub(crate) fn set_name(&self, name: &str) -> Result<()> {
        const OPERATION: &str = "MPI_Comm_set_name";
        let name = object_name_within(OPERATION, name, self.room_for_name())?;
        // SAFETY: the communicator is alive, and the name ends with a zero.
        let code = unsafe { sys::MPI_Comm_set_name(self.canonical, name.as_ptr()) };
        check(code, OPERATION)
    }

    /// The longest name that may be set.
    ///
    /// Open MPI 5 has room for the first name of what is there from the start, and writes longer
    /// ones past its end: <https://github.com/open-mpi/ompi/pull/13280>.
    fn room_for_name(&self) -> usize {
        let version = sys::loaded().and_then(sys::Loaded::open_mpi_version);
        let overruns = version.is_some_and(|[major, ..]| major >= 5);
        let from_the_start = [sys::MPI_COMM_WORLD, sys::MPI_COMM_SELF].contains(&self.canonical);
        if overruns && from_the_start {
            "MPI_COMM_SELF".len()
        } else {
            LIMIT
        }
    }

    /// Frees it now. Collective.
    pub(crate) fn free(&self) -> Result<()> {
        let Some((_, origin)) = &self.origin else {
            return Err(Error::new(
                ErrorKind::Argument,
                "MPI_Comm_free",
                "the world, and what another part of the program has lent, is not this runtime's to free",
            ));
        };
        self.claims.close();
        self.session.detached.cancel_on(self.canonical);
        unreceived::tell(self.canonical);
        let mut handle = self.canonical;
        // SAFETY: this is the last handle, as `Communicator::free` has checked, and `drop` looks at
        // `freed`.
        let code = unsafe { sys::MPI_Comm_free(&raw mut handle) };
        check(code, "MPI_Comm_free")?;
        self.freed.store(true, Ordering::Relaxed);
        if let Origin::Parent { siblings, number } = origin {
            siblings.is_freed(*number);
        }
        Ok(())
    }

    /// Aborts the job; returns only if the library could not.
    pub(crate) fn abort(&self, code: i32) {
        // SAFETY: MPI and the communicator are alive, as there is a `Comm`.
        unsafe { limit::abort(self.canonical, code) };
    }

    /// Gathers the observations of the ranks, once; where a time limit is set that is done later,
    /// when all of them have come.
    pub(crate) fn end_observing(&self) {
        if self.session.limit_of_observing().is_none() {
            self.session.end_observing(None);
        }
    }

    /// The number of other holders that keep MPI from its end: communicators, and objects made from
    /// them.
    pub(crate) fn other_holders(&self) -> usize {
        Arc::strong_count(&self.session).saturating_sub(1)
    }

    /// Drops the world, and ends the session if it has no other holder; returns `true` if it did.
    pub(crate) fn end(self) -> Result<bool> {
        let session = Arc::clone(&self.session);
        drop(self);
        match Arc::into_inner(session) {
            Some(mut session) => session.end().map(|()| true),
            None => Ok(false),
        }
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        let (session, claims) = (Arc::clone(&self.session), Arc::clone(&self.claims));
        let (canonical, origin, lent) = (self.canonical, self.origin.take(), self.lent);
        let is_freed = self.freed.load(Ordering::Relaxed);
        let (children, members) = (
            Arc::clone(&self.children),
            std::mem::take(&mut self.members),
        );
        let leave = move || {
            let left = claims.leave(lent);
            if lent
                && left.by_all
                && let Ok(_entered) = THREAD_GUARD.enter("MPI_Cancel")
            {
                session.detached.cancel_posted_on(canonical);
            }
            if left.pending {
                session.detached.remember(claims);
            }
            // All handles of the world have the same children.
            let Some((key, origin)) = origin else {
                return;
            };
            let free_by_group = &session.free_by_group;
            free_by_group.are_dropped(children.close());
            if is_freed {
                return;
            }
            session.defer_free(key, origin.number(), Waiting::Comm(canonical));
            let left = match origin {
                Origin::Parent { siblings, number } => siblings.is_dropped(number, key, members),
                Origin::FreeByGroup { members, number } => Some(Dropped {
                    members,
                    number,
                    key,
                }),
            };
            free_by_group.are_dropped(left);
        };
        if callback::in_callback() {
            callback::later(leave);
        } else {
            leave();
        }
    }
}

/// A group of the library that is freed when dropped; freeing a group is local.
pub(crate) struct Group(pub(crate) MPI_Group);

impl Group {
    pub(crate) fn of(comm: MPI_Comm) -> Result<Self> {
        let mut group = sys::MPI_GROUP_NULL;
        // SAFETY: the communicator is alive, and the group is ours.
        let code = unsafe { sys::MPI_Comm_group(comm, &raw mut group) };
        check(code, "MPI_Comm_group")?;
        Ok(Self(group))
    }

    /// The remote group of an intercommunicator.
    pub(crate) fn remote(comm: MPI_Comm) -> Result<Self> {
        let mut group = sys::MPI_GROUP_NULL;
        // SAFETY: an intercommunicator, which is alive; the group is ours.
        let code = unsafe { sys::MPI_Comm_remote_group(comm, &raw mut group) };
        check(code, "MPI_Comm_remote_group")?;
        Ok(Self(group))
    }

    /// The world ranks of its members.
    pub(crate) fn world_ranks(&self) -> Result<Vec<usize>> {
        self.ranks_in(&Self::of(sys::MPI_COMM_WORLD)?)
    }

    /// The ranks of its members in another group, which contains all of them.
    pub(crate) fn ranks_in(&self, other: &Self) -> Result<Vec<usize>> {
        let mut count: c_int = 0;
        // SAFETY: the group is alive, and the number is ours.
        let code = unsafe { sys::MPI_Group_size(self.0, &raw mut count) };
        check(code, "MPI_Group_size")?;
        let ranks: Vec<c_int> = (0..count).collect();
        let mut there = vec![0; ranks.len()];
        // SAFETY: both groups are alive, and both lists have `count` places.
        let code = unsafe {
            sys::MPI_Group_translate_ranks(
                self.0,
                count,
                ranks.as_ptr(),
                other.0,
                there.as_mut_ptr(),
            )
        };
        check(code, "MPI_Group_translate_ranks")?;
        there
            .iter()
            .map(|&rank| {
                usize::try_from(rank).map_err(|_| {
                    Error::new(
                        ErrorKind::Library,
                        "MPI_Group_translate_ranks",
                        "a member of the group is not in the other one",
                    )
                })
            })
            .collect()
    }

    pub(crate) fn include(&self, ranks: &[usize]) -> Result<Self> {
        let mut group = sys::MPI_GROUP_NULL;
        let ranks = ints(ranks);
        // SAFETY: the group is alive, and the list is of this length: no more than the ranks of the
        // world.
        let code =
            unsafe { sys::MPI_Group_incl(self.0, count(&ranks), ranks.as_ptr(), &raw mut group) };
        check(code, "MPI_Group_incl")?;
        Ok(Self(group))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.0 != sys::MPI_GROUP_NULL && self.0 != sys::MPI_GROUP_EMPTY {
            // SAFETY: it was made by a call of the library and is freed once; a failure leaves
            // nothing to be done.
            unsafe { sys::MPI_Group_free(&raw mut self.0) };
        }
    }
}

/// The name of a communicator; empty if it has none.
pub(crate) fn name_of(comm: MPI_Comm) -> Result<String> {
    name_from("MPI_Comm_get_name", |name, length| {
        // SAFETY: the communicator is alive; there is room for a name.
        unsafe { sys::MPI_Comm_get_name(comm, name, length) }
    })
}

/// The rank and the size of a communicator.
pub(crate) fn rank_and_size(comm: MPI_Comm) -> Result<(usize, usize)> {
    let (mut rank, mut size): (c_int, c_int) = (0, 0);
    // SAFETY: the communicator is alive, and the number is ours.
    let code = unsafe { sys::MPI_Comm_rank(comm, &raw mut rank) };
    check(code, "MPI_Comm_rank")?;
    // SAFETY: the communicator is alive, and the number is ours.
    let code = unsafe { sys::MPI_Comm_size(comm, &raw mut size) };
    check(code, "MPI_Comm_size")?;
    Ok((
        usize::try_from(rank).unwrap_or(0),
        usize::try_from(size).unwrap_or(1),
    ))
}

/// Makes a communicator of this process alone, with whose messages no other ones match, and frees
/// it after `use_it`.
pub(super) fn on_own_comm<R>(use_it: impl FnOnce(MPI_Comm) -> Result<R>) -> Result<R> {
    let mut alone = sys::MPI_COMM_NULL;
    // SAFETY: MPI is initialised, and the new handle is ours.
    let code = unsafe { sys::MPI_Comm_dup(sys::MPI_COMM_SELF, &raw mut alone) };
    check(code, "MPI_Comm_dup")?;
    let outcome = use_it(alone);
    // SAFETY: it was just made, and is freed once.
    let code = unsafe { sys::MPI_Comm_free(&raw mut alone) };
    outcome.and_then(|used| check(code, "MPI_Comm_free").map(|()| used))
}

/// Lets errors on a communicator return.
pub(crate) fn return_errors(comm: MPI_Comm) -> Result<()> {
    // SAFETY: the communicator is alive, and the handler is the library's own.
    let code = unsafe { sys::MPI_Comm_set_errhandler(comm, sys::MPI_ERRORS_RETURN) };
    check(code, "MPI_Comm_set_errhandler")
}

/// Returns `true` for an intercommunicator.
pub(crate) fn is_between(comm: MPI_Comm) -> Result<bool> {
    let mut between: c_int = 0;
    // SAFETY: the communicator is alive, and the flag is ours.
    let code = unsafe { sys::MPI_Comm_test_inter(comm, &raw mut between) };
    check(code, "MPI_Comm_test_inter")?;
    Ok(between != 0)
}
