//! Teams, as NVSHMEM has them.
#![allow(unsafe_code)]

use std::ffi::c_int;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_nvshmem_sys::{NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, NVSHMEM_TEAM_INVALID};

use super::LibraryHeap;
use crate::backend::names::{
    TEAM_DESTROY, TEAM_INIT, TEAM_SPLIT_2D, TEAM_SPLIT_STRIDED, TEAM_UNIQUE_ID,
};
use crate::backend::{TeamHandle, Teams};

const TRANSLATE: &str = "nvshmem_team_translate_pe";
const MY_PE: &str = "nvshmem_team_my_pe";
const N_PES: &str = "nvshmem_team_n_pes";

impl Teams for LibraryHeap {
    fn place_in(&self, team: TeamHandle) -> Result<(usize, usize)> {
        let my_pe = self.call(MY_PE, |table| {
            let function = table.nvshmem_team_my_pe?;
            // SAFETY: the team is live, by the contract of the seam.
            Some(unsafe { function(team.0) })
        })?;
        let n_pes = self.call(N_PES, |table| {
            let function = table.nvshmem_team_n_pes?;
            // SAFETY: as above.
            Some(unsafe { function(team.0) })
        })?;
        Ok((number(MY_PE, my_pe)?, number(N_PES, n_pes)?))
    }

    fn translate(&self, team: TeamHandle, pe: usize, to: TeamHandle) -> Result<Option<usize>> {
        self.full(TRANSLATE)?;
        let pe = int(TRANSLATE, pe)?;
        let found = self.call(TRANSLATE, |table| {
            let function = table.nvshmem_team_translate_pe?;
            // SAFETY: both teams are live, and the first one has the PE, by the contract of the
            // seam; several PEs do not share a GPU.
            Some(unsafe { function(team.0, pe, to.0) })
        })?;
        Ok(usize::try_from(found).ok())
    }

    fn split_strided(
        &self,
        parent: TeamHandle,
        start: usize,
        stride: usize,
        size: usize,
    ) -> Result<Option<TeamHandle>> {
        self.full(TEAM_SPLIT_STRIDED)?;
        let (start, size) = (
            int(TEAM_SPLIT_STRIDED, start)?,
            int(TEAM_SPLIT_STRIDED, size)?,
        );
        // A team of one PE has no stride, and whatever was said for it need not be a number of the
        // library's.
        let stride = if size == 1 {
            1
        } else {
            int(TEAM_SPLIT_STRIDED, stride)?
        };
        let config = self.library.team_config();
        let mut team = NVSHMEM_TEAM_INVALID;
        let (config, place) = (&raw const config, &raw mut team);
        self.call_checked(TEAM_SPLIT_STRIDED, |table| {
            let function = table.nvshmem_team_split_strided?;
            // SAFETY: the parent is live and has these PEs, by the contract of the seam; the
            // settings and the place of the new team outlive the call.
            Some(unsafe { function(parent.0, start, stride, size, config, 0, place) })
        })?;
        Ok((team != NVSHMEM_TEAM_INVALID).then_some(TeamHandle(team)))
    }

    fn split_2d(&self, parent: TeamHandle, xrange: usize) -> Result<(TeamHandle, TeamHandle)> {
        self.full(TEAM_SPLIT_2D)?;
        let xrange = int(TEAM_SPLIT_2D, xrange)?;
        let config = self.library.team_config();
        let (mut row, mut column) = (NVSHMEM_TEAM_INVALID, NVSHMEM_TEAM_INVALID);
        let (config, x, y) = (&raw const config, &raw mut row, &raw mut column);
        self.call_checked(TEAM_SPLIT_2D, |table| {
            let function = table.nvshmem_team_split_2d?;
            // SAFETY: the parent is live, by the contract of the seam; the settings and the places
            // of the new teams outlive the call.
            Some(unsafe { function(parent.0, xrange, config, 0, x, config, 0, y) })
        })?;
        Ok((made(TEAM_SPLIT_2D, row)?, made(TEAM_SPLIT_2D, column)?))
    }

    fn team_unique_id(&self) -> Result<u64> {
        self.full(TEAM_UNIQUE_ID)?;
        let mut id = 0;
        let place = &raw mut id;
        self.call_checked(TEAM_UNIQUE_ID, |table| {
            let function = table.nvshmemx_team_get_uniqueid?;
            // SAFETY: it writes one number to the place of one, and the library is initialised
            // while this lives.
            Some(unsafe { function(place) })
        })?;
        Ok(id)
    }

    fn team_init(&self, id: u64, my_pe: usize, n_pes: usize) -> Result<TeamHandle> {
        self.full(TEAM_INIT)?;
        let (my_pe, n_pes) = (int(TEAM_INIT, my_pe)?, int(TEAM_INIT, n_pes)?);
        let mut config = self.library.team_config();
        config.uniqueid = id;
        let mut team = NVSHMEM_TEAM_INVALID;
        let (config, place) = (&raw mut config, &raw mut team);
        self.call_checked(TEAM_INIT, |table| {
            let function = table.nvshmemx_team_init?;
            let mask = NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID;
            // SAFETY: this PE's number is below that of the team's, which are no more than there
            // are, by the contract of the seam; the settings and the place of the new team outlive
            // the call.
            Some(unsafe { function(place, config, mask, n_pes, my_pe) })
        })?;
        made(TEAM_INIT, team)
    }

    fn destroy(&self, team: TeamHandle) -> Result<()> {
        self.full(TEAM_DESTROY)?;
        self.call(TEAM_DESTROY, |table| {
            let function = table.nvshmem_team_destroy?;
            // SAFETY: the team is live and was made by the program, by the contract of the seam;
            // nobody has its handle after this.
            unsafe { function(team.0) };
            Some(())
        })
    }
}

/// A number of the library's.
fn number(name: &'static str, found: c_int) -> Result<usize> {
    usize::try_from(found).map_err(|_| {
        let text = format_args!("the library says {found} for a team that is live");
        Error::new(ErrorKind::Library, name, text)
    })
}

/// A number for the library.
pub(super) fn int(name: &'static str, number: usize) -> Result<c_int> {
    c_int::try_from(number).map_err(|_| {
        let text = format_args!("{number} is above {}, which NVSHMEM counts to", c_int::MAX);
        Error::new(ErrorKind::Argument, name, text)
    })
}

/// A team that must have been made.
fn made(name: &'static str, team: c_int) -> Result<TeamHandle> {
    if team == NVSHMEM_TEAM_INVALID {
        let text = "the library made no team for a PE that is in it";
        return Err(Error::new(ErrorKind::Library, name, text));
    }
    Ok(TeamHandle(team))
}
