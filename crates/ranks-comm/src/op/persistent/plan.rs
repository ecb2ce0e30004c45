//! Operations that a start begins where the library has no persistent request for it.
#![allow(unsafe_code)]

use super::Again;
use crate::communicator::Communicator;
use crate::data::lent::Places;
use crate::data::raw_slice::{Element, OpInfo, RecvTarget};
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::result::{Error, ErrorKind, Result};
use crate::transport::backend::Backend;
use crate::transport::in_process::Sent;
use crate::transport::mpi::SendMode;
use crate::transport::pending_op::PendingOp;

/// The operation that a start makes where the library has no persistent request.
pub(super) struct Plan {
    pub(super) role: &'static OpInfo,
    pub(super) what: What,
}

pub(super) enum What {
    Send(SendMode, Destination, i32, Element),
    Recv(Source, Tag),
    /// An operation of a sibling crate.
    Other(Again),
    /// Nothing: the library has all.
    Kept,
}

/// Starts an operation of its own.
pub(super) fn begin(comm: &Communicator, plan: &mut Plan, places: Places) -> Result<PendingOp> {
    let (role, span) = (plan.role, places.buffer.span);
    match (&mut plan.what, comm.backend()) {
        (&mut What::Recv(source, tag), Backend::Mpi(over)) => {
            over.irecv(role, RecvTarget::Into(span), source, tag)
        }
        (&mut What::Recv(source, tag), Backend::InProcess(over)) => {
            Ok(over.irecv(role, RecvTarget::Into(span), source, tag))
        }
        (&mut What::Send(SendMode::Buffered, dest, tag, _), Backend::Mpi(over)) => {
            // SAFETY: the elements of the buffer, which is there and nobody's but ours.
            over.bsend(role.operation, unsafe { span.as_bytes() }, dest, tag)
        }
        (&mut What::Send(mode, dest, tag, element), Backend::InProcess(over)) => {
            // SAFETY: the elements of the buffer, which is there and nobody's but ours.
            let bytes = unsafe { span.as_bytes() };
            if mode == SendMode::Buffered {
                over.fits_attached(role.operation, bytes.len())?;
            }
            over.isend(
                role,
                Sent::with(bytes, element),
                dest,
                tag,
                mode == SendMode::Synchronous,
            )
        }
        (What::Other(again), _) => {
            let begun = again(comm, places).map_err(|error| error.of(role.operation))?;
            Ok(PendingOp::begun(comm, role, begun))
        }
        (What::Send(..), Backend::Mpi(_)) | (What::Kept, _) => Err(gone(role)),
    }
}

#[cold]
pub(super) fn gone(role: &OpInfo) -> Error {
    Error::new(
        ErrorKind::Argument,
        "MPI_Start",
        format_args!("this request of {} is gone", role.operation),
    )
}
