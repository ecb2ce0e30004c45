//! Closures of the program's, run while the other ranks wait to be told how they went.

use std::any::Any;
use std::cell::Cell;
use std::convert::Infallible;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use ranks_comm::backend::message_of_panic;
use ranks_comm::{Error, ErrorKind, Result};

use super::fill::OPERATION;

/// The panic of a closure of the program's, which goes on when the other ranks are told of it.
#[derive(Default)]
pub(super) struct Panics(Cell<Option<Box<dyn Any + Send>>>);

impl Panics {
    /// Runs a closure of the program's; a panic is an error here.
    pub(super) fn caught<R, E: fmt::Display>(
        &self,
        closure: impl FnOnce() -> Result<R, E>,
    ) -> Result<R> {
        // Its error is the program's as well, and may panic when it is told.
        let told = AssertUnwindSafe(|| closure().map_err(|error| failed(&error)));
        catch_unwind(told).unwrap_or_else(|payload| {
            let error = failed(&message_of_panic(payload.as_ref()));
            self.0.set(Some(payload));
            Err(error)
        })
    }

    /// As [`caught`](Self::caught), for a closure that fails in no other way.
    pub(super) fn ran(&self, closure: impl FnOnce()) -> Result<()> {
        self.caught(|| {
            closure();
            Ok::<(), Infallible>(())
        })
    }

    /// Goes on with a panic, now that the ranks have agreed on `outcome`.
    pub(super) fn go_on<R>(&self, outcome: Result<R>) -> Result<R> {
        match self.0.take() {
            Some(payload) => resume_unwind(payload),
            None => outcome,
        }
    }
}

#[cold]
fn failed(error: &dyn fmt::Display) -> Error {
    Error::with_text(ErrorKind::PeerFailed, OPERATION, error.to_string())
}
