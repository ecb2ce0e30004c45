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
    /// Down and up along one dimension, then along others.
    trades: Vec<Trade>,
    /// The cells of the first two, if they are contiguous.
    in_place: Option<InPlace>,
}

/// The cells of two trades, which lie in the array in this order.
#[derive(Debug, Clone)]
struct InPlace {
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
        Self {
            in_place: InPlace::of(&down, &up),
            trades: vec![down, up],
        }
    }

    /// Those of another dimension.
    pub(super) fn add(&mut self, down: Trade, up: Trade) {
        self.trades.extend([down, up]);
    }

    /// The trades of cells that are sent from where they lie, which are those of one array, and the
    /// trades of cells that are copied to buffers.
    fn split(&self, arrays: usize) -> (Option<&InPlace>, &[Trade], &[Trade]) {
        let in_place = self.in_place.as_ref().filter(|_| arrays == 1);
        let (pair, packed) = self.trades.split_at(2 * usize::from(in_place.is_some()));
        (in_place, pair, packed)
    }

    /// The number of cells of so many arrays that are copied to a buffer.
    pub(super) fn room(&self, arrays: usize) -> usize {
        let (.., packed) = self.split(arrays);
        arrays * packed.iter().map(|trade| trade.own.cells()).sum::<usize>()
    }

    /// Makes the trades, with one message each for all arrays; the buffers have room for what is
    /// copied.
    pub(super) fn run<T: Pod>(
        &self,
        grid: &Cartesian,
        arrays: &mut [&mut [T]],
        leaving: &mut [T],
        arriving: &mut [T],
    ) -> Result<()> {
        let (me, count) = (Some(grid.rank()), arrays.len());
        let (in_place, pair, packed) = self.split(count);
        for trade in packed.iter().filter(|trade| trade.to == me) {
            for array in &mut *arrays {
                let cells = &mut leaving[..trade.own.cells()];
                trade.own.pack(array, cells);
                trade.halo.unpack(cells, array);
            }
        }
        let packed = || packed.iter().filter(|trade| trade.to != me);
        for (trade, cells) in parts(packed(), count, leaving) {
            if trade.to.is_some() {
                let each = cells.chunks_exact_mut(trade.own.cells().max(1));
                for (array, cells) in arrays.iter().zip(each) {
                    trade.own.pack(array, cells);
                }
            }
        }
        let split = match (in_place, &mut *arrays) {
            (Some(cells), [array]) if pair[0].to == me => {
                array.copy_within(cells.lowest.clone(), cells.upper.start);
                array.copy_within(cells.highest.clone(), cells.lower.start);
                None
            }
            (Some(cells), [array]) => Some(cells.split(array)),
            _ => None,
        };
        let (sent, halos) = split.unzip();
        let cells = parts(packed(), count, leaving).map(|(trade, cells)| (trade, &*cells));
        let sent = pair.iter().zip(sent.into_iter().flatten()).chain(cells);
        let halos = pair.iter().zip(halos.into_iter().flatten());
        exchange(grid, sent, halos.chain(parts(packed(), count, arriving)))?;
        for (trade, cells) in parts(packed(), count, arriving) {
            if trade.from.is_some() {
                let each = cells.chunks_exact(trade.own.cells().max(1));
                for (array, cells) in arrays.iter_mut().zip(each) {
                    trade.halo.unpack(cells, array);
                }
            }
        }
        Ok(())
    }
}

/// Trades with their parts of a buffer for the cells of `arrays` arrays.
fn parts<'t, 'b, T>(
    trades: impl Iterator<Item = &'t Trade>,
    arrays: usize,
    mut buffer: &'b mut [T],
) -> impl Iterator<Item = (&'t Trade, &'b mut [T])> {
    trades.map(move |trade| {
        let (cells, rest) = take(&mut buffer).split_at_mut(arrays * trade.own.cells());
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
    grid.scope(|scope| {
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
        outcome
    })
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
    let (arrived, me) = (Count(bytes, "byte"), grid.rank());
    let why = format_args!(
        "rank {from} sent {arrived} to rank {me}, whose halo there takes {expected}; \
         neighbours must have the same sizes across the direction of the exchange, \
         and exchange as many arrays"
    );
    Err(Error::new(ErrorKind::Length, OPERATION, why))
}
