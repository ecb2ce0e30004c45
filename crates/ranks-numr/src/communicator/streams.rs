//! Streams that numr's functions name by a number: those that the program has shown, and the
//! driver's default ones.

use std::fmt;
use std::ptr::without_provenance_mut;
use std::sync::{Arc, Mutex, PoisonError};

use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::{RawStream, Stream};

use crate::communicator::NumrCommunicator;

type Shown = Arc<dyn Stream + Send + Sync>;

/// The streams that were shown to a communicator and to those that were split from it.
#[derive(Clone, Default)]
pub(crate) struct Streams(Arc<Mutex<Vec<Shown>>>);

/// A stream that stays as long as this does.
pub(crate) enum Known {
    Default(RawStream),
    Shown(Shown),
}

impl Known {
    pub(crate) fn raw(&self) -> RawStream {
        match self {
            Self::Default(raw) => *raw,
            Self::Shown(stream) => stream.raw(),
        }
    }
}

impl NumrCommunicator {
    /// Lets numr's `StreamSyncOps` use `stream`, of this communicator and of those that are split
    /// from it from now on: their functions are safe and take a number, which could be anything. It
    /// is kept as long as they are.
    ///
    /// One of numr's own is made known by
    /// [`Context::stream_from_raw`](ranks_cuda::Context::stream_from_raw). The driver's default
    /// streams (0, 1, 2) are known.
    ///
    /// ```no_run
    /// # fn f(comm: &ranks_numr::NumrCommunicator, context: &ranks_cuda::Context, handle: u64) {
    /// # let raw = ranks_cuda::RawStream(std::ptr::with_exposed_provenance_mut(handle as usize));
    /// // SAFETY: `handle` is that of a stream of this context, which numr's client keeps.
    /// comm.show_stream(unsafe { context.stream_from_raw(raw) });
    /// # }
    /// ```
    pub fn show_stream(&self, stream: impl Stream + Send + Sync + 'static) {
        let mut shown = self
            .streams
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        shown.retain(|other| other.raw() != stream.raw());
        shown.push(Arc::new(stream));
    }

    /// # Errors
    /// [`ErrorKind::Argument`] for a number that is none of a known stream.
    pub(crate) fn stream(&self, handle: u64) -> Result<Known> {
        let number = usize::try_from(handle).unwrap_or(usize::MAX);
        if number <= 2 {
            return Ok(Known::Default(RawStream(without_provenance_mut(number))));
        }
        let shown = self
            .streams
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let found = shown.iter().find(|stream| stream.raw().0.addr() == number);
        found.cloned().map(Known::Shown).ok_or_else(|| {
            let text = format_args!(
                "{handle:#x} is no stream that the communicator knows of; NumrCommunicator::show_stream shows it one"
            );
            Error::new(ErrorKind::Argument, "stream_handle", text)
        })
    }
}

impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_tuple("Streams").field(&shown.len()).finish()
    }
}
