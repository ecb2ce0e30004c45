//! Partitioned sends: threads write partitions, which are sent as they become ready.
#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};

use super::states::{FREE, READY, States, TAKEN};
use super::{Link, let_go, width};
use crate::call::record;
use crate::communicator::Communicator;
use crate::data::datatype::TypeOf;
use crate::data::in_flight::InFlight;
use crate::data::lent::Lent;
use crate::data::owned::RecvBuffer;
use crate::data::raw_slice::{Element, OpInfo};
use crate::result::{Error, ErrorKind, Result};
use crate::transport::backend::Backend;
use crate::transport::in_process::channels::Direction;

static SEND: OpInfo = OpInfo::of("MPI_Psend_init");

/// An inactive partitioned send; it owns its buffer, which can be used while no start is pending.
///
/// From [`Communicator::psend_init`]. [`start`](Self::start) turns it into an [`ActiveSend`], and
/// [`ActiveSend::wait`] back.
///
/// ```
/// # fn main() -> ranks::Result<()> {
/// # ranks::run(|world| {
/// let me = world.rank();
/// let sending = world.psend_init(vec![0.0; 12], 4, me, 7)?.start()?;
/// let receiving = world.precv_init(vec![0.0; 12], 2, me, 7)?.start()?;
/// std::thread::scope(|threads| {
///     for i in 0..4 {
///         let mut part = sending.partition(i)?; // three elements, for this thread alone
///         threads.spawn(move || {
///             part.fill(i as f64);
///             part.ready()
///         });
///     }
///     ranks::Result::Ok(())
/// })?;
/// let (sending, receiving) = (sending.wait()?, receiving.wait()?);
/// assert_eq!(receiving.buffer(), [0., 0., 0., 1., 1., 1., 2., 2., 2., 3., 3., 3.]);
/// # drop(sending);
/// # Ok(())
/// # })
/// # }
/// ```
///
/// MPI 5.0 §4.2.
pub struct PartitionedSend<B: RecvBuffer + Send + 'static>(Box<Sending<B>>);

/// An active [`PartitionedSend`]; shared by the threads that fill its partitions.
///
/// If it is dropped, or waited for, before all partitions are ready, the others are sent as they
/// are; over MPI, on a thread that may not call, that is left to the next call of one that may. If
/// it is dropped, it is left to the runtime with its buffer.
#[must_use = "an operation is complete only after a wait"]
pub struct ActiveSend<B: RecvBuffer + Send + 'static>(Box<Sending<B>>);

/// One partition of an [`ActiveSend`], which only its holder writes until it is
/// [`ready`](Self::ready).
///
/// If it is dropped, [`ActiveSend::partition`] can hand it out again.
pub struct PartitionWriter<'a, T> {
    shares: &'a Shares,
    index: usize,
    /// Not a reference: [`ready`](Self::ready) takes this by value while the elements are read.
    elements: PhantomData<&'a mut [T]>,
}

struct Sending<B: Send + 'static> {
    shares: Shares,
    /// `None` once it was given back.
    buffer: Option<InFlight<B>>,
}

/// The parts of a send without its buffer.
struct Shares {
    comm: Communicator,
    link: Link,
    started: bool,
    states: States,
    place: Lent,
    /// The bytes of a partition.
    width: usize,
}

impl Communicator {
    /// Prepares a send of `buffer` in `partitions` parts of equal length, each sent when it is
    /// ready. Local.
    ///
    /// It matches the [`precv_init`](Self::precv_init) of `dest` with its rank and tag, in the
    /// order of the calls; other receives do not match it. Both sides have the same number of
    /// elements; each side chooses its number of partitions.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`], [`ErrorKind::Tag`]; [`ErrorKind::Length`] if `partitions` does not
    /// divide the length, or that is zero; [`ErrorKind::NotInLibrary`] before MPI 4.0, and over
    /// Open MPI, which reports the arrival of partitions before they have arrived.
    ///
    /// MPI 5.0 §4.2.1 (`MPI_Psend_init`).
    #[doc(alias = "MPI_Psend_init")]
    pub fn psend_init<B>(
        &self,
        buffer: B,
        partitions: usize,
        dest: usize,
        tag: i32,
    ) -> Result<PartitionedSend<B>>
    where
        B: RecvBuffer + Send + 'static,
    {
        self.destination(SEND.operation, dest)?;
        self.check_tag(SEND.operation, tag)?;
        let width = width::<B>(SEND.operation, &buffer, partitions)?;
        let item = TypeOf::<B::Element>::item();
        let (buffer, (place, link)) = InFlight::begun(buffer, |buffer| {
            // SAFETY: the buffer stays in what is made here, which uses its elements by way of this
            // alone.
            let place = unsafe { Lent::to_write(buffer.as_mut_slice()) };
            let span = place.span;
            let link = self.dispatch(
                SEND.operation,
                |comm| {
                    // SAFETY: the buffer stays in what is made here.
                    let parts =
                        unsafe { comm.psend_init(&SEND, span, item, partitions, dest, tag)? };
                    Ok(Link::Mpi(parts))
                },
                |comm| {
                    let element = Element::of::<B::Element>();
                    let to = Direction::Sender;
                    let channel = comm.channel(SEND.operation, to, dest, tag, element);
                    channel.map(Link::InProcess)
                },
            )?;
            Ok((place, link))
        })?;
        let shares = Shares {
            comm: self.clone(),
            link,
            started: false,
            states: States::new(partitions),
            place,
            width,
        };
        let buffer = Some(buffer);
        Ok(PartitionedSend(Box::new(Sending { shares, buffer })))
    }
}

impl<B: RecvBuffer + Send + 'static> PartitionedSend<B> {
    /// Starts a message, none of whose partitions is ready.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`], [`ErrorKind::Finalized`], or what the library reports. The
    /// request is lost then.
    ///
    /// MPI 5.0 §4.2.1 (`MPI_Start`).
    #[doc(alias = "MPI_Start")]
    pub fn start(mut self) -> Result<ActiveSend<B>> {
        let shares = &mut self.0.shares;
        shares.states.set_all(FREE);
        let entered = shares.comm.enter(record::START)?;
        if let Link::Mpi(parts) = &mut shares.link {
            shares.started = true;
            parts.start().inspect_err(|_| shares.started = false)?;
        }
        drop(entered);
        shares.started = true;
        Ok(ActiveSend(self.0))
    }

    /// The elements that the next start sends.
    #[must_use]
    pub fn buffer(&self) -> &[B::Element] {
        let place = self.0.shares.at_rest();
        // SAFETY: the elements of the buffer, on which nothing works, or can while `self` is
        // borrowed.
        place.map_or(&[], |place| unsafe { place.as_slice() })
    }

    /// The same elements, mutably.
    #[must_use]
    pub fn buffer_mut(&mut self) -> &mut [B::Element] {
        match self.0.shares.at_rest() {
            // SAFETY: as above, and nothing else can use them.
            Some(place) => unsafe { place.as_mut_slice() },
            None => &mut [],
        }
    }
}

impl<B: RecvBuffer + Send + 'static> ActiveSend<B> {
    /// The number of partitions.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.0.shares.states.len()
    }

    /// Partition `index`, for the caller alone to write; [`PartitionWriter::ready`] sends it.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if there is no such partition, if a writer holds it, or if it is
    /// ready.
    pub fn partition(&self, index: usize) -> Result<PartitionWriter<'_, B::Element>> {
        let shares = &self.0.shares;
        shares.step(index, FREE, TAKEN)?;
        Ok(PartitionWriter {
            shares,
            index,
            elements: PhantomData,
        })
    }

    /// Marks partition `index` as ready and sends it as it is. Any thread may call it, once for
    /// each partition.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if there is no such partition, if a writer holds it, or if it is
    /// ready already; [`ErrorKind::WrongThread`], [`ErrorKind::Finalized`], or what the library
    /// reports.
    ///
    /// MPI 5.0 §4.2.2 (`MPI_Pready`).
    #[doc(alias = "MPI_Pready")]
    pub fn pready(&self, index: usize) -> Result<()> {
        self.0.shares.ready(&[index], FREE)
    }

    /// Marks the partitions of a range as ready.
    ///
    /// # Errors
    /// As [`pready`](Self::pready); none of them is sent if one cannot be.
    ///
    /// MPI 5.0 §4.2.2 (`MPI_Pready_range`).
    #[doc(alias = "MPI_Pready_range")]
    pub fn pready_range(&self, range: Range<usize>) -> Result<()> {
        if range.end > self.partitions() {
            return Err(self.0.shares.no_partition(range.end - 1));
        }
        let indices: Vec<usize> = range.collect();
        self.0.shares.ready(&indices, FREE)
    }

    /// Marks the listed partitions as ready.
    ///
    /// # Errors
    /// As [`pready`](Self::pready); none of them is sent if one cannot be.
    ///
    /// MPI 5.0 §4.2.2 (`MPI_Pready_list`).
    #[doc(alias = "MPI_Pready_list")]
    pub fn pready_list(&self, indices: &[usize]) -> Result<()> {
        self.0.shares.ready(indices, FREE)
    }

    /// Sends the partitions that are not ready yet, and waits until all are sent.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`], [`ErrorKind::Finalized`], or what the library reports. The
    /// request is lost then.
    ///
    /// MPI 5.0 §3.7.3 (`MPI_Wait`).
    #[doc(alias = "MPI_Wait")]
    pub fn wait(mut self) -> Result<PartitionedSend<B>> {
        let shares = &mut self.0.shares;
        shares.ready_rest()?;
        if let Link::Mpi(parts) = &mut shares.link {
            let entered = shares.comm.enter(record::WAIT)?;
            entered.is_end_of(SEND.operation);
            let outcome = parts.wait();
            // After an error too, the library no longer uses the buffer.
            shares.started = false;
            outcome?;
        }
        shares.started = false;
        Ok(PartitionedSend(self.0))
    }
}

impl Shares {
    /// The elements of the buffer, while no operation is pending.
    fn at_rest(&self) -> Option<Lent> {
        self.link.at_rest(self.started).map(|_| self.place)
    }

    /// Moves a partition from one state to the next.
    fn step(&self, index: usize, from: u8, to: u8) -> Result<()> {
        let moved = self.states.step(index, from, to);
        moved.map_err(|found| self.is_stuck(index, found))
    }

    /// Sends these partitions, if all of them are in the state `from`; otherwise none.
    fn ready(&self, indices: &[usize], from: u8) -> Result<()> {
        let _entered = self.comm.enter("MPI_Pready")?;
        let moved = self.states.step_all(indices, from, READY);
        moved.map_err(|(index, found)| self.is_stuck(index, found))?;
        self.send(indices)
    }

    fn send(&self, indices: &[usize]) -> Result<()> {
        match (&self.link, self.comm.backend()) {
            (Link::Mpi(parts), _) => parts.request().ready(indices),
            (Link::InProcess(channel), Backend::InProcess(comm)) => {
                for &index in indices {
                    let start = index * self.width;
                    // SAFETY: this partition was made ready just now by the caller, and nobody
                    // writes to it any more.
                    let bytes = unsafe { self.place.span.part(start, self.width).as_bytes() };
                    comm.send_part(*channel, self.place.span.bytes(), start, bytes)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Sends all partitions that are not ready; there is no writer any more.
    fn ready_rest(&mut self) -> Result<()> {
        let rest = self.states.unready();
        if rest.is_empty() {
            return Ok(());
        }
        let _entered = self.comm.enter("MPI_Pready")?;
        self.states.set_all(READY);
        self.send(&rest)
    }

    /// Sends them all the same where this thread may not: over MPI, the next call of one that may
    /// does.
    fn ready_rest_later(&mut self) {
        let rest = self.states.unready();
        self.states.set_all(READY);
        match (&self.link, self.comm.backend()) {
            (Link::Mpi(parts), Backend::Mpi(comm)) => {
                let request = parts.request();
                // What fails is reported at the end, as an operation that is not complete.
                comm.session.later(move || drop(request.ready(&rest)));
            }
            _ => drop(self.send(&rest)),
        }
    }

    /// The error of a partition that is in another state, or is none.
    #[cold]
    fn is_stuck(&self, index: usize, found: Option<u8>) -> Error {
        match found {
            None => self.no_partition(index),
            Some(READY) => refused(index, "is ready already; each is made ready once"),
            Some(_) => refused(index, "has a writer, whose `ready` sends it"),
        }
    }

    #[cold]
    fn no_partition(&self, index: usize) -> Error {
        let count = self.states.len();
        refused(index, &format!("does not exist: there are {count}"))
    }
}

#[cold]
fn refused(index: usize, why: &str) -> Error {
    Error::new(
        ErrorKind::Argument,
        "MPI_Pready",
        format_args!("partition {index} {why}"),
    )
}

impl<T> PartitionWriter<'_, T> {
    /// The index of the partition.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Sends the partition.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`], [`ErrorKind::Finalized`], or what the library reports.
    ///
    /// MPI 5.0 §4.2.2 (`MPI_Pready`).
    pub fn ready(self) -> Result<()> {
        let (shares, index) = (self.shares, self.index);
        std::mem::forget(self);
        let outcome = shares.ready(&[index], TAKEN);
        if outcome.is_err() {
            // A partition that was not sent can be handed out again.
            let _ = shares.step(index, TAKEN, FREE);
        }
        outcome
    }
}

impl<T> Deref for PartitionWriter<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        let part = self.shares.place.part::<T>(self.index, self.shares.width);
        // SAFETY: these are elements of the buffer, which stays as long as the send is borrowed; of
        // their partition this is the only holder (`step`), and the library does not look at it
        // before it is ready.
        unsafe { part.as_slice() }
    }
}

impl<T> DerefMut for PartitionWriter<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let part = self.shares.place.part::<T>(self.index, self.shares.width);
        // SAFETY: as above.
        unsafe { part.as_mut_slice() }
    }
}

impl<T> Drop for PartitionWriter<'_, T> {
    fn drop(&mut self) {
        self.shares.states.put_back(self.index, FREE);
    }
}

impl<B: Send + 'static> Drop for Sending<B> {
    fn drop(&mut self) {
        let shares = &mut self.shares;
        if shares.started {
            let sent = shares.ready_rest();
            if sent.is_err_and(|error| error.kind() == ErrorKind::WrongThread) {
                shares.ready_rest_later();
            }
        }
        let_go(
            &shares.comm,
            &mut shares.link,
            shares.started,
            &mut self.buffer,
        );
    }
}

impl<B: RecvBuffer + Send + 'static> fmt::Debug for PartitionedSend<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let partitions = self.0.shares.states.len();
        let mut shown = f.debug_struct("PartitionedSend");
        shown
            .field("partitions", &partitions)
            .finish_non_exhaustive()
    }
}

impl<B: RecvBuffer + Send + 'static> fmt::Debug for ActiveSend<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ActiveSend");
        shown
            .field("states", &self.0.shares.states)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for PartitionWriter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("PartitionWriter");
        shown.field("index", &self.index).finish_non_exhaustive()
    }
}
