//! The slices of one collective call whose blocks have lengths of their own, after they were proven
//! to fit it.
//!
//! As with [`Transfer`](crate::arguments::transfer::Transfer), the backends rely on what the
//! constructors prove.

use ranks_comm::{Communicator, Result};

use crate::arguments::blocks::Blocks;
use crate::arguments::root::Root;

/// A slice, and the block of it that belongs to each rank. `None` for the slice if the other side's
/// plays its part.
pub(crate) struct Divided<'a, S> {
    pub(crate) slice: Option<S>,
    pub(crate) blocks: &'a Blocks,
}

/// Blocks of all ranks, or at the root of all ranks, out of one of each.
///
/// If nothing is gathered here, `recv` is empty and its blocks are the root's.
pub(crate) struct Gathering<'a, T> {
    pub(crate) operation: &'static str,
    /// This rank.
    pub(crate) me: usize,
    pub(crate) send: Option<&'a [T]>,
    pub(crate) recv: Divided<'a, &'a mut [T]>,
    pub(crate) root: Root,
}

/// A block for each rank out of the root's. Elsewhere `send` is empty and its blocks are the
/// root's.
pub(crate) struct Scattering<'a, T> {
    pub(crate) operation: &'static str,
    /// This rank.
    pub(crate) me: usize,
    pub(crate) send: Divided<'a, &'a [T]>,
    pub(crate) recv: Option<&'a mut [T]>,
    pub(crate) root: Root,
}

/// A block for each rank and one from each.
pub(crate) struct Exchange<'a, T> {
    pub(crate) operation: &'static str,
    pub(crate) send: Divided<'a, &'a [T]>,
    pub(crate) recv: Divided<'a, &'a mut [T]>,
}

impl<'a, T> Gathering<'a, T> {
    /// `send` is this rank's block, and `recv` holds one of each rank.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) or [`Argument`](ranks_comm::ErrorKind::Argument)
    /// if that is not so.
    #[inline]
    pub(crate) fn new(
        operation: &'static str,
        comm: &Communicator,
        send: &'a [T],
        recv: &'a mut [T],
        blocks: &'a Blocks,
    ) -> Result<Self> {
        blocks.own_is(operation, comm, "send", send.len())?;
        Self::into(operation, comm, Some(send), ("recv", recv), blocks)
    }

    /// `data` holds a block of each rank, that of this one already in its place.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn in_place(
        operation: &'static str,
        comm: &Communicator,
        data: &'a mut [T],
        blocks: &'a Blocks,
    ) -> Result<Self> {
        Self::into(operation, comm, None, ("data", data), blocks)
    }

    #[inline]
    fn into(
        operation: &'static str,
        comm: &Communicator,
        send: Option<&'a [T]>,
        (name, recv): (&str, &'a mut [T]),
        blocks: &'a Blocks,
    ) -> Result<Self> {
        blocks.fit(operation, comm, name, recv.len())?;
        blocks.must_be_disjoint(operation, comm, name)?;
        Ok(Self {
            operation,
            me: comm.rank(),
            send,
            recv: Divided {
                slice: Some(recv),
                blocks,
            },
            root: Root::NONE,
        })
    }

    /// `send` is this rank's block, and at the root `recv` holds one of each rank.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank; otherwise as
    /// [`new`](Self::new).
    #[inline]
    pub(crate) fn at(
        operation: &'static str,
        comm: &Communicator,
        send: &'a [T],
        recv: &'a mut [T],
        blocks: &'a Blocks,
        root: usize,
    ) -> Result<Self> {
        let root = Root::new(operation, comm, root)?;
        let gathering = if comm.rank() == root.rank {
            Self::new(operation, comm, send, recv, blocks)?
        } else {
            Self::elsewhere(operation, comm, ("send", send), blocks)?
        };
        Ok(Self { root, ..gathering })
    }

    /// `data` is at the root a block of each rank, its own already in its place, and elsewhere this
    /// rank's block.
    ///
    /// # Errors
    /// As [`at`](Self::at).
    pub(crate) fn in_place_at(
        operation: &'static str,
        comm: &Communicator,
        data: &'a mut [T],
        blocks: &'a Blocks,
        root: usize,
    ) -> Result<Self> {
        let root = Root::new(operation, comm, root)?;
        let gathering = if comm.rank() == root.rank {
            Self::in_place(operation, comm, data, blocks)?
        } else {
            Self::elsewhere(operation, comm, ("data", data), blocks)?
        };
        Ok(Self { root, ..gathering })
    }

    /// On a rank that is not the root.
    fn elsewhere(
        operation: &'static str,
        comm: &Communicator,
        (name, send): (&str, &'a [T]),
        blocks: &'a Blocks,
    ) -> Result<Self> {
        blocks.fit(operation, comm, name, usize::MAX)?;
        blocks.own_is(operation, comm, name, send.len())?;
        Ok(Self {
            operation,
            me: comm.rank(),
            send: Some(send),
            recv: Divided {
                slice: Some(&mut []),
                blocks,
            },
            root: Root::NONE,
        })
    }
}

impl<'a, T> Scattering<'a, T> {
    /// `recv` is this rank's block, and at the root `send` holds one for each rank.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank;
    /// [`Length`](ranks_comm::ErrorKind::Length) or [`Argument`](ranks_comm::ErrorKind::Argument)
    /// if the slices do not fit.
    #[inline]
    pub(crate) fn from(
        operation: &'static str,
        comm: &Communicator,
        send: &'a [T],
        recv: &'a mut [T],
        blocks: &'a Blocks,
        root: usize,
    ) -> Result<Self> {
        let root = Root::new(operation, comm, root)?;
        blocks.own_is(operation, comm, "recv", recv.len())?;
        let send = if comm.rank() == root.rank {
            Self::whole(operation, comm, ("send", send), blocks)?
        } else {
            Self::elsewhere(operation, comm, blocks)?
        };
        Ok(Self {
            operation,
            me: comm.rank(),
            send,
            recv: Some(recv),
            root,
        })
    }

    /// `data` is at the root a block for each rank, of which it keeps its own where it is, and
    /// elsewhere this rank's block.
    ///
    /// # Errors
    /// As [`from`](Self::from).
    pub(crate) fn in_place_from(
        operation: &'static str,
        comm: &Communicator,
        data: &'a mut [T],
        blocks: &'a Blocks,
        root: usize,
    ) -> Result<Self> {
        let root = Root::new(operation, comm, root)?;
        let (send, recv) = if comm.rank() == root.rank {
            let data = ("data", &*data);
            (Self::whole(operation, comm, data, blocks)?, None)
        } else {
            blocks.own_is(operation, comm, "data", data.len())?;
            (Self::elsewhere(operation, comm, blocks)?, Some(data))
        };
        Ok(Self {
            operation,
            me: comm.rank(),
            send,
            recv,
            root,
        })
    }

    /// The slice that the root sends.
    fn whole(
        operation: &'static str,
        comm: &Communicator,
        (name, send): (&str, &'a [T]),
        blocks: &'a Blocks,
    ) -> Result<Divided<'a, &'a [T]>> {
        blocks.fit(operation, comm, name, send.len())?;
        // The standard allows no location to be read twice here (MPI 5.0 §6.6).
        blocks.must_be_disjoint(operation, comm, name)?;
        let slice = Some(send);
        Ok(Divided { slice, blocks })
    }

    /// The slice that the others send: nothing.
    fn elsewhere(
        operation: &'static str,
        comm: &Communicator,
        blocks: &'a Blocks,
    ) -> Result<Divided<'a, &'a [T]>> {
        blocks.fit(operation, comm, "send", usize::MAX)?;
        let slice = Some(&[][..]);
        Ok(Divided { slice, blocks })
    }
}

impl<'a, T> Exchange<'a, T> {
    /// `send` holds a block for each rank, `recv` one of each, and the own one is as long in both.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) or [`Argument`](ranks_comm::ErrorKind::Argument)
    /// if that is not so.
    #[inline]
    pub(crate) fn new(
        operation: &'static str,
        comm: &Communicator,
        (send, send_blocks): (&'a [T], &'a Blocks),
        (recv, recv_blocks): (&'a mut [T], &'a Blocks),
    ) -> Result<Self> {
        send_blocks.fit(operation, comm, "send", send.len())?;
        recv_blocks.fit(operation, comm, "recv", recv.len())?;
        recv_blocks.must_be_disjoint(operation, comm, "recv")?;
        let own = send_blocks.counts()[comm.rank()];
        recv_blocks.own_is(operation, comm, "the block to itself in send", own)?;
        Ok(Self {
            operation,
            send: Divided {
                slice: Some(send),
                blocks: send_blocks,
            },
            recv: Divided {
                slice: Some(recv),
                blocks: recv_blocks,
            },
        })
    }

    /// `data` holds a block for each rank, which is replaced by the one of that rank, of the same
    /// length.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn in_place(
        operation: &'static str,
        comm: &Communicator,
        data: &'a mut [T],
        blocks: &'a Blocks,
    ) -> Result<Self> {
        blocks.fit(operation, comm, "data", data.len())?;
        blocks.must_be_disjoint(operation, comm, "data")?;
        Ok(Self {
            operation,
            send: Divided {
                slice: None,
                blocks,
            },
            recv: Divided {
                slice: Some(data),
                blocks,
            },
        })
    }
}
