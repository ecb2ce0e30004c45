//! Sources of ranks-rma-window's folder `shared_window`.

pub(crate) mod lock_models;
pub(crate) mod phase_models;

#[path = "../../../crates/ranks-rma-window/src/shared_window/locks.rs"]
mod locks;
#[path = "../../../crates/ranks-rma-window/src/shared_window/steps.rs"]
mod steps;

/// The steps between two looks: here nobody ends, and nothing has to go on.
mod peers {
    use crate::{Communicator, Result};

    pub(super) struct Peers;

    impl Peers {
        pub(super) fn of(_node: &Communicator) -> Self {
            Self
        }

        pub(super) fn look(
            &mut self,
            _operation: &'static str,
            _awaited: impl Fn(usize) -> bool,
        ) -> Result<()> {
            Ok(())
        }
    }
}
