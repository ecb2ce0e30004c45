//! Operations whose lengths, ranks and devices have been compared, as calls that can be made.

use std::ffi::c_int;

use ranks_collectives::backend::{Holders, block_of, one_of_each, unequal};
use ranks_comm::backend::Count;
use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::{DeviceSlice, DeviceSliceMut, Stream};
use ranks_nccl_sys::{ncclBfloat16, ncclDataType_t, ncclRedOp_t, ncclSum};

use crate::call::{CheckedCall, What};
use crate::element::Element;
use crate::element::datatype::Datatype;
use crate::error::{not_in_library, of_driver};
use crate::reduction::operation::{Operation, Which};
use crate::state::Shared;

/// The release that knows numbers of eight bits.
pub(crate) const FP8_SINCE: (i32, &str) = (22_400, "2.24");

/// Memory of a device, by its address: so many elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) address: u64,
    pub(crate) len: usize,
    /// The size of an element in bytes.
    pub(crate) width: usize,
    pub(crate) datatype: ncclDataType_t,
}

impl Span {
    /// The `index`-th block of so many elements, which lies within.
    #[inline]
    pub(crate) fn block(self, len: usize, index: usize) -> Self {
        let address = self.address + (index * len * self.width) as u64;
        Self {
            address,
            len,
            ..self
        }
    }
}

/// The name in an error that is found before any call.
const OPERATION: &str = "ncclDataType_t";

/// Memory that an operation reads: what was compared before, or a slice.
pub(crate) trait Source {
    /// The stream is made to wait for those who are known to write to it.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if it is of another device or driver, [`ErrorKind::NotInLibrary`] if
    /// the library does not know its elements.
    fn span(self, checks: Checks<'_>) -> Result<Span>;
}

/// Memory that an operation writes to.
pub(crate) trait Dest {
    /// As [`Source::span`]: the stream waits for those who read it as well.
    ///
    /// # Errors
    /// As [`Source::span`].
    fn room(self, checks: Checks<'_>) -> Result<Span>;
}

/// The operation of a reduction: NCCL's number for it, or what it is a number of.
pub(crate) trait Number {
    /// The stream is made to wait for those who are known to write to what the operation reads.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if it belongs to another communicator; errors of the driver.
    fn number(self, checks: Checks<'_>) -> Result<ncclRedOp_t>;
}

impl Source for Span {
    fn span(self, _: Checks<'_>) -> Result<Span> {
        Ok(self)
    }
}

impl Dest for Span {
    fn room(self, _: Checks<'_>) -> Result<Span> {
        Ok(self)
    }
}

impl Number for ncclRedOp_t {
    fn number(self, _: Checks<'_>) -> Result<ncclRedOp_t> {
        Ok(self)
    }
}

impl<S: DeviceSlice<Element: Element>> Source for &S {
    #[inline]
    fn span(self, checks: Checks<'_>) -> Result<Span> {
        let span = checks.found(self)?;
        let ordered = self.order_after_use(checks.stream);
        ordered.map_err(|error| of_driver(OPERATION, error))?;
        Ok(span)
    }
}

impl<S: DeviceSliceMut<Element: Element>> Dest for &mut S {
    #[inline]
    fn room(self, checks: Checks<'_>) -> Result<Span> {
        let span = checks.found(self)?;
        let ordered = self.order_writes_after_use(checks.stream);
        ordered.map_err(|error| of_driver(OPERATION, error))?;
        Ok(span)
    }
}

impl<O: Operation> Number for &O {
    #[inline]
    fn number(self, checks: Checks<'_>) -> Result<ncclRedOp_t> {
        let number = Operation::number(self, Which::of(checks.comm))?;
        let ordered = self.order_after_use(checks.stream);
        ordered.map_err(|error| of_driver(OPERATION, error))?;
        Ok(number)
    }
}

/// The communicator and stream that operations are compared with.
#[derive(Clone, Copy)]
pub(crate) struct Checks<'a> {
    pub(crate) comm: &'a Shared,
    /// The stream on which the operation is enqueued.
    pub(crate) stream: &'a dyn Stream,
}

impl Checks<'_> {
    fn found<S: DeviceSlice<Element: Element>>(self, slice: &S) -> Result<Span> {
        let span = Span {
            address: slice.address(),
            len: slice.len(),
            width: size_of::<S::Element>(),
            datatype: <S::Element as Datatype>::DATATYPE,
        };
        self.comm.own_memory(OPERATION, slice)?;
        if span.datatype > ncclBfloat16 {
            self.comm.knows_fp8()?;
        }
        Ok(span)
    }

    #[inline]
    pub(crate) fn allreduce(
        self,
        send: impl Source,
        recv: impl Dest,
        op: impl Number,
    ) -> Result<CheckedCall> {
        let what = What::AllReduce;
        let (send, recv, op) = (send.span(self)?, recv.room(self)?, op.number(self)?);
        self.as_long(what, send, recv)?;
        self.call(what, Some(send), Some(recv), send.len, op, 0)
    }

    #[inline]
    pub(crate) fn allreduce_in_place(
        self,
        buffer: impl Dest,
        op: impl Number,
    ) -> Result<CheckedCall> {
        let span = buffer.room(self)?;
        self.allreduce(span, span, op)
    }

    #[inline]
    pub(crate) fn bcast(self, buffer: impl Dest, root: usize) -> Result<CheckedCall> {
        let what = What::Broadcast;
        let buffer = buffer.room(self)?;
        let root = self.root(what, root)?;
        self.call(what, Some(buffer), Some(buffer), buffer.len, ncclSum, root)
    }

    /// In place where both are the same; `recv` is for the root alone.
    #[inline]
    pub(crate) fn reduce(
        self,
        send: impl Source,
        recv: Option<impl Dest>,
        op: impl Number,
        root: usize,
    ) -> Result<CheckedCall> {
        let what = What::Reduce;
        let (send, recv) = (send.span(self)?, self.room_if(recv)?);
        let op = op.number(self)?;
        let number = self.root(what, root)?;
        let recv = self.at_root(what, recv, root, "recv")?;
        if let Some(recv) = recv {
            self.as_long(what, send, recv)?;
        }
        self.call(what, Some(send), recv, send.len, op, number)
    }

    #[inline]
    pub(crate) fn reduce_in_place(
        self,
        buffer: impl Dest,
        op: impl Number,
        root: usize,
    ) -> Result<CheckedCall> {
        let span = buffer.room(self)?;
        self.reduce(span, Some(span), op, root)
    }

    #[inline]
    pub(crate) fn allgather(self, send: impl Source, recv: impl Dest) -> Result<CheckedCall> {
        let what = What::AllGather;
        let (send, recv) = (send.span(self)?, recv.room(self)?);
        self.one_of_each(what, ("send", send.len), ("recv", recv.len))?;
        self.call(what, Some(send), Some(recv), send.len, ncclSum, 0)
    }

    #[inline]
    pub(crate) fn allgather_in_place(self, buffer: impl Dest) -> Result<CheckedCall> {
        let buffer = buffer.room(self)?;
        let block = self.block_of(What::AllGather, buffer.len)?;
        self.allgather(buffer.block(block, self.comm.rank()), buffer)
    }

    #[inline]
    pub(crate) fn reduce_scatter_block(
        self,
        send: impl Source,
        recv: impl Dest,
        op: impl Number,
    ) -> Result<CheckedCall> {
        let what = What::ReduceScatter;
        let (send, recv, op) = (send.span(self)?, recv.room(self)?, op.number(self)?);
        self.one_of_each(what, ("recv", recv.len), ("send", send.len))?;
        self.call(what, Some(send), Some(recv), recv.len, op, 0)
    }

    #[inline]
    pub(crate) fn reduce_scatter_block_in_place(
        self,
        buffer: impl Dest,
        op: impl Number,
    ) -> Result<CheckedCall> {
        let (buffer, op) = (buffer.room(self)?, op.number(self)?);
        let block = self.block_of(What::ReduceScatter, buffer.len)?;
        self.reduce_scatter_block(buffer, buffer.block(block, self.comm.rank()), op)
    }

    #[inline]
    pub(crate) fn alltoall(self, send: impl Source, recv: impl Dest) -> Result<CheckedCall> {
        let what = What::AlltoAll;
        let (send, recv) = (send.span(self)?, recv.room(self)?);
        self.as_long(what, send, recv)?;
        let block = self.block_of(what, send.len)?;
        self.call(what, Some(send), Some(recv), block, ncclSum, 0)
    }

    #[inline]
    pub(crate) fn gather(
        self,
        send: impl Source,
        recv: Option<impl Dest>,
        root: usize,
    ) -> Result<CheckedCall> {
        let what = What::Gather;
        let (send, recv) = (send.span(self)?, self.room_if(recv)?);
        let number = self.root(what, root)?;
        let recv = self.at_root(what, recv, root, "recv")?;
        if let Some(recv) = recv {
            self.one_of_each(what, ("send", send.len), ("recv", recv.len))?;
        }
        self.call(what, Some(send), recv, send.len, ncclSum, number)
    }

    #[inline]
    pub(crate) fn gather_in_place(self, buffer: impl Dest, root: usize) -> Result<CheckedCall> {
        let buffer = buffer.room(self)?;
        if self.comm.rank() != root {
            return self.gather(buffer, None::<Span>, root);
        }
        let block = self.block_of(What::Gather, buffer.len)?;
        self.gather(buffer.block(block, root), Some(buffer), root)
    }

    #[inline]
    pub(crate) fn scatter(
        self,
        send: Option<impl Source>,
        recv: impl Dest,
        root: usize,
    ) -> Result<CheckedCall> {
        let what = What::Scatter;
        let send = send.map(|send| send.span(self)).transpose()?;
        let recv = recv.room(self)?;
        let number = self.root(what, root)?;
        let send = self.at_root(what, send, root, "send")?;
        if let Some(send) = send {
            self.one_of_each(what, ("recv", recv.len), ("send", send.len))?;
        }
        self.call(what, send, Some(recv), recv.len, ncclSum, number)
    }

    #[inline]
    pub(crate) fn scatter_in_place(self, buffer: impl Dest, root: usize) -> Result<CheckedCall> {
        let buffer = buffer.room(self)?;
        if self.comm.rank() != root {
            return self.scatter(None::<Span>, buffer, root);
        }
        let block = self.block_of(What::Scatter, buffer.len)?;
        self.scatter(Some(buffer), buffer.block(block, root), root)
    }

    #[inline]
    pub(crate) fn send(self, buffer: impl Source, dest: usize) -> Result<CheckedCall> {
        let what = What::Send;
        let buffer = buffer.span(self)?;
        let dest = self.peer(what.name(), dest)?;
        self.call(what, Some(buffer), None, buffer.len, ncclSum, dest)
    }

    #[inline]
    pub(crate) fn recv(self, buffer: impl Dest, source: usize) -> Result<CheckedCall> {
        let what = What::Recv;
        let buffer = buffer.room(self)?;
        let source = self.peer(what.name(), source)?;
        self.call(what, None, Some(buffer), buffer.len, ncclSum, source)
    }

    fn room_if(self, slice: Option<impl Dest>) -> Result<Option<Span>> {
        slice.map(|slice| slice.room(self)).transpose()
    }

    /// A rank as NCCL writes it.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] if it is not in the communicator.
    #[inline]
    pub(crate) fn peer(self, operation: &'static str, rank: usize) -> Result<c_int> {
        self.within(operation, rank, (ErrorKind::Rank, "rank"))
    }

    #[inline]
    fn root(self, what: What, root: usize) -> Result<c_int> {
        self.within(what.name(), root, (ErrorKind::Root, "root"))
    }

    #[inline]
    fn within(
        self,
        operation: &'static str,
        rank: usize,
        (kind, name): (ErrorKind, &str),
    ) -> Result<c_int> {
        let size = self.comm.size();
        match c_int::try_from(rank) {
            Ok(number) if rank < size => Ok(number),
            _ => Err(Error::new(
                kind,
                operation,
                format_args!(
                    "{name} {rank} is not in a communicator of {}",
                    Count(size, "rank")
                ),
            )),
        }
    }

    /// The memory at the root, and nothing elsewhere.
    fn at_root(
        self,
        what: What,
        buffer: Option<Span>,
        root: usize,
        name: &str,
    ) -> Result<Option<Span>> {
        if self.comm.rank() != root {
            return Ok(None);
        }
        if buffer.is_none() {
            return Err(Error::new(
                ErrorKind::Argument,
                what.name(),
                format_args!("rank {root} is the root, and passes no {name}"),
            ));
        }
        Ok(buffer)
    }

    #[inline]
    fn as_long(self, what: What, send: Span, recv: Span) -> Result<()> {
        if send.len == recv.len {
            return Ok(());
        }
        Err(unequal(what.name(), send.len, recv.len))
    }

    #[inline]
    fn one_of_each(self, what: What, block: (&str, usize), all: (&str, usize)) -> Result<()> {
        one_of_each(what.name(), self.ranks(), block, all)
    }

    fn ranks(self) -> Holders {
        Holders {
            count: self.comm.size(),
            name: "rank",
        }
    }

    #[inline]
    fn block_of(self, what: What, len: usize) -> Result<usize> {
        block_of(what.name(), self.ranks(), len)
    }

    /// The call of what was compared.
    #[inline]
    fn call(
        self,
        what: What,
        send: Option<Span>,
        recv: Option<Span>,
        count: usize,
        op: ncclRedOp_t,
        peer: c_int,
    ) -> Result<CheckedCall> {
        let Some(either) = send.or(recv) else {
            return Err(Error::new(ErrorKind::Argument, what.name(), "no memory"));
        };
        Ok(CheckedCall {
            what,
            send: send.map_or(0, |span| span.address),
            recv: recv.map_or(0, |span| span.address),
            count,
            width: either.width,
            datatype: either.datatype,
            op,
            peer,
        })
    }
}

impl Shared {
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] if the library is older than numbers of eight bits.
    pub(crate) fn knows_fp8(&self) -> Result<()> {
        let (since, release) = FP8_SINCE;
        if self.nccl().version() >= since {
            return Ok(());
        }
        Err(not_in_library(self.nccl(), "ncclFloat8e4m3", release))
    }
}
