//! Arguments of an operation between two groups.

use std::ffi::c_int;

use bytemuck::Pod;
use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::{Count, RDMA_PER_REQUEST};

use crate::arguments::call::Call;
use crate::arguments::proven::{Both, Movable, Proven};

/// The rank that an operation between two groups goes out from, as each of the ranks has to see it.
///
/// The root says [`This`](Self::This), the other ranks of its group
/// [`OfThisGroup`](Self::OfThisGroup), and all ranks of the other group
/// [`OfOtherGroup`](Self::OfOtherGroup) with its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RootGroup {
    /// This rank is the root (`MPI_ROOT`).
    #[doc(alias = "MPI_ROOT")]
    This,
    /// Another rank of this group is the root, and this one has no part in it (`MPI_PROC_NULL`).
    OfThisGroup,
    /// This rank of the other group is the root.
    OfOtherGroup(usize),
}

/// Slices of an operation in which blocks go to the other group, of so many `ranks`: `recv` has
/// room for those that this rank receives, and `root` is where they go out from, if not from all.
pub(crate) struct Crossing<'a, T> {
    pub(crate) operation: &'static str,
    pub(crate) send: &'a [T],
    pub(crate) recv: &'a mut [T],
    /// The length of a block that is received.
    pub(crate) block: usize,
    pub(crate) root: Option<RootGroup>,
    pub(crate) ranks: usize,
}

impl<'a, T> Crossing<'a, T> {
    /// `data` is the block that the root sends and the other group receives.
    ///
    /// # Errors
    /// [`Root`](ErrorKind::Root) if the other group has no such rank.
    pub(crate) fn from_root(call: Call<'_>, data: &'a mut [T], root: RootGroup) -> Result<Self> {
        must_fit(call)?;
        let ranks = call.comm.peers();
        match root {
            RootGroup::OfOtherGroup(rank) if rank >= ranks || c_int::try_from(rank).is_err() => {
                let detail = format_args!(
                    "root {rank} is not in the other group of {}",
                    Count(ranks, "rank")
                );
                Err(Error::new(ErrorKind::Root, call.operation, detail))
            }
            _ => Ok(Self {
                operation: call.operation,
                send: &[],
                block: data.len(),
                recv: data,
                root: Some(root),
                ranks,
            }),
        }
    }

    /// `send` is one block, and `recv` one of each rank of the other group.
    ///
    /// # Errors
    /// [`Length`](ErrorKind::Length) if `recv` cannot be divided so.
    pub(crate) fn gathered(call: Call<'_>, send: &'a [T], recv: &'a mut [T]) -> Result<Self> {
        must_fit(call)?;
        let ranks = call.comm.peers();
        match (recv.len().checked_div(ranks), recv.len().checked_rem(ranks)) {
            (Some(block), Some(0)) => Ok(Self {
                operation: call.operation,
                send,
                recv,
                block,
                root: None,
                ranks,
            }),
            _ => Err(Error::new(
                ErrorKind::Length,
                call.operation,
                format_args!(
                    "recv has {}, which cannot be divided evenly among the {} of the other group",
                    Count(recv.len(), "element"),
                    Count(ranks, "rank")
                ),
            )),
        }
    }
}

impl<T> Proven for Crossing<'_, T> {
    fn elements(&self) -> usize {
        self.block
    }
}

impl<'a, T: Pod> Movable<'a> for Crossing<'a, T> {
    type Element = T;

    fn slices(&mut self) -> Both<'_, 'a, T> {
        (Some(&mut self.send), Some(&mut self.recv))
    }
}

impl RootGroup {
    /// As MPI writes it, in the standard's terms.
    pub(crate) fn number(self, this: c_int, of_this_group: c_int) -> c_int {
        match self {
            Self::This => this,
            Self::OfThisGroup => of_this_group,
            // In range, by `Crossing::from_root`.
            Self::OfOtherGroup(rank) => c_int::try_from(rank).unwrap_or(of_this_group),
        }
    }
}

/// # Errors
/// [`NotInLibrary`](ErrorKind::NotInLibrary) where the library may write past a slice if the
/// lengths of ranks differ: ranks of two groups do not compare theirs.
pub(crate) fn must_fit(call: Call<'_>) -> Result<()> {
    if !call.comm.may_overrun() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::NotInLibrary,
        call.operation,
        format_args!(
            "between two groups this library may write past a slice if the lengths of ranks differ; start all programs of the job with \
             {RDMA_PER_REQUEST}=0 in their environment, as `ranks run` does"
        ),
    ))
}
