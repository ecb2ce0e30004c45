//! Arguments of a reduction.

use std::borrow::Cow;

use bytemuck::Pod;

use crate::arguments::blocks::Blocks;
use crate::arguments::proven::{Both, Movable, Proven};
use crate::arguments::transfer::Transfer;

/// The part of the result that a rank gets.
#[derive(Clone, Copy)]
pub(crate) enum Share<'a> {
    /// All of it.
    Whole,
    /// The block of the rank, where it is as many blocks of one length as there are ranks.
    Block { ranks: usize },
    /// The block of the rank, of a length of its own.
    Counts(&'a Blocks),
}

impl<'a> Share<'a> {
    /// The blocks, where they are of lengths of their own.
    pub(crate) fn counts(self) -> Option<&'a Blocks> {
        match self {
            Share::Counts(blocks) => Some(blocks),
            Share::Whole | Share::Block { .. } => None,
        }
    }
}

/// Slices that were proven to fit a reduction, and the part of its result that this rank gets.
pub(crate) struct Reducing<'a, T> {
    pub(crate) transfer: Transfer<'a, T>,
    pub(crate) share: Share<'a>,
}

impl<'a, T> Reducing<'a, T> {
    pub(crate) fn whole(transfer: Transfer<'a, T>) -> Self {
        let share = Share::Whole;
        Self { transfer, share }
    }

    /// The blocks that are dealt out; one where every rank gets all.
    pub(crate) fn blocks(&self) -> Cow<'a, Blocks> {
        let block = self.transfer.block();
        match self.share {
            Share::Whole => Cow::Owned(Blocks::even(block, 1)),
            // As many elements as there are in all: no overflow.
            Share::Block { ranks } => Cow::Owned(Blocks::even(block * ranks, ranks)),
            Share::Counts(blocks) => Cow::Borrowed(blocks),
        }
    }

    /// Elements that one rank contributes.
    pub(crate) fn elements(&self) -> usize {
        let block = self.transfer.block();
        match self.share {
            Share::Whole => block,
            Share::Block { ranks } => block * ranks,
            Share::Counts(blocks) => blocks.end(),
        }
    }
}

impl<T> Proven for Reducing<'_, T> {
    fn elements(&self) -> usize {
        match self.share {
            Share::Counts(_) => 0,
            Share::Whole | Share::Block { .. } => self.transfer.block(),
        }
    }

    fn lengths(&self) -> Cow<'_, [usize]> {
        match self.share {
            Share::Counts(blocks) => Cow::Borrowed(blocks.counts()),
            Share::Whole | Share::Block { .. } => self.transfer.lengths(),
        }
    }
}

impl<'a, T: Pod> Movable<'a> for Reducing<'a, T> {
    type Element = T;

    fn slices(&mut self) -> Both<'_, 'a, T> {
        self.transfer.slices_mut()
    }
}
