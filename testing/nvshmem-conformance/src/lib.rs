//! Cases that every symmetric heap passes: in process, over the double of NVSHMEM, over NVSHMEM
//! itself.
//!
//! All PEs call [`run`] at the same time, on a heap of any size, or the cases of [`CASES`] one
//! after the other.

use ranks_nvshmem::Nvshmem;

mod collectives;
mod manners;
mod memory;
mod one_sided;
mod reductions;
mod signals;
mod teams;

/// One case: collective, all PEs run it at the same time.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::exhaustive_structs, reason = "cases are written down")]
pub struct Case {
    /// The property that it shows.
    pub name: &'static str,
    /// True if it needs what a heap with several PEs on one GPU does not have: see
    /// [`Nvshmem::limited`].
    pub needs_all: bool,
    /// Does it. Of a failure it says what is wrong, on the PE that has seen it.
    pub run: fn(&Nvshmem<'_>) -> Result<(), String>,
}

/// All cases, by what they are about.
pub const CASES: &[&[Case]] = &[
    memory::CASES,
    one_sided::CASES,
    signals::CASES,
    teams::CASES,
    collectives::CASES,
    reductions::CASES,
    manners::CASES,
];

/// Runs all cases that the heap can: how many those were. Collective.
///
/// # Errors
/// The name of the first that failed on this PE, and why. The others wait for it then.
pub fn run(pe: &Nvshmem<'_>) -> Result<usize, String> {
    let mut done = 0;
    for case in CASES.iter().copied().flatten() {
        if case.needs_all && pe.limited() {
            continue;
        }
        (case.run)(pe).map_err(|why| {
            let (my_pe, n_pes) = (pe.my_pe(), pe.n_pes());
            format!("PE {my_pe} of {n_pes}, {}: {why}", case.name)
        })?;
        done += 1;
    }
    Ok(done)
}

/// An error as cases tell it.
fn told<T>(outcome: ranks_comm::Result<T>) -> Result<T, String> {
    outcome.map_err(|error| error.to_string())
}

/// Compares two things that should be the same, and describes the difference.
fn same<T: PartialEq + std::fmt::Debug + ?Sized>(
    what: &str,
    found: &T,
    expected: &T,
) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what} is {found:?}, not {expected:?}"))
}
