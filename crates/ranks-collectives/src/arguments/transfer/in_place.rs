//! Proven slices of calls in place: one slice is both.

use ranks_comm::Result;

use super::Transfer;
use crate::arguments::blocks::Blocks;
use crate::arguments::call::Call;
use crate::arguments::lengths::block_of;
use crate::arguments::root::Root;

impl<'a, T> Transfer<'a, T> {
    /// `data` is a block for each rank, and its beginning is replaced by the block of this one.
    ///
    /// # Errors
    /// As [`dealt`](Self::dealt).
    pub(crate) fn dealt_in_place(
        call: Call<'_>,
        data: &'a mut [T],
        blocks: &Blocks,
    ) -> Result<Self> {
        blocks.fit(call.operation, call.comm, "data", data.len())?;
        blocks.must_be_packed(call.operation)?;
        let block = blocks.counts()[call.comm.rank()];
        let in_place = Self::in_place(call.operation, data);
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
    pub(crate) fn in_place_to_root(call: Call<'_>, data: &'a mut [T], root: usize) -> Result<Self> {
        let (root, is_here) = call.root(root)?;
        if !is_here {
            return Ok(Self::only_sent(call.operation, data, root));
        }
        let in_place = Self::in_place(call.operation, data);
        Ok(Transfer { root, ..in_place })
    }

    /// `data` is a block of every rank, this one's own already in its place.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if its length is no multiple of the number of
    /// ranks.
    pub(crate) fn blocks_in_place(call: Call<'_>, data: &'a mut [T]) -> Result<Self> {
        let block = block_of(call.operation, call.comm, data.len())?;
        let in_place = Self::in_place(call.operation, data);
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
        call: Call<'_>,
        data: &'a mut [T],
        root: usize,
    ) -> Result<Self> {
        let (root, is_here) = call.root(root)?;
        if !is_here {
            return Ok(Self::only_sent(call.operation, data, root));
        }
        let blocks = Self::blocks_in_place(call, data)?;
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
        call: Call<'_>,
        data: &'a mut [T],
        root: usize,
    ) -> Result<Self> {
        let (root, is_here) = call.root(root)?;
        if !is_here {
            return Ok(Self::only_received(call.operation, data, root));
        }
        let block = block_of(call.operation, call.comm, data.len())?;
        let sent = Self::only_sent(call.operation, data, root);
        let recv = None;
        Ok(Transfer {
            recv,
            block,
            ..sent
        })
    }
}
