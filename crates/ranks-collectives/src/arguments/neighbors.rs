//! Communication among the neighbours of a topology: what is proven of a call, and in what order
//! blocks arrive.

mod pairing;
mod trade;

pub(crate) use pairing::{Edge, Order, slots};
pub(crate) use trade::{Division, Parts, Trade};
