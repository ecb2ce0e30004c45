//! Communicators, two-sided communication and the runtime, over MPI or in process
#![deny(unsafe_code)]

mod agree;
mod attributes;
#[doc(hidden)]
pub mod backend;
mod buffer;
mod buffered;
mod cartesian;
mod checks;
mod communicator;
mod dims;
mod dist_graph;
pub mod element;
mod entered;
mod environment;
mod error;
mod express;
mod fault_tolerance;
mod flight;
#[cfg(feature = "async")]
mod future;
mod gate;
mod graph;
mod grid;
mod group;
mod halo_exchange;
mod in_flight;
mod in_process;
mod info;
mod intercommunicator;
pub mod interop;
mod irecv;
mod isend;
mod landing;
pub mod layout;
mod limit;
mod message;
mod mpi;
mod observe;
mod outbox;
mod own_file;
mod owned;
mod partitioned;
mod persistent;
mod probe;
mod ready;
#[doc(hidden)]
pub mod record;
mod recv;
mod request;
mod requests;
mod run;
mod runtime;
mod scope;
mod send;
mod sendrecv;
mod settings;
mod source;
mod split;
mod status;
mod tag;
mod thread_level;
mod topology;
mod trusting;
mod under_way;
#[cfg(feature = "serde")]
mod value;

pub use attributes::AttributeKey;
pub use buffer::Buffer;
pub use buffered::{AttachedBuffer, BSEND_OVERHEAD};
pub use cartesian::Cartesian;
pub use checks::Checks;
pub use communicator::{Communicator, Comparison};
pub use dims::balanced_dims;
pub use dist_graph::DistGraph;
pub use element::{Pod, Zeroable};
pub use error::{Error, ErrorKind, Result};
pub use fault_tolerance::{Agreed, Shrunk};
#[cfg(feature = "async")]
pub use future::RequestFuture;
pub use graph::Graph;
pub use group::Group;
pub use halo_exchange::HaloExchange;
pub use info::Info;
pub use intercommunicator::{Intercommunicator, IntercommunicatorScope};
pub use layout::Layout;
pub use limit::OnTimeLimit;
pub use message::Message;
#[cfg(feature = "tracing")]
pub use observe::look_for_subscriber;
pub use observe::{OperationStatistics, Statistics};
pub use outbox::Outbox;
pub use owned::{RecvBuffer, SendBuffer};
pub use partitioned::{ActiveRecv, ActiveSend, PartitionWriter, PartitionedRecv, PartitionedSend};
pub use persistent::{Active, Persistent};
pub use request::Request;
pub use requests::{Completed, Pending, Requests};
pub use run::run;
pub use runtime::{Backend, Builder, Facts, Runtime};
pub use scope::{Borrowed, Scope, ScopedRequest};
pub use source::{Destination, Source};
pub use split::SplitType;
pub use status::Status;
pub use tag::Tag;
pub use thread_level::ThreadLevel;
pub use topology::{Neighborhood, VirtualTopology};
