//! The trait over addresses, on a communicator of NCCL.
//!
//! # Safety
//!
//! Lengths are what callers of the trait vouch for. That an address is of memory that the device
//! can use is asked of the driver before each call, and after an error the stream is waited for, so
//! that memory is given back only when nothing works on it.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::{CudaStream, DeviceSlice, DeviceVec, Memory, Priority, RawStream, Stream};

use super::call::{CheckedCall, What};
use super::error::of_driver;
use super::{NcclCommunicator, group};
use crate::call::checks::{Checks, Span};
use crate::error::elsewhere;
use crate::state::open_group;
use operator::Operation;
use ranks_raw::backend::bytes_of;
use ranks_raw::{Dtype, RawCollectives, RawOp, StreamSync, Takes};

mod events;
mod operator;
mod types;
mod waiting;

/// A communicator of NCCL behind [`RawCollectives`], with a stream of its own on which its
/// operations are enqueued.
///
/// Memory that other streams write to may be sent if this one waits for them: [`StreamSync`] has
/// events for that.
///
/// A CUDA graph captures operations that stand between an event of the captured stream that this
/// one waits for and [`enqueue_wait`](RawCollectives::enqueue_wait) on that stream; each launch
/// does them again. Operate on it once before, which makes connections, and keep it and the memory
/// for as long as the graph is launched.
///
/// NCCL takes memory of the GPU. The driver is asked about every address; one of the host is an
/// `Err` unless the GPU can use it as well (managed and pinned memory).
///
/// NCCL knows no tags, and a message has the length that is received. Averages and
/// [`PreMulSum`](RawOp::PreMulSum) are for floating-point numbers; those of 16 bits have the latter
/// with the feature `half`.
pub struct RawNccl {
    comm: NcclCommunicator,
    stream: CudaStream,
    events: events::Events,
    /// The element that a barrier reduces. One barrier at a time uses it.
    token: Mutex<DeviceVec<i32>>,
}

impl RawNccl {
    /// Takes a communicator, and makes a stream of high priority for it.
    ///
    /// # Errors
    /// [`Device`](ErrorKind::Device): what the driver reports.
    pub fn new(comm: NcclCommunicator) -> Result<Self> {
        let context = comm.context();
        let stream = context.stream_with_priority(Priority::High);
        let stream = stream.map_err(|error| of_driver("cuStreamCreateWithPriority", error))?;
        let token = context.alloc(1);
        let token = token.map_err(|error| of_driver("cuMemAlloc_v2", error))?;
        Ok(Self {
            comm,
            stream,
            events: events::Events::default(),
            token: Mutex::new(token),
        })
    }

    /// The communicator.
    #[must_use]
    pub fn communicator(&self) -> &NcclCommunicator {
        &self.comm
    }

    /// The stream on which its operations are enqueued.
    #[must_use]
    pub fn stream(&self) -> &CudaStream {
        &self.stream
    }

    fn checks(&self) -> Checks<'_> {
        Checks {
            comm: self.comm.shared(),
            stream: &self.stream,
        }
    }

    /// `blocks` blocks of `count` elements, if there can be so many and the device can use the
    /// memory.
    fn span(
        &self,
        what: What,
        address: *const c_void,
        count: usize,
        blocks: usize,
        dtype: Dtype,
    ) -> Result<Span> {
        let moved = types::moved(dtype, self.comm.shared().nccl().version());
        let len = bytes_of(what.name(), count, dtype, blocks)? / moved.width;
        if len != 0 {
            self.usable(what.name(), address)?;
        }
        Ok(Span {
            address: address.addr() as u64,
            len,
            width: moved.width,
            datatype: moved.datatype,
        })
    }

    /// # Errors
    /// [`ErrorKind::Argument`] for memory that the device cannot use.
    fn usable(&self, operation: &'static str, address: *const c_void) -> Result<()> {
        if address.is_null() {
            let text = "an address is null, and the count is not zero";
            return Err(Error::new(ErrorKind::Argument, operation, text));
        }
        let device = self.comm.device();
        let memory = self.comm.context().cuda().attributes_of(address);
        match memory.map_err(|error| of_driver(operation, error))? {
            Memory::Device { ordinal } if ordinal == device => Ok(()),
            Memory::Device { ordinal } => Err(elsewhere(operation, ordinal, device)),
            Memory::Managed | Memory::Pinned => Ok(()),
            _ => Err(Error::new(
                ErrorKind::Argument,
                operation,
                "the address is one of the host; NCCL takes memory of the GPU",
            )),
        }
    }

    /// Enqueues it on the communicator's stream.
    ///
    /// # Safety
    /// The addresses are those of as much memory as the operation takes, for as long as the trait
    /// says.
    unsafe fn begin(&self, call: Result<CheckedCall>) -> Result<()> {
        let call = call?;
        // SAFETY: the memory is the device's, by `span`; the rest is passed on, and the stream is
        // of the communicator's device.
        unsafe { call.enqueue(self.comm.shared(), self.stream.raw()) }
    }

    /// The operation, if it computes with the type.
    fn operation(&self, what: What, op: RawOp, dtype: Dtype) -> Result<Operation<'_>> {
        Operation::new(self.comm.shared(), op, dtype).unwrap_or_else(|| {
            let detail = format_args!("NCCL does not reduce {dtype:?} with {op:?}");
            Err(Error::new(ErrorKind::Type, what.name(), detail))
        })
    }
}

impl RawCollectives for RawNccl {
    fn rank(&self) -> usize {
        self.comm.rank()
    }

    fn size(&self) -> usize {
        self.comm.size()
    }

    fn backend(&self) -> String {
        format!("NCCL {}", self.comm.version())
    }

    fn supports(&self, op: RawOp, dtype: Dtype) -> bool {
        types::reduces(op, dtype, self.comm.shared().nccl().version())
    }

    fn takes(&self) -> Takes {
        Takes {
            host: false,
            device: true,
        }
    }

    fn has_tags(&self) -> bool {
        false
    }

    fn reduces_in_order(&self) -> bool {
        false
    }

    unsafe fn allreduce(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        op: RawOp,
    ) -> Result<()> {
        const WHAT: What = What::AllReduce;
        let op = self.operation(WHAT, op, dtype)?;
        let send = self.span(WHAT, send, count, 1, dtype)?;
        let recv = self.span(WHAT, recv, count, 1, dtype)?;
        // SAFETY: passed on.
        unsafe { self.begin(self.checks().allreduce(send, recv, op.number())) }
    }

    unsafe fn reduce(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        op: RawOp,
        root: usize,
    ) -> Result<()> {
        const WHAT: What = What::Reduce;
        let op = self.operation(WHAT, op, dtype)?;
        let send = self.span(WHAT, send, count, 1, dtype)?;
        let recv = (self.rank() == root).then(|| self.span(WHAT, recv, count, 1, dtype));
        let recv = recv.transpose()?;
        // SAFETY: passed on.
        unsafe { self.begin(self.checks().reduce(send, recv, op.number(), root)) }
    }

    unsafe fn bcast(
        &self,
        buffer: *mut c_void,
        count: usize,
        dtype: Dtype,
        root: usize,
    ) -> Result<()> {
        let buffer = self.span(What::Broadcast, buffer, count, 1, dtype)?;
        // SAFETY: passed on.
        unsafe { self.begin(self.checks().bcast(buffer, root)) }
    }

    unsafe fn allgather(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
    ) -> Result<()> {
        const WHAT: What = What::AllGather;
        let recv = self.span(WHAT, recv, count, self.size(), dtype)?;
        let send = self.span(WHAT, send, count, 1, dtype)?;
        // SAFETY: passed on.
        unsafe { self.begin(self.checks().allgather(send, recv)) }
    }

    unsafe fn reduce_scatter_block(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        op: RawOp,
    ) -> Result<()> {
        const WHAT: What = What::ReduceScatter;
        let op = self.operation(WHAT, op, dtype)?;
        let send = self.span(WHAT, send, count, self.size(), dtype)?;
        let recv = self.span(WHAT, recv, count, 1, dtype)?;
        let checks = self.checks();
        // SAFETY: passed on.
        unsafe { self.begin(checks.reduce_scatter_block(send, recv, op.number())) }
    }

    unsafe fn alltoall(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
    ) -> Result<()> {
        const WHAT: What = What::AlltoAll;
        let send = self.span(WHAT, send, count, self.size(), dtype)?;
        let recv = self.span(WHAT, recv, count, self.size(), dtype)?;
        // SAFETY: passed on.
        unsafe { self.begin(self.checks().alltoall(send, recv)) }
    }

    unsafe fn gather(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        root: usize,
    ) -> Result<()> {
        const WHAT: What = What::Gather;
        let send = self.span(WHAT, send, count, 1, dtype)?;
        let size = self.size();
        let recv = (self.rank() == root).then(|| self.span(WHAT, recv, count, size, dtype));
        let recv = recv.transpose()?;
        // SAFETY: passed on.
        unsafe { self.begin(self.checks().gather(send, recv, root)) }
    }

    unsafe fn scatter(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        root: usize,
    ) -> Result<()> {
        const WHAT: What = What::Scatter;
        let size = self.size();
        let send = (self.rank() == root).then(|| self.span(WHAT, send, count, size, dtype));
        let send = send.transpose()?;
        let recv = self.span(WHAT, recv, count, 1, dtype)?;
        // SAFETY: passed on.
        unsafe { self.begin(self.checks().scatter(send, recv, root)) }
    }

    unsafe fn send(
        &self,
        buffer: *const c_void,
        count: usize,
        dtype: Dtype,
        dest: usize,
        _tag: u32,
    ) -> Result<()> {
        let buffer = self.span(What::Send, buffer, count, 1, dtype)?;
        // SAFETY: passed on.
        unsafe { self.begin(self.checks().send(buffer, dest)) }
    }

    unsafe fn recv(
        &self,
        buffer: *mut c_void,
        count: usize,
        dtype: Dtype,
        source: usize,
        _tag: u32,
    ) -> Result<()> {
        let buffer = self.span(What::Recv, buffer, count, 1, dtype)?;
        // SAFETY: passed on.
        unsafe { self.begin(self.checks().recv(buffer, source)) }
    }

    fn group(&self, body: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        group(|_| body())
    }

    fn barrier(&self) -> Result<()> {
        open_group::none_open(What::AllReduce.name())?;
        let token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        let (address, of) = (token.address() as *mut c_void, Dtype::I32);
        // SAFETY: the token is one number on the device, which is kept until the stream is over.
        unsafe { self.allreduce(address, address, 1, of, RawOp::Max)? };
        self.over(None)
    }

    fn sync(&self) -> Result<()> {
        self.over(None)
    }

    fn wait(&self, limit: Duration) -> Result<()> {
        self.over(Some(limit))
    }

    fn progress(&self) -> Result<bool> {
        let over = self.is_over()?;
        self.comm.shared().well("ncclCommGetAsyncError")?;
        Ok(over)
    }

    unsafe fn enqueue_wait(&self, stream: RawStream) -> Result<()> {
        const WAIT: &str = "cuStreamWaitEvent";
        open_group::none_open(WAIT)?;
        // SAFETY: the caller vouches for the stream.
        let stream = unsafe { self.comm.context().stream_from_raw(stream) };
        let event = self.stream.record();
        event
            .and_then(|event| stream.wait_event(&event))
            .map_err(|error| of_driver(WAIT, error))
    }

    fn split(&self, color: Option<u32>, key: u32) -> Result<Option<Box<dyn RawCollectives>>> {
        let key = i32::try_from(key).map_err(|_| {
            let detail = format_args!("key {key} is above {}", i32::MAX);
            Error::new(ErrorKind::Argument, "ncclCommSplit", detail)
        })?;
        let Some(part) = self.comm.split(color, key)? else {
            return Ok(None);
        };
        Ok(Some(Box::new(Self::new(part)?)))
    }

    fn abort(&self) -> Result<()> {
        self.comm.abort();
        self.drain();
        Ok(())
    }

    fn failure(&self) -> Option<String> {
        self.comm.failure()
    }

    fn stream_sync(&self) -> Option<&dyn StreamSync> {
        Some(self)
    }
}

impl fmt::Debug for RawNccl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawNccl")
            .field("communicator", &self.comm)
            .finish_non_exhaustive()
    }
}
