//! Teams split from teams.

use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::Count;

use super::{Team, TeamRef, TeamState};
use crate::backend::names::{TEAM_SPLIT_2D, TEAM_SPLIT_STRIDED};
use crate::pe::handle::Nvshmem;
use crate::pe::team_id::Part;

impl Team<'_> {
    /// A team of `size` PEs of this one: `start`, and each `stride` after the one before. `None` on
    /// those that are not in it. Collective over this team.
    ///
    /// # Errors
    /// [`Rank`](ErrorKind::Rank) and [`Length`](ErrorKind::Length) for PEs that are not there,
    /// [`Argument`](ErrorKind::Argument) for a stride of 0; else as [all
    /// operations](Self#operations).
    #[doc(alias = "nvshmem_team_split_strided")]
    pub fn split_strided(
        &self,
        start: usize,
        stride: usize,
        size: usize,
    ) -> Result<Option<Team<'_>>> {
        split_strided(self.heap, &self.state, start, stride, size)
    }

    /// The row and the column of this PE, where the PEs of this team stand in rows of `xrange`.
    /// Collective over this team.
    ///
    /// The last row may be shorter, and the columns behind its end with it.
    ///
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) for an `xrange` of 0; else as [all
    /// operations](Self#operations).
    #[doc(alias = "nvshmem_team_split_2d")]
    pub fn split_2d(&self, xrange: usize) -> Result<(Team<'_>, Team<'_>)> {
        split_2d(self.heap, &self.state, xrange)
    }
}

impl<'p> TeamRef<'p> {
    /// As [`Team::split_strided`]: this team stays as long as the heap, and so may the new one.
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "nvshmem_team_split_strided")]
    pub fn split_strided(
        &self,
        start: usize,
        stride: usize,
        size: usize,
    ) -> Result<Option<Team<'p>>> {
        split_strided(self.heap, &self.state, start, stride, size)
    }

    /// As [`Team::split_2d`]: this team stays as long as the heap, and so may the new ones.
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "nvshmem_team_split_2d")]
    pub fn split_2d(&self, xrange: usize) -> Result<(Team<'p>, Team<'p>)> {
        split_2d(self.heap, &self.state, xrange)
    }
}

fn split_strided<'p>(
    heap: &'p Nvshmem<'p>,
    parent: &TeamState,
    start: usize,
    stride: usize,
    size: usize,
) -> Result<Option<Team<'p>>> {
    let reach = heap.reach(TEAM_SPLIT_STRIDED)?;
    let checked = strided(parent.n_pes, start, stride, size);
    let words = checked.map(|()| [start, stride, size].map(|number| number as u64).to_vec());
    parent.meet(heap, TEAM_SPLIT_STRIDED, words)?;
    parent.rest(&reach, TEAM_SPLIT_STRIDED)?;
    let members = parent.members(heap)?;
    // Counted by those who are not in it as well.
    let id = parent.id.child(parent.next_split(), Part::Whole);
    let handle = reach
        .backend
        .split_strided(parent.handle, start, stride, size)?;
    Ok(handle.map(|handle| {
        let members = members.iter().skip(start).step_by(stride);
        let members = members.take(size).copied().collect();
        let my_pe = parent.my_pe.saturating_sub(start) / stride;
        Team::of(heap, TeamState::made(handle, id, my_pe, members))
    }))
}

fn split_2d<'p>(
    heap: &'p Nvshmem<'p>,
    parent: &TeamState,
    xrange: usize,
) -> Result<(Team<'p>, Team<'p>)> {
    let reach = heap.reach(TEAM_SPLIT_2D)?;
    let checked = if xrange == 0 {
        let text = "rows of 0 PEs are none: `xrange` is at least 1";
        Err(Error::new(ErrorKind::Argument, TEAM_SPLIT_2D, text))
    } else {
        Ok(vec![xrange as u64])
    };
    parent.meet(heap, TEAM_SPLIT_2D, checked)?;
    parent.rest(&reach, TEAM_SPLIT_2D)?;
    let members = parent.members(heap)?;
    let split = parent.next_split();
    // A row that is longer than the team is the team.
    let xrange = xrange.min(parent.n_pes);
    let (row, column) = (parent.my_pe / xrange, parent.my_pe % xrange);
    let (in_row, in_column) = reach.backend.split_2d(parent.handle, xrange)?;
    let of_row = members.iter().skip(row * xrange).take(xrange).copied();
    let of_column = members.iter().skip(column).step_by(xrange).copied();
    let row_id = parent.id.child(split, Part::Row(row));
    let column_id = parent.id.child(split, Part::Column(column));
    Ok((
        Team::of(
            heap,
            TeamState::made(in_row, row_id, column, of_row.collect()),
        ),
        Team::of(
            heap,
            TeamState::made(in_column, column_id, row, of_column.collect()),
        ),
    ))
}

/// # Errors
/// Unless a team of `n_pes` has these PEs.
fn strided(n_pes: usize, start: usize, stride: usize, size: usize) -> Result<()> {
    let error =
        |kind, text: std::fmt::Arguments<'_>| Err(Error::new(kind, TEAM_SPLIT_STRIDED, text));
    if start >= n_pes {
        let text = format_args!("there is no PE {start} in a team of {n_pes} to start from");
        return error(ErrorKind::Rank, text);
    }
    if stride == 0 {
        let text = format_args!("the stride is 0; it is 1 for PEs that follow each other");
        return error(ErrorKind::Argument, text);
    }
    let last = size
        .checked_sub(1)
        .and_then(|steps| steps.checked_mul(stride))
        .and_then(|way| way.checked_add(start));
    if last.is_none_or(|last| last >= n_pes) {
        let text = format_args!(
            "{} from {start}, each {stride} after the one before: not in a team of {n_pes}",
            Count(size, "PE")
        );
        return error(ErrorKind::Length, text);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ranks_comm::ErrorKind;

    use super::strided;

    #[test]
    fn pes_that_are_not_there_are_refused() {
        assert!(strided(4, 0, 1, 4).is_ok());
        assert!(strided(4, 1, 2, 2).is_ok());
        assert!(strided(4, 3, usize::MAX, 1).is_ok());
        let kind = |start, stride, size| strided(4, start, stride, size).unwrap_err().kind();
        assert_eq!(kind(4, 1, 1), ErrorKind::Rank);
        assert_eq!(kind(0, 0, 1), ErrorKind::Argument);
        assert_eq!(kind(0, 1, 0), ErrorKind::Length);
        assert_eq!(kind(0, 1, 5), ErrorKind::Length);
        assert_eq!(kind(2, 2, 2), ErrorKind::Length);
        assert_eq!(kind(1, usize::MAX, usize::MAX), ErrorKind::Length);
    }
}
