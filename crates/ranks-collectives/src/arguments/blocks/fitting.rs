//! The checks of blocks against the slices and ranks of an operation.

use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::Count;

use super::Blocks;
use crate::arguments::call::Call;
use crate::arguments::lengths::Holders;

impl Blocks {
    /// # Errors
    /// [`ErrorKind::Length`] if there is not a block for each of them, or one ends behind a slice
    /// of `length`, called `name`.
    #[inline]
    pub(crate) fn fit(
        &self,
        operation: &'static str,
        holders: impl Into<Holders>,
        name: &str,
        length: usize,
    ) -> Result<()> {
        let Holders {
            count,
            name: holder,
        } = holders.into();
        if self.len() != count {
            return Err(self.not_one_each(operation, count, holder));
        }
        if self.end > length {
            return Err(self.beyond(operation, name, length));
        }
        Ok(())
    }

    /// # Errors
    /// [`ErrorKind::Length`] if the block of this rank is not of `length`, that of the slice called
    /// `name`.
    #[inline]
    pub(crate) fn own_is(&self, call: Call<'_>, name: &str, length: usize) -> Result<()> {
        let rank = call.comm.rank();
        match self.counts.get(rank) {
            Some(&count) if count == length => Ok(()),
            own => Err(not_own(call.operation, rank, name, length, own.copied())),
        }
    }

    /// # Errors
    /// [`ErrorKind::Argument`] if an element is in two blocks.
    #[inline]
    pub(crate) fn must_be_disjoint(
        &self,
        operation: &'static str,
        holders: impl Into<Holders>,
        name: &str,
    ) -> Result<()> {
        if self.is_disjoint() {
            return Ok(());
        }
        Err(self.overlap(operation, holders.into().name, name))
    }

    /// # Errors
    /// [`ErrorKind::Argument`] if the blocks do not lie one after the other.
    #[inline]
    pub(crate) fn must_be_packed(&self, operation: &'static str) -> Result<()> {
        if self.is_packed() {
            return Ok(());
        }
        Err(not_packed(operation))
    }

    #[cold]
    fn not_one_each(&self, operation: &'static str, count: usize, holder: &'static str) -> Error {
        let blocks = self.len();
        Error::new(
            ErrorKind::Length,
            operation,
            format_args!(
                "{} for {}; each {holder} has one",
                Count(blocks, "block"),
                Count(count, holder)
            ),
        )
    }

    #[cold]
    fn beyond(&self, operation: &'static str, name: &str, length: usize) -> Error {
        let end = self.end;
        Error::new(
            ErrorKind::Length,
            operation,
            format_args!(
                "the last block ends at {end}, and {name} has {}",
                Count(length, "element")
            ),
        )
    }

    #[cold]
    fn overlap(&self, operation: &'static str, holder: &str, name: &str) -> Error {
        let mut ranks: Vec<usize> = (0..self.len())
            .filter(|&rank| self.counts[rank] > 0)
            .collect();
        ranks.sort_by_key(|&rank| self.displacements[rank]);
        let pair = ranks
            .windows(2)
            .find(|pair| self.range(pair[0]).end > self.displacements[pair[1]])
            .unwrap_or(&[0, 0]);
        Error::new(
            ErrorKind::Argument,
            operation,
            format_args!(
                "the blocks of {holder}s {} and {} in {name} overlap: {:?} and {:?}",
                pair[0],
                pair[1],
                self.range(pair[0]),
                self.range(pair[1])
            ),
        )
    }
}

#[cold]
fn not_packed(operation: &'static str) -> Error {
    Error::new(
        ErrorKind::Argument,
        operation,
        "the blocks must lie one after the other in the order of ranks, as Blocks::from_counts makes them",
    )
}

#[cold]
fn not_own(
    operation: &'static str,
    rank: usize,
    name: &str,
    length: usize,
    own: Option<usize>,
) -> Error {
    let detail = match own {
        Some(own) => format!(
            "{name} has {}, and the block of rank {rank} {own}; they must be as long as each other",
            Count(length, "element")
        ),
        None => format!("there is no block for rank {rank}; each rank has one"),
    };
    Error::new(ErrorKind::Length, operation, detail)
}
