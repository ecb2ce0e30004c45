//! Proven slices of calls in place: one slice is both.

use ranks_comm::{Communicator, Result};

use super::Transfer;
use crate::arguments::blocks::Blocks;
use crate::arguments::lengths::block_of;
use crate::arguments::root::Root;

impl<'a, T> Transfer<'a, T> {
    /// `data` is a block for each rank, and its beginning is replaced by the block of this one.
    ///
    /// # Errors
    /// As [`dealt`](Self::dealt).
    pub(crate) fn dealt_in_place(
        operation: &'static str,
        comm: &Communicator,
        data: &'a mut [T],
        blocks: &Blocks,
    ) -> Result<Self> {
        blocks.fit(operation, comm, "data", data.len())?;
        blocks.must_be_packed(operation)?;
        let block = blocks.counts()[comm.rank()];
        let in_place = Self::in_place(operation, data);
        Ok(Transfer { block, ..in_place })
    }

    /// `data` is one block, which is replaced by the result.
    #[inline]
    pub(crate) fn in_place(operation: &'static str, data: &'a mut [T]) -> Self {
        Transfer {
            operation,
            block: data.len(),
            send: None,
            recv: Some(data),
            root: Root::NONE,
        }
    }

    /// `data` is one block, which at the root is replaced by the result.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank.
    pub(crate) fn in_place_to_root(
        operation: &'static str,
        comm: &Communicator,
        data: &'a mut [T],
        root: usize,
    ) -> Result<Self> {
        let root = Root::new(operation, comm, root)?;
        if comm.rank() != root.rank {
            return Ok(Self::only_sent(operation, data, root));
        }
        let in_place = Self::in_place(operation, data);
        Ok(Transfer { root, ..in_place })
    }

    /// `data` is a block of every rank, this one's own already in its place.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if its length is no multiple of the number of
    /// ranks.
    pub(crate) fn blocks_in_place(
        operation: &'static str,
        comm: &Communicator,
        data: &'a mut [T],
    ) -> Result<Self> {
        let block = block_of(operation, comm, data.len())?;
        let in_place = Self::in_place(operation, data);
        Ok(Transfer { block, ..in_place })
    }

    /// `data` is at the root a block of every rank, its own already in its place, and elsewhere one
    /// block.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if the length at the root is no multiple of the
    /// number of ranks.
    pub(crate) fn gathered_in_place(
        operation: &'static str,
        comm: &Communicator,
        data: &'a mut [T],
        root: usize,
    ) -> Result<Self> {
        let root = Root::new(operation, comm, root)?;
        if comm.rank() != root.rank {
            return Ok(Self::only_sent(operation, data, root));
        }
        let blocks = Self::blocks_in_place(operation, comm, data)?;
        Ok(Transfer { root, ..blocks })
    }

    /// `data` is at the root a block for every rank, of which it keeps its own where it is, and
    /// elsewhere one block.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if the length at the root is no multiple of the
    /// number of ranks.
    pub(crate) fn scattered_in_place(
        operation: &'static str,
        comm: &Communicator,
        data: &'a mut [T],
        root: usize,
    ) -> Result<Self> {
        let root = Root::new(operation, comm, root)?;
        if comm.rank() != root.rank {
            let block = data.len();
            return Ok(Self::new(operation, &[], data, block, root));
        }
        let block = block_of(operation, comm, data.len())?;
        Ok(Transfer {
            operation,
            send: Some(data),
            recv: None,
            block,
            root,
        })
    }
}
