//! Supertraits that keep the traits of this crate to communicators and their scopes.

use ranks_comm::{Communicator, Intercommunicator, Scope};

/// Out of reach from outside, so that operations can be added to the traits.
pub trait Sealed {
    /// The communicator itself.
    fn communicator(&self) -> &Communicator;
}

impl Sealed for Communicator {
    #[inline(always)]
    fn communicator(&self) -> &Communicator {
        self
    }
}

/// The same for two groups.
pub trait Between {
    /// Itself.
    fn between(&self) -> &Intercommunicator;
}

impl Between for Intercommunicator {
    fn between(&self) -> &Intercommunicator {
        self
    }
}

/// The same for scopes.
pub trait ScopeSealed<'scope, 'env> {
    /// The scope itself.
    fn scope(&'scope self) -> &'scope Scope<'scope, 'env>;
}

impl<'scope, 'env> ScopeSealed<'scope, 'env> for Scope<'scope, 'env> {
    fn scope(&'scope self) -> &'scope Scope<'scope, 'env> {
        self
    }
}
