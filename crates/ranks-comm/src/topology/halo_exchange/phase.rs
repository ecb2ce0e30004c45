//! Messages of a halo exchange that are in flight at once.

use std::mem::take;
use std::ops::Range;

use ranks_launch::Count;

use super::OPERATION;
use super::block::Block;
use crate::data::element::Pod;
use crate::result::{Error, ErrorKind, Result, Status};
use crate::topology::cartesian::Cartesian;

/// One message each way: own cells to one neighbour, cells of the halo from the opposite one.
#[derive(Debug, Clone)]
pub(super) struct Trade {
    pub(super) own: Block,
    pub(super) to: Option<usize>,
    pub(super) halo: Block,
    pub(super) from: Option<usize>,
    pub(super) tag: i32,
}

/// Trades of which none needs what another one brings.
#[derive(Debug, Clone)]
pub(super) struct Phase {
    /// Both directions of one dimension, if their cells are contiguous.
    in_place: Option<InPlace>,
    /// Those whose cells are copied to buffers.
    packed: Vec<Trade>,
}

/// Two trades of contiguous cells, which lie in the array in this order: the lower halo, the lowest
/// and the highest own cells, the upper halo.
#[derive(Debug, Clone)]
struct InPlace {
    down: Trade,
    up: Trade,
    lower: Range<usize>,
    lowest: Range<usize>,
    highest: Range<usize>,
    upper: Range<usize>,
}

impl InPlace {
    fn of(down: &Trade, up: &Trade) -> Option<Self> {
        Some(Self {
            lower: up.halo.one_run()?,
            lowest: down.own.one_run()?,
            highest: up.own.one_run()?,
            upper: down.halo.one_run()?,
            down: down.clone(),
            up: up.clone(),
        })
    }

    /// The cells that are sent down and up, and the upper and the lower halo.
    fn split<'a, T>(&self, array: &'a mut [T]) -> ([&'a [T]; 2], [&'a mut [T]; 2]) {
        let (below, above) = array.split_at_mut(self.lowest.start);
        let (own, above) = above.split_at_mut(self.upper.start - self.lowest.start);
        let highest = self.highest.start - self.lowest.start;
        let sent = [
            &own[..self.lowest.len()],
            &own[highest..][..self.highest.len()],
        ];
        let halos = [
            &mut above[..self.upper.len()],
            &mut below[self.lower.clone()],
        ];
        (sent, halos)
    }
}

impl Phase {
    /// Both directions of one dimension: own cells from its low end `down`, from its high end `up`.
    pub(super) fn new(down: Trade, up: Trade) -> Self {
        let in_place = InPlace::of(&down, &up);
        let packed = match in_place {
            Some(_) => Vec::new(),
            None => vec![down, up],
        };
        Self { in_place, packed }
    }

    /// Those of another dimension.
    pub(super) fn add(&mut self, down: Trade, up: Trade) {
        self.packed.extend([down, up]);
    }

    /// The number of cells that are packed.
    pub(super) fn packed_cells(&self) -> usize {
        self.packed.iter().map(|trade| trade.own.cells()).sum()
    }

    /// Makes the trades; the buffers have room for all cells that are packed.
    pub(super) fn run<T: Pod>(
        &self,
        grid: &Cartesian,
        array: &mut [T],
        leaving: &mut [T],
        arriving: &mut [T],
    ) -> Result<()> {
        let me = Some(grid.rank());
        for trade in self.packed.iter().filter(|trade| trade.to == me) {
            let cells = &mut leaving[..trade.own.cells()];
            trade.own.pack(array, cells);
            trade.halo.unpack(cells, array);
        }
        let packed = || self.packed.iter().filter(|trade| trade.to != me);
        for (trade, cells) in parts(packed(), leaving) {
            if trade.to.is_some() {
                trade.own.pack(array, cells);
            }
        }
        let in_place = self.in_place.as_ref();
        if let Some(pair) = in_place.filter(|pair| pair.down.to == me) {
            array.copy_within(pair.lowest.clone(), pair.upper.start);
            array.copy_within(pair.highest.clone(), pair.lower.start);
        }
        let in_place = in_place.filter(|pair| pair.down.to != me);
        let (sent, halos) = in_place.map(|pair| pair.split(array)).unzip();
        let pair = || in_place.into_iter().flat_map(|pair| [&pair.down, &pair.up]);
        let cells = parts(packed(), leaving).map(|(trade, cells)| (trade, &*cells));
        let sent = pair().zip(sent.into_iter().flatten()).chain(cells);
        let halos = pair().zip(halos.into_iter().flatten());
        exchange(grid, sent, halos.chain(parts(packed(), arriving)))?;
        for (trade, cells) in parts(packed(), arriving) {
            if trade.from.is_some() {
                trade.halo.unpack(cells, array);
            }
        }
        Ok(())
    }
}

/// Trades with their parts of a buffer.
fn parts<'t, 'b, T>(
    trades: impl Iterator<Item = &'t Trade>,
    mut buffer: &'b mut [T],
) -> impl Iterator<Item = (&'t Trade, &'b mut [T])> {
    trades.map(move |trade| {
        let (cells, rest) = take(&mut buffer).split_at_mut(trade.own.cells());
        buffer = rest;
        (trade, cells)
    })
}

/// Exchanges messages, all at once.
fn exchange<'t, 'a, T: Pod>(
    grid: &'a Cartesian,
    leaving: impl Iterator<Item = (&'t Trade, &'a [T])>,
    arriving: impl Iterator<Item = (&'t Trade, &'a mut [T])>,
) -> Result<()> {
    let outcome = grid.scope(|scope| {
        let mut received = Vec::new();
        for (trade, cells) in arriving.filter(|(trade, _)| trade.from.is_some()) {
            let expected = size_of_val(cells);
            let request = scope.irecv(cells, trade.from, trade.tag)?;
            received.push((request, trade.from, expected));
        }
        for (trade, cells) in leaving.filter(|(trade, _)| trade.to.is_some()) {
            scope.isend(cells, trade.to, trade.tag)?;
        }
        let mut outcome = Ok(());
        for (request, from, expected) in received {
            // After an error the neighbours still wait for the other messages.
            let done = request.wait();
            outcome =
                outcome.and(done.and_then(|(_, status)| is_whole(grid, from, status, expected)));
        }
        Ok(outcome)
    });
    outcome?
}

/// # Errors
/// [`ErrorKind::Length`] if less than expected arrived.
fn is_whole(grid: &Cartesian, from: Option<usize>, status: Status, expected: usize) -> Result<()> {
    let (bytes, Some(from)) = (status.bytes(), from) else {
        return Ok(());
    };
    if bytes == expected {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Length,
        OPERATION,
        format_args!(
            "rank {from} sent {} to rank {}, whose halo there takes {expected}; \
             neighbours must have the same sizes across the direction of the exchange",
            Count(bytes, "byte"),
            grid.rank()
        ),
    ))
}
