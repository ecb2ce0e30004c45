//! Partitioned requests of the library.
//!
//! Only for libraries that stop at the end of the buffer: a library that writes past it (see
//! `recv`) does so here as well, and there is no matched probe for partitions.

use std::ffi::{c_int, c_void};

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Count, MPI_Request, native};

use crate::data::datatype::Item;
use crate::data::raw_slice::{OpInfo, RawSlice};
use crate::result::{Error, ErrorKind, Result};
use crate::transport::mpi::communicator::Comm;
use crate::transport::mpi::error::{check, check_with, library};
use crate::transport::mpi::peer::rank;
use crate::transport::mpi::pending_op::{Cell, Native};
use crate::transport::mpi::receives::can_be_prepared;

/// A partitioned operation.
#[derive(Debug)]
pub(crate) struct Parts {
    cell: Cell,
    role: &'static OpInfo,
    /// The same request in the standard ABI, for calls that take it by value.
    request: Request,
}

/// The request of a partitioned operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request(MPI_Request);

impl Comm {
    /// Prepares a send of `span` in `partitions`, which divide it into whole items.
    ///
    /// # Safety
    /// Until the request is retired the span is there.
    pub(crate) unsafe fn psend_init(
        &self,
        role: &'static OpInfo,
        span: RawSlice,
        item: Item,
        partitions: usize,
        dest: usize,
        tag: i32,
    ) -> Result<Parts> {
        self.has_partitions(role)?;
        let (parts, count) = counts(role, span, item.width(), partitions)?;
        let start: *const c_void = span.start().cast_const().cast();
        let mut request = sys::MPI_REQUEST_NULL;
        // SAFETY: `parts` times `count` items are what the span holds; rank and tag are checked.
        let code = unsafe {
            sys::MPI_Psend_init(
                start,
                parts,
                count,
                item.datatype(),
                rank(dest),
                tag,
                self.canonical,
                sys::MPI_INFO_NULL,
                &raw mut request,
            )
        };
        check(code, role.operation)?;
        Ok(self.parts(role, request))
    }

    /// Prepares a receive into `span`, in `partitions`, which divide it. In bytes, as all receives
    /// (see `recv`).
    ///
    /// # Safety
    /// Until the request is retired the span is there, and nobody else uses it while it is started.
    pub(crate) unsafe fn precv_init(
        &self,
        role: &'static OpInfo,
        span: RawSlice,
        partitions: usize,
        source: usize,
        tag: i32,
    ) -> Result<Parts> {
        self.has_partitions(role)?;
        let (parts, count) = counts(role, span, 1, partitions)?;
        let mut request = sys::MPI_REQUEST_NULL;
        // SAFETY: `parts` times `count` bytes are what the span holds; this library writes no more;
        // rank and tag are checked.
        let code = unsafe {
            sys::MPI_Precv_init(
                span.start().cast(),
                parts,
                count,
                sys::MPI_BYTE,
                rank(source),
                tag,
                self.canonical,
                sys::MPI_INFO_NULL,
                &raw mut request,
            )
        };
        check(code, role.operation)?;
        Ok(self.parts(role, request))
    }

    fn parts(&self, role: &'static OpInfo, request: MPI_Request) -> Parts {
        Parts {
            // SAFETY: the library is loaded, as there is a `Comm`.
            cell: unsafe { Cell::holding(request) },
            role,
            request: Request(request),
        }
    }

    /// An error where partitions are not offered. Both sides decide alike: there is one library in
    /// a job.
    fn has_partitions(&self, role: &'static OpInfo) -> Result<()> {
        let operation = role.operation;
        let is_in_library = sys::function(operation).is_none_or(sys::Function::is_in_library);
        let why = match (can_be_prepared(), self.claims_everything()) {
            // The call says itself that it is not there.
            _ if !is_in_library => return Ok(()),
            (true, false) => return Ok(()),
            (true, true) => format!("its receives are {}", self.session.receives.told("")),
            (false, _) => "it tells nothing of more than is expected, or of partitions that they have arrived before they have".to_owned(),
        };
        let text = format!(
            "not offered over {}: {why}; use send_init and recv_init",
            library()
        );
        Err(Error::new(ErrorKind::NotInLibrary, operation, text))
    }
}

impl Parts {
    pub(crate) fn start(&mut self) -> Result<()> {
        // SAFETY: the request was made by an `_init` and is not started; its buffer is there, by
        // their contract, and may be used by its address, as `Lent` says.
        let code = unsafe { native::MPI_Start(&raw mut self.cell) };
        check(code, "MPI_Start")
    }

    pub(crate) fn wait(&mut self) -> Result<()> {
        // SAFETY: the request was made by an `_init`; nothing is asked but the code.
        let code = unsafe { native::MPI_Wait(&raw mut self.cell, native::status_ignore()) };
        check_with(
            code,
            self.role.operation,
            || "as where the two sides differ in length",
        )
    }

    /// The request, by which partitions are marked as ready.
    pub(crate) fn request(&self) -> Request {
        self.request
    }

    /// Returns `true` if a partition of a started receive has arrived.
    pub(crate) fn arrived(&self, partition: usize) -> Result<bool> {
        let mut flag: c_int = 0;
        // SAFETY: the receive was started; the partition is one of its; the flag is ours.
        let code = unsafe { sys::MPI_Parrived(self.request.0, number(partition), &raw mut flag) };
        check(code, "MPI_Parrived")?;
        Ok(flag != 0)
    }

    pub(crate) fn into_native(self, comm: &Comm) -> Native {
        // SAFETY: the library is loaded, and has written the request.
        let request = unsafe { self.cell.get() };
        comm.persistent(request, self.role, 0)
    }
}

impl Request {
    /// Marks those partitions as ready, none of which is.
    pub(crate) fn ready(self, partitions: &[usize]) -> Result<()> {
        match partitions {
            [] => Ok(()),
            [one] => {
                // SAFETY: the send is started, and the partition is one of its and was not marked
                // before.
                let code = unsafe { sys::MPI_Pready(number(*one), self.0) };
                check(code, "MPI_Pready")
            }
            [first, .., last] if partitions.is_sorted_by(|a, b| a + 1 == *b) => {
                let (first, last) = (number(*first), number(*last));
                // SAFETY: the same of all from `first` to `last`.
                let code = unsafe { sys::MPI_Pready_range(first, last, self.0) };
                check(code, "MPI_Pready_range")
            }
            many => {
                let list: Vec<c_int> = many.iter().copied().map(number).collect();
                let length = number(list.len());
                // SAFETY: the same of the `length` partitions of the list.
                let code = unsafe { sys::MPI_Pready_list(length, list.as_ptr(), self.0) };
                check(code, "MPI_Pready_list")
            }
        }
    }
}

/// A number of partitions, of which there are no more than an `int` counts (see `counts`).
fn number(partition: usize) -> c_int {
    c_int::try_from(partition).unwrap_or(-1)
}

/// The numbers of partitions, and of items in each, as the library counts them.
fn counts(
    role: &'static OpInfo,
    span: RawSlice,
    width: usize,
    partitions: usize,
) -> Result<(c_int, MPI_Count)> {
    let items = span.bytes() / width.max(1) / partitions.max(1);
    match (c_int::try_from(partitions), MPI_Count::try_from(items)) {
        (Ok(partitions), Ok(items)) => Ok((partitions, items)),
        _ => Err(Error::new(
            ErrorKind::Argument,
            role.operation,
            format_args!("{partitions} partitions are more than MPI can count; make them larger"),
        )),
    }
}
