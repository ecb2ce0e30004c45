//! Sources of ranks-comm's folder `op`.

#[path = "../../../crates/ranks-comm/src/op/partitioned/arrivals.rs"]
pub(crate) mod arrivals;
#[path = "../../../crates/ranks-comm/src/op/partitioned/states.rs"]
pub(crate) mod states;
