//! Events between the streams of the program and that of a communicator.
#![allow(unsafe_code)]

use ranks_comm::Result;
use ranks_cuda::RawStream;

/// Orders the communicator's stream and the program's by events. Events are numbers, so that they
/// can be kept anywhere.
pub trait StreamSync {
    /// A new event.
    ///
    /// # Errors
    /// Errors of the driver.
    fn create_event(&self) -> Result<u64>;

    /// Lets go of an event, which may still be pending. An event that is not there (any more) is
    /// none of anybody's concern.
    ///
    /// # Errors
    /// Errors of the driver.
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

    /// Has operations that start on the communicator from now on wait for the event.
    ///
    /// # Errors
    /// [`Argument`](ranks_comm::ErrorKind::Argument) for an event that is not there.
    fn comm_stream_wait_event(&self, event: u64) -> Result<()>;

    /// Has work that is enqueued on `stream` from now on wait for the event.
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
    /// As [`RawCollectives::sync`](crate::RawCollectives::sync).
    fn sync_comm_stream(&self) -> Result<()>;
}
