//! An internal duplicate of the world, for messages of this crate: the states of ranks when an
//! operation has timed out (`query_ranks`), and their observations (`gather_statistics`).

use std::ffi::{c_int, c_void};
use std::sync::Mutex;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::MPI_Comm;

use super::begun::Begun;
use super::error::check;
use super::peer;
use super::probe::improbe;
use super::send_mode::SendMode;
use crate::call::lock::lock;
use crate::data::source::Source;
use crate::data::tag::Tag;
use crate::result::{Error, ErrorKind, Result, Status};

/// Tags of the messages, so that their receives do not match each other.
pub(crate) const RANK_QUERIES: i32 = 1;
pub(crate) const PART: i32 = 2;
pub(crate) const QUESTION: i32 = 3;
pub(crate) const ANSWERED: i32 = 4;
pub(crate) const READING: i32 = 5;
pub(crate) const DUE: i32 = 6;

static COMM: Mutex<Option<MPI_Comm>> = Mutex::new(None);

/// The communicator, which lives as long as the library. Collective over all ranks, while MPI is
/// alive.
pub(crate) fn open() -> Result<MPI_Comm> {
    let mut known = lock(&COMM);
    if let Some(comm) = *known {
        return Ok(comm);
    }
    let mut comm = sys::MPI_COMM_NULL;
    // SAFETY: MPI is alive, as its session is being made, and the new handle is ours.
    let code = unsafe { sys::MPI_Comm_dup(sys::MPI_COMM_WORLD, &raw mut comm) };
    check(code, "MPI_Comm_dup")?;
    *known = Some(comm);
    Ok(comm)
}

/// Begins to send bytes on this communicator, or on the world; they are leaked if the request is
/// not complete when they are dropped.
pub(super) fn send(
    comm: MPI_Comm,
    dest: usize,
    tag: i32,
    bytes: Vec<u8>,
) -> Result<Begun<Vec<u8>>> {
    let role = SendMode::Standard.role();
    let count = c_int::try_from(bytes.len()).map_err(|_| {
        let many = bytes.len();
        let why = format_args!("{many} bytes are too many for one message of the library's own");
        Error::new(ErrorKind::Length, role.operation, why)
    })?;
    let (byte, dest) = (sys::MPI_BYTE, peer::rank(dest));
    Begun::new(role, bytes, |bytes, request| {
        let pointer = bytes.as_ptr().cast::<c_void>();
        // SAFETY: so many bytes, which are kept until they are sent, or for ever; the communicator
        // lives as long as the library.
        unsafe { sys::MPI_Isend(pointer, count, byte, dest, tag, comm, request) }
    })
}

/// Receives a message that has arrived there.
pub(super) fn take(comm: MPI_Comm, source: Source, tag: i32) -> Result<Option<(Vec<u8>, Status)>> {
    // SAFETY: the communicator lives as long as the library, and has that rank.
    let found = unsafe { improbe(comm, source, Tag::Value(tag)) }?;
    found
        .map(|(message, status)| message.recv_vec("MPI_Mrecv", &status))
        .transpose()
}
