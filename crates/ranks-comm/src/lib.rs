//! Communicators, point-to-point communication and the runtime, over MPI or in process (threads as
//! ranks).
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
pub use element::{Pod, Zeroable};
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
