//! Arguments of a collective that were proven to fit it: what ranks compare of them, and how their
//! slices are put elsewhere.

use std::borrow::Cow;
use std::fmt::Debug;

use bytemuck::Pod;
use ranks_comm::backend::TypeOf;

use crate::arguments::blocks::Blocks;
use crate::arguments::layouts::Pattern;
use crate::arguments::neighbors::{Division, Edge, Trade};
use crate::arguments::transfer::Transfer;
use crate::arguments::varying::{Exchange, Gathering, Scattering};

/// The slices of a call, proven to fit it on this rank.
pub(crate) trait Proven {
    /// The lengths that must be the same on every rank, in elements.
    fn lengths(&self) -> Cow<'_, [usize]> {
        Cow::Borrowed(&[])
    }

    /// An argument other than a slice that must be the same on every rank.
    fn argument(&self) -> Option<&dyn Debug> {
        None
    }

    /// The number of elements, as far as one number says that.
    fn elements(&self) -> usize {
        0
    }

    /// The numbers of elements that this rank sends to and expects from each, where that is for
    /// each pair to agree on.
    fn pairs(&self) -> Option<[&[usize]; 2]> {
        None
    }

    /// The edges on which this rank sends to and expects from its neighbours, where that is for
    /// each two to agree on.
    fn edges(&self) -> Option<[Vec<Edge>; 2]> {
        None
    }

    /// Returns true if an `int` cannot say a number of blocks that this rank alone knows of.
    fn is_large(&self) -> bool {
        false
    }
}

impl Proven for () {}

/// Arguments that are each rank's own affair.
impl<A, B> Proven for (A, B) {}

impl<T> Proven for Transfer<'_, T> {
    fn elements(&self) -> usize {
        self.block()
    }

    fn lengths(&self) -> Cow<'_, [usize]> {
        Cow::Owned(vec![self.block()])
    }
}

impl<T> Proven for Gathering<'_, T> {
    fn lengths(&self) -> Cow<'_, [usize]> {
        Cow::Borrowed(self.recv.blocks.counts())
    }
}

impl<T> Proven for Scattering<'_, T> {
    fn lengths(&self) -> Cow<'_, [usize]> {
        Cow::Borrowed(self.send.blocks.counts())
    }
}

impl<T: Pod> Proven for Exchange<'_, T> {
    fn pairs(&self) -> Option<[&[usize]; 2]> {
        Some([self.send.blocks.counts(), self.recv.blocks.counts()])
    }

    fn is_large(&self) -> bool {
        let mut sides = [self.send.blocks, self.recv.blocks].into_iter();
        sides.any(|blocks| blocks.ints(TypeOf::<T>::items()).is_none())
    }
}

impl<T> Proven for Pattern<'_, T> {
    fn pairs(&self) -> Option<[&[usize]; 2]> {
        Some([self.send.1.counts(), self.recv.1.counts()])
    }
}

impl<T: Pod, D: Division> Proven for Trade<'_, T, D> {
    fn edges(&self) -> Option<[Vec<Edge>; 2]> {
        Some([self.outgoing().collect(), self.incoming().collect()])
    }

    fn is_large(&self) -> bool {
        let mut sides = [&self.send.blocks, &self.recv.blocks].into_iter();
        sides.any(|blocks| blocks.are_large(TypeOf::<T>::items()))
    }
}

/// Both slices of a call, to be put elsewhere; `None` for the one whose part the other plays.
pub(crate) type Both<'s, 'a, T> = (Option<&'s mut &'a [T]>, Option<&'s mut &'a mut [T]>);

/// The blocks that both slices are divided into, if they are.
pub(crate) type Divisions<'s, 'a> = [Option<&'s mut &'a Blocks>; 2];

/// Slices of a call, proven to fit it, in whose place others of the same lengths can be put; or
/// others with the same blocks at other places, and what says so.
pub(crate) trait Movable<'a>: Proven {
    type Element: Pod;

    fn slices(&mut self) -> Both<'_, 'a, Self::Element>;

    fn divisions(&mut self) -> Divisions<'_, 'a> {
        [None, None]
    }
}

impl<'a> Movable<'a> for () {
    type Element = u8;

    fn slices(&mut self) -> Both<'_, 'a, u8> {
        (None, None)
    }
}

impl<'a, T: Pod> Movable<'a> for Transfer<'a, T> {
    type Element = T;

    fn slices(&mut self) -> Both<'_, 'a, T> {
        self.slices_mut()
    }
}

impl<'a, T: Pod> Movable<'a> for Gathering<'a, T> {
    type Element = T;

    fn slices(&mut self) -> Both<'_, 'a, T> {
        (self.send.as_mut(), self.recv.slice.as_mut())
    }

    fn divisions(&mut self) -> Divisions<'_, 'a> {
        [None, Some(&mut self.recv.blocks)]
    }
}

impl<'a, T: Pod> Movable<'a> for Scattering<'a, T> {
    type Element = T;

    fn slices(&mut self) -> Both<'_, 'a, T> {
        (self.send.slice.as_mut(), self.recv.as_mut())
    }

    fn divisions(&mut self) -> Divisions<'_, 'a> {
        [Some(&mut self.send.blocks), None]
    }
}

impl<'a, T: Pod> Movable<'a> for Exchange<'a, T> {
    type Element = T;

    fn slices(&mut self) -> Both<'_, 'a, T> {
        (self.send.slice.as_mut(), self.recv.slice.as_mut())
    }

    fn divisions(&mut self) -> Divisions<'_, 'a> {
        [Some(&mut self.send.blocks), Some(&mut self.recv.blocks)]
    }
}

impl<'a, T: Pod> Movable<'a> for Pattern<'a, T> {
    type Element = T;

    fn slices(&mut self) -> Both<'_, 'a, T> {
        (Some(&mut self.send.0), Some(&mut self.recv.0))
    }
}

impl<'a, T: Pod, D: Division> Movable<'a> for Trade<'a, T, D> {
    type Element = T;

    fn slices(&mut self) -> Both<'_, 'a, T> {
        (Some(&mut self.send.slice), Some(&mut self.recv.slice))
    }
}
