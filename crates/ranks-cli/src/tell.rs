//! Prints a report and returns the exit status.

use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::Outcome;

/// Prints a report: as one JSON object, or by `text` for people; the status says whether all is
/// well.
pub(crate) fn tell<R: Serialize>(
    report: &R,
    json: bool,
    text: impl FnOnce(&R, &mut dyn Write) -> io::Result<()>,
    is_well: bool,
) -> Outcome {
    if json {
        println!("{}", serde_json::to_string_pretty(report)?);
    } else {
        // A reader that has seen enough of it is no failure.
        let _ = text(report, &mut anstream::stdout().lock());
    }
    Ok(if is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
