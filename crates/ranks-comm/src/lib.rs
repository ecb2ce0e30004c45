//! Communicators, two-sided communication and the runtime, over MPI or in process
#![deny(unsafe_code)]

mod attributes;
#[doc(hidden)]
pub mod backend;
mod buffer;
mod communicator;
pub mod element;
mod environment;
mod error;
mod flight;
mod group;
mod in_process;
mod info;
mod irecv;
mod isend;
mod landing;
pub mod layout;
mod message;
mod mpi;
mod owned;
mod probe;
mod recv;
mod request;
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
#[cfg(feature = "serde")]
mod value;

pub use attributes::AttributeKey;
pub use buffer::Buffer;
pub use communicator::{Communicator, Comparison};
pub use element::{Pod, Zeroable};
pub use error::{Error, ErrorKind, Result};
pub use group::Group;
pub use info::Info;
pub use layout::Layout;
pub use message::Message;
pub use owned::{RecvBuffer, SendBuffer};
pub use request::Request;
pub use run::run;
pub use runtime::{Backend, Builder, Facts, Runtime};
pub use scope::{Borrowed, Scope, ScopedRequest};
pub use source::{Destination, Source};
pub use split::SplitType;
pub use status::Status;
pub use tag::Tag;
pub use thread_level::ThreadLevel;
