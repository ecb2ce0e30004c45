//! Teams of any PEs.

use ranks_comm::{Error, ErrorKind, Result};

use super::{Team, TeamState};
use crate::backend::TeamHandle;
use crate::backend::names::{TEAM_INIT, TEAM_UNIQUE_ID};
use crate::call::check;
use crate::pe::handle::Nvshmem;
use crate::pe::team_id::{Origin, TeamId};

/// The id by which the PEs of a team that is not split from another find each other.
///
/// One of them makes it ([`Nvshmem::team_unique_id`]) and tells it to the others as a number, over
/// whatever they have. It makes one team.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[doc(alias = "nvshmemx_team_uniqueid_t")]
pub struct TeamUniqueId(u64);

impl TeamUniqueId {
    /// From another PE.
    #[must_use]
    pub const fn from_u64(number: u64) -> Self {
        Self(number)
    }

    /// For another PE.
    #[must_use]
    pub const fn to_u64(self) -> u64 {
        self.0
    }
}

impl Nvshmem<'_> {
    /// An id for a new team of any PEs, also of such that no split gives. Not collective.
    ///
    /// # Errors
    /// [`NotInLibrary`](ErrorKind::NotInLibrary) before NVSHMEM 3.3; else as [all operations on
    /// teams](Team#operations).
    #[doc(alias = "nvshmemx_team_get_uniqueid")]
    pub fn team_unique_id(&self) -> Result<TeamUniqueId> {
        self.begin(TEAM_UNIQUE_ID)?
            .team_unique_id()
            .map(TeamUniqueId)
    }

    /// A team of the `n_pes` PEs that pass the same id, of which this is number `my_pe`. Collective
    /// over these.
    ///
    /// # Errors
    /// [`Rank`](ErrorKind::Rank) unless `my_pe` is below `n_pes`, [`Length`](ErrorKind::Length) for
    /// more PEs than there are, [`NotInLibrary`](ErrorKind::NotInLibrary) before NVSHMEM 3.3; else
    /// as [all operations on teams](Team#operations).
    #[doc(alias = "nvshmemx_team_init")]
    pub fn team_from_unique_id(
        &self,
        id: TeamUniqueId,
        my_pe: usize,
        n_pes: usize,
    ) -> Result<Team<'_>> {
        let backend = self.begin(TEAM_INIT)?;
        if n_pes > self.n_pes() {
            let text = format_args!(
                "a team of {n_pes} has more PEs than the {} of the heap",
                self.n_pes()
            );
            return Err(Error::new(ErrorKind::Length, TEAM_INIT, text));
        }
        check::pe(TEAM_INIT, my_pe, n_pes)?;
        let TeamUniqueId(number) = id;
        let uses = self.pe().teams.uses_of(number);
        let handle = backend.team_init(number, my_pe, n_pes)?;
        let members = (0..n_pes).map(|pe| {
            let of_world = backend.translate(handle, pe, TeamHandle::WORLD)?;
            of_world.ok_or_else(|| super::no_place(pe))
        });
        let members = members.collect::<Result<Vec<_>>>()?;
        let id = TeamId::from(Origin::Unique(number, uses));
        Ok(Team::of(self, TeamState::made(handle, id, my_pe, members)))
    }
}
