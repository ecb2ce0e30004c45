//! Communicators, point-to-point communication and the runtime, over MPI or in process (threads as
//! ranks).
//!
//! Programs depend on `ranks`, of which this crate is the modules `runtime`, `communicator`, `p2p`,
//! `virtual_topology`, `layout`, `element` and `interop`. Examples are those of such a program.
//!
//! ```
//! fn main() -> ranks::Result<()> {
//!     ranks::run(|world| {
//!         let (rank, size) = (world.rank(), world.size());
//!         let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
//!         let mut heard = [usize::MAX];
//!         world.sendrecv(&[rank], right, 7, &mut heard, left, 7)?;
//!         assert_eq!(heard, [left]);
//!         Ok(())
//!     })
//! }
//! ```
//!
//! | topic | here | MPI 5.0 |
//! |---|---|---|
//! | start and end, settings, statistics | [`run`](fn@run), [`Runtime`], [`Builder`], [`Statistics`] | §11 |
//! | ranks and what they share | [`Communicator`], [`Group`], [`SplitType`], [`AttributeKey`], [`Info`] | §7, §10 |
//! | messages that are over when a call returns | [`send`](Communicator::send), [`recv`](Communicator::recv), [`sendrecv`](Communicator::sendrecv), [`probe`](Communicator::probe), with [`Source`], [`Tag`] and [`Status`] | §3.2 to §3.6, §3.8 |
//! | … nonblocking, that own their buffers | [`isend`](Communicator::isend), [`irecv`](Communicator::irecv): [`Request`], [`Requests`] | §3.7 |
//! | … nonblocking, that borrow them | [`Communicator::scope`]: [`Scope`] | §3.7 |
//! | … that are prepared once | [`Persistent`]; in parts [`PartitionedSend`], [`PartitionedRecv`] | §3.9, §4 |
//! | … of copies, within a limit of memory | [`Outbox`] | |
//! | elements, memory, parts of arrays | [`element`], [`Buffer`], [`layout`] | §5 |
//! | grids and graphs, halos | [`Cartesian`], [`Graph`], [`DistGraph`], [`HaloExchange`] | §8 |
//! | two groups | [`Intercommunicator`] | §7.6 |
//! | ranks that are lost | [`revoke`](Communicator::revoke), [`shrink`](Communicator::shrink) | |
//! | handles of code in C or Python | [`interop`] | |
//!
//! # Settings
//!
//! [`Builder`] has the thread level, time limits ([`OnTimeLimit`]) and what is compared
//! ([`Checks`]). Users have the same as environment variables, and more: which MPI it is, what is
//! reported.
//!
//! | feature | what it brings |
//! |---|---|
//! | `async` | requests as futures |
//! | `serde` | values of any type that serde can serialise, as messages |
//! | `tracing` | a span for each operation |
//!
//! # Errors
//!
//! An [`Error`] has a [kind](ErrorKind) and a text, which names the C call, the library, ranks and
//! sizes. Arguments that a rank can see to be wrong are one before anything is sent, and so is a
//! call from a thread that may not make it. No call panics on what a library or a peer does.
//!
//! # What it does not do
//!
//! Operations of all ranks are in `ranks-collectives`, windows in `ranks-rma-window`. Files,
//! processes that are started later, and sessions have no safe form.
#![cfg_attr(doc, doc = concat!(
    "\n# The guide\n\n[Messages](", env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/docs/guide/messages.md), ",
    "[environment variables](", env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/docs/guide/environment.md).",
))]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]

#[doc(hidden)]
pub mod backend;
mod call;
mod communicator;
mod data;
mod intercommunicator;
pub mod interop;
mod op;
mod p2p;
mod result;
mod runtime;
mod topology;
mod transport;

pub use call::checks::Checks;
pub use call::limit::OnTimeLimit;
#[cfg(feature = "tracing")]
pub use call::observe::look_for_subscriber;
#[doc(hidden)]
pub use call::record;
pub use call::thread_level::ThreadLevel;
pub use communicator::Communicator;
pub use communicator::attributes::AttributeKey;
pub use communicator::fault_tolerance::{Agreed, Shrunk};
pub use communicator::group::Group;
pub use communicator::split::SplitType;
pub use data::buffer::Buffer;
pub use data::element;
pub use data::layout::{self, Layout};
pub use data::owned::{RecvBuffer, SendBuffer};
pub use data::source::{Destination, Source};
pub use data::tag::Tag;
pub use element::{Pack, Pod, Zeroable};
pub use intercommunicator::{Intercommunicator, IntercommunicatorScope};
#[cfg(feature = "async")]
pub use op::future::RequestFuture;
pub use op::partitioned::{
    ActiveRecv, ActiveSend, PartitionWriter, PartitionedRecv, PartitionedSend,
};
pub use op::persistent::{Active, Persistent};
pub use op::request::Request;
pub use op::requests::{Completed, Pending, Requests};
pub use op::scope::{Borrowed, Scope, ScopedRequest};
pub use p2p::buffered::AttachedBuffer;
pub use p2p::message::Message;
pub use p2p::outbox::Outbox;
pub use ranks_launch::StopRequest;
pub use ranks_trace::{OperationStatistics, Statistics};
pub use result::{Error, ErrorKind, Result, Status};
pub use runtime::run::run;
pub use runtime::{Builder, Runtime};
pub use topology::cartesian::Cartesian;
pub use topology::dims::balanced_dims;
pub use topology::dist_graph::DistGraph;
pub use topology::graph::Graph;
pub use topology::halo_exchange::HaloExchange;
pub use topology::{Neighborhood, VirtualTopology};
pub use transport::buffered::BSEND_OVERHEAD;
pub use transport::comparison::Comparison;
pub use transport::facts::{Backend, Facts};
pub use transport::info::Info;

/// Tests count what tables take.
#[cfg(test)]
#[global_allocator]
static COUNTING: ranks_scale::Counting = ranks_scale::Counting;
