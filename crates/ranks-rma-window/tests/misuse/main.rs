//! Mistakes that a benchmark of checking tools makes, and that other bindings let through or make
//! themselves, each a test that it is an error here that says what is wrong, or that it is none.
//!
//! Mistakes that the compiler refuses are in `compile_fail` examples, at the item that refuses
//! them. Of the cases of MPI-CorrBench on one-sided communication these are:
//!
//! | case | example at |
//! |---|---|
//! | ArgError-MPIGet-buffer, ArgError-MPIPut-buffer, ArgError-MPIPut-count | `Operations`: memory is a slice, which knows its length |
//! | ArgError-MPIGet-type, ArgError-MPIPut-type | `Operations`: elements are those of the window |
//! | ArgError-MPIWinCreate-invalidBuffer-1, -2, ArgError-MPIWinCreate-dispUnit | `Window::from_vec`: memory is a vector, places are elements |
//! | ArgError-MPIWinCreate-overlap, MisplacedCall-MPIWinFree-bufferFree | `Window::from_vec`: the window owns it |
//! | ArgError-MPIWinFence-assert | `Window::fence`: there are no assertions to get wrong |
//! | MisplacedCall-MPIGet-bufferModification, MisplacedCall-MPIPut-bufferModification | `Operations`: memory is borrowed |
//! | MisplacedCall-MPIWinLock | `Fenced`: no locks between fences |
//! | MissingCall-MPIFence | `Window`: no operations before the epoch |
//! | MissingCall-MPIWinCreate | `Window`: there is none that was not made |
//!
//! Of what other bindings get wrong, S5 to S8 have tests among those of shared windows; that panics
//! end epochs, that locks may be forgotten, and that structs may own it all (M), among those of how
//! windows go.
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a failure is a failed test, and numbers of ranks are small"
)]

mod bindings;
mod epochs;
mod not_compared;
mod ranges;
mod windows;

use ranks_collectives::Collectives;
use ranks_comm::{Communicator, ErrorKind, Result};

/// Insists that it is an error of this kind, whose text has these parts.
#[track_caller]
fn refused<T>(what: Result<T>, kind: ErrorKind, parts: &[&str]) {
    let Err(error) = what else {
        panic!("a mistake went through");
    };
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

/// The same, of a text that all ranks have.
#[track_caller]
fn refused_everywhere<T>(world: &Communicator, what: Result<T>, kind: ErrorKind, parts: &[&str]) {
    let text = what.as_ref().err().map(ToString::to_string);
    refused(what, kind, parts);
    let mut first = text.clone().unwrap_or_default().into_bytes();
    let mut length = [first.len()];
    world.bcast(&mut length, 0).unwrap();
    first.resize(length[0], 0);
    world.bcast(&mut first, 0).unwrap();
    assert_eq!(text.map(String::into_bytes), Some(first));
}
