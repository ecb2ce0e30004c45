//! Messages whose parts are sent as they become ready, by many threads, and read as they arrive.
#![allow(unsafe_code)]

use std::fmt;
use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::backend::Backend;
use crate::communicator::Communicator;
use crate::error::{Error, ErrorKind, Result};
use crate::in_process::partitioned::{Channel, Side};
use crate::landing::{Role, Span};
use crate::mpi::{Parts, TypeOf};
use crate::owned::{Kept, RecvBuffer};

static SEND: Role = Role::of("MPI_Psend_init");
static RECV: Role = Role::of("MPI_Precv_init");

/// A partitioned send that is not under way; it owns its buffer, which can be used meanwhile.
///
/// From [`Communicator::psend_init`]. [`start`](Self::start) makes an [`ActiveSend`] of it, and
/// [`ActiveSend::wait`] this again.
///
/// ```
/// # fn main() -> ranks_comm::Result<()> {
/// # ranks_comm::run(|world| {
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
///     ranks_comm::Result::Ok(())
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

/// A [`PartitionedSend`] that is under way; shared among the threads that make its parts.
///
/// If it is dropped, or waited for, before all partitions are ready, the others are sent as they are. Dropped, it is left to
/// the runtime with its buffer.
#[must_use = "an operation is over when it has been waited for"]
pub struct ActiveSend<B: RecvBuffer + Send + 'static>(Box<Sending<B>>);

/// A partitioned receive that is not under way; it owns its buffer. From [`Communicator::precv_init`].
///
/// MPI 5.0 §4.2.
pub struct PartitionedRecv<B: RecvBuffer + Send + 'static>(Box<Receiving<B>>);

/// A [`PartitionedRecv`] that is under way: partitions can be read as they arrive, by any thread.
///
/// If it is dropped, it is left to the runtime with its buffer.
#[must_use = "an operation is over when it has been waited for"]
pub struct ActiveRecv<B: RecvBuffer + Send + 'static>(Box<Receiving<B>>);

/// One partition of an [`ActiveSend`], to be written by its only holder until it is [`ready`](Self::ready).
///
/// If it is dropped, it can be had again.
pub struct PartitionWriter<'a, T> {
    shares: &'a Shares,
    index: usize,
    elements: &'a mut [T],
}

struct Sending<B: Send + 'static> {
    shares: Shares,
    buffer: Kept<B>,
}

/// What is known of a send without its buffer.
struct Shares {
    comm: Communicator,
    link: Link,
    started: bool,
    /// How far each partition is: [`FREE`], [`TAKEN`], [`READY`].
    states: Box<[AtomicU8]>,
    span: Span,
    /// The bytes of a partition.
    width: usize,
}

const FREE: u8 = 0;
const TAKEN: u8 = 1;
const READY: u8 = 2;

struct Receiving<B: Send + 'static> {
    comm: Communicator,
    link: Link,
    started: bool,
    span: Span,
    width: usize,
    /// How many bytes of each partition have arrived: all, or none are to be looked at.
    arrived: Box<[AtomicUsize]>,
    /// In process one thread at a time puts messages where they belong.
    turn: Mutex<()>,
    buffer: Kept<B>,
}

/// The way that the parts take.
enum Link {
    Mpi(Parts),
    InProcess(Channel),
    Gone,
}

impl Communicator {
    /// Prepares to send `buffer` in `partitions` parts of equal length, each when it is ready. Local.
    ///
    /// It goes to the [`precv_init`](Self::precv_init) of `dest` that is the how manieth this is with its rank and tag; other
    /// receives do not see it. Both sides have the same number of elements; in how many partitions is each side's own.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`], [`ErrorKind::Tag`]; [`ErrorKind::Length`] if `partitions` does not divide the length;
    /// [`ErrorKind::NotInLibrary`] before MPI 4.0, and over Open MPI, which writes past the buffer of a receiver that expects
    /// less.
    ///
    /// MPI 5.0 §4.2.1 (`MPI_Psend_init`).
    #[doc(alias = "MPI_Psend_init")]
    pub fn psend_init<B>(
        &self,
        mut buffer: B,
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
        // SAFETY: the buffer stays in what is made here, and is lent out only while nothing is under way, or in partitions.
        let span = unsafe { Span::of(buffer.as_mut_slice()) };
        let item = TypeOf::<B::Element>::item();
        let link = self.dispatch(
            SEND.operation,
            |comm| {
                // SAFETY: as above.
                let parts = unsafe { comm.psend_init(&SEND, span, item, partitions, dest, tag)? };
                Ok(Link::Mpi(parts))
            },
            |comm| Ok(Link::InProcess(comm.channel(Side::Sender, dest, tag))),
        )?;
        let shares = Shares {
            comm: self.clone(),
            link,
            started: false,
            states: (0..partitions).map(|_| AtomicU8::new(FREE)).collect(),
            span,
            width,
        };
        let buffer = Kept::new(buffer);
        Ok(PartitionedSend(Box::new(Sending { shares, buffer })))
    }

    /// Prepares to receive what a [`psend_init`](Self::psend_init) of `source` sends, in `partitions` parts of equal length. Local.
    ///
    /// # Errors
    /// As [`psend_init`](Self::psend_init).
    ///
    /// MPI 5.0 §4.2.1 (`MPI_Precv_init`).
    #[doc(alias = "MPI_Precv_init")]
    pub fn precv_init<B>(
        &self,
        mut buffer: B,
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
        // SAFETY: the buffer stays in what is made here, and is lent out only where nothing is written any more.
        let span = unsafe { Span::of(buffer.as_mut_slice()) };
        let link = self.dispatch(
            RECV.operation,
            |comm| {
                // SAFETY: as above.
                let parts = unsafe { comm.precv_init(&RECV, span, partitions, source, tag)? };
                Ok(Link::Mpi(parts))
            },
            |comm| Ok(Link::InProcess(comm.channel(Side::Receiver, source, tag))),
        )?;
        Ok(PartitionedRecv(Box::new(Receiving {
            comm: self.clone(),
            link,
            started: false,
            span,
            width,
            arrived: (0..partitions).map(|_| AtomicUsize::new(0)).collect(),
            turn: Mutex::default(),
            buffer: Kept::new(buffer),
        })))
    }
}

/// How many bytes a partition has.
fn width<B: RecvBuffer>(operation: &'static str, buffer: &B, partitions: usize) -> Result<usize> {
    let length = buffer.as_slice().len();
    match length.checked_rem(partitions) {
        Some(0) if length > 0 && size_of::<B::Element>() > 0 => {
            Ok(length / partitions * size_of::<B::Element>())
        }
        _ => Err(Error::new(
            ErrorKind::Length,
            operation,
            format_args!(
                "{length} elements cannot be sent in {partitions} partitions; each has the same number, at least one"
            ),
        )),
    }
}

impl<B: RecvBuffer + Send + 'static> PartitionedSend<B> {
    /// Begins a message, none of whose partitions is ready.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`], [`ErrorKind::Finalized`], or what the library reports. The request is lost then.
    ///
    /// MPI 5.0 §4.2.1 (`MPI_Start`).
    #[doc(alias = "MPI_Start")]
    pub fn start(mut self) -> Result<ActiveSend<B>> {
        let Sending { shares, buffer } = &mut *self.0;
        let states = shares.states.iter_mut();
        states.for_each(|state| *state.get_mut() = FREE);
        if let Some(buffer) = buffer.get_mut() {
            // SAFETY: as in `psend_init`; it is where it was.
            shares.span = unsafe { Span::of(buffer.as_mut_slice()) };
        }
        let entered = shares.comm.enter("MPI_Start")?;
        if let Link::Mpi(parts) = &mut shares.link {
            parts.start()?;
        }
        drop(entered);
        shares.started = true;
        Ok(ActiveSend(self.0))
    }

    /// What is sent next.
    #[must_use]
    pub fn buffer(&self) -> &[B::Element] {
        self.0.buffer.get().map_or(&[], |buffer| buffer.as_slice())
    }

    /// The same, to be changed.
    #[must_use]
    pub fn buffer_mut(&mut self) -> &mut [B::Element] {
        match self.0.buffer.get_mut() {
            Some(buffer) => buffer.as_mut_slice(),
            None => &mut [],
        }
    }
}

impl<B: RecvBuffer + Send + 'static> ActiveSend<B> {
    /// How many partitions there are.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.0.shares.states.len()
    }

    /// Partition `index`, to be written by the caller alone; [`PartitionWriter::ready`] sends it.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if there is no such partition, if somebody has it, or if it is ready.
    pub fn partition(&self, index: usize) -> Result<PartitionWriter<'_, B::Element>> {
        let shares = &self.0.shares;
        shares.step(index, FREE, TAKEN)?;
        let part = shares.span.part(index * shares.width, shares.width);
        let length = shares.width / size_of::<B::Element>().max(1);
        let start = part.start().cast::<B::Element>();
        // SAFETY: these are elements of the buffer, which stays as long as `self`; of their partition the step above makes the
        // caller the only holder, and the library does not look at it before it is ready.
        let elements = unsafe { std::slice::from_raw_parts_mut(start, length) };
        Ok(PartitionWriter {
            shares,
            index,
            elements,
        })
    }

    /// Sends partition `index` as it is. Any thread may call it, for each partition once.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if there is no such partition, if somebody writes to it, or if it is ready already;
    /// [`ErrorKind::WrongThread`], [`ErrorKind::Finalized`], or what the library reports.
    ///
    /// MPI 5.0 §4.2.2 (`MPI_Pready`).
    #[doc(alias = "MPI_Pready")]
    pub fn pready(&self, index: usize) -> Result<()> {
        self.0.shares.ready(&[index], FREE)
    }

    /// Sends the partitions of a range.
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

    /// Sends those partitions.
    ///
    /// # Errors
    /// As [`pready`](Self::pready); none of them is sent if one cannot be.
    ///
    /// MPI 5.0 §4.2.2 (`MPI_Pready_list`).
    #[doc(alias = "MPI_Pready_list")]
    pub fn pready_list(&self, indices: &[usize]) -> Result<()> {
        self.0.shares.ready(indices, FREE)
    }

    /// Sends what is not ready yet, and waits until all is sent.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`], [`ErrorKind::Finalized`], or what the library reports. The request is lost then.
    ///
    /// MPI 5.0 §3.7.3 (`MPI_Wait`).
    #[doc(alias = "MPI_Wait")]
    pub fn wait(mut self) -> Result<PartitionedSend<B>> {
        let shares = &mut self.0.shares;
        shares.ready_rest()?;
        if let Link::Mpi(parts) = &mut shares.link {
            let _entered = shares.comm.enter("MPI_Wait")?;
            // After an error as well, the library is done with it.
            shares.started = false;
            parts.wait()?;
        }
        shares.started = false;
        Ok(PartitionedSend(self.0))
    }
}

impl Shares {
    /// Takes a partition from one state to the next.
    fn step(&self, index: usize, from: u8, to: u8) -> Result<()> {
        let Some(state) = self.states.get(index) else {
            return Err(self.no_partition(index));
        };
        match state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(()),
            Err(READY) => Err(refused(index, "is ready already; each is made ready once")),
            Err(_) => Err(refused(index, "is being written to")),
        }
    }

    /// Sends these partitions, all of which are in the state `from`, or none.
    fn ready(&self, indices: &[usize], from: u8) -> Result<()> {
        let _entered = self.comm.enter("MPI_Pready")?;
        for (done, &index) in indices.iter().enumerate() {
            if let Err(error) = self.step(index, from, READY) {
                for &index in &indices[..done] {
                    self.states[index].store(from, Ordering::Release);
                }
                return Err(error);
            }
        }
        self.send(indices)
    }

    fn send(&self, indices: &[usize]) -> Result<()> {
        match (&self.link, self.comm.backend()) {
            (Link::Mpi(parts), _) => parts.ready(indices),
            (Link::InProcess(channel), Backend::InProcess(comm)) => {
                for &index in indices {
                    let start = index * self.width;
                    // SAFETY: this partition was made ready just now by the caller, and nobody writes to it any more.
                    let bytes = unsafe { self.span.part(start, self.width).as_bytes() };
                    comm.send_part(*channel, self.span.bytes(), start, bytes);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Sends all that is not; there is no writer any more.
    fn ready_rest(&mut self) -> Result<()> {
        let left = |state: &AtomicU8| state.load(Ordering::Acquire) != READY;
        if !self.states.iter().any(left) {
            return Ok(());
        }
        let states = self.states.iter().enumerate();
        let rest: Vec<usize> = states
            .filter(|(_, state)| left(state))
            .map(|(index, _)| index)
            .collect();
        let _entered = self.comm.enter("MPI_Pready")?;
        for &index in &rest {
            self.states[index].store(READY, Ordering::Release);
        }
        self.send(&rest)
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
    /// Which partition it is.
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
            // If it was not sent, it can be had again.
            let _ = shares.step(index, TAKEN, FREE);
        }
        outcome
    }
}

impl<T> Deref for PartitionWriter<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.elements
    }
}

impl<T> DerefMut for PartitionWriter<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.elements
    }
}

impl<T> Drop for PartitionWriter<'_, T> {
    fn drop(&mut self) {
        self.shares.states[self.index].store(FREE, Ordering::Release);
    }
}

impl<B: RecvBuffer + Send + 'static> PartitionedRecv<B> {
    /// Begins to receive a message.
    ///
    /// # Errors
    /// [`ErrorKind::WrongThread`], [`ErrorKind::Finalized`], or what the library reports. The request is lost then.
    ///
    /// MPI 5.0 §4.2.1 (`MPI_Start`).
    #[doc(alias = "MPI_Start")]
    pub fn start(mut self) -> Result<ActiveRecv<B>> {
        let inner = &mut *self.0;
        let arrived = inner.arrived.iter_mut();
        arrived.for_each(|bytes| *bytes.get_mut() = 0);
        if let Some(buffer) = inner.buffer.get_mut() {
            // SAFETY: as in `precv_init`; it is where it was.
            inner.span = unsafe { Span::of(buffer.as_mut_slice()) };
        }
        let entered = inner.comm.enter("MPI_Start")?;
        if let Link::Mpi(parts) = &mut inner.link {
            parts.start()?;
        }
        drop(entered);
        inner.started = true;
        Ok(ActiveRecv(self.0))
    }

    /// What was received last.
    #[must_use]
    pub fn buffer(&self) -> &[B::Element] {
        self.0.buffer.get().map_or(&[], |buffer| buffer.as_slice())
    }

    /// The same, to be changed.
    #[must_use]
    pub fn buffer_mut(&mut self) -> &mut [B::Element] {
        match self.0.buffer.get_mut() {
            Some(buffer) => buffer.as_mut_slice(),
            None => &mut [],
        }
    }
}

impl<B: RecvBuffer + Send + 'static> ActiveRecv<B> {
    /// How many partitions there are.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.0.arrived.len()
    }

    /// The elements of partition `index`, if all of them have arrived; does not wait. Any thread may call it.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if there is no such partition; [`ErrorKind::WrongThread`], [`ErrorKind::Finalized`], in process
    /// [`ErrorKind::Length`] if the sender's length is another and [`ErrorKind::PeerFailed`] if it has ended; what the library
    /// reports.
    ///
    /// MPI 5.0 §4.2.2 (`MPI_Parrived`).
    #[doc(alias = "MPI_Parrived")]
    pub fn parrived(&self, index: usize) -> Result<Option<&[B::Element]>> {
        let inner = &*self.0;
        let Some(arrived) = inner.arrived.get(index) else {
            let count = inner.arrived.len();
            return Err(Error::new(
                ErrorKind::Argument,
                "MPI_Parrived",
                format_args!("partition {index} does not exist: there are {count}"),
            ));
        };
        if arrived.load(Ordering::Acquire) < inner.width {
            let _entered = inner.comm.enter("MPI_Parrived")?;
            inner.look(index, arrived)?;
            if arrived.load(Ordering::Acquire) < inner.width {
                return Ok(None);
            }
        }
        let part = inner.span.part(index * inner.width, inner.width);
        let length = inner.width / size_of::<B::Element>().max(1);
        let start = part.start().cast::<B::Element>().cast_const();
        // SAFETY: these are elements of the buffer, which stays as long as `self`; they have arrived, and are not written to
        // before the next start.
        Ok(Some(unsafe { std::slice::from_raw_parts(start, length) }))
    }

    /// Waits until all partitions have arrived.
    ///
    /// # Errors
    /// As [`parrived`](Self::parrived); [`ErrorKind::Truncated`] if the library says that more was sent. The request is lost
    /// then.
    ///
    /// MPI 5.0 §3.7.3 (`MPI_Wait`).
    #[doc(alias = "MPI_Wait")]
    pub fn wait(mut self) -> Result<PartitionedRecv<B>> {
        let inner = &mut *self.0;
        let entered = inner.comm.enter("MPI_Wait")?;
        if let Link::Mpi(parts) = &mut inner.link {
            inner.started = false;
            parts.wait()?;
        } else {
            while inner.is_missing() {
                inner.take_part(true)?;
            }
        }
        inner.started = false;
        drop(entered);
        Ok(PartitionedRecv(self.0))
    }
}

impl<B: Send + 'static> Receiving<B> {
    /// Asks for one partition.
    fn look(&self, index: usize, arrived: &AtomicUsize) -> Result<()> {
        if let Link::Mpi(parts) = &self.link {
            if parts.arrived(index)? {
                arrived.store(self.width, Ordering::Release);
            }
            return Ok(());
        }
        while arrived.load(Ordering::Acquire) < self.width && self.take_part(false)? {}
        Ok(())
    }

    fn is_missing(&self) -> bool {
        let mut arrived = self.arrived.iter();
        arrived.any(|bytes| bytes.load(Ordering::Acquire) < self.width)
    }

    /// Takes the next part out of the mailbox; whether there was one.
    fn take_part(&self, wait: bool) -> Result<bool> {
        let (Link::InProcess(channel), Backend::InProcess(comm)) =
            (&self.link, self.comm.backend())
        else {
            return Ok(false);
        };
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_missing() {
            // What comes now is of the next message.
            return Ok(false);
        }
        let part = comm.recv_part(RECV.operation, *channel, self.span, wait)?;
        let Some((start, end)) = part else {
            return Ok(false);
        };
        for (index, arrived) in self.arrived.iter().enumerate() {
            let (first, last) = (index * self.width, (index + 1) * self.width);
            let here = end.min(last).saturating_sub(start.max(first));
            if here > 0 {
                arrived.fetch_add(here, Ordering::Release);
            }
        }
        Ok(true)
    }
}

/// Lets go of the library's request, with the memory if it is under way.
fn let_go<B: Send + 'static>(
    comm: &Communicator,
    link: &mut Link,
    started: bool,
    buffer: &mut Kept<B>,
) {
    let link = std::mem::replace(link, Link::Gone);
    let (Link::Mpi(parts), Backend::Mpi(over)) = (link, comm.backend()) else {
        return;
    };
    if started {
        let keep = std::mem::replace(buffer, Kept::gone()).into_any();
        parts.into_native(over).into_flight().abandon(comm, keep);
    } else {
        // What is not freed is only lost.
        let _ = over.retire(parts.into_native(over));
    }
}

impl<B: Send + 'static> Drop for Sending<B> {
    fn drop(&mut self) {
        let shares = &mut self.shares;
        if shares.started {
            // If this thread may not, the runtime says at its end what has not ended.
            let _ = shares.ready_rest();
        }
        let_go(
            &shares.comm,
            &mut shares.link,
            shares.started,
            &mut self.buffer,
        );
    }
}

impl<B: Send + 'static> Drop for Receiving<B> {
    fn drop(&mut self) {
        let_go(&self.comm, &mut self.link, self.started, &mut self.buffer);
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

impl<T> fmt::Debug for PartitionWriter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("PartitionWriter");
        shown.field("index", &self.index).finish_non_exhaustive()
    }
}
