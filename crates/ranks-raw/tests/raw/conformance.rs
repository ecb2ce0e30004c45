//! What the trait says, with each of the ways to work.

use ranks_comm::{Communicator, Result};
use ranks_raw::{RawComm, RawOptions};
use raw_conformance::{CASES, HostMemory, USABLE, run};

#[ranks_test::ranks(1, 2, 3, 4)]
fn all_cases_pass_with_copies(world: Communicator) -> Result<()> {
    let comm = super::raw(&world)?;
    run(&comm, &HostMemory).unwrap();
    Ok(())
}

#[ranks_test::ranks(1, 2, 3)]
fn all_cases_pass_without_copies_and_with_a_thread(world: Communicator) -> Result<()> {
    let options = RawOptions::new().progress_thread(true).staged_sends(0);
    // SAFETY: the buffers of the cases are leaked if anything fails, and those that abort use none
    // of which this is not so.
    let comm = RawComm::new(&world, unsafe { options.direct() })?;
    for case in &CASES[..USABLE] {
        (case.run)(&comm, &HostMemory).unwrap();
    }
    Ok(())
}
