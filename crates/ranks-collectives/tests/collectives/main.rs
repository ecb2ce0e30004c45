//! Every collective on every backend, against what a single loop would compute.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod bcast;
mod empty;
mod gather;
mod huge;
mod in_process;
mod mistakes;
mod model;
mod reduce;
mod scatter;
