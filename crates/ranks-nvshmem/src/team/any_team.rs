//! The team arguments of a scope's operations.

use crate::team::{Team, TeamRef};

/// A team that is there for as long as a scope: a reference to a [`Team`] or a [`TeamRef`], or a
/// [`TeamRef`] itself. The trait is sealed.
pub trait AnyTeam<'env>: of::State {}

pub(crate) mod of {
    use std::rc::Rc;

    use crate::team::TeamState;

    pub trait State {
        #[doc(hidden)]
        fn state(&self) -> &Rc<TeamState>;
    }
}

impl of::State for &Team<'_> {
    fn state(&self) -> &std::rc::Rc<crate::team::TeamState> {
        Team::state(self)
    }
}

impl of::State for TeamRef<'_> {
    fn state(&self) -> &std::rc::Rc<crate::team::TeamState> {
        Team::state(self)
    }
}

impl of::State for &TeamRef<'_> {
    fn state(&self) -> &std::rc::Rc<crate::team::TeamState> {
        Team::state(self)
    }
}

impl<'env> AnyTeam<'env> for &'env Team<'_> {}
// What every heap has is there as long as the heap, however long this is.
impl<'env> AnyTeam<'env> for TeamRef<'env> {}
impl<'env> AnyTeam<'env> for &TeamRef<'env> {}
