//! Communication among neighbours.
//!
//! All to all with blocks of one length goes by the function for blocks of lengths of their own as
//! well: it can be told where to put those of a rank that is a neighbour several times, which
//! libraries let arrive in orders of their own ([`neighbor_order`]).
//!
//! [`neighbor_order`]: super::neighbor_order

use bytemuck::Pod;
use ranks_comm::Result;
use ranks_comm::backend::{MpiComm as Comm, StartedOp};

use super::functions::{
    Moves, NeighborAllgather, NeighborAllgatherv, NeighborAlltoallv, is_in_library,
};
use super::neighbor_order::{NeighborFunction, slots_for};
use super::varying::{self, Division, SliceInBlocks, Varying};
use crate::arguments::neighbors::Trade;
use crate::in_flight::stable::Stable;

/// The sides of an operation that blocks of both are divided on.
pub(crate) trait Trades: Moves {
    /// Two flags: each neighbour is sent a block of its own; blocks that are received have lengths
    /// of their own.
    const DIVIDES: [bool; 2];
}

impl Trades for NeighborAllgather {
    const DIVIDES: [bool; 2] = [false, false];
}

impl Trades for NeighborAllgatherv {
    const DIVIDES: [bool; 2] = [false, true];
}

impl Trades for NeighborAlltoallv {
    const DIVIDES: [bool; 2] = [true, true];
}

/// As the function has it.
fn varying<F: Trades, T>(trade: Trade<'_, T>, form: NeighborFunction) -> Result<Varying<'_, T>> {
    let [sends_blocks, receives_blocks] = F::DIVIDES;
    let slots = match sends_blocks {
        true => slots_for(form, trade.around)?,
        false => None,
    };
    let length = trade.send.slice.len();
    let divided = |is_divided: bool, blocks, slots| match is_divided {
        true => Division::Blocks(blocks, slots),
        false => Division::Block(length),
    };
    Ok(Varying {
        send: SliceInBlocks {
            slice: Some(trade.send.slice),
            division: divided(sends_blocks, trade.send.blocks, None),
        },
        recv: SliceInBlocks {
            slice: Some(trade.recv.slice),
            division: divided(receives_blocks, trade.recv.blocks, slots),
        },
        root: 0,
    })
}

pub(crate) fn blocking<F: Trades, T: Pod>(comm: &Comm, trade: Trade<'_, T>) -> Result<()> {
    varying::blocking::<F, T>(comm, varying::<F, T>(trade, NeighborFunction::Blocking)?)
}

pub(crate) fn nonblocking<F: Trades, T: Pod>(
    comm: &Comm,
    trade: Stable<Trade<'_, T>>,
) -> Result<StartedOp> {
    let varying = trade.proven(|trade| varying::<F, T>(trade, NeighborFunction::Nonblocking))?;
    varying::nonblocking::<F, T>(comm, varying, None)
}

pub(crate) fn init<F: Trades, T: Pod>(
    comm: &Comm,
    trade: Stable<Trade<'_, T>>,
) -> Result<Option<StartedOp>> {
    if !is_in_library(F::INIT) {
        return Ok(None);
    }
    let varying = trade.proven(|trade| varying::<F, T>(trade, NeighborFunction::Persistent))?;
    varying::init::<F, T>(comm, varying)
}
