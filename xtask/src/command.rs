//! Commands that have to succeed.

use std::process::Command;

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
