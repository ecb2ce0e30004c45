//! A test on n ranks under plain `cargo test`: in process, and on every MPI that is asked for.
//!
//! ```toml
//! [dev-dependencies]
//! ranks-test = "0.1"
//! ```
//!
//! ```
//! use ranks::prelude::*;
//!
//! #[ranks_test::ranks(1, 2, 4)]
//! fn each_rank_hears_of_the_one_before(world: Communicator) -> Result<()> {
//!     let (rank, size) = (world.rank(), world.size());
//!     let mut heard = [0u64];
//!     world.sendrecv(&[rank as u64], (rank + 1) % size, 7, &mut heard, (rank + size - 1) % size, 7)?;
//!     assert_eq!(heard[0], ((rank + size - 1) % size) as u64);
//!     Ok(())
//! }
//! ```
//!
//! The function takes its communicator, may be async, and returns nothing or a `Result` whose error
//! can be displayed; a panic is a failure as well. It becomes one test for each number of ranks:
//!
//! ```text
//! test each_rank_hears_of_the_one_before::np1 ... ok
//! test each_rank_hears_of_the_one_before::np2 ... ok
//! test each_rank_hears_of_the_one_before::np4 ... ok
//! ```
//!
//! so `cargo test before::np4` picks one of them, and `cargo nextest` runs them side by side. The
//! function's name is taken as the name of a module too: no other module beside it may bear that
//! name.
//!
//! # Options
//!
//! | in the brackets | meaning |
//! |---|---|
//! | `1, 2, 4` | the numbers of ranks |
//! | `threads = single`, `funneled`, `serialized`, `multiple` | the thread level to ask for; `multiple` if not said |
//! | `timeout = 30` | seconds after which the test counts as timed out; `RANKS_TEST_TIMEOUT` if that is more; 60 if neither is said |
//! | `mpi_only` | has no meaning in process; `cargo test` shows it as ignored, see below |
//! | `in_process_only` | has no meaning on an MPI |
//!
//! `#[ignore]` works as on any test. `#[should_panic]` means that every rank is to panic. `#[cfg]`
//! and the rest stay with the function.
//!
//! # Cases
//!
//! Parameters that follow the communicator get their values from `#[case(…)]`, which stands below
//! the attribute, once for each set of them:
//!
//! ```
//! use ranks::prelude::*;
//!
//! #[ranks_test::ranks(1, 2)]
//! #[case(1, 0.5)]
//! #[case(1000, f64::MAX)]
//! #[case::nothing(0, 1.5)]
//! fn all_get_what_the_root_has(world: Communicator, n: usize, element: f64) -> Result<()> {
//!     let mut data = vec![if world.rank() == 0 { element } else { 0.0 }; n];
//!     world.bcast(&mut data, 0)?;
//!     assert_eq!(data, vec![element; n]);
//!     Ok(())
//! }
//! ```
//!
//! Each case is a test of its own, named by its number or as it is named in the attribute:
//!
//! ```text
//! test all_get_what_the_root_has::case_1::np1 ... ok
//! test all_get_what_the_root_has::case_1::np2 ... ok
//! test all_get_what_the_root_has::case_2::np1 ... ok
//! test all_get_what_the_root_has::case_2::np2 ... ok
//! test all_get_what_the_root_has::nothing::np1 ... ok
//! test all_get_what_the_root_has::nothing::np2 ... ok
//! ```
//!
//! An argument is an expression, which each rank evaluates for itself, with the names of the module
//! that the function is in.
//!
//! # On an MPI
//!
//! Each test runs in process: a thread a rank, nothing else needed. With MPIs named in
//! `RANKS_TEST_MPI` it runs on each of them too, under the launcher of that MPI, whichever launcher
//! that is:
//!
//! ```text
//! RANKS_TEST_MPI=all cargo test                          # all that are found on this machine
//! RANKS_TEST_MPI=mpich,openmpi cargo test before         # by name
//! RANKS_TEST_MPI=/opt/openmpi-5 cargo test before::np2   # by the folder that it is installed in
//! RANKS_TEST_MPI=all cargo test -- --include-ignored     # with those that are mpi_only
//! ```
//!
//! A job is started for each test then, which costs about a second. A runner that wants a whole
//! binary in one job uses [`driver`].
//!
//! # The report of a failure
//!
//! ```text
//! ring::np3 failed on openmpi-5.0.11
//! rank 1 panicked at tests/ring.rs:9:5: assertion `left == right` failed
//!   left: 0
//!  right: 2
//! rank 0 (pid 4711) was in the test for 0.5 s
//!     | sent to 1
//! rank 1 (pid 4712) failed: panicked at tests/ring.rs:9:5: …
//!     | thread '<unnamed>' panicked at tests/ring.rs:9:5:
//! rank 2 (pid 4713) passed
//! ```
//!
//! A test that hangs is ended at its time limit, and the failure names the ranks that had not ended
//! it, with the last lines that each of them printed. In process a thread cannot be ended: the test
//! fails, and its threads stay until the process ends.
//!
//! # Settings
//!
//! `RANKS_TEST_MPI` and `RANKS_TEST_TIMEOUT` are among the environment variables. The feature
//! `attribute`, on by default, is all but [`driver`].
//!
//! # What it does not do
//!
//! In process the ranks of a test share the statics of the program, and one that ends the process,
//! by `exit` or `Communicator::abort`, ends them all and the tests that follow: with status 101,
//! whichever it asks for, and a line that names the test.
#![cfg_attr(doc, doc = concat!(
    "\n# The guide\n\n[Tests on n ranks](", env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/docs/guide/testing.md), ",
    "[environment variables](", env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/docs/guide/environment.md).",
))]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]

pub mod driver;
mod record;

#[cfg(feature = "attribute")]
mod block_on;
#[cfg(feature = "attribute")]
mod from_cargo;
#[cfg(feature = "attribute")]
mod in_process;
#[cfg(feature = "attribute")]
mod installations;
#[cfg(feature = "attribute")]
mod job_rank;
#[cfg(feature = "attribute")]
mod outcome;
#[cfg(feature = "attribute")]
mod system;
#[cfg(feature = "attribute")]
mod test;

#[cfg(feature = "attribute")]
pub use outcome::Outcome;
#[cfg(feature = "attribute")]
pub use ranks_test_macros::ranks;

/// Items for the attribute, and for tests of this workspace.
#[cfg(feature = "attribute")]
#[doc(hidden)]
pub mod __private {
    pub use crate::block_on::block_on;
    pub use crate::from_cargo::run;
    pub use crate::test::{Backends, Test};
    pub use ranks_comm::ThreadLevel;
}
