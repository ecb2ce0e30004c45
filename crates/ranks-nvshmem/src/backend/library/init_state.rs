//! State of NVSHMEM in this process: it begins once, and ends once.

use std::sync::{Mutex, PoisonError};

use ranks_comm::{Error, ErrorKind, Result};

static STATE: Mutex<InitState> = Mutex::new(InitState::Unused);

/// The state that it has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InitState {
    Unused,
    /// It is being initialised, or is.
    InUse,
    Finalized,
    /// It could not be initialised, and why: it can be neither used nor finalized.
    Failed(String),
}

/// # Errors
/// Unless it can be initialised: [`ErrorKind::Argument`], [`ErrorKind::Finalized`],
/// [`ErrorKind::Library`].
pub(super) fn check(operation: &'static str) -> Result<()> {
    refuse(
        operation,
        &STATE.lock().unwrap_or_else(PoisonError::into_inner),
    )
}

/// From now on it is in use. As [`check`].
pub(super) fn claim(operation: &'static str) -> Result<()> {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    refuse(operation, &state)?;
    *state = InitState::InUse;
    Ok(())
}

/// Sets the state.
pub(super) fn becomes(state: InitState) {
    *STATE.lock().unwrap_or_else(PoisonError::into_inner) = state;
}

fn refuse(operation: &'static str, state: &InitState) -> Result<()> {
    let (kind, text) = match state {
        InitState::Unused => return Ok(()),
        InitState::InUse => (
            ErrorKind::Argument,
            "this process is a PE of NVSHMEM already, which it can be once",
        ),
        InitState::Finalized => (
            ErrorKind::Finalized,
            "NVSHMEM was finalized, and a process can begin it once",
        ),
        InitState::Failed(why) => {
            let text = format_args!(
                "NVSHMEM could not be initialised before, and a process can try once: {why}"
            );
            return Err(Error::new(ErrorKind::Library, operation, text));
        }
    };
    Err(Error::new(kind, operation, text))
}
