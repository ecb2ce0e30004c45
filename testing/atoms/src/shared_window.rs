//! Sources of ranks-rma-window's folder `shared_window`.

pub(crate) mod lock_models;
pub(crate) mod phase_models;

#[path = "../../../crates/ranks-rma-window/src/shared_window/locks.rs"]
mod locks;
#[path = "../../../crates/ranks-rma-window/src/shared_window/steps.rs"]
mod steps;

/// The steps between two looks: here nobody ends or gives up, and nothing has to go on.
mod peers {
    use crate::{Communicator, Result};

    pub(super) fn look(
        _node: &Communicator,
        _operation: &'static str,
        _awaited: impl Fn(usize) -> bool,
    ) -> Result<()> {
        Ok(())
    }

    pub(super) fn nobody_gave_up(_node: &Communicator, _operation: &'static str) -> Result<()> {
        Ok(())
    }

    pub(super) fn give_up(_node: &Communicator) {}
}
