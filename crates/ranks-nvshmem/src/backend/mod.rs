//! The interface between the safe layer and its two backends: the NVSHMEM library, and threads of
//! one process.
//!
//! Everything was checked by the caller: PEs are below their number, places lie inside their
//! blocks, lengths fit, teams are live and of this heap, a stream is of this backend and this PE's
//! device, the calling thread is the PE's. What depends on the backend (a symbol that a release
//! lacks, a call that would end the process in limited mode) is checked behind the interface. An
//! operation without elements does not come here.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::Context;
/// The operation of a reduction. The caller has checked that the kind allows it: bits of integers
/// only.
pub(crate) use ranks_nvshmem_sys::Operation as Reduce;
use ranks_nvshmem_sys::{NVSHMEM_TEAM_SHARED, NVSHMEM_TEAM_WORLD, NVSHMEMX_TEAM_NODE};

use crate::backend::block::{Block, Local, Offset};
use crate::backend::in_process::HostStream;
use crate::backend::library::Direct;
use crate::backend::stream::StreamRef;

pub(crate) mod block;
pub(crate) mod in_process;
pub(crate) mod library;
pub(crate) mod names;
pub(crate) mod observed;
pub(crate) mod options;
mod reduction_names;
pub(crate) mod stream;

/// The time at which an operation takes place: before its call returns, or in the order of a
/// stream.
#[derive(Clone, Copy)]
pub(crate) enum Order<'a> {
    /// Before the call returns.
    Now,
    /// Enqueued: as soon as the stream comes to it.
    On(StreamRef<'a>),
}

/// The point from which the caller's memory may be used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// After the call (or the stream) has gone past it: `put`, `get`.
    After,
    /// After `quiet`: the forms with `nbi`.
    AfterQuiet,
}

/// The distance of each element from the one before, in elements: 1 where they are contiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strides {
    /// The stride at the destination.
    pub dest: usize,
    /// The stride at the source.
    pub source: usize,
}

/// The update that a signal makes to the signal word of the PE that it is sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalOp {
    /// It becomes the value.
    #[doc(alias = "NVSHMEM_SIGNAL_SET")]
    Set,
    /// The value is added, and what does not fit into 64 bits is lost.
    #[doc(alias = "NVSHMEM_SIGNAL_ADD")]
    Add,
}

/// The comparison of a signal word with a value, for waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// It is the value.
    #[doc(alias = "NVSHMEM_CMP_EQ")]
    Equal,
    /// It is not.
    #[doc(alias = "NVSHMEM_CMP_NE")]
    NotEqual,
    /// It is greater than the value.
    #[doc(alias = "NVSHMEM_CMP_GT")]
    Greater,
    /// It is not greater.
    #[doc(alias = "NVSHMEM_CMP_LE")]
    LessOrEqual,
    /// It is less than the value.
    #[doc(alias = "NVSHMEM_CMP_LT")]
    Less,
    /// It is not less.
    #[doc(alias = "NVSHMEM_CMP_GE")]
    GreaterOrEqual,
}

/// A team of this PE, as the backend numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TeamHandle(pub(crate) i32);

impl TeamHandle {
    pub(crate) const WORLD: Self = Self(NVSHMEM_TEAM_WORLD);
    /// PEs that can load from and store to each other's memory.
    pub(crate) const SHARED: Self = Self(NVSHMEM_TEAM_SHARED);
    pub(crate) const NODE: Self = Self(NVSHMEMX_TEAM_NODE);
}

/// The kind of elements, for reductions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    F16,
    Bf16,
}

/// A symmetric heap of this PE.
pub(crate) trait Backend: Life + Memory + OneSided + Teams + Movements + fmt::Debug {}

impl<B: Life + Memory + OneSided + Teams + Movements + fmt::Debug> Backend for B {}

/// Code for devices, as whoever loaded it calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeviceCode {
    /// `CUmodule`
    Module(*mut c_void),
    /// `CUlibrary`
    Library(*mut c_void),
}

/// Facts about a PE, which are the same from its beginning to its end.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) my_pe: usize,
    pub(crate) n_pes: usize,
    /// `NVSHMEM 3.8.0`, `in process`.
    pub(crate) name: String,
    /// True if several PEs share a GPU without sharing its context, so that teams, their operations
    /// and waits on streams are unavailable.
    pub(crate) limited: bool,
    /// That of the PE's device; none in process.
    pub(crate) context: Option<Context>,
}

/// Identity of the PE and of the others, and finalization.
pub(crate) trait Life {
    fn facts(&self) -> &Facts;
    /// Kernels of this code may work on the heap from now on. It was compiled with device code of
    /// `release`.
    fn init_code(&self, code: DeviceCode, release: Option<[i32; 3]>) -> Result<()> {
        let _ = (code, release);
        let text = "a heap in process has no device, and no kernels";
        Err(Error::new(
            ErrorKind::NotInLibrary,
            "nvshmemx_cumodule_init",
            text,
        ))
    }
    /// They do no more.
    fn finalize_code(&self, code: DeviceCode) -> Result<()> {
        let _ = code;
        Ok(())
    }
    /// Another stream of this PE's, where streams are not those of a device.
    fn host_stream(&self) -> Result<HostStream> {
        let text = "streams are those of the device";
        Err(Error::new(ErrorKind::NotAvailable, "cuStreamCreate", text))
    }
    /// Checks that a stream is this PE's, where streams are not those of a device.
    fn accept(&self, operation: &'static str, stream: StreamRef<'_>) -> Result<()> {
        let _ = stream;
        let text = "streams are those of the device";
        Err(Error::new(ErrorKind::NotAvailable, operation, text))
    }
    /// The handle was dropped, and may be taken up again.
    fn is_parked(&self) {}
    /// Collective; all blocks and teams are gone. After an error nothing is called any more.
    fn finalize(&self) -> Result<()>;
}

/// Blocks of the heap, and copies between this PE's part and the host.
pub(crate) trait Memory {
    /// Collective: `bytes` (not 0, the same on all PEs, as is `number`), zeroed on all PEs before
    /// it returns on any. An error that is not of the kind [`ErrorKind::Memory`] has left the PEs,
    /// or the heap, in no known state.
    fn alloc(&self, bytes: usize, number: u64) -> Result<Block>;
    /// # Errors
    /// [`ErrorKind::Memory`] where this PE knows that [`alloc`](Self::alloc) of so many bytes would
    /// do harm.
    fn has_room(&self, bytes: usize) -> Result<()> {
        let _ = bytes;
        Ok(())
    }
    /// Collective: nobody works on it any more.
    fn free(&self, block: Block) -> Result<()>;
    /// Copies from this PE's part. What others put there at the same time may come in parts.
    fn read(&self, from: Offset<'_>, to: &mut [u8]) -> Result<()>;
    /// Copies to this PE's part.
    fn write(&self, from: &[u8], to: Offset<'_>) -> Result<()>;
    /// Fills this PE's part with one byte.
    fn fill(&self, to: Offset<'_>, bytes: usize, value: u8, order: Order<'_>) -> Result<()>;
    /// Returns the address at which the part of `pe` can be loaded from and stored to directly, if
    /// it can.
    fn peer(&self, place: Offset<'_>, pe: usize) -> Option<*mut u8>;
    /// Returns the address at which all parts of a team are stored to at once, if the hardware can.
    fn multicast(&self, place: Offset<'_>, team: TeamHandle) -> Option<*mut u8>;
    /// Makes other memory of the device usable as a source and a destination over a network.
    fn register(&self, address: u64, bytes: usize) -> Result<()> {
        let _ = (address, bytes);
        Err(in_process("nvshmemx_buffer_register"))
    }
    fn unregister(&self, address: u64) -> Result<()> {
        let _ = address;
        Err(in_process("nvshmemx_buffer_unregister"))
    }
    /// Collective: makes memory of the device that all PEs have, of the same length, part of the
    /// heap. The block keeps `memory`.
    fn register_symmetric(
        &self,
        address: u64,
        bytes: usize,
        number: u64,
        memory: Box<dyn Any>,
    ) -> Result<Block> {
        let _ = (address, bytes, number, memory);
        Err(in_process("nvshmemx_buffer_register_symmetric"))
    }
}

/// The direction in which elements go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To the other PE.
    Put,
    /// From it.
    Get,
}

/// An access to the part of a PE: elements there and here, and which way they go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access<'a> {
    pub(crate) direction: Direction,
    pub(crate) far: Offset<'a>,
    pub(crate) near: Local<'a>,
    /// The size of the elements, without what lies between them.
    pub(crate) bytes: usize,
    pub(crate) pe: usize,
}

/// An update of a signal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignalUpdate<'a> {
    pub(crate) word: Offset<'a>,
    pub(crate) value: u64,
    pub(crate) op: SignalOp,
}

/// A point in the order of this PE's operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    /// Puts to each PE before it are delivered before those after it. Of the host alone.
    Fence,
    /// The puts of this PE are delivered, and forms with `nbi` complete.
    Quiet,
    /// The sources of this PE's puts may be used again.
    Flush,
    /// `Quiet`, and all PEs have come.
    BarrierAll,
    /// All PEs have come.
    SyncAll,
}

/// Operations on the parts of other PEs, and their order.
pub(crate) trait OneSided {
    /// Puts or gets what is side by side.
    fn access(&self, access: Access<'_>, order: Order<'_>, reuse: Reuse) -> Result<()>;
    /// Returns an object that puts and gets on one stream without asking anew what and where, if
    /// the backend has such.
    fn direct(&self, stream: StreamRef<'_>) -> Option<Direct> {
        let _ = stream;
        None
    }
    /// Puts or gets elements of `size` bytes each (1, 2, 4, 8 or 16).
    fn access_strided(
        &self,
        access: Access<'_>,
        strides: Strides,
        size: usize,
        order: Order<'_>,
    ) -> Result<()>;
    /// Puts, and then updates the signal of the PE.
    fn put_signal(
        &self,
        put: Access<'_>,
        signal: SignalUpdate<'_>,
        stream: StreamRef<'_>,
        reuse: Reuse,
    ) -> Result<()>;
    fn signal_op(&self, signal: SignalUpdate<'_>, pe: usize, stream: StreamRef<'_>) -> Result<()>;
    /// This PE's word, now.
    fn signal_fetch(&self, signal: Offset<'_>) -> Result<u64>;
    /// The stream goes on when this PE's word compares so.
    fn signal_wait_until(
        &self,
        signal: Offset<'_>,
        comparison: Comparison,
        value: u64,
        stream: StreamRef<'_>,
    ) -> Result<()>;
    /// Waits for the point, or makes the stream wait.
    fn point(&self, point: Point, order: Order<'_>) -> Result<()>;
}

/// Parts of the PEs.
pub(crate) trait Teams {
    /// This PE's number in a team, and the number of PEs there.
    fn place_in(&self, team: TeamHandle) -> Result<(usize, usize)>;
    fn translate(&self, team: TeamHandle, pe: usize, to: TeamHandle) -> Result<Option<usize>>;
    /// Collective over `parent`; `None` where this PE is not in it.
    fn split_strided(
        &self,
        parent: TeamHandle,
        start: usize,
        stride: usize,
        size: usize,
    ) -> Result<Option<TeamHandle>>;
    /// Collective over `parent`: its PEs in rows of `xrange`; this PE's row and column.
    fn split_2d(&self, parent: TeamHandle, xrange: usize) -> Result<(TeamHandle, TeamHandle)>;
    /// An id that a team of any PEs is made with.
    fn team_unique_id(&self) -> Result<u64>;
    /// Collective over the `n_pes` that pass the same id, each another `my_pe`.
    fn team_init(&self, id: u64, my_pe: usize, n_pes: usize) -> Result<TeamHandle>;
    /// Collective over the team, which is none of those that every heap has.
    fn destroy(&self, team: TeamHandle) -> Result<()>;
}

/// A collective operation of a team.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Movement {
    Barrier,
    Sync,
    /// From the PE of the team with this number.
    Broadcast(usize),
    /// Elements of every PE, in their order.
    Fcollect,
    /// From every PE to every PE.
    Alltoall,
    Reduce(Kind, Reduce),
    Reducescatter(Kind, Reduce),
}

impl Movement {
    /// The size in bytes of what amounts are counted in.
    pub(crate) fn width(self) -> usize {
        match self {
            Self::Reduce(kind, _) | Self::Reducescatter(kind, _) => kind.size(),
            _ => 1,
        }
    }

    /// Returns whether NVSHMEM may put to a PE that has not come yet: what a PE gets does not
    /// depend on what it gives.
    pub(crate) fn puts_at_once(self) -> bool {
        matches!(self, Self::Broadcast(_) | Self::Fcollect | Self::Alltoall)
    }
}

impl Kind {
    /// The size of an element in bytes.
    fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

/// From where to where, which are the same or do not overlap, and how much: bytes, or elements that
/// are reduced; for each PE, where each has its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moved<'a> {
    pub(crate) dest: Offset<'a>,
    pub(crate) source: Offset<'a>,
    pub(crate) amount: usize,
}

/// Operations of all PEs of a team.
pub(crate) trait Movements {
    /// Does any of them; `moved` is `None` for those without elements.
    fn moves(
        &self,
        team: TeamHandle,
        movement: Movement,
        moved: Option<Moved<'_>>,
        order: Order<'_>,
    ) -> Result<()>;
}

/// The error for an operation that makes no sense for memory of the host.
#[cold]
fn in_process(operation: &'static str) -> Error {
    let text = "there is no device in process";
    Error::new(ErrorKind::NotAvailable, operation, text)
}
