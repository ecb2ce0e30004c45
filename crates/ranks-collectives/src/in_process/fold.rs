//! Contributions of ranks, combined in the order of ranks where they lie.
//!
//! It goes part by part, each small enough to stay in the cache while the ranks are gone through.
//! Elements are combined one by one and in one order, so that it makes no difference to the result
//! who does which part.

use std::borrow::Cow;
use std::ops::Range;

use bytemuck::Pod;
use ranks_comm::Result;

use super::bytes::{bytes, bytes_mut};
use super::call::RankCall;
use crate::ops::Reduction;
use crate::ops::user_op::Panicked;

/// The bytes of a part: a few of them fit into the second cache of a core.
const PART: usize = 64 * 1024;

/// A function that reads a part of what a rank contributes, in bytes.
pub(super) type Contributions<'c> =
    dyn Fn(usize, Range<usize>, &mut dyn FnMut(&[u8])) -> Result<()> + 'c;

/// A reduction of what some ranks contribute.
pub(super) struct Fold<'a, T, O> {
    call: &'a RankCall<'a>,
    op: &'a O,
    /// The ranks that contribute.
    ranks: Range<usize>,
    own: Own<'a, T>,
}

/// The place of this rank's contribution to what is folded.
pub(super) enum Own<'a, T> {
    Here(&'a [T]),
    /// In the memory of the result.
    InPlace,
    /// It has none.
    Nowhere,
}

impl<'a, T> Own<'a, T> {
    /// In place, there is no slice.
    pub(super) fn of(slice: Option<&'a [T]>) -> Self {
        slice.map_or(Self::InPlace, Self::Here)
    }
}

impl<'a, T: Pod, O: Reduction<T>> Fold<'a, T, O> {
    pub(super) fn new(
        call: &'a RankCall<'a>,
        op: &'a O,
        ranks: Range<usize>,
        own: Own<'a, T>,
    ) -> Self {
        Self {
            call,
            op,
            ranks,
            own,
        }
    }

    /// Makes `sum` of the elements from `start` on.
    pub(super) fn run(&self, sum: &mut [T], start: usize, read: &Contributions<'_>) -> Result<()> {
        self.run_and(sum, start, read, |_, _| Ok(()))
    }

    /// As [`run`](Self::run), and calls `then` with each part of the bytes that has its result,
    /// while it is in the cache.
    pub(super) fn run_and(
        &self,
        sum: &mut [T],
        start: usize,
        read: &Contributions<'_>,
        mut then: impl FnMut(Range<usize>, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut outcome = Ok(());
        let width = size_of::<T>();
        if width == 0 {
            return outcome;
        }
        let length = (PART / width).max(1);
        let mut next = Vec::new();
        let (me, mut first) = (self.call.rank(), start);
        for (index, sum) in sum.chunks_mut(length).enumerate() {
            let end = first + sum.len();
            let part = first * width..end * width;
            first = end;
            let own = match self.own {
                Own::Here(own) => own.get(index * length..).map(Cow::Borrowed),
                // It must not be lost before its turn, unless that is the first.
                Own::InPlace if me == self.ranks.start => None,
                Own::InPlace => Some(Cow::Owned(sum.to_vec())),
                Own::Nowhere => None,
            };
            let own = own.as_ref().map(|own| &own[..sum.len()]);
            for rank in self.ranks.clone() {
                let is_first = rank == self.ranks.start;
                if is_first && rank == me && matches!(self.own, Own::InPlace) {
                    continue;
                }
                if let Some(own) = own.filter(|_| rank == me) {
                    outcome = outcome.and(self.take(sum, is_first, bytes(own)));
                } else if O::predefined().is_some() {
                    let mut taken = Ok(());
                    let read = read(rank, part.clone(), &mut |bytes| {
                        taken = self.take(sum, is_first, bytes);
                    });
                    outcome = outcome.and(read).and(taken);
                } else {
                    // Code of the program does not run while another rank's memory is read.
                    next.clear();
                    let read = read(rank, part.clone(), &mut |bytes| {
                        next.extend_from_slice(bytes);
                    });
                    outcome = outcome.and(read).and(self.take(sum, is_first, &next));
                }
            }
            outcome = outcome.and(then(part, bytes(sum)));
        }
        outcome
    }

    /// Combines what the lower ranks came to with what the next one contributes.
    fn take(&self, sum: &mut [T], is_first: bool, next: &[u8]) -> Result<()> {
        if is_first {
            if next.len() == size_of_val(sum) {
                bytes_mut(sum).copy_from_slice(next);
            }
            return Ok(());
        }
        Panicked::caught_of::<T, O>(self.call.operation(), || combine_bytes(self.op, sum, next))
    }
}

/// Combines elements of lower ranks with those of a higher one, and replaces them.
pub(crate) fn combine_each<T: Pod, O: Reduction<T>>(op: &O, lower: &mut [T], higher: &[T]) {
    for (lower, &higher) in lower.iter_mut().zip(higher) {
        *lower = op.combine(*lower, higher);
    }
}

/// Combines elements with those whose bytes follow, wherever they lie.
pub(super) fn combine_bytes<T: Pod, O: Reduction<T>>(op: &O, sum: &mut [T], next: &[u8]) {
    if let Ok(next) = bytemuck::try_cast_slice::<u8, T>(next) {
        combine_each(op, sum, next);
    } else {
        let next = next.chunks_exact(size_of::<T>());
        for (left, right) in sum.iter_mut().zip(next) {
            *left = op.combine(*left, bytemuck::pod_read_unaligned(right));
        }
    }
}
