//! The trait over addresses.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fmt;
use std::time::Duration;

use ranks_comm::Result;
use ranks_cuda::RawStream;

use super::{Dtype, RawOp, StreamSync, Takes};

pub(crate) mod dtype;
pub(crate) mod op;
pub(crate) mod stream_sync;
pub(crate) mod takes;

/// Collective and two-sided operations on addresses, counts and types, behind one object-safe
/// trait.
///
/// Implemented over MPI, in process (`RawComm`) and over NCCL (`RawNccl`); a framework holds an
/// `Arc<dyn RawCollectives>` and does not know which.
///
/// # Operations are begun
///
/// An operation may return before it is over. Its memory stays allocated, is not written to by
/// others, and what it writes is not read, until [`sync`](Self::sync), [`wait`](Self::wait) or
/// [`barrier`](Self::barrier) has returned `Ok` or an error; or, in the order of a stream, after
/// [`enqueue_wait`](Self::enqueue_wait). After an error of one of these, and after
/// [`abort`](Self::abort), no memory is in use any more. All ranks begin the same operations in the
/// same order.
///
/// # Failures
///
/// A failure of the library, a time limit that passed, and [`abort`](Self::abort) make the
/// communicator unusable: every later call is an error of kind
/// [`Aborted`](ranks_comm::ErrorKind::Aborted) that tells why. What a rank can see to be wrong
/// before anything is begun (an element type that is not reduced:
/// [`Type`](ranks_comm::ErrorKind::Type), a root or peer that is not there:
/// [`Root`](ranks_comm::ErrorKind::Root), [`Rank`](ranks_comm::ErrorKind::Rank), a length in bytes
/// that overflows: [`Length`](ranks_comm::ErrorKind::Length), memory of the wrong kind or null with
/// a count: [`Argument`](ranks_comm::ErrorKind::Argument)) is an `Err` that leaves it usable, and
/// so does a message that is longer than its receive.
pub trait RawCollectives: Send + Sync + fmt::Debug {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// The library that does the work, with its version: `Open MPI 5.0.11`, `in process`,
    /// `NCCL 2.32.3`.
    fn backend(&self) -> String;

    /// Returns `true` if reductions with `op` compute with `dtype`. Every type can be moved on
    /// every backend.
    fn supports(&self, op: RawOp, dtype: Dtype) -> bool;

    /// The memory whose addresses it takes: of a GPU, of the host.
    fn takes(&self) -> Takes;

    /// Returns `true` if messages are told apart by their tags, may be shorter than what is
    /// received into, and need no [group](Self::group) to be begun in any order: so with MPI and in
    /// process, not with NCCL.
    fn has_tags(&self) -> bool;

    /// Returns `true` if reductions combine in the order of ranks, from 0 up, so that sums of
    /// floating-point numbers are the same to the last bit on all ranks and each time.
    fn reduces_in_order(&self) -> bool;

    /// Reduces `count` elements of every rank, element by element, to all ranks. In place where
    /// `send` and `recv` are the same address.
    ///
    /// # Errors
    /// As the trait says; [`Type`](ranks_comm::ErrorKind::Type) unless `supports(op, dtype)`.
    ///
    /// # Safety
    /// `send` points at `count` elements of `dtype` that may be read, `recv` at as many that may be
    /// written, for as long as the trait says; they are the same address or do not overlap. All
    /// ranks pass the same count, type and operation.
    unsafe fn allreduce(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        op: RawOp,
    ) -> Result<()>;

    /// Reduces to `root` alone. Elsewhere `recv` is not touched and may be null.
    ///
    /// # Errors
    /// As [`allreduce`](Self::allreduce), and [`Root`](ranks_comm::ErrorKind::Root).
    ///
    /// # Safety
    /// As [`allreduce`](Self::allreduce).
    unsafe fn reduce(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        op: RawOp,
        root: usize,
    ) -> Result<()>;

    /// Copies `count` elements of `root` to all ranks.
    ///
    /// # Errors
    /// As the trait says, and [`Root`](ranks_comm::ErrorKind::Root).
    ///
    /// # Safety
    /// `buffer` points at `count` elements of `dtype` that may be read and written, for as long as
    /// the trait says. All ranks pass the same count, type and root.
    unsafe fn bcast(
        &self,
        buffer: *mut c_void,
        count: usize,
        dtype: Dtype,
        root: usize,
    ) -> Result<()>;

    /// Collects `count` elements of every rank on all ranks: rank r's come at `r * count`. In place
    /// where `send` is this rank's part of `recv`.
    ///
    /// # Errors
    /// As the trait says.
    ///
    /// # Safety
    /// `send` points at `count` elements, `recv` at `size * count`; else as
    /// [`allreduce`](Self::allreduce).
    unsafe fn allgather(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
    ) -> Result<()>;

    /// Reduces `size * count` elements of every rank, of which rank r gets those from `r * count`.
    /// In place where `recv` is this rank's part of `send`.
    ///
    /// # Errors
    /// As [`allreduce`](Self::allreduce).
    ///
    /// # Safety
    /// `send` points at `size * count` elements, `recv` at `count`; else as
    /// [`allreduce`](Self::allreduce). Without in place `send` is not written to.
    unsafe fn reduce_scatter_block(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        op: RawOp,
    ) -> Result<()>;

    /// Gives rank r the `count` elements from `r * count` of `send`; they come at `rank * count`
    /// there.
    ///
    /// # Errors
    /// As the trait says.
    ///
    /// # Safety
    /// Both point at `size * count` elements and do not overlap; else as
    /// [`allreduce`](Self::allreduce).
    unsafe fn alltoall(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
    ) -> Result<()>;

    /// Collects `count` elements of every rank on `root`. Elsewhere `recv` is not touched and may
    /// be null.
    ///
    /// # Errors
    /// As the trait says, and [`Root`](ranks_comm::ErrorKind::Root).
    ///
    /// # Safety
    /// As [`allgather`](Self::allgather).
    unsafe fn gather(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        root: usize,
    ) -> Result<()>;

    /// Gives rank r the `count` elements from `r * count` of `root`'s `send`. Elsewhere `send` is
    /// not touched and may be null.
    ///
    /// # Errors
    /// As the trait says, and [`Root`](ranks_comm::ErrorKind::Root).
    ///
    /// # Safety
    /// At the root `send` points at `size * count` elements; `recv` points at `count`; else as
    /// [`allreduce`](Self::allreduce).
    unsafe fn scatter(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        root: usize,
    ) -> Result<()>;

    /// Begins to send `count` elements to `dest`. NCCL knows no tags and ignores them.
    ///
    /// # Errors
    /// As the trait says, [`Rank`](ranks_comm::ErrorKind::Rank), and
    /// [`Tag`](ranks_comm::ErrorKind::Tag) above the library's limit.
    ///
    /// # Safety
    /// `buffer` points at `count` elements that may be read for as long as the trait says.
    unsafe fn send(
        &self,
        buffer: *const c_void,
        count: usize,
        dtype: Dtype,
        dest: usize,
        tag: u32,
    ) -> Result<()>;

    /// Begins to receive up to `count` elements from `source` (over NCCL: exactly as many).
    ///
    /// # Errors
    /// As [`send`](Self::send). A message that is longer is an error of the `sync` that ends it
    /// ([`Truncated`](ranks_comm::ErrorKind::Truncated)).
    ///
    /// # Safety
    /// `buffer` points at `count` elements that may be written for as long as the trait says.
    unsafe fn recv(
        &self,
        buffer: *mut c_void,
        count: usize,
        dtype: Dtype,
        source: usize,
        tag: u32,
    ) -> Result<()>;

    /// Begins all that `body` begins as one: sends and receives in it may stand in any order (an
    /// exchange over NCCL needs that).
    ///
    /// # Errors
    /// That of `body`, or of starting it.
    fn group(&self, body: &mut dyn FnMut() -> Result<()>) -> Result<()>;

    /// Waits for all ranks, and before that as [`sync`](Self::sync) does.
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    fn barrier(&self) -> Result<()>;

    /// Waits until all that was begun is over, for as long as the communicator's time limit says:
    /// results may be read, memory used again.
    ///
    /// # Errors
    /// The first failure of all that was begun; everything is over, or given up, all the same.
    fn sync(&self) -> Result<()>;

    /// As [`sync`](Self::sync), with a time limit of its own.
    ///
    /// # Errors
    /// [`TimedOut`](ranks_comm::ErrorKind::TimedOut), which makes the communicator unusable; else
    /// as [`sync`](Self::sync).
    fn wait(&self, limit: Duration) -> Result<()>;

    /// Lets what was begun go on, without waiting. Whether all of it is over.
    ///
    /// # Errors
    /// A failure that became known.
    fn progress(&self) -> Result<bool>;

    /// Makes what is enqueued on `stream` from now on wait for all that was begun here; does not
    /// wait itself.
    ///
    /// # Errors
    /// [`Argument`](ranks_comm::ErrorKind::Argument) where there are no streams.
    ///
    /// # Safety
    /// `stream` is a live stream of the communicator's device.
    unsafe fn enqueue_wait(&self, stream: RawStream) -> Result<()>;

    /// A communicator of the ranks that pass the same `color`, in the order of `key`, then of
    /// ranks. `None` for those who pass no color. Collective.
    ///
    /// # Errors
    /// As the trait says.
    fn split(&self, color: Option<u32>, key: u32) -> Result<Option<Box<dyn RawCollectives>>>;

    /// Gives up all that was begun, from any thread: whoever waits gets an error. A second time it
    /// does nothing.
    ///
    /// # Errors
    /// Errors of the library.
    fn abort(&self) -> Result<()>;

    /// The reason why the communicator is unusable, if it is.
    fn failure(&self) -> Option<String>;

    /// Events and streams, where the backend has them.
    fn stream_sync(&self) -> Option<&dyn StreamSync>;
}
