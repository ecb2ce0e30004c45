//! Some of the PEs, with numbers of their own.

use std::cell::OnceCell;
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

use ranks_comm::{Error, ErrorKind, Result};

use crate::backend::names::TEAM_DESTROY;
use crate::backend::{Backend, TeamHandle};
use crate::call::check;
use crate::pe::deferred_free::{Dropped, DroppedTeam, TeamName};
use crate::pe::handle::Nvshmem;
use crate::pe::team_id::Origin;
use crate::pe::teams::TeamState;
use crate::stream::reach::{Reach, What};

pub(crate) mod any_team;
mod collectives;
pub(crate) mod element;
mod in_scope;
pub(crate) mod movement;
mod on_stream;
pub(crate) mod reduction;
mod splits;
mod unique_id;

pub use unique_id::TeamUniqueId;

const TRANSLATE: &str = "nvshmem_team_translate_pe";

/// Some of the PEs of a heap, numbered from 0 in the team, that do something together: barriers,
/// broadcasts, reductions.
///
/// A team is made by a split of another ([`split_strided`](Self::split_strided),
/// [`split_2d`](Self::split_2d)), or of any PEs by an id ([`Nvshmem::team_from_unique_id`]). It
/// ends by [`destroy`](Self::destroy), which is collective; one that is dropped is put aside, and
/// destroyed when all its PEs have dropped it, at a collective point of the heap.
///
/// It borrows the team that it was split from, and the heap:
///
/// ```compile_fail,E0597
/// # use ranks::nvshmem::{Nvshmem, Team};
/// # fn f(pe: &Nvshmem<'_>) -> ranks::Result<()> {
/// let row: Team<'_>;
/// {
///     let parent = pe.world().split_strided(0, 1, 1)?.unwrap();
///     row = parent.split_2d(1)?.0;
/// } // the parent is gone here
/// row.barrier()
/// # }
/// ```
///
/// ```compile_fail,E0505
/// # use ranks::nvshmem::Nvshmem;
/// # fn f(pe: Nvshmem<'_>) -> ranks::Result<()> {
/// let team = pe.world().split_strided(0, 1, 1)?.unwrap();
/// pe.finalize()?; // and so is the heap here
/// team.barrier()
/// # }
/// ```
///
/// Nothing is done with a team that was destroyed, and those that every heap has cannot be:
///
/// ```compile_fail,E0382
/// # use ranks::nvshmem::Team;
/// # fn f(team: Team<'_>) -> ranks::Result<()> {
/// team.destroy()?;
/// team.barrier()
/// # }
/// ```
///
/// ```compile_fail,E0507
/// # use ranks::nvshmem::Nvshmem;
/// # fn f(pe: &Nvshmem<'_>) -> ranks::Result<()> {
/// pe.world().destroy()
/// # }
/// ```
///
/// # Operations
///
/// All PEs of a team call the same operations on it in the same order, with slices at the same
/// place of the same vector. One that returns when it is over is a method of this, one that is only
/// enqueued a method of the [`Queue`](crate::Queue) of a scope. A team does one thing at a time:
/// what is called on another stream than before waits there for what came before.
///
/// The elements of a PE are neither read nor written by others before it has come to the operation,
/// nor after it has left it. NVSHMEM alone does not promise that of `broadcast`, `fcollect` and
/// `alltoall`: there the PEs meet before.
///
/// Roots are numbers of the team. Slices without elements are nothing to do, not even to wait for
/// others.
///
/// **Errors.** [`Root`](ErrorKind::Root) and [`Length`](ErrorKind::Length), before anything is
/// called; [`NotAvailable`](ErrorKind::NotAvailable) where several PEs share a GPU without MPS
/// ([`Nvshmem::limited`]); [`TimedOut`](ErrorKind::TimedOut); what NVSHMEM reports. With
/// `RANKS_CHECK=collective` or `digests`, and in builds with debug assertions, all PEs compare what
/// they call on a team of all of them, as far as it does not only enqueue: then it is
/// [`Mismatch`](ErrorKind::Mismatch) on all of them where they differ. The PEs of a smaller team
/// have no channel of their own for that over NVSHMEM: there an operation that they call in
/// different ways waits for ever, or puts elements behind the slice of another PE, within a vector
/// that both have. In process it is [`Mismatch`](ErrorKind::Mismatch).
#[doc(alias = "nvshmem_team_t")]
pub struct Team<'p> {
    heap: &'p Nvshmem<'p>,
    state: Rc<TeamState>,
}

/// A team that every heap has, and that cannot be destroyed. It is used as a [`Team`] is.
#[derive(Debug)]
pub struct TeamRef<'p>(Team<'p>);

impl<'p> Deref for TeamRef<'p> {
    type Target = Team<'p>;

    fn deref(&self) -> &Team<'p> {
        &self.0
    }
}

impl TeamRef<'_> {
    /// For another who uses it.
    fn again(&self) -> Self {
        Self(Team {
            heap: self.0.heap,
            state: Rc::clone(&self.0.state),
        })
    }
}

impl Clone for TeamRef<'_> {
    fn clone(&self) -> Self {
        self.again()
    }
}

impl Nvshmem<'_> {
    /// All PEs.
    #[doc(alias = "NVSHMEM_TEAM_WORLD")]
    #[must_use]
    pub fn world(&self) -> TeamRef<'_> {
        self.team_ref(self.pe().world())
    }

    /// The PEs whose memory this one can load from and store to directly.
    ///
    /// # Errors
    /// As [all operations on teams](Team#operations).
    #[doc(alias = "NVSHMEM_TEAM_SHARED")]
    pub fn shared(&self) -> Result<TeamRef<'_>> {
        let backend = self.begin("NVSHMEM_TEAM_SHARED")?;
        let kept = &self.pe().teams.shared;
        self.lasting(kept, Origin::Shared, backend, TeamHandle::SHARED)
    }

    /// The PEs on the same node as this one.
    ///
    /// # Errors
    /// As [all operations on teams](Team#operations).
    #[doc(alias = "NVSHMEMX_TEAM_NODE")]
    pub fn node(&self) -> Result<TeamRef<'_>> {
        let backend = self.begin("NVSHMEMX_TEAM_NODE")?;
        let kept = &self.pe().teams.node;
        self.lasting(kept, Origin::Node, backend, TeamHandle::NODE)
    }

    fn lasting(
        &self,
        kept: &OnceCell<Rc<TeamState>>,
        origin: Origin,
        backend: &dyn Backend,
        handle: TeamHandle,
    ) -> Result<TeamRef<'_>> {
        if let Some(state) = kept.get() {
            return Ok(self.team_ref(state));
        }
        let (my_pe, n_pes) = backend.place_in(handle)?;
        let state = kept.get_or_init(|| TeamState::lasting(handle, origin, my_pe, n_pes));
        Ok(self.team_ref(state))
    }

    fn team_ref(&self, state: &Rc<TeamState>) -> TeamRef<'_> {
        TeamRef(Team {
            heap: self,
            state: Rc::clone(state),
        })
    }
}

impl TeamState {
    /// The PEs, by their numbers in the world.
    pub(crate) fn members(&self, heap: &Nvshmem<'_>) -> Result<&[usize]> {
        if let Some(members) = self.members.get() {
            return Ok(members);
        }
        let backend = heap.begin(TRANSLATE)?;
        let mut members = Vec::with_capacity(self.n_pes);
        for pe in 0..self.n_pes {
            let of_world = backend.translate(self.handle, pe, TeamHandle::WORLD)?;
            members.push(of_world.ok_or_else(|| no_place(pe))?);
        }
        Ok(self.members.get_or_init(|| members))
    }

    /// Waits until nothing is under way on it.
    pub(crate) fn rest(&self, reach: &Reach<'_>, name: &'static str) -> Result<()> {
        let Some(mark) = self.in_use.before(name)? else {
            return Ok(());
        };
        let what = What::of(name);
        reach
            .finish(what, mark, None)
            .inspect_err(|_| self.in_use.lose())
    }

    /// All PEs of the heap tell each other what they call on the team, or why they do not, if they
    /// are those of the team.
    ///
    /// # Errors
    /// `mine`, if it is one; else as [`Nvshmem::meet`].
    pub(crate) fn meet(
        &self,
        heap: &Nvshmem<'_>,
        name: &'static str,
        mine: Result<Vec<u64>>,
    ) -> Result<()> {
        if self.n_pes != heap.n_pes() {
            return mine.map(drop);
        }
        let mut words = self.id.words();
        let mine = mine.map(|more| words.extend(more));
        heap.meet(name, &words, mine)
    }
}

#[cold]
fn no_place(pe: usize) -> Error {
    let text = format_args!("the library knows no PE of the world for PE {pe} of a team");
    Error::new(ErrorKind::Library, TRANSLATE, text)
}

impl<'p> Team<'p> {
    fn of(heap: &'p Nvshmem<'p>, state: Rc<TeamState>) -> Self {
        Self { heap, state }
    }

    /// This PE's number in the team, from 0.
    #[doc(alias = "nvshmem_team_my_pe")]
    #[must_use]
    pub fn my_pe(&self) -> usize {
        self.state.my_pe
    }

    /// The number of PEs in it.
    #[doc(alias = "nvshmem_team_n_pes")]
    #[must_use]
    pub fn n_pes(&self) -> usize {
        self.state.n_pes
    }

    /// The heap that it is of.
    #[must_use]
    pub fn heap(&self) -> &'p Nvshmem<'p> {
        self.heap
    }

    /// The number that PE `pe` of this team has in another one; `None` if it is not in that.
    ///
    /// One-sided operations take numbers of the [world](Nvshmem::world).
    ///
    /// # Errors
    /// [`Rank`](ErrorKind::Rank) unless there is a PE `pe` in the team; else as [all
    /// operations](Self#operations).
    #[doc(alias = "nvshmem_team_translate_pe")]
    pub fn translate(&self, pe: usize, to: &Team<'_>) -> Result<Option<usize>> {
        let backend = self.heap.begin(TRANSLATE)?;
        check::pe(TRANSLATE, pe, self.n_pes())?;
        backend.translate(self.state.handle, pe, to.state.handle)
    }

    /// Destroys the team. Collective over it.
    ///
    /// Operations enqueued on it are waited for. If that fails it is as if the team were dropped.
    ///
    /// # Errors
    /// As [all operations](Self#operations).
    #[doc(alias = "nvshmem_team_destroy")]
    pub fn destroy(self) -> Result<()> {
        let reach = self.heap.reach(TEAM_DESTROY)?;
        self.state.rest(&reach, TEAM_DESTROY)?;
        self.state.meet(self.heap, TEAM_DESTROY, Ok(Vec::new()))?;
        // From here on it is gone, whatever is reported.
        self.state.gone.set(true);
        reach.backend.destroy(self.state.handle)
    }

    pub(crate) fn state(&self) -> &Rc<TeamState> {
        &self.state
    }
}

impl Drop for Team<'_> {
    fn drop(&mut self) {
        if self.state.lasting || self.state.gone.get() {
            return;
        }
        let members = self.state.members.get().into_iter().flatten();
        self.heap.put_aside(Dropped::Team(DroppedTeam {
            handle: self.state.handle,
            name: TeamName {
                path: self.state.id.words(),
                members: members.map(|&pe| pe as u64).collect(),
            },
        }));
    }
}

impl fmt::Debug for Team<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Team")
            .field("name", &format_args!("{}", self.state.id))
            .field("my_pe", &self.my_pe())
            .field("n_pes", &self.n_pes())
            .finish_non_exhaustive()
    }
}
