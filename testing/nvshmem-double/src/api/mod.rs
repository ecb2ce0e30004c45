//! The functions that are exported.

mod amo;
mod collectives;
mod life;
mod memory;
mod modules;
mod order;
mod rma;
mod signals;
mod since_3_5;
mod teams;
mod test_hooks;
mod typed;
