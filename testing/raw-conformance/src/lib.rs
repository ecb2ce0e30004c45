//! Cases that any implementation of [`RawCollectives`] passes: what the trait says, made to happen.
//!
//! All ranks of a communicator call [`run`], or the cases of [`CASES`] one after the other, each
//! with memory of the kind that the communicator [takes](RawCollectives::takes). A case that makes
//! a communicator unusable does so to a part that it has split off.
//!
//! ```no_run
//! use ranks_raw::RawCollectives;
//!
//! fn passes(comm: &dyn RawCollectives) -> Result<(), String> {
//!     raw_conformance::run(comm, &raw_conformance::HostMemory)
//! }
//! ```
#![allow(unsafe_code)]

mod device;
mod ends;
mod memory;
mod messages;
mod mistakes;
mod model;
mod moves;
mod reductions;
mod round;
mod splits;

use ranks_raw::RawCollectives;

pub use device::DeviceMemory;
pub use memory::{Block, HostMemory, Memory};

/// One thing that the trait says.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// What it is, for messages.
    pub name: &'static str,
    /// Does it on this rank; all ranks of the communicator call it together. The text of an `Err`
    /// says what was not as it should be.
    pub run: fn(&dyn RawCollectives, &dyn Memory) -> Result<(), String>,
}

/// Every case, in the order in which [`run`] takes them. Those behind [`USABLE`] make a
/// communicator that they split off unusable.
pub const CASES: &[Case] = &[
    case("blocks of every type and length move", moves::every_type),
    case("blocks move in place", moves::in_place),
    case("no elements at all", moves::nothing),
    case("all supported reductions", reductions::supported),
    case("reductions of every form", reductions::every_form),
    case("reductions in place", reductions::in_place),
    case("sums in the order of ranks", reductions::in_order),
    case("many operations under way", reductions::outstanding),
    case("an exchange in a group", messages::exchange),
    case("messages are told apart by tags", messages::tags),
    case("a message shorter than its receive", messages::shorter),
    case("a message longer than its receive", messages::longer),
    case("mistakes that one rank sees", mistakes::seen_before),
    case("a barrier is a sync", mistakes::barrier),
    case("progress", mistakes::progress),
    case("parts by color", splits::by_color),
    case("a rank without a color", splits::without_color),
    case("an abort", ends::abort),
    case("an abort while another thread waits", ends::abort_wakes),
    case("a peer that does not come", ends::time_limit),
];

/// The number of [`CASES`] that abort nothing.
pub const USABLE: usize = 17;

const fn case(
    name: &'static str,
    run: fn(&dyn RawCollectives, &dyn Memory) -> Result<(), String>,
) -> Case {
    Case { name, run }
}

/// All cases. Collective.
///
/// # Errors
/// What the first case that failed on this rank says. The other ranks may wait for this one then:
/// end the job.
pub fn run(comm: &dyn RawCollectives, memory: &dyn Memory) -> Result<(), String> {
    for case in CASES {
        (case.run)(comm, memory).map_err(|reason| {
            let (name, backend) = (case.name, comm.backend());
            let (rank, size) = (comm.rank(), comm.size());
            format!("{name}, on rank {rank} of {size}, {backend}: {reason}")
        })?;
    }
    Ok(())
}

/// An `Err` with this text unless `true`.
fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// An error as the text of a case.
fn text(error: ranks_comm::Error) -> String {
    format!("{:?}: {error}", error.kind())
}

/// The outcome must be an error of one of these kinds.
fn fails<T>(
    what: &str,
    outcome: ranks_comm::Result<T>,
    kinds: &[ranks_comm::ErrorKind],
) -> Result<(), String> {
    match outcome {
        Ok(_) => Err(format!("{what} is Ok; one of {kinds:?} was expected")),
        Err(error) => ensure(kinds.contains(&error.kind()), || {
            let kind = error.kind();
            format!("{what} fails with {kind:?} ({error}); one of {kinds:?} was expected")
        }),
    }
}
