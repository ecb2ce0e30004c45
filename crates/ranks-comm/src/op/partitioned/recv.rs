//! Partitioned receives: partitions are read as they arrive.
#![allow(unsafe_code)]

use std::fmt;
use std::sync::Mutex;

use super::arrivals::Arrivals;
use super::{Link, let_go, width};
use crate::call::lock::lock;
use crate::call::record;
use crate::communicator::Communicator;
use crate::data::in_flight::InFlight;
use crate::data::lent::Lent;
use crate::data::owned::RecvBuffer;
use crate::data::raw_slice::{Element, OpInfo};
use crate::result::{Error, ErrorKind, Result};
use crate::transport::backend::Backend;
use crate::transport::in_process::channels::Direction;

static RECV: OpInfo = OpInfo::of("MPI_Precv_init");

/// An inactive partitioned receive; it owns its buffer. From [`Communicator::precv_init`].
///
/// MPI 5.0 §4.2.
pub struct PartitionedRecv<B: RecvBuffer + Send + 'static>(Box<Receiving<B>>);

/// An active [`PartitionedRecv`]: any thread can read the partitions as they arrive.
///
/// If it is dropped, it is left to the runtime with its buffer.
#[must_use = "an operation is complete only after a wait"]
pub struct ActiveRecv<B: RecvBuffer + Send + 'static>(Box<Receiving<B>>);

struct Receiving<B: Send + 'static> {
    comm: Communicator,
    link: Link,
    started: bool,
    place: Lent,
    /// A partition is read only when all of it has arrived.
    arrived: Arrivals,
    /// Lock of the thread that copies parts to their places, in process.
    turn: Mutex<()>,
    /// `None` once it was given back.
    buffer: Option<InFlight<B>>,
}

impl Communicator {
    /// Prepares to receive the message of a [`psend_init`](Self::psend_init) of `source`, in
    /// `partitions` parts of equal length. Local.
    ///
    /// # Errors
    /// As [`psend_init`](Self::psend_init).
    ///
    /// MPI 5.0 §4.2.1 (`MPI_Precv_init`).
    #[doc(alias = "MPI_Precv_init")]
    pub fn precv_init<B>(
        &self,
        buffer: B,
        partitions: usize,
        source: usize,
        tag: i32,
    ) -> Result<PartitionedRecv<B>>
    where
        B: RecvBuffer + Send + 'static,
    {
        self.source(RECV.operation, source)?;
        self.check_tag(RECV.operation, tag)?;
        let width = width::<B>(RECV.operation, &buffer, partitions)?;
        let (buffer, (place, link)) = InFlight::begun(buffer, |buffer| {
            // SAFETY: the buffer stays in what is made here, which uses its elements by way of this
            // alone.
            let place = unsafe { Lent::to_write(buffer.as_mut_slice()) };
            let span = place.span;
            let link = self.dispatch(
                RECV.operation,
                |comm| {
                    // SAFETY: the buffer stays in what is made here.
                    let parts = unsafe { comm.precv_init(&RECV, span, partitions, source, tag)? };
                    Ok(Link::Mpi(parts))
                },
                |comm| {
                    let element = Element::of::<B::Element>();
                    let from = Direction::Receiver;
                    let channel = comm.channel(RECV.operation, from, source, tag, element);
                    channel.map(Link::InProcess)
                },
            )?;
            Ok((place, link))
        })?;
        Ok(PartitionedRecv(Box::new(Receiving {
            comm: self.clone(),
            link,
            started: false,
            place,
            arrived: Arrivals::new(partitions, width),
            turn: Mutex::default(),
            buffer: Some(buffer),
        })))
    }
}

impl<B: RecvBuffer + Send + 'static> PartitionedRecv<B> {
    /// Starts to receive a message.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`], [`ErrorKind::Finalized`], or what the library reports. The
    /// request is lost then.
    ///
    /// MPI 5.0 §4.2.1 (`MPI_Start`).
    #[doc(alias = "MPI_Start")]
    pub fn start(mut self) -> Result<ActiveRecv<B>> {
        let inner = &mut *self.0;
        inner.arrived.clear();
        let entered = inner.comm.enter(record::START)?;
        if let Link::Mpi(parts) = &mut inner.link {
            inner.started = true;
            parts.start().inspect_err(|_| inner.started = false)?;
        }
        drop(entered);
        inner.started = true;
        Ok(ActiveRecv(self.0))
    }

    /// The elements that were received last.
    #[must_use]
    pub fn buffer(&self) -> &[B::Element] {
        let place = self.0.at_rest();
        // SAFETY: the elements of the buffer, on which nothing works, or can while `self` is
        // borrowed.
        place.map_or(&[], |place| unsafe { place.as_slice() })
    }

    /// The same elements, mutably.
    #[must_use]
    pub fn buffer_mut(&mut self) -> &mut [B::Element] {
        match self.0.at_rest() {
            // SAFETY: as above, and nothing else can use them.
            Some(place) => unsafe { place.as_mut_slice() },
            None => &mut [],
        }
    }
}

impl<B: RecvBuffer + Send + 'static> ActiveRecv<B> {
    /// The number of partitions.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.0.arrived.len()
    }

    /// The elements of partition `index`, if all of them have arrived. Nonblocking. Any thread may
    /// call it.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if there is no such partition; [`ErrorKind::WrongThread`],
    /// [`ErrorKind::Finalized`]; in process [`ErrorKind::Length`] if the sender's length is
    /// another, [`ErrorKind::Type`] if its elements are numbers of another type, and
    /// [`ErrorKind::PeerFailed`] if it has ended; what the library reports.
    ///
    /// MPI 5.0 §4.2.2 (`MPI_Parrived`).
    #[doc(alias = "MPI_Parrived")]
    pub fn parrived(&self, index: usize) -> Result<Option<&[B::Element]>> {
        let inner = &*self.0;
        let count = inner.arrived.len();
        if index >= count {
            return Err(Error::new(
                ErrorKind::Argument,
                "MPI_Parrived",
                format_args!("partition {index} does not exist: there are {count}"),
            ));
        }
        if !inner.arrived.has(index) {
            let _entered = inner.comm.enter("MPI_Parrived")?;
            inner.look(index)?;
            if !inner.arrived.has(index) {
                return Ok(None);
            }
        }
        let width = inner.arrived.width();
        let part = inner.place.part::<B::Element>(index, width);
        // SAFETY: these are elements of the buffer, which stays as long as `self`; they have
        // arrived, and are not written to before the next start: the sender sends each once
        // (`States`), and nobody else in this context (`Comm::channel`).
        Ok(Some(unsafe { part.as_slice() }))
    }

    /// Waits until all partitions have arrived.
    ///
    /// # Errors
    /// As [`parrived`](Self::parrived); [`ErrorKind::Truncated`] if the library says that more was
    /// sent. The request is lost then.
    ///
    /// MPI 5.0 §3.7.3 (`MPI_Wait`).
    #[doc(alias = "MPI_Wait")]
    pub fn wait(mut self) -> Result<PartitionedRecv<B>> {
        let inner = &mut *self.0;
        let entered = inner.comm.enter(record::WAIT)?;
        entered.is_end_of(RECV.operation);
        if let Link::Mpi(parts) = &mut inner.link {
            let outcome = parts.wait();
            // After an error too, the library no longer uses the buffer.
            inner.started = false;
            outcome?;
        } else {
            while !inner.arrived.has_all() {
                inner.take_part(true)?;
            }
        }
        inner.started = false;
        drop(entered);
        Ok(PartitionedRecv(self.0))
    }
}

impl<B: Send + 'static> Receiving<B> {
    /// The elements of the buffer, while no operation is pending.
    fn at_rest(&self) -> Option<Lent> {
        self.link.at_rest(self.started).map(|_| self.place)
    }

    /// Tests one partition for arrival.
    fn look(&self, index: usize) -> Result<()> {
        if let Link::Mpi(parts) = &self.link {
            if parts.arrived(index)? {
                self.arrived.note_whole(index);
            }
            return Ok(());
        }
        while !self.arrived.has(index) && self.take_part(false)? {}
        Ok(())
    }

    /// Receives the next part from the mailbox. Returns `true` if there was one.
    fn take_part(&self, wait: bool) -> Result<bool> {
        let (Link::InProcess(channel), Backend::InProcess(comm)) =
            (&self.link, self.comm.backend())
        else {
            return Ok(false);
        };
        let _turn = lock(&self.turn);
        if self.arrived.has_all() {
            // A part that arrives now belongs to the next message.
            return Ok(false);
        }
        let part = comm.recv_part(RECV.operation, *channel, self.place.span, wait)?;
        let Some((start, end)) = part else {
            return Ok(false);
        };
        self.arrived.note(start..end);
        Ok(true)
    }
}

impl<B: Send + 'static> Drop for Receiving<B> {
    fn drop(&mut self) {
        let_go(&self.comm, &mut self.link, self.started, &mut self.buffer);
    }
}

impl<B: RecvBuffer + Send + 'static> fmt::Debug for PartitionedRecv<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("PartitionedRecv");
        shown
            .field("partitions", &self.0.arrived.len())
            .finish_non_exhaustive()
    }
}

impl<B: RecvBuffer + Send + 'static> fmt::Debug for ActiveRecv<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ActiveRecv");
        shown
            .field("partitions", &self.0.arrived.len())
            .finish_non_exhaustive()
    }
}
