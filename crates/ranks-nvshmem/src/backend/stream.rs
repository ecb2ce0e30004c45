//! The streams that operations are enqueued on.

use std::fmt;

use ranks_comm::Result;
use ranks_cuda::{CudaStream, Event, RawStream};

use crate::backend::in_process::{HostEvent, HostStream};
use crate::call::error::of_driver;

/// A stream of a PE, made by [`Nvshmem::stream`](crate::Nvshmem::stream): operations are done in
/// the order in which they are enqueued, while the program goes on.
#[derive(Debug)]
#[non_exhaustive]
pub enum PeStream {
    /// Of the PE's device.
    Cuda(CudaStream),
    /// Of a PE that is a thread.
    Host(HostStream),
}

/// A stream that operations of the symmetric heap are enqueued on: [`PeStream`], [`HostStream`],
/// and each [`ranks_cuda::Stream`] of the PE's device.
///
/// It cannot be implemented elsewhere: implement [`ranks_cuda::Stream`].
pub trait Ordered: sealed::Sealed {}

pub(crate) mod sealed {
    use super::StreamRef;

    pub trait Sealed {
        fn stream_ref(&self) -> StreamRef<'_>;
    }
}

/// A stream, borrowed, of whichever backend.
#[derive(Clone, Copy)]
pub enum StreamRef<'a> {
    /// Of a device, with the driver's handle of it.
    Cuda(&'a dyn ranks_cuda::Stream, RawStream),
    /// Of a PE that is a thread.
    Host(&'a HostStream),
}

impl sealed::Sealed for PeStream {
    fn stream_ref(&self) -> StreamRef<'_> {
        match self {
            Self::Cuda(stream) => stream.stream_ref(),
            Self::Host(stream) => StreamRef::Host(stream),
        }
    }
}

impl Ordered for PeStream {}

impl sealed::Sealed for HostStream {
    fn stream_ref(&self) -> StreamRef<'_> {
        StreamRef::Host(self)
    }
}

impl Ordered for HostStream {}

impl<S: ranks_cuda::Stream> sealed::Sealed for S {
    fn stream_ref(&self) -> StreamRef<'_> {
        StreamRef::Cuda(self, self.raw())
    }
}

impl<S: ranks_cuda::Stream> Ordered for S {}

/// A point in the order of a stream: over when all is that was enqueued there before.
#[derive(Debug, Clone)]
pub(crate) enum Mark {
    Cuda(Event),
    Host(HostEvent),
}

impl Mark {
    /// Returns whether it is complete.
    pub(crate) fn is_over(&self, operation: &'static str) -> Result<bool> {
        match self {
            Self::Cuda(event) => event.query().map_err(|error| of_driver(operation, error)),
            Self::Host(event) => event.query(),
        }
    }

    /// The driver's, where there is one.
    pub(crate) fn event(&self) -> Option<&Event> {
        match self {
            Self::Cuda(event) => Some(event),
            Self::Host(_) => None,
        }
    }
}

impl StreamRef<'_> {
    /// A point after all that was enqueued so far.
    pub(crate) fn mark(self, operation: &'static str) -> Result<Mark> {
        match self {
            Self::Cuda(stream, _) => stream
                .record()
                .map(Mark::Cuda)
                .map_err(|error| of_driver(operation, error)),
            Self::Host(stream) => Ok(Mark::Host(stream.record())),
        }
    }

    /// Makes what is enqueued from now on wait. `mark` is of the same backend.
    pub(crate) fn wait_for(self, mark: &Mark, operation: &'static str) -> Result<()> {
        match (self, mark) {
            (Self::Cuda(stream, _), Mark::Cuda(event)) => stream
                .wait_event(event)
                .map_err(|error| of_driver(operation, error)),
            (Self::Host(stream), Mark::Host(event)) => {
                stream.wait_event(event);
                Ok(())
            }
            // A heap has streams of one backend only.
            _ => Ok(()),
        }
    }

    /// Returns whether everything enqueued is complete.
    pub(crate) fn is_idle(self, operation: &'static str) -> Result<bool> {
        match self {
            Self::Cuda(stream, _) => stream.query().map_err(|error| of_driver(operation, error)),
            Self::Host(stream) => stream.record().query(),
        }
    }
}

impl fmt::Debug for StreamRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cuda(_, raw) => raw.fmt(f),
            Self::Host(stream) => stream.fmt(f),
        }
    }
}
