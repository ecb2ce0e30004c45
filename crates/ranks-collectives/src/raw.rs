//! Collective communication over addresses: object-safe, for frameworks whose tensors know their type at run time only.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fmt;
use std::time::Duration;

use ranks_comm::Result;
use ranks_cuda::RawStream;

/// The type of the elements behind an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dtype {
    /// `f64`
    F64,
    /// `f32`
    F32,
    /// IEEE 754 half precision.
    F16,
    /// The upper half of an `f32`.
    Bf16,
    /// Eight bits: four of exponent, three of mantissa.
    Fp8E4m3,
    /// Eight bits: five of exponent, two of mantissa.
    Fp8E5m2,
    /// `i64`
    I64,
    /// `i32`
    I32,
    /// `i16`
    I16,
    /// `i8`
    I8,
    /// `u64`
    U64,
    /// `u32`
    U32,
    /// `u16`
    U16,
    /// `u8`
    U8,
    /// A byte that is 0 or 1. It is moved, never reduced.
    Bool,
    /// Two `f32`: real and imaginary part.
    Complex64,
    /// Two `f64`.
    Complex128,
}

impl Dtype {
    /// Every one, in the order above.
    pub const ALL: [Self; 17] = [
        Self::F64,
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::Fp8E4m3,
        Self::Fp8E5m2,
        Self::I64,
        Self::I32,
        Self::I16,
        Self::I8,
        Self::U64,
        Self::U32,
        Self::U16,
        Self::U8,
        Self::Bool,
        Self::Complex64,
        Self::Complex128,
    ];

    /// How many bytes an element has.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Complex128 => 16,
            Self::F64 | Self::I64 | Self::U64 | Self::Complex64 => 8,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F16 | Self::Bf16 | Self::I16 | Self::U16 => 2,
            Self::Fp8E4m3 | Self::Fp8E5m2 | Self::I8 | Self::U8 | Self::Bool => 1,
        }
    }
}

/// What a reduction makes of the elements of all ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum RawOp {
    /// The sum; integers wrap.
    Sum,
    /// The product; integers wrap.
    Prod,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The sum divided by the number of ranks.
    Avg,
    /// The sum of what each rank has, multiplied by this rank's factor before.
    PreMulSum(f64),
    /// Bitwise and.
    Band,
    /// Bitwise or.
    Bor,
    /// Bitwise exclusive or.
    Bxor,
}

/// Collective and two-sided operations on addresses, counts and types, behind one object-safe trait.
///
/// Implemented over MPI, in process (`RawComm`) and over NCCL (`RawNccl`); a framework holds an
/// `Arc<dyn RawCollectives>` and does not know which.
///
/// # Operations are begun
///
/// An operation may return before it is over. Its memory stays allocated, is not written to by others, and what
/// it writes is not read, until [`sync`](Self::sync), [`wait`](Self::wait) or [`barrier`](Self::barrier) has returned `Ok` or an error; or, in the order of a
/// stream, after [`enqueue_wait`](Self::enqueue_wait). After an error of one of these no memory is in use any more.
/// All ranks begin the same operations in the same order.
///
/// # Failures
///
/// A failure of the library, a time limit that passed, and [`abort`](Self::abort) make the communicator unusable: every later call is an
/// error of kind [`Aborted`](ranks_comm::ErrorKind::Aborted) that tells why. What a rank can see to be wrong before anything is begun
/// (an element type that is not reduced, a root or peer that is not there, a length that overflows, memory of the wrong kind) is an `Err` that leaves it usable.
pub trait RawCollectives: Send + Sync + fmt::Debug {
    /// Which rank this is, from 0.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn size(&self) -> usize;

    /// What does the work, with its version: `Open MPI 5.0.11`, `in process`, `NCCL 2.32.3`.
    fn backend(&self) -> String;

    /// Whether reductions with `op` compute with `dtype`. Every type can be moved on every backend.
    fn supports(&self, op: RawOp, dtype: Dtype) -> bool;

    /// Whether it takes addresses of the memory of a GPU, and of the host.
    fn takes(&self) -> Takes;

    /// Reduces `count` elements of every rank, element by element, to all ranks. In place where `send` and `recv` are the same address.
    ///
    /// # Errors
    /// As the trait says; [`Type`](ranks_comm::ErrorKind::Type) unless `supports(op, dtype)`.
    ///
    /// # Safety
    /// `send` points at `count` elements of `dtype` that may be read, `recv` at as many that may be written, for as long as the trait says;
    /// they are the same address or do not overlap. All ranks pass the same count, type and operation.
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
    /// `buffer` points at `count` elements of `dtype` that may be read and written, for as long as the trait says. All ranks pass the same count, type and root.
    unsafe fn bcast(
        &self,
        buffer: *mut c_void,
        count: usize,
        dtype: Dtype,
        root: usize,
    ) -> Result<()>;

    /// Collects `count` elements of every rank on all ranks: rank r's come at `r * count`. In place where `send` is this rank's part of `recv`.
    ///
    /// # Errors
    /// As the trait says.
    ///
    /// # Safety
    /// `send` points at `count` elements, `recv` at `size * count`; else as [`allreduce`](Self::allreduce).
    unsafe fn allgather(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
    ) -> Result<()>;

    /// Reduces `size * count` elements of every rank, of which rank r gets those from `r * count`. In place where `recv` is this rank's part of `send`.
    ///
    /// # Errors
    /// As [`allreduce`](Self::allreduce).
    ///
    /// # Safety
    /// `send` points at `size * count` elements, `recv` at `count`; else as [`allreduce`](Self::allreduce). Without in place `send` is not written to.
    unsafe fn reduce_scatter_block(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
        op: RawOp,
    ) -> Result<()>;

    /// Gives rank r the `count` elements from `r * count` of `send`; they come at `rank * count` there.
    ///
    /// # Errors
    /// As the trait says.
    ///
    /// # Safety
    /// Both point at `size * count` elements and do not overlap; else as [`allreduce`](Self::allreduce).
    unsafe fn alltoall(
        &self,
        send: *const c_void,
        recv: *mut c_void,
        count: usize,
        dtype: Dtype,
    ) -> Result<()>;

    /// Collects `count` elements of every rank on `root`. Elsewhere `recv` is not touched and may be null.
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

    /// Gives rank r the `count` elements from `r * count` of `root`'s `send`. Elsewhere `send` is not touched and may be null.
    ///
    /// # Errors
    /// As the trait says, and [`Root`](ranks_comm::ErrorKind::Root).
    ///
    /// # Safety
    /// At the root `send` points at `size * count` elements; `recv` points at `count`; else as [`allreduce`](Self::allreduce).
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
    /// As the trait says, [`Rank`](ranks_comm::ErrorKind::Rank), and [`Tag`](ranks_comm::ErrorKind::Tag) above the library's limit.
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
    /// As [`send`](Self::send). A message that is longer is an error of the `sync` that ends it ([`Truncated`](ranks_comm::ErrorKind::Truncated)).
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

    /// Begins all that `body` begins as one: sends and receives in it may stand in any order (an exchange over NCCL needs that).
    ///
    /// # Errors
    /// What `body` returns, or what beginning it reports.
    fn group(&self, body: &mut dyn FnMut() -> Result<()>) -> Result<()>;

    /// Waits for all ranks, and before that as [`sync`](Self::sync) does.
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    fn barrier(&self) -> Result<()>;

    /// Waits until all that was begun is over, for as long as the communicator's time limit says: results may be read, memory used again.
    ///
    /// # Errors
    /// The first failure of all that was begun; everything is over, or given up, all the same.
    fn sync(&self) -> Result<()>;

    /// As [`sync`](Self::sync), with a time limit of its own.
    ///
    /// # Errors
    /// [`TimedOut`](ranks_comm::ErrorKind::TimedOut), which makes the communicator unusable; else as [`sync`](Self::sync).
    fn wait(&self, limit: Duration) -> Result<()>;

    /// Lets what was begun go on, without waiting. Whether all of it is over.
    ///
    /// # Errors
    /// A failure that became known.
    fn progress(&self) -> Result<bool>;

    /// Makes what is enqueued on `stream` from now on wait for all that was begun here; does not wait itself.
    ///
    /// # Errors
    /// [`Argument`](ranks_comm::ErrorKind::Argument) where there are no streams.
    ///
    /// # Safety
    /// `stream` is a live stream of the communicator's device.
    unsafe fn enqueue_wait(&self, stream: RawStream) -> Result<()>;

    /// A communicator of the ranks that pass the same `color`, in the order of `key`, then of ranks. `None` for those who pass no color.
    /// Collective.
    ///
    /// # Errors
    /// As the trait says.
    fn split(&self, color: Option<u32>, key: u32) -> Result<Option<Box<dyn RawCollectives>>>;

    /// Gives up all that was begun, from any thread: whoever waits gets an error. A second time it does nothing.
    ///
    /// # Errors
    /// What the library reports.
    fn abort(&self) -> Result<()>;

    /// Why the communicator is unusable, if it is.
    fn failure(&self) -> Option<String>;

    /// Events and streams, where the backend has them.
    fn stream_sync(&self) -> Option<&dyn StreamSync>;
}

/// Which memory a backend can work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Takes {
    /// Memory of the host.
    pub host: bool,
    /// Memory of a GPU.
    pub device: bool,
}

/// Orders the communicator's stream and the program's by events. Events are numbers, so that they can be kept anywhere.
pub trait StreamSync {
    /// A new event.
    ///
    /// # Errors
    /// What the driver reports.
    fn create_event(&self) -> Result<u64>;

    /// Lets go of an event, which may still be pending. An event that is not there (any more) is none of anybody's concern.
    ///
    /// # Errors
    /// What the driver reports.
    fn destroy_event(&self, event: u64) -> Result<()>;

    /// The event is over when all is that was begun on the communicator so far.
    ///
    /// # Errors
    /// [`Argument`](ranks_comm::ErrorKind::Argument) for an event that is not there.
    fn record_on_comm_stream(&self, event: u64) -> Result<()>;

    /// The event is over when all is that was enqueued on `stream` so far.
    ///
    /// # Errors
    /// [`Argument`](ranks_comm::ErrorKind::Argument) for an event that is not there.
    ///
    /// # Safety
    /// `stream` is a live stream of the communicator's device.
    unsafe fn record_on_stream(&self, event: u64, stream: RawStream) -> Result<()>;

    /// What is begun on the communicator from now on waits for the event.
    ///
    /// # Errors
    /// [`Argument`](ranks_comm::ErrorKind::Argument) for an event that is not there.
    fn comm_stream_wait_event(&self, event: u64) -> Result<()>;

    /// What is enqueued on `stream` from now on waits for the event.
    ///
    /// # Errors
    /// [`Argument`](ranks_comm::ErrorKind::Argument) for an event that is not there.
    ///
    /// # Safety
    /// `stream` is a live stream of the communicator's device.
    unsafe fn stream_wait_event(&self, stream: RawStream, event: u64) -> Result<()>;

    /// Waits until all is over that was begun on the communicator's stream.
    ///
    /// # Errors
    /// As [`RawCollectives::sync`].
    fn sync_comm_stream(&self) -> Result<()>;
}
