//! Arguments besides slices, as a persistent operation keeps them for each start.

use ranks_comm::Neighborhood;

use crate::arguments::blocks::Blocks;
use crate::arguments::crossing::RootGroup;
use crate::arguments::layouts::Layouts;

/// Arguments that are kept, and lent out as a call takes them.
pub(crate) trait Kept: Clone + Send + 'static {
    type Lent<'a>;

    fn lent(&self) -> Self::Lent<'_>;
}

macro_rules! kept {
    ($($owned:ty as $lent:ty: |$kept:ident| $lend:expr;)*) => { $(
        impl Kept for $owned {
            type Lent<'a> = $lent;

            #[inline(always)]
            fn lent(&self) -> Self::Lent<'_> {
                let $kept = self;
                $lend
            }
        }
    )* };
}

kept! {
    () as (): |_none| ();
    usize as usize: |root| *root;
    RootGroup as RootGroup: |root| *root;
    Blocks as &'a Blocks: |blocks| blocks;
    Layouts as &'a Layouts: |layouts| layouts;
}

/// A communicator with its neighbours.
#[derive(Clone)]
pub(crate) struct Around<N>(pub(crate) N);

impl<N: Neighborhood + Clone + Send + 'static> Kept for Around<N> {
    type Lent<'a> = &'a dyn Neighborhood;

    #[inline(always)]
    fn lent(&self) -> &dyn Neighborhood {
        &self.0
    }
}

impl<A: Kept, B: Kept> Kept for (A, B) {
    type Lent<'a> = (A::Lent<'a>, B::Lent<'a>);

    #[inline(always)]
    fn lent(&self) -> Self::Lent<'_> {
        (self.0.lent(), self.1.lent())
    }
}

impl<A: Kept, B: Kept, C: Kept> Kept for (A, B, C) {
    type Lent<'a> = (A::Lent<'a>, B::Lent<'a>, C::Lent<'a>);

    #[inline(always)]
    fn lent(&self) -> Self::Lent<'_> {
        (self.0.lent(), self.1.lent(), self.2.lent())
    }
}
