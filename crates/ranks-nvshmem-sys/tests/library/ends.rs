//! What ends the process: the reasons why a layer above has to know the state of the library, and
//! not to ask it.
//!
//! A release in which one of these returns makes this test fail, and a guard above it needless.

use std::ptr::{null, null_mut};

use ranks_nvshmem_sys::*;

use crate::jobs::{initialise, new_id};
use crate::support::{Ended, again, ended, library, part, real, say};

/// What is printed before the call.
const CALLING: &str = "calling it";

/// What is printed if it returns.
const RETURNED: &str = "it has returned";

/// Calls that end a process whose library is not initialised, or could not be.
const ENDING: [&str; 7] = [
    "nvshmem_putmem",
    "nvshmem_quiet",
    "nvshmemx_quiet_on_stream",
    "nvshmem_free",
    "nvshmem_barrier_all",
    "nvshmem_team_split_strided",
    "nvshmemx_hostlib_finalize",
];

/// Calls one of these.
///
/// # Safety
/// Nobody needs this process any more.
unsafe fn call(name: &str) {
    let table = library().table();
    match name {
        "nvshmem_putmem" => {
            let put = table.nvshmem_putmem.unwrap();
            // SAFETY: as the caller says, and no bytes are put.
            unsafe { put(null_mut(), null(), 0, 0) };
        }
        "nvshmem_quiet" | "nvshmem_barrier_all" | "nvshmemx_hostlib_finalize" => {
            let plain = match name {
                "nvshmem_quiet" => table.nvshmem_quiet,
                "nvshmem_barrier_all" => table.nvshmem_barrier_all,
                _ => table.nvshmemx_hostlib_finalize,
            };
            // SAFETY: as the caller says.
            unsafe { plain.unwrap()() };
        }
        "nvshmemx_quiet_on_stream" => {
            let quiet = table.nvshmemx_quiet_on_stream.unwrap();
            // SAFETY: as the caller says; null is the default stream.
            unsafe { quiet(null_mut()) };
        }
        "nvshmem_free" => {
            let free = table.nvshmem_free.unwrap();
            // SAFETY: as the caller says; null is nothing to free.
            unsafe { free(null_mut()) };
        }
        "nvshmem_malloc" => {
            let malloc = table.nvshmem_malloc.unwrap();
            // SAFETY: as the caller says.
            assert!(unsafe { malloc(512) }.is_null());
        }
        "nvshmem_team_split_strided" => {
            let mut team = NVSHMEM_TEAM_INVALID;
            let split = table.nvshmem_team_split_strided.unwrap();
            // SAFETY: as the caller says, and all PEs of the world become the place of a team.
            unsafe { split(NVSHMEM_TEAM_WORLD, 0, 1, 1, null(), 0, &raw mut team) };
        }
        other => panic!("{other}"),
    }
}

/// What becomes of processes that make these calls.
fn all(test: &str, names: &[&str]) -> Vec<Ended> {
    let library = real();
    let begun = names
        .iter()
        .map(|name| again(test, name, &[("RANKS_NVSHMEM", &library)]));
    let begun: Vec<_> = begun.collect();
    begun.into_iter().map(ended).collect()
}

/// Makes a call in this process, which is there for nothing else.
fn call_here(name: &str) {
    say(CALLING);
    // SAFETY: this process is for this alone.
    unsafe { call(name) };
    say(RETURNED);
}

fn check(name: &str, ended: &Ended, returns: bool) {
    let all = format!("{name}: {}\n{}{}", ended.status, ended.said, ended.errors);
    assert!(ended.said.contains(CALLING), "{all}");
    assert_eq!(ended.said.contains(RETURNED), returns, "{all}");
    if !returns {
        assert_eq!(ended.status.code(), Some(255), "{all}");
    }
}

#[test]
#[ignore = "needs an NVSHMEM library"]
fn calls_before_an_initialisation_end_the_process() {
    let test = "ends::calls_before_an_initialisation_end_the_process";
    if let Some(name) = part() {
        return call_here(&name);
    }
    for (name, ended) in ENDING.iter().zip(all(test, &ENDING)) {
        check(name, &ended, *name == "nvshmemx_hostlib_finalize");
    }
}

#[test]
#[ignore = "needs an NVSHMEM library"]
fn calls_after_an_initialisation_that_failed_end_the_process() {
    let test = "ends::calls_after_an_initialisation_that_failed_end_the_process";
    if let Some(name) = part() {
        let id = new_id();
        initialise(&id, 0, 1);
        return call_here(&name);
    }
    for (name, ended) in ENDING.iter().zip(all(test, &ENDING)) {
        check(name, &ended, false);
    }
}

#[test]
#[ignore = "needs an NVSHMEM library"]
fn an_allocation_too_early_is_nothing_or_the_end() {
    let test = "ends::an_allocation_too_early_is_nothing_or_the_end";
    const BEFORE: &str = "before";
    const FAILED: &str = "failed";
    if let Some(when) = part() {
        if when == FAILED {
            let id = new_id();
            initialise(&id, 0, 1);
        }
        return call_here("nvshmem_malloc");
    }
    // SAFETY: it is an NVSHMEM.
    let version = unsafe { NvshmemLibrary::open(real()) }.unwrap().version();
    // After an initialisation that failed, 3.5 and 3.6 still end the process; neither is among the
    // wheels.
    let returns = [version >= Version::new(3, 5), version >= Version::new(3, 7)];
    for (ended, returns) in all(test, &[BEFORE, FAILED]).iter().zip(returns) {
        check("nvshmem_malloc", ended, returns);
    }
}
