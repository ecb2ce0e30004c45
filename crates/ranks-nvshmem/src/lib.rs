//! A symmetric heap: memory that has a place of the same length on every PE, which all others put
//! to and get from.
//!
//! Over NVSHMEM, which is found at run time, the memory is that of GPUs and a PE is a process. In
//! process, without any library, the memory is that of the host and a PE is a thread. Programs are
//! the same. In process is chosen by [`HeapBackend::InProcess`] or `RANKS_BACKEND=inprocess`, and
//! never taken in silence.
//!
//! ```
//! use ranks::bootstrap::ThreadBootstrap;
//! use ranks::Result;
//! use ranks::nvshmem::{Comparison, HeapBackend, Nvshmem, NvshmemOptions, SignalOp};
//!
//! fn ring(bootstrap: &ThreadBootstrap) -> Result<()> {
//!     let pe = Nvshmem::init(bootstrap, &NvshmemOptions::new().backend(HeapBackend::InProcess))?;
//!     let next = (pe.my_pe() + 1) % pe.n_pes();
//!     let mut mine = pe.alloc::<u32>(4)?;                   // zeros, on every PE
//!     let (came, arrived) = (pe.alloc::<u32>(4)?, pe.signal()?);
//!     mine.copy_from_host(&[pe.my_pe() as u32; 4])?;
//!
//!     let stream = pe.stream()?;
//!     pe.scope(&stream, |queue| {
//!         queue.put_signal(&came, &mine, &arrived, 1, SignalOp::Set, next)?;
//!         queue.signal_wait_until(&arrived, Comparison::Equal, 1)
//!     })?;
//!     let before = (pe.my_pe() + pe.n_pes() - 1) % pe.n_pes();
//!     assert_eq!(came.to_vec()?, [before as u32; 4]);
//!
//!     drop((mine, came, arrived));                          // freed when all PEs have dropped them
//!     pe.finalize()
//! }
//!
//! std::thread::scope(|s| {
//!     for pe in ThreadBootstrap::of(2, std::time::Duration::from_secs(10)).unwrap() {
//!         s.spawn(move || ring(&pe).unwrap());
//!     }
//! });
//! ```
//!
//! | what | where |
//! |---|---|
//! | the beginning and the end | [`Nvshmem::init`], [`finalize`](Nvshmem::finalize); a handle that was dropped: [`resume`](Nvshmem::resume) |
//! | elements on every PE | [`SymmetricVec`], parts of it [`SymmetricSlice`], [`SymmetricSliceMut`]; for other libraries of GPUs [`SymmetricView`] |
//! | one-sided operations, each before it returns | [`Nvshmem::put`], [`get`](Nvshmem::get), [`iput`](Nvshmem::iput), [`iget`](Nvshmem::iget), [`quiet`](Nvshmem::quiet), [`fence`](Nvshmem::fence), [`barrier_all`](Nvshmem::barrier_all) |
//! | … in the order of a stream, on what is borrowed | [`Queue`], in [`Nvshmem::scope`] |
//! | … in the order of a stream, on what is moved in | methods with `_on_stream`, which give [`Enqueued`] |
//! | words that tell a PE that something has come | [`Signal`], [`Signals`] |
//! | some of the PEs, and what they do together | [`Team`], [`TeamRef`] |
//! | kernels of the program that put and get | [`Nvshmem::init_module`] |
//! | frameworks that have addresses | [`RawNvshmem`] |
//!
//! # What cannot happen
//!
//! NVSHMEM ends the process for most mistakes, reads past what it is given, and waits for ever for
//! a PE that is gone. Here PEs, lengths, places, teams, streams and threads are compared before
//! each call, nothing is called before the library is initialised or after its end, and what would
//! end the process (several PEs on one GPU without MPS: [`Nvshmem::limited`]; strides over a
//! network) is an `Err`. What all PEs make, free or end together they agree on over the bootstrap
//! first, and barriers and operations of teams end at the time limit, where there is one. No `drop`
//! waits for others. There is no reference to elements of the heap: others may write to them
//! at any time, and are copied from and to the host, or worked on by operations.
//!
//! # What it does not do
//!
//! Atomic operations called by the host and `g` on a stream: the library only pretends to do them.
//! Signals set and add 64 bits.
//!
//! # Settings
//!
//! [`NvshmemOptions`] has the backend, the device and the time limit. Users have environment
//! variables: `RANKS_NVSHMEM` and `RANKS_CUDA` name the files of the libraries, and NVSHMEM reads
//! its own besides, such as the size of the heap. The feature `half` brings elements and reductions
//! of `f16` and `bf16`.
#![cfg_attr(doc, doc = concat!(
    "\n# The guide\n\n[A symmetric heap](", env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/docs/guide/symmetric-heap.md), ",
    "[environment variables](", env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/docs/guide/environment.md).",
))]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]

mod backend;
mod call;
mod device;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod heap;
mod one_sided;
mod pe;
mod raw;
mod stream;
mod team;

pub use backend::in_process::HostStream;
pub use backend::options::{HeapBackend, NvshmemOptions};
pub use backend::stream::{Ordered, PeStream};
pub use backend::{Comparison, SignalOp, Strides};
pub use device::code::InitialisedCode;
pub use device::view::{SymmetricView, SymmetricViewMut};
pub use heap::arguments::{Destination, OnDevice, Source, Symmetric, SymmetricMut};
pub use heap::registration::Registered;
pub use heap::symmetric_vec::{SymmetricSlice, SymmetricSliceMut, SymmetricVec};
pub use one_sided::signals::{Signal, SignalRef, Signals};
pub use pe::handle::Nvshmem;
pub use raw::RawNvshmem;
pub use stream::enqueued::{Enqueued, Owned, SymmetricPart};
pub use stream::queue::Queue;
pub use team::any_team::AnyTeam;
pub use team::element::{Bits, Element};
pub use team::reduction::Reduction;
pub use team::{Team, TeamRef, TeamUniqueId};
