//! Exchanges of parts that have a datatype each: of what layouts take, among all ranks or
//! neighbours.

use std::ffi::c_int;
use std::ops::Range;

use bytemuck::Pod;
use ranks_comm::backend::{Keep, MpiComm as Comm, Plain, Portion, StartedOp, check_collective};
use ranks_comm::layout::Layout;
use ranks_comm::{Result, SendBuffer};
use ranks_mpi_sys::{MPI_Datatype, native};

use super::begun::begin_large;
use super::functions::{Alltoallw, Exchanged, Exchanges, NeighborAlltoallw, is_in_library};
use super::neighbor_order::{NeighborFunction, slots_for};
use super::pointer::{standard_recv_pointer, standard_send_pointer};
use crate::arguments::layouts::{Layouts, Pattern};
use crate::arguments::neighbors::Trade;
use crate::in_flight::stable::Stable;

/// The parts of a slice in the order in which the library has them. The datatypes are there as long
/// as this lives.
struct Parts<D> {
    counts: Vec<c_int>,
    displacements: Vec<D>,
    types: Vec<MPI_Datatype>,
    _portions: Vec<Portion>,
}

impl<D: Default + TryFrom<usize>> Parts<D> {
    /// Displacements are not more than `farthest`.
    ///
    /// # Errors
    /// Errors of the library about the datatypes.
    fn of<'l, T: Pod>(
        comm: &Comm,
        layouts: impl Iterator<Item = &'l Layout>,
        farthest: usize,
    ) -> Result<Self> {
        let portions: Vec<Portion> = layouts
            .map(|layout| comm.portion::<T>(layout, farthest))
            .collect::<Result<_>>()?;
        let displacement = |portion: &Portion| D::try_from(portion.offset).unwrap_or_default();
        Ok(Self {
            counts: portions.iter().map(|portion| portion.count).collect(),
            displacements: portions.iter().map(displacement).collect(),
            types: portions.iter().map(|portion| portion.datatype).collect(),
            _portions: portions,
        })
    }
}

/// Slices, and the parts of them that go to each rank or neighbour and come from each. They lie in
/// their slices, and those that are received have no element in common.
pub(crate) struct Exchange<'a, T, D> {
    pub(super) send: &'a [T],
    recv: &'a mut [T],
    sent: Parts<D>,
    received: Parts<D>,
}

impl<'a, T: Pod> Exchange<'a, T, c_int> {
    /// Among all ranks.
    fn among_all<'l>(
        comm: &Comm,
        (send, here): (&'a [T], impl ExactSizeIterator<Item = &'l Layout>),
        (recv, there): (&'a mut [T], impl ExactSizeIterator<Item = &'l Layout>),
    ) -> Result<Self> {
        let farthest = match here.len() {
            // Open MPI 4.1 and 5.0 take the displacement of the only part for a number of items,
            // and write behind the slice (`coll_self_alltoallw.c`).
            1 => 0,
            _ => c_int::MAX.unsigned_abs() as usize,
        };
        Ok(Self {
            send,
            recv,
            sent: Parts::of::<T>(comm, here, farthest)?,
            received: Parts::of::<T>(comm, there, farthest)?,
        })
    }

    /// Of a block of `send` for each of so many ranks, and a block of `recv` of each, or nothing.
    pub(super) fn of_blocks(
        comm: &Comm,
        ranks: usize,
        (send, here): (&'a [T], impl Fn(usize) -> Option<Range<usize>>),
        (recv, there): (&'a mut [T], impl Fn(usize) -> Option<Range<usize>>),
    ) -> Result<Self> {
        let layout = |block: Option<Range<usize>>| {
            let block = block.unwrap_or(0..0);
            Layout::contiguous(block.len()).at(block.start)
        };
        let here: Vec<Layout> = (0..ranks).map(|rank| layout(here(rank))).collect();
        let there: Vec<Layout> = (0..ranks).map(|rank| layout(there(rank))).collect();
        Self::among_all(comm, (send, here.iter()), (recv, there.iter()))
    }
}

/// Operations on what layouts take.
pub(crate) trait LaidOut: Exchanges {
    type Proven<'a, T: Pod>;

    /// The exchange that `form` is called with.
    fn exchange<'a, T: Pod>(
        comm: &Comm,
        form: NeighborFunction,
        proven: Self::Proven<'a, T>,
    ) -> Result<Exchange<'a, T, Self::Displacement>>;
}

impl LaidOut for Alltoallw {
    type Proven<'a, T: Pod> = Pattern<'a, T>;

    fn exchange<'a, T: Pod>(
        comm: &Comm,
        _: NeighborFunction,
        proven: Self::Proven<'a, T>,
    ) -> Result<Exchange<'a, T, c_int>> {
        let Pattern { send, recv, .. } = proven;
        let (here, there) = (send.1.layouts().iter(), recv.1.layouts().iter());
        Exchange::among_all(comm, (send.0, here), (recv.0, there))
    }
}

impl LaidOut for NeighborAlltoallw {
    type Proven<'a, T: Pod> = Trade<'a, T, &'a Layouts>;

    fn exchange<'a, T: Pod>(
        comm: &Comm,
        form: NeighborFunction,
        trade: Self::Proven<'a, T>,
    ) -> Result<Exchange<'a, T, Self::Displacement>> {
        let (here, there) = (trade.send.blocks.layouts(), trade.recv.blocks.layouts());
        let received = match slots_for(form, trade.around)? {
            None => Parts::of::<T>(comm, there.iter(), usize::MAX),
            Some(slots) => Parts::of::<T>(comm, slots.iter().map(|&it| &there[it]), usize::MAX),
        };
        Ok(Exchange {
            send: trade.send.slice,
            recv: trade.recv.slice,
            sent: Parts::of::<T>(comm, here.iter(), usize::MAX)?,
            received: received?,
        })
    }
}

pub(crate) fn blocking<F: LaidOut, T: Pod>(comm: &Comm, proven: F::Proven<'_, T>) -> Result<()> {
    exchange::<F, T>(comm, F::exchange(comm, NeighborFunction::Layouts, proven)?)
}

pub(super) fn exchange<F: Exchanges, T: Pod>(
    comm: &Comm,
    exchange: Exchange<'_, T, F::Displacement>,
) -> Result<()> {
    let Exchange {
        send,
        recv,
        sent,
        received,
    } = exchange;
    let types = [&sent, &received].map(|side| side.types.as_ptr());
    let with = arguments(send, recv, [&sent, &received], types);
    // SAFETY: what each part takes lies in its slice, and the parts of `recv` have no element in
    // common, as `Exchange` says; there is one for each rank or neighbour.
    let code = unsafe { F::blocking(with, comm.canonical) };
    check_collective(code, F::BLOCKING)
}

/// The arguments of a call, which hold as long as the parts and their types.
fn arguments<T, D, W>(
    send: &[T],
    recv: &mut [T],
    [sent, received]: [&Parts<D>; 2],
    [send_types, recv_types]: [*const W; 2],
) -> Exchanged<D, W> {
    Exchanged {
        send: standard_send_pointer(Some(send)),
        send_counts: sent.counts.as_ptr(),
        send_displacements: sent.displacements.as_ptr(),
        send_types,
        recv: standard_recv_pointer(Some(recv)),
        recv_counts: received.counts.as_ptr(),
        recv_displacements: received.displacements.as_ptr(),
        recv_types,
    }
}

/// Memory that the library reads until an operation is complete.
struct Sides<T: Pod, D> {
    sent: Parts<D>,
    received: Parts<D>,
    /// The datatypes of both, as the library reads them.
    types: [native::Datatypes; 2],
    /// The elements that are sent, if they are a copy.
    copy: Option<Plain<T>>,
}

impl<T: Pod, D: Send> Keep for Sides<T, D> {}

impl<T: Pod, D: Send + 'static> Sides<T, D> {
    /// The arguments of a call, and what has to be kept of them.
    fn of(
        exchange: Stable<Exchange<'_, T, D>>,
        copy: Option<Plain<T>>,
    ) -> (Exchanged<D, native::DatatypeWord>, Box<Self>) {
        let Exchange {
            send,
            recv,
            sent,
            received,
        } = exchange.into_inner();
        // SAFETY: the library is loaded, as there are datatypes of it.
        let types = [&sent, &received].map(|side| unsafe { native::Datatypes::new(&side.types) });
        let sides = Box::new(Self {
            sent,
            received,
            types,
            copy,
        });
        let from = sides.copy.as_ref().map_or(send, SendBuffer::as_slice);
        let types = sides.types.each_ref().map(native::Datatypes::as_ptr);
        let with = arguments(from, recv, [&sides.sent, &sides.received], types);
        (with, sides)
    }
}

/// The exchange of slices that last.
fn stable<'a, F: LaidOut, T: Pod>(
    comm: &Comm,
    form: NeighborFunction,
    proven: Stable<F::Proven<'a, T>>,
) -> Result<Stable<Exchange<'a, T, F::Displacement>>> {
    // SAFETY: an exchange has the slices of what was proven, and no others.
    unsafe { proven.proven(|proven| F::exchange(comm, form, proven)) }
}

pub(crate) fn nonblocking<F: LaidOut, T: Pod>(
    comm: &Comm,
    proven: Stable<F::Proven<'_, T>>,
) -> Result<StartedOp> {
    let exchange = stable::<F, T>(comm, NeighborFunction::NonblockingLayouts, proven)?;
    begin_exchange::<F, T>(comm, exchange, None)
}

/// Sends the copy in the place of the slice, if there is one.
pub(super) fn begin_exchange<F: Exchanges, T: Pod>(
    comm: &Comm,
    exchange: Stable<Exchange<'_, T, F::Displacement>>,
    copy: Option<Plain<T>>,
) -> Result<StartedOp> {
    let (with, sides) = Sides::of(exchange, copy);
    begin_large(F::NONBLOCKING, Some(sides), |request| {
        // SAFETY: what each part takes lies in its slice, and the parts of `recv` have no element
        // in common, as `Exchange` says; there is one for each rank or neighbour; slices last, as
        // `Stable` says, and the sides are kept.
        unsafe { F::nonblocking(with, comm.canonical, request) }
    })
}

/// Nothing where the library has no such function: the operation is begun anew at each start then.
pub(crate) fn init<F: LaidOut, T: Pod>(
    comm: &Comm,
    proven: Stable<F::Proven<'_, T>>,
) -> Result<Option<StartedOp>> {
    if !is_in_library(F::INIT) {
        return Ok(None);
    }
    let exchange = stable::<F, T>(comm, NeighborFunction::PersistentLayouts, proven)?;
    let (with, sides) = Sides::of(exchange, None);
    begin_large(F::INIT, Some(sides), |request| {
        // SAFETY: as those of a nonblocking call; slices and sides last until it is freed.
        unsafe { F::init(with, comm.canonical, request) }
    })
    .map(Some)
}
