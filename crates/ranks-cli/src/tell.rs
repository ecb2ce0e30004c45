//! Prints a report and returns the exit status; and sentences besides.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::Outcome;

/// Prints a report: as one JSON object, or by `text` for people; the status says whether all is
/// well, and was told.
pub(crate) fn tell<R: Serialize>(
    report: &R,
    json: bool,
    text: impl FnOnce(&R, &mut dyn Write) -> io::Result<()>,
    is_well: bool,
) -> Outcome {
    let mut out = anstream::stdout().lock();
    let told = match json {
        true => writeln!(out, "{}", serde_json::to_string_pretty(report)?),
        false => text(report, &mut out),
    };
    match told.and_then(|()| out.flush()) {
        // A reader that has seen enough of it is no failure.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            return Err(format!("standard output: {error}").into());
        }
        _ => {}
    }
    Ok(if is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Says a sentence on standard error. One that cannot be written is lost: it is no reason to end
/// otherwise.
pub(crate) fn say(sentence: impl Display) {
    let _ = writeln!(anstream::stderr(), "ranks: {sentence}");
}
