//! Dumps at signals of Unix.

mod fault;
mod termination;

pub(super) use fault::on_faults;
pub(super) use termination::on_termination;
