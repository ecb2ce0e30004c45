//! Between two groups, as a way to do any operation that has it.

use std::marker::PhantomData;

use crate::mpi::functions::Named;

/// The operation between two groups.
pub(crate) enum BetweenGroups<M> {
    #[expect(dead_code, reason = "it is a name of types")]
    Of(PhantomData<M>),
}

impl<M: Named> Named for BetweenGroups<M> {
    const BLOCKING: &'static str = M::BLOCKING;
    const NONBLOCKING: &'static str = M::NONBLOCKING;
    const INIT: &'static str = M::INIT;
}
