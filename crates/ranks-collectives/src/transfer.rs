//! The slices of one collective call, after their lengths and the root were proven to fit it.
//!
//! A [`Transfer`] is made by the constructors below and by nothing else. The backends rely on what they prove
//! and look at no length again.

use std::ffi::c_int;
use std::fmt;

use ranks_comm::{Communicator, Error, ErrorKind, Result};

/// Proven slices. `recv` is empty on the ranks where the standard calls the receive buffer not significant,
/// and `send` is likewise.
pub(crate) struct Transfer<'a, T> {
    operation: &'static str,
    send: &'a [T],
    recv: &'a mut [T],
    block: usize,
    root: Root,
}

/// A rank of the communicator, in both ways of writing it.
#[derive(Clone, Copy)]
struct Root {
    rank: usize,
    number: c_int,
}

/// The root of an operation that has none.
const NO_ROOT: Root = Root { rank: 0, number: 0 };

impl<'a, T> Transfer<'a, T> {
    /// Both slices are one block, on every rank.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if their lengths differ.
    #[inline]
    pub(crate) fn equal(operation: &'static str, send: &'a [T], recv: &'a mut [T]) -> Result<Self> {
        if send.len() != recv.len() {
            return Err(lengths(
                operation,
                format_args!(
                    "send has {} elements, recv {}; they must be as long as each other",
                    send.len(),
                    recv.len()
                ),
            ));
        }
        Ok(Transfer {
            operation,
            block: send.len(),
            send,
            recv,
            root: NO_ROOT,
        })
    }

    /// `send` is one block, and at the root `recv` is one as well.
    ///
    /// # Errors
    /// [`ErrorKind::Root`] if there is no such rank, [`ErrorKind::Length`] if the lengths differ at the root.
    #[inline]
    pub(crate) fn to_root(
        operation: &'static str,
        comm: &Communicator,
        send: &'a [T],
        recv: &'a mut [T],
        root: usize,
    ) -> Result<Self> {
        let root = Root::new(operation, comm, root)?;
        if comm.rank() != root.rank {
            return Ok(Transfer {
                operation,
                block: send.len(),
                send,
                recv: &mut [],
                root,
            });
        }
        Transfer::equal(operation, send, recv).map(|transfer| Transfer { root, ..transfer })
    }

    /// `data` is the block that the root sends and the others receive.
    ///
    /// # Errors
    /// [`ErrorKind::Root`] if there is no such rank.
    #[inline]
    pub(crate) fn broadcast(
        operation: &'static str,
        comm: &Communicator,
        data: &'a mut [T],
        root: usize,
    ) -> Result<Self> {
        let root = Root::new(operation, comm, root)?;
        Ok(Transfer {
            operation,
            send: &[],
            block: data.len(),
            recv: data,
            root,
        })
    }

    /// `send` is one block, and `recv` one block of every rank.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if that is not so.
    #[inline]
    pub(crate) fn gathered(
        operation: &'static str,
        comm: &Communicator,
        send: &'a [T],
        recv: &'a mut [T],
    ) -> Result<Self> {
        if send.len().checked_mul(comm.size()) != Some(recv.len()) {
            return Err(blocks(
                operation,
                "recv",
                recv.len(),
                "send",
                send.len(),
                comm.size(),
            ));
        }
        Ok(Transfer {
            operation,
            block: send.len(),
            send,
            recv,
            root: NO_ROOT,
        })
    }

    /// `send` is one block, and at the root `recv` is one block of every rank.
    ///
    /// # Errors
    /// [`ErrorKind::Root`] if there is no such rank, [`ErrorKind::Length`] if the lengths at the root do not fit.
    #[inline]
    pub(crate) fn gathered_at(
        operation: &'static str,
        comm: &Communicator,
        send: &'a [T],
        recv: &'a mut [T],
        root: usize,
    ) -> Result<Self> {
        let root = Root::new(operation, comm, root)?;
        if comm.rank() != root.rank {
            return Ok(Transfer {
                operation,
                block: send.len(),
                send,
                recv: &mut [],
                root,
            });
        }
        Transfer::gathered(operation, comm, send, recv)
            .map(|transfer| Transfer { root, ..transfer })
    }

    /// `recv` is one block, and at the root `send` is one block for every rank.
    ///
    /// # Errors
    /// [`ErrorKind::Root`] if there is no such rank, [`ErrorKind::Length`] if the lengths at the root do not fit.
    #[inline]
    pub(crate) fn scattered_from(
        operation: &'static str,
        comm: &Communicator,
        send: &'a [T],
        recv: &'a mut [T],
        root: usize,
    ) -> Result<Self> {
        let root = Root::new(operation, comm, root)?;
        if comm.rank() != root.rank {
            return Ok(Transfer {
                operation,
                send: &[],
                block: recv.len(),
                recv,
                root,
            });
        }
        if recv.len().checked_mul(comm.size()) != Some(send.len()) {
            return Err(blocks(
                operation,
                "send",
                send.len(),
                "recv",
                recv.len(),
                comm.size(),
            ));
        }
        Ok(Transfer {
            operation,
            send,
            block: recv.len(),
            recv,
            root,
        })
    }

    /// Both slices are one block for every rank.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if their lengths differ or are no multiple of the number of ranks.
    #[inline]
    pub(crate) fn exchanged(
        operation: &'static str,
        comm: &Communicator,
        send: &'a [T],
        recv: &'a mut [T],
    ) -> Result<Self> {
        let transfer = Transfer::equal(operation, send, recv)?;
        if transfer.block % comm.size() != 0 {
            return Err(lengths(
                operation,
                format_args!(
                    "{} elements cannot be divided evenly among {} ranks",
                    transfer.block,
                    comm.size()
                ),
            ));
        }
        Ok(Transfer {
            block: transfer.block / comm.size(),
            ..transfer
        })
    }

    /// The C name of the operation.
    pub(crate) fn operation(&self) -> &'static str {
        self.operation
    }

    /// Elements that one rank contributes, or gets from one rank.
    #[inline]
    pub(crate) fn block(&self) -> usize {
        self.block
    }

    /// The root as MPI writes it; 0 where there is none.
    #[inline]
    pub(crate) fn root(&self) -> c_int {
        self.root.number
    }

    /// The root as Rust writes it; 0 where there is none.
    #[inline]
    pub(crate) fn root_rank(&self) -> usize {
        self.root.rank
    }

    /// The same in pieces of at most `longest` elements, for operations that go element by element.
    ///
    /// Both slices must be one block, or `recv` empty.
    pub(crate) fn pieces(self, longest: usize) -> impl Iterator<Item = Transfer<'a, T>> {
        let Transfer {
            operation,
            send,
            recv,
            root,
            ..
        } = self;
        let mut rest = recv;
        send.chunks(longest).map(move |send| {
            let recv = std::mem::take(&mut rest);
            let (recv, after) = recv.split_at_mut(send.len().min(recv.len()));
            rest = after;
            Transfer {
                operation,
                block: send.len(),
                send,
                recv,
                root,
            }
        })
    }

    /// The two slices.
    #[inline]
    pub(crate) fn into_slices(self) -> (&'a [T], &'a mut [T]) {
        (self.send, self.recv)
    }
}

impl Root {
    /// # Errors
    /// [`ErrorKind::Root`] if `rank` is not in `comm`.
    #[inline]
    fn new(operation: &'static str, comm: &Communicator, rank: usize) -> Result<Root> {
        match c_int::try_from(rank) {
            Ok(number) if rank < comm.size() => Ok(Root { rank, number }),
            _ => Err(no_such_root(operation, rank, comm.size())),
        }
    }
}

#[cold]
#[inline(never)]
fn no_such_root(operation: &'static str, root: usize, size: usize) -> Error {
    Error::new(
        ErrorKind::Root,
        operation,
        format_args!(
            "root {root} is not in a communicator of {size} ranks; roots go from 0 to {}",
            size - 1
        ),
    )
}

#[cold]
#[inline(never)]
fn blocks(
    operation: &'static str,
    whole: &str,
    whole_len: usize,
    block: &str,
    block_len: usize,
    size: usize,
) -> Error {
    lengths(
        operation,
        format_args!(
            "{whole} has {whole_len} elements and {block} {block_len}; with {size} ranks {whole} must be {size} times as long as {block}"
        ),
    )
}

#[cold]
#[inline(never)]
fn lengths(operation: &'static str, detail: fmt::Arguments<'_>) -> Error {
    Error::new(ErrorKind::Length, operation, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_whole_in_order() {
        let send = [1, 2, 3, 4, 5];
        let mut recv = [10, 20, 30, 40, 50];
        let whole = Transfer::equal("MPI_Allreduce", &send, &mut recv).unwrap();
        let pieces: Vec<_> = whole
            .pieces(2)
            .map(|piece| (piece.block(), piece.into_slices()))
            .collect();
        assert_eq!(pieces.len(), 3);
        assert_eq!(pieces[0], (2, (&[1, 2][..], &mut [10, 20][..])));
        assert_eq!(pieces[2], (1, (&[5][..], &mut [50][..])));
    }

    #[test]
    fn pieces_of_a_rank_that_receives_nothing_have_nothing_to_receive_into() {
        let whole = Transfer {
            operation: "MPI_Reduce",
            send: &[1, 2, 3],
            recv: &mut [],
            block: 3,
            root: NO_ROOT,
        };
        let blocks: Vec<_> = whole
            .pieces(2)
            .map(|piece| (piece.block(), piece.into_slices().1.len()))
            .collect();
        assert_eq!(blocks, [(2, 0), (1, 0)]);
    }
}
