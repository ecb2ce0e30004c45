//! The slices of one collective call whose blocks have lengths of their own, after they were proven
//! to fit it.
//!
//! As with [`Transfer`](crate::arguments::transfer::Transfer), the backends rely on what the
//! constructors prove.

use ranks_comm::Result;

use crate::arguments::blocks::Blocks;
use crate::arguments::call::Call;
use crate::arguments::root::Root;

/// A slice, and the block of it that belongs to each rank. `None` for the slice if the other side's
/// plays its part.
pub(crate) struct Divided<'a, S> {
    pub(crate) slice: Option<S>,
    pub(crate) blocks: &'a Blocks,
}

impl<'a, S> Divided<'a, S> {
    #[inline(always)]
    pub(crate) fn new(slice: Option<S>, blocks: &'a Blocks) -> Self {
        Self { slice, blocks }
    }
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
        call: Call<'_>,
        send: &'a [T],
        recv: &'a mut [T],
        blocks: &'a Blocks,
    ) -> Result<Self> {
        blocks.own_is(call, "send", send.len())?;
        Self::into(call, Some(send), ("recv", recv), blocks)
    }

    /// `data` holds a block of each rank, that of this one already in its place.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn in_place(call: Call<'_>, data: &'a mut [T], blocks: &'a Blocks) -> Result<Self> {
        Self::into(call, None, ("data", data), blocks)
    }

    #[inline]
    fn into(
        call: Call<'_>,
        send: Option<&'a [T]>,
        (name, recv): (&str, &'a mut [T]),
        blocks: &'a Blocks,
    ) -> Result<Self> {
        blocks.fit(call.operation, call.comm, name, recv.len())?;
        blocks.must_be_disjoint(call.operation, call.comm, name)?;
        Ok(Self {
            operation: call.operation,
            me: call.comm.rank(),
            send,
            recv: Divided::new(Some(recv), blocks),
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
        call: Call<'_>,
        send: &'a [T],
        recv: &'a mut [T],
        blocks: &'a Blocks,
        root: usize,
    ) -> Result<Self> {
        let (root, is_here) = call.root(root)?;
        let gathering = if is_here {
            Self::new(call, send, recv, blocks)?
        } else {
            Self::elsewhere(call, ("send", send), blocks)?
        };
        Ok(Self { root, ..gathering })
    }

    /// `data` is at the root a block of each rank, its own already in its place, and elsewhere this
    /// rank's block.
    ///
    /// # Errors
    /// As [`at`](Self::at).
    pub(crate) fn in_place_at(
        call: Call<'_>,
        data: &'a mut [T],
        blocks: &'a Blocks,
        root: usize,
    ) -> Result<Self> {
        let (root, is_here) = call.root(root)?;
        let gathering = if is_here {
            Self::in_place(call, data, blocks)?
        } else {
            Self::elsewhere(call, ("data", data), blocks)?
        };
        Ok(Self { root, ..gathering })
    }

    /// On a rank that is not the root.
    fn elsewhere(
        call: Call<'_>,
        (name, send): (&str, &'a [T]),
        blocks: &'a Blocks,
    ) -> Result<Self> {
        blocks.fit(call.operation, call.comm, name, usize::MAX)?;
        blocks.own_is(call, name, send.len())?;
        Ok(Self {
            operation: call.operation,
            me: call.comm.rank(),
            send: Some(send),
            recv: Divided::new(Some(&mut []), blocks),
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
        call: Call<'_>,
        send: &'a [T],
        recv: &'a mut [T],
        blocks: &'a Blocks,
        root: usize,
    ) -> Result<Self> {
        let (root, is_here) = call.root(root)?;
        blocks.own_is(call, "recv", recv.len())?;
        let send = if is_here {
            Self::whole(call, ("send", send), blocks)?
        } else {
            Self::elsewhere(call, blocks)?
        };
        Ok(Self {
            operation: call.operation,
            me: call.comm.rank(),
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
        call: Call<'_>,
        data: &'a mut [T],
        blocks: &'a Blocks,
        root: usize,
    ) -> Result<Self> {
        let (root, is_here) = call.root(root)?;
        let (send, recv) = if is_here {
            let data = ("data", &*data);
            (Self::whole(call, data, blocks)?, None)
        } else {
            blocks.own_is(call, "data", data.len())?;
            (Self::elsewhere(call, blocks)?, Some(data))
        };
        Ok(Self {
            operation: call.operation,
            me: call.comm.rank(),
            send,
            recv,
            root,
        })
    }

    /// The slice that the root sends.
    fn whole(
        call: Call<'_>,
        (name, send): (&str, &'a [T]),
        blocks: &'a Blocks,
    ) -> Result<Divided<'a, &'a [T]>> {
        blocks.fit(call.operation, call.comm, name, send.len())?;
        // The standard allows no location to be read twice here (MPI 5.0 §6.6).
        blocks.must_be_disjoint(call.operation, call.comm, name)?;
        Ok(Divided::new(Some(send), blocks))
    }

    /// The slice that the others send: nothing.
    fn elsewhere(call: Call<'_>, blocks: &'a Blocks) -> Result<Divided<'a, &'a [T]>> {
        blocks.fit(call.operation, call.comm, "send", usize::MAX)?;
        Ok(Divided::new(Some(&[][..]), blocks))
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
        call: Call<'_>,
        (send, send_blocks): (&'a [T], &'a Blocks),
        (recv, recv_blocks): (&'a mut [T], &'a Blocks),
    ) -> Result<Self> {
        send_blocks.fit(call.operation, call.comm, "send", send.len())?;
        recv_blocks.fit(call.operation, call.comm, "recv", recv.len())?;
        recv_blocks.must_be_disjoint(call.operation, call.comm, "recv")?;
        let own = send_blocks.counts()[call.comm.rank()];
        recv_blocks.own_is(call, "the block to itself in send", own)?;
        Ok(Self {
            operation: call.operation,
            send: Divided::new(Some(send), send_blocks),
            recv: Divided::new(Some(recv), recv_blocks),
        })
    }

    /// `data` holds a block for each rank, which is replaced by the one of that rank, of the same
    /// length.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn in_place(call: Call<'_>, data: &'a mut [T], blocks: &'a Blocks) -> Result<Self> {
        blocks.fit(call.operation, call.comm, "data", data.len())?;
        blocks.must_be_disjoint(call.operation, call.comm, "data")?;
        Ok(Self {
            operation: call.operation,
            send: Divided::new(None, blocks),
            recv: Divided::new(Some(data), blocks),
        })
    }
}
