//! Words of the heap by which PEs tell each other that something has arrived.
//!
//! A signal is set or added to, from any PE, and waited for by the one that has it. These two are
//! all that NVSHMEM does from the host: its atomic operations (`nvshmem_uint64_atomic_add` and its
//! like) print that they are not implemented and return, so there are none here.

use std::fmt;
use std::time::Duration;

use ranks_comm::{Error, ErrorKind, Result};

use crate::backend::block::Offset;
use crate::backend::names::{PUT_SIGNAL, SIGNAL_FETCH, SIGNAL_OP, SIGNAL_WAIT};
use crate::backend::{Comparison, Direction, Order, Reuse, SignalOp, SignalUpdate};
use crate::call::time_limit::Limit;
use crate::call::time_limit::until;
use crate::heap::arguments::{Source, Symmetric};
use crate::heap::symmetric_vec::{SymmetricSlice, SymmetricVec};
use crate::pe::handle::Nvshmem;
use crate::stream::queue::Queue;
use crate::stream::reach::What;

/// A word of 64 bits on every PE, which others set and add to, and which is 0 at first.
#[derive(Debug)]
pub struct Signal<'c> {
    word: SymmetricVec<'c, u64>,
}

/// Several [`Signal`]s side by side.
#[derive(Debug)]
pub struct Signals<'c> {
    words: SymmetricVec<'c, u64>,
}

/// A [`Signal`], or one of [`Signals`]: what operations take, as `&signal` or `signals.at(3)?`.
#[derive(Clone, Copy)]
pub struct SignalRef<'a> {
    word: SymmetricSlice<'a, u64>,
}

impl<'a> From<&'a Signal<'_>> for SignalRef<'a> {
    fn from(signal: &'a Signal<'_>) -> Self {
        let word = signal.word.as_slice();
        Self { word }
    }
}

impl<'c> Signal<'c> {
    /// Frees it on all PEs. Collective.
    ///
    /// # Errors
    /// As [`SymmetricVec::free`].
    pub fn free(self) -> Result<()> {
        self.word.free()
    }
}

impl<'c> Signals<'c> {
    /// One of them.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if there is none of that number.
    pub fn at(&self, index: usize) -> Result<SignalRef<'_>> {
        let after = index.saturating_add(1);
        let word = self.words.slice(index..after)?;
        Ok(SignalRef { word })
    }

    /// The number of signals.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Frees them on all PEs. Collective.
    ///
    /// # Errors
    /// As [`SymmetricVec::free`].
    pub fn free(self) -> Result<()> {
        self.words.free()
    }
}

impl<'a> SignalRef<'a> {
    #[inline]
    pub(crate) fn update(&self, value: u64, op: SignalOp) -> Result<SignalUpdate<'a>> {
        let word = self.place()?;
        Ok(SignalUpdate { word, value, op })
    }

    #[inline]
    pub(crate) fn place(&self) -> Result<Offset<'a>> {
        self.word.span().place(size_of::<u64>()).ok_or_else(|| {
            let text = "the signal has no word";
            Error::new(ErrorKind::Argument, SIGNAL_OP, text)
        })
    }
}

impl Nvshmem<'_> {
    /// A signal. Collective.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    pub fn signal(&self) -> Result<Signal<'_>> {
        let word = self.alloc(1)?;
        Ok(Signal { word })
    }

    /// `count` signals. Collective; `count` is the same on all PEs.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    pub fn signals(&self, count: usize) -> Result<Signals<'_>> {
        let words = self.alloc(count)?;
        Ok(Signals { words })
    }

    /// Puts the elements of `source` to where `dest` is on the PE `pe`, and then does `op` with
    /// `value` to its signal: who sees that has the elements.
    ///
    /// On return, `source` may be used again. Without elements the signal is sent all the same.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    #[doc(alias = "nvshmemx_putmem_signal_on_stream")]
    pub fn put_signal<'s, D, S>(
        &self,
        dest: D,
        source: S,
        signal: impl Into<SignalRef<'s>>,
        value: u64,
        op: SignalOp,
        pe: usize,
    ) -> Result<()>
    where
        D: Symmetric,
        S: Source<Element = D::Element>,
    {
        let what = What::with(PUT_SIGNAL.of(Order::Now, Reuse::After), pe);
        let reach = self.reach(what.name)?;
        let signal = signal.into().update(value, op)?;
        reach.on_own_stream_with(what, source, Direction::Put, |source, stream| {
            reach.put_signal(&dest, source, signal, pe, stream, Reuse::After)
        })
    }

    /// Does `op` with `value` to the signal of the PE `pe`. When it returns, it is done or under
    /// way.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] if there is no such PE.
    #[doc(alias = "nvshmemx_signal_op")]
    #[doc(alias = "nvshmemx_signal_op_on_stream")]
    pub fn signal_op<'s>(
        &self,
        signal: impl Into<SignalRef<'s>>,
        value: u64,
        op: SignalOp,
        pe: usize,
    ) -> Result<()> {
        let what = What::with(SIGNAL_OP, pe);
        let reach = self.reach(SIGNAL_OP)?;
        let signal = signal.into().update(value, op)?;
        reach.on_own_stream(what, None, |stream| reach.signal_op(signal, pe, stream))
    }

    /// This PE's word of the signal, now.
    ///
    /// # Errors
    /// Errors that the library reports.
    #[doc(alias = "nvshmem_signal_fetch")]
    pub fn signal_fetch<'s>(&self, signal: impl Into<SignalRef<'s>>) -> Result<u64> {
        let backend = self.reach(SIGNAL_FETCH)?.backend;
        backend.signal_fetch(signal.into().place()?)
    }

    /// Waits until this PE's word of the signal compares so with `value`.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] after the heap's time limit, if it has one.
    #[doc(alias = "nvshmem_signal_wait_until")]
    #[doc(alias = "nvshmemx_signal_wait_until_on_stream")]
    pub fn signal_wait_until<'s>(
        &self,
        signal: impl Into<SignalRef<'s>>,
        comparison: Comparison,
        value: u64,
    ) -> Result<()> {
        self.wait_until(signal.into(), comparison, value, None)
    }

    /// As [`signal_wait_until`](Self::signal_wait_until), for no longer than `limit`. The word is
    /// looked at once, however short that is.
    ///
    /// A wait that has timed out goes on in the library, and until the word compares so nothing can
    /// be freed: [`free`](crate::SymmetricVec::free) and [`finalize`](Nvshmem::finalize) wait for
    /// it. Where nobody will set the signal, this PE does:
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use ranks::nvshmem::{Comparison, HeapBackend, Nvshmem, NvshmemOptions, SignalOp};
    /// # fn main() -> ranks::Result<()> {
    /// # ranks::run(|world| {
    /// # let pe = Nvshmem::init(&world, &NvshmemOptions::new().backend(HeapBackend::InProcess))?;
    /// let arrived = pe.signal()?;
    /// let limit = Duration::from_millis(10);
    /// if pe.signal_wait_until_for(&arrived, Comparison::Equal, 1, limit).is_err() {
    ///     pe.signal_op(&arrived, 1, SignalOp::Set, pe.my_pe())?;
    /// }
    /// arrived.free()?;
    /// pe.finalize()
    /// # })
    /// # }
    /// ```
    ///
    /// To look now and then there is [`signal_fetch`](Self::signal_fetch), which leaves nothing
    /// behind.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] after `limit`.
    pub fn signal_wait_until_for<'s>(
        &self,
        signal: impl Into<SignalRef<'s>>,
        comparison: Comparison,
        value: u64,
        limit: Duration,
    ) -> Result<()> {
        self.wait_until(signal.into(), comparison, value, Some(limit))
    }

    fn wait_until(
        &self,
        signal: SignalRef<'_>,
        comparison: Comparison,
        value: u64,
        limit: Limit,
    ) -> Result<()> {
        let what = What::of(SIGNAL_WAIT);
        let (reach, signal) = (self.reach(SIGNAL_WAIT)?, signal.place()?);
        let holds = || {
            let word = reach.backend.signal_fetch(signal)?;
            Ok(comparison.holds(word, value))
        };
        if reach.pe.limited {
            // No stream can wait where PEs share a GPU without MPS: the host looks again and again.
            let waited = until(limit.or(reach.pe.limit), holds)?;
            return waited.map_err(|limit| what.too_late(limit));
        }
        // A short limit passes before a stream has looked.
        if limit.is_some() && holds()? {
            return Ok(());
        }
        reach.on_own_stream(what, limit, |stream| {
            let backend = reach.backend;
            backend.signal_wait_until(signal, comparison, value, stream)
        })
    }
}

impl Comparison {
    /// Returns whether `word` compares so with `value`.
    pub(crate) fn holds(self, word: u64, value: u64) -> bool {
        match self {
            Self::Equal => word == value,
            Self::NotEqual => word != value,
            Self::Greater => word > value,
            Self::LessOrEqual => word <= value,
            Self::Less => word < value,
            Self::GreaterOrEqual => word >= value,
        }
    }
}

impl<'env> Queue<'env> {
    /// As [`put`](Self::put), and then does `op` with `value` to the signal of the PE: who sees
    /// that has the elements.
    ///
    /// Without elements the signal is sent all the same.
    ///
    /// # Errors
    /// As [`Nvshmem::put`].
    #[doc(alias = "nvshmemx_putmem_signal_on_stream")]
    #[inline]
    pub fn put_signal<D, S>(
        &self,
        dest: D,
        source: S,
        signal: impl Into<SignalRef<'env>>,
        value: u64,
        op: SignalOp,
        pe: usize,
    ) -> Result<()>
    where
        D: Symmetric + 'env,
        S: Source<Element = D::Element> + 'env,
    {
        let signal = signal.into().update(value, op)?;
        self.put_signal_as(dest, source, signal, pe, Reuse::After)
    }

    /// As [`put_signal`](Self::put_signal), and `source` may be used again after
    /// [`quiet`](Self::quiet), [`flush`](Self::flush) or a barrier only.
    ///
    /// # Errors
    /// As [`Nvshmem::put`].
    #[doc(alias = "nvshmemx_putmem_signal_nbi_on_stream")]
    pub fn put_signal_nbi<D, S>(
        &self,
        dest: D,
        source: S,
        signal: impl Into<SignalRef<'env>>,
        value: u64,
        op: SignalOp,
        pe: usize,
    ) -> Result<()>
    where
        D: Symmetric + 'env,
        S: Source<Element = D::Element> + 'env,
    {
        self.set_begun(true);
        let signal = signal.into().update(value, op)?;
        self.put_signal_as(dest, source, signal, pe, Reuse::AfterQuiet)
    }

    #[inline]
    fn put_signal_as<D, S>(
        &self,
        dest: D,
        source: S,
        signal: SignalUpdate<'env>,
        pe: usize,
        reuse: Reuse,
    ) -> Result<()>
    where
        D: Symmetric + 'env,
        S: Source<Element = D::Element> + 'env,
    {
        let what = What::with(PUT_SIGNAL.of(self.order(), reuse), pe);
        self.enqueue_with(what, source, Direction::Put, dest, |source, dest| {
            self.reach
                .put_signal(dest, source, signal, pe, self.stream, reuse)
        })
    }

    /// Does `op` with `value` to the signal of the PE `pe`.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] if there is no such PE.
    #[doc(alias = "nvshmemx_signal_op_on_stream")]
    pub fn signal_op(
        &self,
        signal: impl Into<SignalRef<'env>>,
        value: u64,
        op: SignalOp,
        pe: usize,
    ) -> Result<()> {
        let signal = signal.into().update(value, op)?;
        self.enqueue(SIGNAL_OP, Some(pe), || {
            self.reach.signal_op(signal, pe, self.stream)
        })
    }

    /// The stream goes on when this PE's word of the signal compares so with `value`.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] where PEs share a GPU without MPS ([`Nvshmem::limited`]):
    /// NVSHMEM would end the process. [`Nvshmem::signal_wait_until`] does it on the host.
    #[doc(alias = "nvshmemx_signal_wait_until_on_stream")]
    pub fn signal_wait_until(
        &self,
        signal: impl Into<SignalRef<'env>>,
        comparison: Comparison,
        value: u64,
    ) -> Result<()> {
        let signal = signal.into().place()?;
        self.enqueue_wait(SIGNAL_WAIT, None, || {
            let backend = self.reach.backend;
            backend.signal_wait_until(signal, comparison, value, self.stream)
        })
    }
}

impl fmt::Debug for SignalRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignalRef").finish_non_exhaustive()
    }
}
