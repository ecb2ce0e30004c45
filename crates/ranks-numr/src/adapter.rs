//! numr's traits, for `super::numr`, which is one of its versions: this file is a module of each of
//! them.
#![allow(unsafe_code)]

use ranks_raw::{Dtype, RawOp, StreamSync};

use super::numr::dtype::DType;
use super::numr::error::{Error, Result};
use super::numr::runtime::{Communicator, ReduceOp, StreamSyncOps};
use crate::communicator::NumrCommunicator;
use crate::element::{Element, Operation};
use crate::failure::Failure;

impl Communicator for NumrCommunicator {
    fn world_size(&self) -> usize {
        self.raw.size()
    }

    fn rank(&self) -> usize {
        self.raw.rank()
    }

    unsafe fn all_reduce(&self, ptr: u64, count: usize, dtype: DType, op: ReduceOp) -> Result<()> {
        // SAFETY: the caller's promise to the trait.
        calling("all_reduce", dtype, |element| unsafe {
            self.allreduce(ptr, count, element, operation(op))
        })
    }

    unsafe fn broadcast(&self, ptr: u64, count: usize, dtype: DType, root: usize) -> Result<()> {
        // SAFETY: the caller's promise to the trait.
        calling("broadcast", dtype, |element| unsafe {
            self.bcast(ptr, count, element, root)
        })
    }

    unsafe fn all_gather(
        &self,
        send_ptr: u64,
        recv_ptr: u64,
        count: usize,
        dtype: DType,
    ) -> Result<()> {
        // SAFETY: the caller's promise to the trait.
        calling("all_gather", dtype, |element| unsafe {
            self.allgather(send_ptr, recv_ptr, count, element)
        })
    }

    unsafe fn reduce_scatter(
        &self,
        send_ptr: u64,
        recv_ptr: u64,
        count: usize,
        dtype: DType,
        op: ReduceOp,
    ) -> Result<()> {
        // SAFETY: the caller's promise to the trait.
        calling("reduce_scatter", dtype, |element| unsafe {
            self.reduce_scatter_block(send_ptr, recv_ptr, count, element, operation(op))
        })
    }

    unsafe fn send(
        &self,
        ptr: u64,
        count: usize,
        dtype: DType,
        dest: usize,
        tag: u32,
    ) -> Result<()> {
        // SAFETY: the caller's promise to the trait.
        calling("send", dtype, |element| unsafe {
            self.isend(ptr, count, element, dest, tag)
        })
    }

    unsafe fn recv(
        &self,
        ptr: u64,
        count: usize,
        dtype: DType,
        src: usize,
        tag: u32,
    ) -> Result<()> {
        // SAFETY: the caller's promise to the trait.
        calling("recv", dtype, |element| unsafe {
            self.irecv(ptr, count, element, src, tag)
        })
    }

    fn sync(&self) -> Result<()> {
        self.complete().map_err(of_no_elements)
    }

    fn barrier(&self) -> Result<()> {
        self.meet().map_err(of_no_elements)
    }

    fn split(&self, color: u32, key: u32) -> Result<Option<Box<dyn Communicator>>> {
        let part = self.divide(color, key).map_err(of_no_elements)?;
        Ok(Some(Box::new(part)))
    }

    fn as_stream_sync(&self) -> Option<&dyn StreamSyncOps> {
        self.raw.stream_sync().map(|_| self as &dyn StreamSyncOps)
    }
}

impl StreamSyncOps for NumrCommunicator {
    fn create_event(&self) -> Result<u64> {
        on_streams(self, "create_event", |streams| streams.create_event())
    }

    fn destroy_event(&self, event: u64) -> Result<()> {
        on_streams(self, "destroy_event", |streams| {
            streams.destroy_event(event)
        })
    }

    fn record_on_comm_stream(&self, event: u64) -> Result<()> {
        on_streams(self, "record_on_comm_stream", |streams| {
            streams.record_on_comm_stream(event)
        })
    }

    fn record_on_stream(&self, event: u64, stream_handle: u64) -> Result<()> {
        on_streams(self, "record_on_stream", |streams| {
            let known = self.stream(stream_handle)?;
            // SAFETY: the stream is live as long as `known`.
            unsafe { streams.record_on_stream(event, known.raw()) }
        })
    }

    fn comm_stream_wait_event(&self, event: u64) -> Result<()> {
        on_streams(self, "comm_stream_wait_event", |streams| {
            streams.comm_stream_wait_event(event)
        })
    }

    fn stream_wait_event(&self, stream_handle: u64, event: u64) -> Result<()> {
        on_streams(self, "stream_wait_event", |streams| {
            let known = self.stream(stream_handle)?;
            // SAFETY: the stream is live as long as `known`.
            unsafe { streams.stream_wait_event(known.raw(), event) }
        })
    }

    fn sync_comm_stream(&self) -> Result<()> {
        on_streams(self, "sync_comm_stream", |streams| {
            streams.sync_comm_stream()
        })
    }
}

/// Does `work` with the streams of the communicator's backend, if it has any.
fn on_streams<T>(
    comm: &NumrCommunicator,
    call: &'static str,
    work: impl FnOnce(&dyn StreamSync) -> ranks_comm::Result<T>,
) -> Result<T> {
    let Some(streams) = comm.raw.stream_sync() else {
        let what = format!("{call}: {} has no streams", comm.raw.backend());
        return Err(Error::Backend(what));
    };
    comm.outcome(call, work(streams)).map_err(of_no_elements)
}

/// Begins an operation on elements, in numr's terms.
fn calling(
    op: &'static str,
    dtype: DType,
    begin: impl FnOnce(Dtype) -> std::result::Result<(), Failure>,
) -> Result<()> {
    let element = Element::from(dtype).0;
    let begun = element.map_or(Err(Failure::Dtype), begin);
    begun.map_err(|failure| match failure {
        Failure::Dtype => Error::UnsupportedDType { dtype, op },
        other => of_no_elements(other),
    })
}

fn of_no_elements(failure: Failure) -> Error {
    match failure {
        Failure::Argument { arg, reason } => Error::InvalidArgument { arg, reason },
        Failure::Backend(text) => Error::Backend(text),
        Failure::Dtype => Error::Backend("an element type that is not taken".to_owned()),
    }
}

impl From<DType> for Element {
    fn from(dtype: DType) -> Self {
        Self(Some(match dtype {
            DType::F64 => Dtype::F64,
            DType::F32 => Dtype::F32,
            DType::F16 => Dtype::F16,
            DType::BF16 => Dtype::Bf16,
            DType::FP8E4M3 => Dtype::Fp8E4m3,
            DType::FP8E5M2 => Dtype::Fp8E5m2,
            DType::I64 => Dtype::I64,
            DType::I32 => Dtype::I32,
            DType::I16 => Dtype::I16,
            DType::I8 => Dtype::I8,
            DType::U64 => Dtype::U64,
            DType::U32 => Dtype::U32,
            DType::U16 => Dtype::U16,
            DType::U8 => Dtype::U8,
            DType::Bool => Dtype::Bool,
            DType::Complex64 => Dtype::Complex64,
            DType::Complex128 => Dtype::Complex128,
            _ => return Self(None),
        }))
    }
}

fn operation(op: ReduceOp) -> RawOp {
    match op {
        ReduceOp::Sum => RawOp::Sum,
        ReduceOp::Prod => RawOp::Prod,
        ReduceOp::Min => RawOp::Min,
        ReduceOp::Max => RawOp::Max,
    }
}

impl From<ReduceOp> for Operation {
    fn from(op: ReduceOp) -> Self {
        Self(operation(op))
    }
}
