//! What runs on the MPIs of the tests needs, whoever starts it: where the workspace and its MPIs
//! lie, programs and test binaries built by cargo, tests on ranks that are run and counted, and the
//! table of them.

#![deny(unsafe_code)]
#![allow(
    clippy::print_stdout,
    reason = "it is part of commands, which talk to their users"
)]

pub mod faults;
pub mod mpi;
pub mod place;
pub mod programs;
pub mod root;
pub mod suites;
pub mod table;
pub mod tally;
pub mod wheels;
pub mod workspace;
