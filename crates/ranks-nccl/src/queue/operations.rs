//! The operations on borrowed memory.

use ranks_comm::Result;
use ranks_cuda::{DeviceSlice, DeviceSliceMut, DeviceVec};

use super::Queue;
use crate::element::Element;
use crate::reduction::Reduction;
use ranks_collectives::ops::Sum;

impl<'env> Queue<'env> {
    /// Enqueues to reduce the `send` of all ranks with `op`, element by element, into `recv` of
    /// every rank.
    ///
    /// Both are as long as each other.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if they are not; otherwise as
    /// [all](crate#operations).
    #[doc(alias = "ncclAllReduce")]
    #[inline]
    pub fn allreduce<S, R, O>(&self, send: S, mut recv: R, op: O) -> Result<()>
    where
        S: DeviceSlice<Element: Element> + 'env,
        R: DeviceSliceMut<Element = S::Element> + 'env,
        O: Reduction<S::Element> + 'env,
    {
        let call = self.checks().allreduce(&send, &mut recv, &op)?;
        self.enqueue(&[call], Some(send), Some(recv), op)
    }

    /// Enqueues to reduce the `buffer` of all ranks with `op`, element by element, into `buffer` of
    /// every rank.
    ///
    /// # Errors
    /// As [all](crate#operations).
    #[doc(alias = "ncclAllReduce")]
    #[inline]
    pub fn allreduce_in_place<B, O>(&self, mut buffer: B, op: O) -> Result<()>
    where
        B: DeviceSliceMut<Element: Element> + 'env,
        O: Reduction<B::Element> + 'env,
    {
        let call = self.checks().allreduce_in_place(&mut buffer, &op)?;
        self.enqueue(&[call], None::<B>, Some(buffer), op)
    }

    /// Enqueues to copy `buffer` of `root` to all ranks, which pass as long ones.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank; otherwise as
    /// [all](crate#operations).
    #[doc(alias = "ncclBroadcast")]
    #[inline]
    pub fn bcast<B>(&self, mut buffer: B, root: usize) -> Result<()>
    where
        B: DeviceSliceMut<Element: Element> + 'env,
    {
        let call = self.checks().bcast(&mut buffer, root)?;
        self.enqueue(&[call], None::<B>, Some(buffer), Sum)
    }

    /// Enqueues to reduce the `send` of all ranks with `op`, element by element, into `recv` of
    /// `root`.
    ///
    /// At the root both are as long as each other. Elsewhere `recv` is not touched and may be
    /// `None`.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths at the root differ,
    /// [`Argument`](ranks_comm::ErrorKind::Argument) if the root passes no `recv`; otherwise as
    /// [all](crate#operations).
    #[doc(alias = "ncclReduce")]
    #[inline]
    pub fn reduce<S, R, O>(&self, send: S, mut recv: Option<R>, op: O, root: usize) -> Result<()>
    where
        S: DeviceSlice<Element: Element> + 'env,
        R: DeviceSliceMut<Element = S::Element> + 'env,
        O: Reduction<S::Element> + 'env,
    {
        let call = self.checks().reduce(&send, recv.as_mut(), &op, root)?;
        self.enqueue(&[call], Some(send), recv, op)
    }

    /// Enqueues to reduce the `buffer` of all ranks with `op`, element by element, into `buffer` of
    /// `root`. Elsewhere it stays as it is.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank; otherwise as
    /// [all](crate#operations).
    #[doc(alias = "ncclReduce")]
    #[inline]
    pub fn reduce_in_place<B, O>(&self, mut buffer: B, op: O, root: usize) -> Result<()>
    where
        B: DeviceSliceMut<Element: Element> + 'env,
        O: Reduction<B::Element> + 'env,
    {
        let call = self.checks().reduce_in_place(&mut buffer, &op, root)?;
        self.enqueue(&[call], None::<B>, Some(buffer), op)
    }

    /// Enqueues to collect the `send` of all ranks in `recv` of every rank, in the order of ranks.
    ///
    /// `recv` is `size` times as long as `send`.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if it is not; otherwise as
    /// [all](crate#operations).
    #[doc(alias = "ncclAllGather")]
    #[inline]
    pub fn allgather<S, R>(&self, send: S, mut recv: R) -> Result<()>
    where
        S: DeviceSlice<Element: Element> + 'env,
        R: DeviceSliceMut<Element = S::Element> + 'env,
    {
        let call = self.checks().allgather(&send, &mut recv)?;
        self.enqueue(&[call], Some(send), Some(recv), Sum)
    }

    /// Enqueues to collect a block of each rank in `buffer` of every rank, in the order of ranks.
    ///
    /// `buffer` is cut into `size` blocks of the same length, and that of this rank is already in
    /// its place.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if it cannot be cut so; otherwise as
    /// [all](crate#operations).
    #[doc(alias = "ncclAllGather")]
    #[inline]
    pub fn allgather_in_place<B>(&self, mut buffer: B) -> Result<()>
    where
        B: DeviceSliceMut<Element: Element> + 'env,
    {
        let call = self.checks().allgather_in_place(&mut buffer)?;
        self.enqueue(&[call], None::<B>, Some(buffer), Sum)
    }

    /// Enqueues to reduce the `send` of all ranks with `op`, element by element, and give rank r
    /// the r-th block of the result in `recv`.
    ///
    /// `send` is `size` times as long as `recv`.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if it is not; otherwise as
    /// [all](crate#operations).
    #[doc(alias = "ncclReduceScatter")]
    #[inline]
    pub fn reduce_scatter_block<S, R, O>(&self, send: S, mut recv: R, op: O) -> Result<()>
    where
        S: DeviceSlice<Element: Element> + 'env,
        R: DeviceSliceMut<Element = S::Element> + 'env,
        O: Reduction<S::Element> + 'env,
    {
        let call = self.checks().reduce_scatter_block(&send, &mut recv, &op)?;
        self.enqueue(&[call], Some(send), Some(recv), op)
    }

    /// Enqueues to reduce the `buffer` of all ranks with `op`, element by element, and give rank r
    /// the r-th block of the result in the r-th block of its `buffer`.
    ///
    /// `buffer` is cut into `size` blocks of the same length. What is in the other blocks is
    /// unspecified afterwards.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if it cannot be cut so; otherwise as
    /// [all](crate#operations).
    #[doc(alias = "ncclReduceScatter")]
    #[inline]
    pub fn reduce_scatter_block_in_place<B, O>(&self, mut buffer: B, op: O) -> Result<()>
    where
        B: DeviceSliceMut<Element: Element> + 'env,
        O: Reduction<B::Element> + 'env,
    {
        let call = self
            .checks()
            .reduce_scatter_block_in_place(&mut buffer, &op)?;
        self.enqueue(&[call], None::<B>, Some(buffer), op)
    }

    /// Enqueues to give rank r the r-th block of `send`; that of rank r comes as the r-th block of
    /// `recv`.
    ///
    /// Both are as long as each other, and cut into `size` blocks. NCCL before 2.28 is given a
    /// group of sends and receives.
    ///
    /// # Errors
    /// [`Length`](ranks_comm::ErrorKind::Length) if they are not, or cannot be cut so; otherwise as
    /// [all](crate#operations).
    #[doc(alias = "ncclAlltoAll")]
    #[inline]
    pub fn alltoall<S, R>(&self, send: S, mut recv: R) -> Result<()>
    where
        S: DeviceSlice<Element: Element> + 'env,
        R: DeviceSliceMut<Element = S::Element> + 'env,
    {
        let call = self.checks().alltoall(&send, &mut recv)?;
        self.enqueue(&[call], Some(send), Some(recv), Sum)
    }

    /// Enqueues to collect the `send` of all ranks in `recv` of `root`, in the order of ranks.
    ///
    /// At the root `recv` is `size` times as long as `send`. Elsewhere it is not touched and may be
    /// `None`. NCCL before 2.28 is given a group of sends and receives.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths at the root do not fit,
    /// [`Argument`](ranks_comm::ErrorKind::Argument) if the root passes no `recv`; otherwise as
    /// [all](crate#operations).
    #[doc(alias = "ncclGather")]
    #[inline]
    pub fn gather<S, R>(&self, send: S, mut recv: Option<R>, root: usize) -> Result<()>
    where
        S: DeviceSlice<Element: Element> + 'env,
        R: DeviceSliceMut<Element = S::Element> + 'env,
    {
        let call = self.checks().gather(&send, recv.as_mut(), root)?;
        self.enqueue(&[call], Some(send), recv, Sum)
    }

    /// Enqueues to collect a block of each rank in `buffer` of `root`, in the order of ranks.
    ///
    /// At the root `buffer` is cut into `size` blocks of the same length, and its own is already in
    /// its place. Elsewhere it is the block that is sent.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if `buffer` of the root cannot be cut so;
    /// otherwise as [all](crate#operations).
    #[doc(alias = "ncclGather")]
    #[inline]
    pub fn gather_in_place<B>(&self, mut buffer: B, root: usize) -> Result<()>
    where
        B: DeviceSliceMut<Element: Element> + 'env,
    {
        let call = self.checks().gather_in_place(&mut buffer, root)?;
        self.enqueue(&[call], None::<B>, Some(buffer), Sum)
    }

    /// Enqueues to deal out `send` of `root`: rank r gets the r-th block of it in `recv`.
    ///
    /// At the root `send` is `size` times as long as `recv`. Elsewhere it is not read and may be
    /// `None`. NCCL before 2.28 is given a group of sends and receives.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if the lengths at the root do not fit,
    /// [`Argument`](ranks_comm::ErrorKind::Argument) if the root passes no `send`; otherwise as
    /// [all](crate#operations).
    #[doc(alias = "ncclScatter")]
    #[inline]
    pub fn scatter<S, R>(&self, send: Option<S>, mut recv: R, root: usize) -> Result<()>
    where
        S: DeviceSlice<Element: Element> + 'env,
        R: DeviceSliceMut<Element = S::Element> + 'env,
    {
        let call = self.checks().scatter(send.as_ref(), &mut recv, root)?;
        self.enqueue(&[call], send, Some(recv), Sum)
    }

    /// Enqueues to deal out `buffer` of `root`: rank r gets the r-th block of it in its `buffer`,
    /// and the root keeps its own in its place.
    ///
    /// At the root `buffer` is cut into `size` blocks of the same length. Elsewhere it is one
    /// block.
    ///
    /// # Errors
    /// [`Root`](ranks_comm::ErrorKind::Root) if there is no such rank,
    /// [`Length`](ranks_comm::ErrorKind::Length) if `buffer` of the root cannot be cut so;
    /// otherwise as [all](crate#operations).
    #[doc(alias = "ncclScatter")]
    #[inline]
    pub fn scatter_in_place<B>(&self, mut buffer: B, root: usize) -> Result<()>
    where
        B: DeviceSliceMut<Element: Element> + 'env,
    {
        let call = self.checks().scatter_in_place(&mut buffer, root)?;
        self.enqueue(&[call], None::<B>, Some(buffer), Sum)
    }

    /// Enqueues to send `buffer` to rank `dest`, which receives as many elements of the same type.
    ///
    /// Its place in the stream is taken until the receiver has come: ranks that send to each other
    /// group that with the receives.
    ///
    /// # Errors
    /// [`Rank`](ranks_comm::ErrorKind::Rank) if there is no such rank; otherwise as
    /// [all](crate#operations).
    #[doc(alias = "ncclSend")]
    #[inline]
    pub fn send<S>(&self, buffer: S, dest: usize) -> Result<()>
    where
        S: DeviceSlice<Element: Element> + 'env,
    {
        let call = self.checks().send(&buffer, dest)?;
        self.enqueue(&[call], Some(buffer), None::<&mut DeviceVec<u8>>, Sum)
    }

    /// Enqueues to receive into `buffer` from rank `source`, which sends as many elements of the
    /// same type.
    ///
    /// # Errors
    /// [`Rank`](ranks_comm::ErrorKind::Rank) if there is no such rank; otherwise as
    /// [all](crate#operations).
    #[doc(alias = "ncclRecv")]
    #[inline]
    pub fn recv<B>(&self, mut buffer: B, source: usize) -> Result<()>
    where
        B: DeviceSliceMut<Element: Element> + 'env,
    {
        let call = self.checks().recv(&mut buffer, source)?;
        self.enqueue(&[call], None::<B>, Some(buffer), Sum)
    }

    /// Enqueues to send `send` to rank `dest` and receive into `recv` from rank `source`, both at
    /// once.
    ///
    /// The lengths are those of the other ranks' receive and send.
    ///
    /// # Errors
    /// [`Rank`](ranks_comm::ErrorKind::Rank) if there is no such rank; otherwise as
    /// [all](crate#operations).
    #[doc(alias = "ncclSend")]
    #[doc(alias = "ncclRecv")]
    #[inline]
    pub fn sendrecv<S, R>(&self, send: S, dest: usize, mut recv: R, source: usize) -> Result<()>
    where
        S: DeviceSlice<Element: Element> + 'env,
        R: DeviceSliceMut<Element: Element> + 'env,
    {
        let checks = self.checks();
        let calls = [checks.send(&send, dest)?, checks.recv(&mut recv, source)?];
        self.enqueue(&calls, Some(send), Some(recv), Sum)
    }
}
