//! Communication among neighbours.
//!
//! All to all with blocks of one length goes by the function for blocks of lengths of their own
//! where the library's other one lets blocks of a rank that is a neighbour several times arrive in
//! an order of its own ([`neighbor_order`]): it can be told where to put them. Which one is called
//! is the same on all ranks.
//!
//! [`neighbor_order`]: super::neighbor_order

use std::borrow::Cow;

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, StartedOp, TypeOf};

use super::functions::{
    Moves, NeighborAllgather, NeighborAllgatherv, NeighborAlltoall, NeighborAlltoallv,
    is_in_library,
};
use super::neighbor_order::{NeighborFunction, order_of, slots_for};
use super::varying::{self, Division, Ints, SliceInBlocks, Varying};
use crate::arguments::blocks::Blocks;
use crate::arguments::neighbors::{Order, Parts, Trade};
use crate::in_flight::stable::Stable;

/// The functions among neighbours.
pub(crate) trait Trades: Moves {
    /// True if each block has its own place on both sides.
    const IS_TOLD_PLACES: bool = false;
}

impl Trades for NeighborAllgather {}
impl Trades for NeighborAllgatherv {}
impl Trades for NeighborAlltoall {}
impl Trades for NeighborAlltoallv {
    const IS_TOLD_PLACES: bool = true;
}

/// As the function has it.
fn varying<'a, F: Trades, T>(trade: Trade<'a, T>, slots: Option<Vec<usize>>) -> Varying<'a, T> {
    let divided = |parts: Parts<'a>, neighbors: &[Option<usize>], slots| match parts {
        Parts::Blocks(blocks) => Division::Blocks(Cow::Borrowed(blocks), slots),
        Parts::Even(length) if F::IS_TOLD_PLACES => {
            let blocks = Blocks::even(length * neighbors.len(), neighbors.len());
            Division::Blocks(Cow::Owned(blocks), slots)
        }
        Parts::Whole(length) | Parts::Even(length) => Division::Block(length),
    };
    Varying {
        send: SliceInBlocks {
            slice: Some(trade.send.slice),
            division: divided(trade.send.blocks, trade.around.out_neighbors(), None),
        },
        recv: SliceInBlocks {
            slice: Some(trade.recv.slice),
            division: divided(trade.recv.blocks, trade.around.in_neighbors(), slots),
        },
        root: 0,
    }
}

/// As [`slots_for`], for a function that can be told places.
#[inline(always)]
fn slots<F: Trades, T>(trade: &Trade<'_, T>, form: NeighborFunction) -> Result<Option<Vec<usize>>> {
    match F::IS_TOLD_PLACES {
        true => slots_for(form, trade.around),
        false => Ok(None),
    }
}

/// The numbers of one side, if they need not be made first.
#[inline(always)]
fn ints<F: Trades, T: Pod>(parts: Parts<'_>) -> Option<Ints<'_>> {
    match parts {
        Parts::Blocks(blocks) => blocks.kept_ints(TypeOf::<T>::items()).map(Ints::Blocks),
        Parts::Even(_) if F::IS_TOLD_PLACES => None,
        Parts::Whole(length) | Parts::Even(length) => {
            TypeOf::<T>::small_count(length).map(Ints::Block)
        }
    }
}

#[inline(always)]
pub(crate) fn blocking<F: Trades, T: Pod>(comm: &Comm, trade: Trade<'_, T>) -> Result<()> {
    if F::IS_TOLD_PLACES
        && matches!(trade.recv.blocks, Parts::Even(_))
        && order_of(NeighborFunction::Even, trade.around)? == Order::Standard
    {
        return called::<NeighborAlltoall, T>(comm, trade, None);
    }
    let slots = slots::<F, T>(&trade, NeighborFunction::Blocking)?;
    called::<F, T>(comm, trade, slots)
}

#[inline(always)]
fn called<F: Trades, T: Pod>(
    comm: &Comm,
    trade: Trade<'_, T>,
    slots: Option<Vec<usize>>,
) -> Result<()> {
    let sent = ints::<F, T>(trade.send.blocks);
    let received = ints::<F, T>(trade.recv.blocks);
    if let (None, Some(sent), Some(received)) = (&slots, sent, received) {
        let (send, recv) = (Some(trade.send.slice), Some(trade.recv.slice));
        return varying::small::<F, T>(comm, (send, sent), (recv, received), 0);
    }
    varying::blocking::<F, T>(comm, varying::<F, T>(trade, slots))
}

pub(crate) fn nonblocking<F: Trades, T: Pod>(
    comm: &Comm,
    trade: Stable<Trade<'_, T>>,
) -> Result<StartedOp> {
    let slots = slots::<F, T>(trade.get(), NeighborFunction::Nonblocking)?;
    let varying = trade.map(move |trade| varying::<F, T>(trade, slots));
    varying::nonblocking::<F, T>(comm, varying, None)
}

pub(crate) fn init<F: Trades, T: Pod>(
    comm: &Comm,
    trade: Stable<Trade<'_, T>>,
) -> Result<Option<StartedOp>> {
    if !is_in_library(F::INIT) {
        return Ok(None);
    }
    let slots = slots::<F, T>(trade.get(), NeighborFunction::Persistent)?;
    let varying = trade.map(move |trade| varying::<F, T>(trade, slots));
    varying::init::<F, T>(comm, varying)
}
