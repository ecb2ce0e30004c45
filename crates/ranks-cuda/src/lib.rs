//! The part of the CUDA driver that communication needs, found at run time: devices, contexts, streams, events, memory.

mod stream;

pub use stream::RawStream;
