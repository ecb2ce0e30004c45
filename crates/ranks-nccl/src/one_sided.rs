//! Puts to the memory of other ranks, and signals: the other rank need not make a call for a put to
//! arrive.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use ranks_comm::backend::Count;
use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::{DeviceSlice, Enqueued, RawStream, Stream};
use ranks_nccl_sys::{ncclDataType_t, ncclWaitSignalDesc_t, ncclWindow_t};

use super::NcclCommunicator;
use super::element::Element;
use super::queue::Queue;
use crate::call::checks::{Checks, Source};
use crate::memory::window::Window;
use crate::state::Shared;
use crate::state::time_limit::NcclWatch;

const PUT: &str = "ncclPutSignal";
const SIGNAL: &str = "ncclSignal";
const WAIT: &str = "ncclWaitSignal";

/// The one signal that every communicator has, and its context.
const INDEX: c_int = 0;
const CONTEXT: c_int = 0;

/// A put whose range, rank and window have been compared.
#[derive(Debug, Clone, Copy)]
struct Put {
    local: u64,
    count: usize,
    datatype: ncclDataType_t,
    peer: c_int,
    window: ncclWindow_t,
    /// In bytes.
    offset: usize,
}

impl Put {
    /// # Errors
    /// [`ErrorKind::Rank`], [`ErrorKind::Length`], [`ErrorKind::Argument`], as the operations say.
    fn new<S>(
        checks: Checks<'_>,
        shared: &Arc<Shared>,
        send: &S,
        (dest, window, offset): (usize, &Window<S::Element>, usize),
    ) -> Result<Self>
    where
        S: DeviceSlice<Element: Element>,
    {
        let peer = checks.peer(PUT, dest)?;
        let handle = window.handle_for(PUT, shared)?;
        let span = send.span(checks)?;
        // The rank is there.
        let room = window.lengths().get(dest).copied().unwrap_or(0);
        let end = offset.checked_add(span.len);
        if end.is_none_or(|end| end > room) {
            let detail = format_args!(
                "{} from {offset} on: not in the window of rank {dest}, which has {room}",
                Count(span.len, "element")
            );
            return Err(Error::new(ErrorKind::Length, PUT, detail));
        }
        Ok(Self {
            local: span.address,
            count: span.len,
            datatype: span.datatype,
            peer,
            window: handle,
            // Does not overflow: it lies in the window.
            offset: offset * span.width,
        })
    }

    /// # Safety
    /// The memory and the window stay until it is over, and the stream is a live one of the
    /// communicator's device.
    unsafe fn enqueue(self, shared: &Arc<Shared>, stream: RawStream) -> Result<()> {
        shared.call(PUT, |table, comm| {
            let put = table.ncclPutSignal?;
            let local = self.local as *const c_void;
            let Self {
                count,
                datatype,
                peer,
                window,
                offset,
                ..
            } = self;
            let stream = stream.0.cast();
            // SAFETY: the communicator is alive; the rest is what the caller vouches for.
            Some(unsafe {
                put(
                    local, count, datatype, peer, window, offset, INDEX, CONTEXT, 0, comm, stream,
                )
            })
        })
    }
}

/// # Safety
/// The stream is a live one of the communicator's device.
unsafe fn signal(shared: &Arc<Shared>, peer: c_int, stream: RawStream) -> Result<()> {
    shared.call(SIGNAL, |table, comm| {
        let signal = table.ncclSignal?;
        // SAFETY: the communicator is alive; the caller vouches for the stream.
        Some(unsafe { signal(peer, INDEX, CONTEXT, 0, comm, stream.0.cast()) })
    })
}

/// The numbers of signals to wait for, of which ranks, in the library's form.
fn descriptions(checks: Checks<'_>, from: &[(usize, usize)]) -> Result<Vec<ncclWaitSignalDesc_t>> {
    let description = |&(rank, count): &(usize, usize)| {
        let peer = checks.peer(WAIT, rank)?;
        let count = c_int::try_from(count).map_err(|_| {
            let detail = format_args!("{count} signals are more than {}", c_int::MAX);
            Error::new(ErrorKind::Argument, WAIT, detail)
        })?;
        Ok(ncclWaitSignalDesc_t {
            opCnt: count,
            peer,
            sigIdx: INDEX,
            ctx: CONTEXT,
        })
    };
    from.iter().map(description).collect()
}

/// # Safety
/// So many descriptions are there until the wait is enqueued, and the stream is a live one of the
/// communicator's device.
unsafe fn wait_signal(
    shared: &Arc<Shared>,
    descriptions: *mut ncclWaitSignalDesc_t,
    count: usize,
    stream: RawStream,
) -> Result<()> {
    let number = c_int::try_from(count).map_err(|_| {
        let detail = format_args!("{count} ranks are too many");
        Error::new(ErrorKind::Argument, WAIT, detail)
    })?;
    shared.call(WAIT, |table, comm| {
        let wait = table.ncclWaitSignal?;
        // SAFETY: the communicator is alive; the caller vouches for the rest.
        Some(unsafe { wait(number, descriptions, comm, stream.0.cast()) })
    })
}

impl Shared {
    /// # Errors
    /// [`ErrorKind::NotInLibrary`] where the library is too old, or says that it cannot here.
    fn one_sided(self: &Arc<Self>, operation: &'static str) -> Result<()> {
        if !self.nccl().has(operation) {
            let text = self.nccl().lacks(operation);
            return Err(Error::with_text(ErrorKind::NotInLibrary, operation, text));
        }
        let able = NcclCommunicator::of(Arc::clone(self))
            .properties()?
            .host_rma;
        if able {
            return Ok(());
        }
        let text = "the library has no one-sided operations on this machine (hostRmaSupport is 0)";
        Err(Error::new(ErrorKind::NotInLibrary, operation, text))
    }
}

impl NcclCommunicator {
    /// Enqueues on `stream` to put `send` to the elements from `offset` on of rank `dest`'s part of
    /// `window`, and to signal that rank when they are there.
    ///
    /// # Errors
    /// [`Rank`](ErrorKind::Rank) if there is no such rank, [`Length`](ErrorKind::Length) if its
    /// part of the window has no such elements, [`Argument`](ErrorKind::Argument) if the window is
    /// of another communicator, [`NotInLibrary`](ErrorKind::NotInLibrary) before NCCL 2.29 and
    /// where it has no one-sided operations; otherwise as [all](crate#operations).
    #[doc(alias = "ncclPutSignal")]
    pub fn put_signal<S, T>(
        &self,
        send: S,
        dest: usize,
        window: &Window<S::Element>,
        offset: usize,
        stream: &T,
    ) -> Result<Enqueued<S, NcclWatch>>
    where
        S: DeviceSlice<Element: Element> + Send + 'static,
        T: Stream,
    {
        let shared = self.shared();
        shared.one_sided(PUT)?;
        let put = Put::new(self.checks(stream), shared, &send, (dest, window, offset))?;
        let tell = |event: &_| window.used_until(event);
        // SAFETY: the memory is the buffer's, and the window is told; the stream is of the
        // communicator's device, by `begin`.
        let enqueue = || unsafe { put.enqueue(shared, stream.raw()) };
        // SAFETY: as above.
        unsafe { self.begin(PUT, send, tell, stream, enqueue) }
    }

    /// Enqueues on `stream` to signal rank `dest`.
    ///
    /// # Errors
    /// [`Rank`](ErrorKind::Rank) if there is no such rank,
    /// [`NotInLibrary`](ErrorKind::NotInLibrary) before NCCL 2.29 and where it has no one-sided
    /// operations; otherwise as [all](crate#operations).
    #[doc(alias = "ncclSignal")]
    pub fn signal(&self, dest: usize, stream: &impl Stream) -> Result<Enqueued<(), NcclWatch>> {
        let shared = self.shared();
        shared.one_sided(SIGNAL)?;
        let peer = self.checks(stream).peer(SIGNAL, dest)?;
        // SAFETY: the stream is of the communicator's device, by `begin`.
        let enqueue = || unsafe { signal(shared, peer, stream.raw()) };
        // SAFETY: no memory is used.
        unsafe { self.begin(SIGNAL, (), |_| (), stream, enqueue) }
    }

    /// Enqueues on `stream` to wait for so many signals of each of these ranks: what they have put
    /// before is there then.
    ///
    /// # Errors
    /// [`Rank`](ErrorKind::Rank) if there is no such rank,
    /// [`NotInLibrary`](ErrorKind::NotInLibrary) before NCCL 2.29 and where it has no one-sided
    /// operations; otherwise as [all](crate#operations).
    #[doc(alias = "ncclWaitSignal")]
    pub fn wait_signal(
        &self,
        from: &[(usize, usize)],
        stream: &impl Stream,
    ) -> Result<Enqueued<(), NcclWatch>> {
        let shared = self.shared();
        shared.one_sided(WAIT)?;
        let mut all = descriptions(self.checks(stream), from)?;
        let (first, count) = (all.as_mut_ptr(), all.len());
        // SAFETY: the descriptions are there until this returns, when the wait is enqueued; the
        // stream is of the communicator's device, by `begin`.
        let enqueue = || unsafe { wait_signal(shared, first, count, stream.raw()) };
        // SAFETY: no memory of the device is used.
        unsafe { self.begin(WAIT, (), |_| (), stream, enqueue) }
    }
}

impl<'env> Queue<'env> {
    /// Enqueues to put `send` to the elements from `offset` on of rank `dest`'s part of `window`,
    /// and to signal that rank when they are there.
    ///
    /// # Errors
    /// As [`NcclCommunicator::put_signal`].
    #[doc(alias = "ncclPutSignal")]
    pub fn put_signal<S>(
        &self,
        send: S,
        dest: usize,
        window: &'env Window<S::Element>,
        offset: usize,
    ) -> Result<()>
    where
        S: DeviceSlice<Element: Element> + 'env,
    {
        let shared = self.shared();
        shared.one_sided(PUT)?;
        let put = Put::new(self.checks(), shared, &send, (dest, window, offset))?;
        self.keep(move |event| {
            send.used_until(event);
            window.used_until(event);
        });
        // SAFETY: memory and window are kept until they were told of an event that comes after; the
        // stream is of the communicator's device.
        unsafe { put.enqueue(shared, self.stream().raw()) }
    }

    /// Enqueues to signal rank `dest`.
    ///
    /// # Errors
    /// As [`NcclCommunicator::signal`].
    #[doc(alias = "ncclSignal")]
    pub fn signal(&self, dest: usize) -> Result<()> {
        let shared = self.shared();
        shared.one_sided(SIGNAL)?;
        let peer = self.checks().peer(SIGNAL, dest)?;
        self.keep(|_| ());
        // SAFETY: the stream is of the communicator's device.
        unsafe { signal(shared, peer, self.stream().raw()) }
    }

    /// Enqueues to wait for so many signals of each of these ranks: what they have put before is
    /// there then.
    ///
    /// # Errors
    /// As [`NcclCommunicator::wait_signal`].
    #[doc(alias = "ncclWaitSignal")]
    pub fn wait_signal(&self, from: &[(usize, usize)]) -> Result<()> {
        let shared = self.shared();
        shared.one_sided(WAIT)?;
        let mut all = descriptions(self.checks(), from)?;
        let (first, count) = (all.as_mut_ptr(), all.len());
        // A group reads them at its end.
        self.keep(move |_| drop(all));
        // SAFETY: the descriptions are kept until the queue ends, which is after any group; the
        // stream is of the communicator's device.
        unsafe { wait_signal(shared, first, count, self.stream().raw()) }
    }
}
