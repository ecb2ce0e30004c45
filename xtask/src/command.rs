//! Commands that have to succeed, and the exit codes of this one.

use std::process::{Command, ExitCode};

use crate::Outcome;

/// Runs a command to its end, and returns the text that it printed.
///
/// # Errors
/// A sentence with its errors if it cannot be run, or does not succeed.
pub(crate) fn succeeded(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{command:?} ended with {}: {}",
        output.status,
        why.trim()
    ))
}

/// Runs a command that talks to the user itself; the exit code is that of one that ends as it does.
pub(crate) fn ends_as(command: &mut Command) -> Outcome {
    Ok(exit(command.status()?.success()))
}

/// The exit code of a command that succeeded, or did not.
pub(crate) fn exit(success: bool) -> ExitCode {
    if success {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
