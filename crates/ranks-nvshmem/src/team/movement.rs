//! Collective operations of a team, checked as far as one PE can.

use bytemuck::Pod;
use ranks_comm::{Error, ErrorKind, Result};

use crate::backend::Order;
use crate::call::check;
use crate::heap::arguments::part::Part;
use crate::team::element::Element;
use crate::team::reduction::Reduction;

pub(crate) use crate::backend::{Moved, Movement};

impl Movement {
    pub(crate) fn reduce<T: Element, O: Reduction<T>>(_: O) -> Self {
        Self::Reduce(T::KIND, O::REDUCE)
    }

    pub(crate) fn reducescatter<T: Element, O: Reduction<T>>(_: O) -> Self {
        Self::Reducescatter(T::KIND, O::REDUCE)
    }

    /// From where to where, in a team of `n_pes`; `None` if there are no bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Root`], [`ErrorKind::Length`].
    pub(crate) fn check<'a, T: Pod>(
        self,
        n_pes: usize,
        order: Order<'_>,
        dest: &'a impl Part<Element = T>,
        source: &'a impl Part<Element = T>,
    ) -> Result<Option<Moved<'a>>> {
        let name = self.name(order);
        let (to, from) = (dest.count(), source.count());
        let amount = match self {
            Self::Barrier | Self::Sync => return Ok(None),
            Self::Broadcast(root) => {
                check_root(name, root, n_pes)?;
                check::same_length(name, to, from)?;
                check::bytes::<T>(name, from)?
            }
            Self::Fcollect => {
                shares(name, n_pes, to, from)?;
                check::bytes::<T>(name, from)?
            }
            Self::Alltoall => {
                check::same_length(name, to, from)?;
                let share = from / n_pes.max(1);
                shares(name, n_pes, from, share)?;
                check::bytes::<T>(name, share)?
            }
            Self::Reduce(..) => {
                check::same_length(name, to, from)?;
                from
            }
            Self::Reducescatter(..) => {
                shares(name, n_pes, from, to)?;
                to
            }
        };
        let (Some(dest), Some(source)) = (dest.place(), source.place()) else {
            return Ok(None);
        };
        Ok(Some(Moved {
            dest,
            source,
            amount,
        }))
    }

    /// Returns whether there is nothing to do.
    pub(crate) fn is_nothing(self, moved: Option<Moved<'_>>) -> bool {
        moved.is_none() && !matches!(self, Self::Barrier | Self::Sync)
    }

    /// The values that must be the same on all PEs: places, lengths, root.
    pub(crate) fn words(self, moved: Option<Moved<'_>>) -> Vec<u64> {
        let Some(Moved {
            dest,
            source,
            amount,
        }) = moved
        else {
            return Vec::new();
        };
        let root = match self {
            Self::Broadcast(root) => root,
            _ => 0,
        };
        let counts = [dest.offset, source.offset, amount, root];
        let blocks = [dest.block.number, source.block.number];
        let counts = counts.into_iter().map(|count| count as u64);
        blocks.into_iter().chain(counts).collect()
    }
}

/// # Errors
/// [`ErrorKind::Root`] unless the team has it.
fn check_root(name: &'static str, root: usize, n_pes: usize) -> Result<()> {
    if root < n_pes {
        return Ok(());
    }
    let text = format_args!(
        "there is no root {root} in a team of {n_pes}; PEs are counted from 0 in the team"
    );
    Err(Error::new(ErrorKind::Root, name, text))
}

/// # Errors
/// [`ErrorKind::Length`] unless the whole has one share for each PE.
fn shares(name: &'static str, n_pes: usize, whole: usize, share: usize) -> Result<()> {
    if n_pes.checked_mul(share) == Some(whole) {
        return Ok(());
    }
    let text = format_args!(
        "{whole} elements are not {n_pes} shares of {share}, one for each PE of the team"
    );
    Err(Error::new(ErrorKind::Length, name, text))
}
