//! Every collective on every backend, against what a single loop would compute.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a failure is a failed test, and samples are cut to their type on purpose"
)]

mod agreement;
mod allgather;
mod allreduce;
mod alltoall;
mod average;
mod barrier;
mod bcast;
#[cfg(feature = "serde")]
mod bcast_value;
mod check_limit;
mod drawn;
mod empty;
mod gather;
mod hierarchy;
mod huge;
mod in_place;
mod in_process;
mod intercommunicators;
#[path = "../../../../testing/lanes.rs"]
mod lanes;
mod layouts;
mod located;
mod mistakes;
mod model;
mod neighbors;
mod numbers;
mod one_at_a_time;
#[cfg(any(feature = "half", feature = "num-complex"))]
mod other_numbers;
mod packed;
mod reduce;
mod reproducible;
mod rsmpi;
mod scan;
mod scatter;
mod sparse;
mod topologies;
#[cfg(feature = "topology")]
mod topology;
mod user_op;
mod varying;
mod varying_mistakes;
