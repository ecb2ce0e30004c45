//! What numr's programs rely on, on every backend and for each version of numr: the cases that its
//! communicator in process is tested by, those that only a communicator with messages has, and the
//! order in which pipelines call.
#![cfg(all(feature = "numr-0_5", feature = "numr-0_14"))]
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "numr's operations take addresses; a failure is a failed test, and numbers are small"
)]

mod gpus;
mod logged;
mod mock;
mod v0_14;
mod v0_5;
