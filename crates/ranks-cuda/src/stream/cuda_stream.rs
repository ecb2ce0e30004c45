//! Streams of this crate's own.

use std::fmt;
use std::sync::Arc;

use crate::driver::Context;
use crate::error::Result;
use crate::stream::{Priority, RawStream, Stream};

impl Context {
    /// A new stream, which does not wait for the default stream.
    ///
    /// # Errors
    /// Errors of the driver.
    #[doc(alias = "cuStreamCreate")]
    pub fn stream(&self) -> Result<CudaStream> {
        self.stream_with_priority(Priority::Normal)
    }

    /// A new stream of this priority.
    ///
    /// # Errors
    /// Errors of the driver.
    #[doc(alias = "cuStreamCreateWithPriority")]
    #[doc(alias = "cuCtxGetStreamPriorityRange")]
    pub fn stream_with_priority(&self, priority: Priority) -> Result<CudaStream> {
        let (mut least, mut greatest) = (0, 0);
        self.call("cuCtxGetStreamPriorityRange", |table| {
            // SAFETY: the driver writes an int to each of two addresses.
            unsafe { (table.cuCtxGetStreamPriorityRange)(&raw mut least, &raw mut greatest) }
        })?;
        let number = match priority {
            Priority::Normal => least,
            Priority::High => greatest,
        };
        let raw = self.new_stream(number)?;
        Ok(CudaStream::of(self, RawStream(raw), true))
    }

    /// A stream that another part of the program has made, in this context. It is not destroyed
    /// when this is dropped.
    ///
    /// # Safety
    /// `raw` is a stream of this context, or 0, 1, 2 for CUDA's default streams; it lives as long
    /// as this does.
    #[must_use]
    pub unsafe fn stream_from_raw(&self, raw: RawStream) -> CudaStream {
        CudaStream::of(self, raw, false)
    }

    /// Returns the stream on which memory is cleared and copied when nobody names one.
    pub(crate) fn own_stream(&self) -> CudaStream {
        CudaStream::of(self, RawStream(self.own_stream_handle()), false)
    }
}

/// A stream of this crate's, by [`Context::stream`]. Clones are the same stream.
///
/// Enqueued work goes on when the last one is dropped; the driver frees the stream after it.
#[derive(Clone)]
#[doc(alias = "cuStreamDestroy_v2")]
pub struct CudaStream(Arc<Inner>);

struct Inner {
    context: Context,
    raw: RawStream,
    /// True if it is destroyed here.
    own: bool,
}

impl CudaStream {
    fn of(context: &Context, raw: RawStream, own: bool) -> Self {
        let context = context.clone();
        CudaStream(Arc::new(Inner { context, raw, own }))
    }
}

// SAFETY: the handle was made by the context, or vouched for by the caller of
// `Context::stream_from_raw`, and lives until the last clone is dropped.
unsafe impl Stream for CudaStream {
    fn raw(&self) -> RawStream {
        self.0.raw
    }

    fn context(&self) -> Result<Context> {
        Ok(self.0.context.clone())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.own {
            // A failure here is reported by the next call that matters.
            let _ = self.context.call("cuStreamDestroy_v2", |table| {
                // SAFETY: the stream was made by the context, and this was the last to have it.
                unsafe { (table.cuStreamDestroy_v2)(self.raw.0) }
            });
        }
    }
}

impl fmt::Debug for CudaStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaStream")
            .field("device", &self.0.context.device().ordinal())
            .field("raw", &self.0.raw.0)
            .finish()
    }
}
