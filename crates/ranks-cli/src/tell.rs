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
    if json {
        let json = serde_json::to_string_pretty(report)?;
        print(|out| writeln!(out, "{json}"))?;
    } else {
        print(|out| text(report, out))?;
    }
    Ok(if is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Prints a text on standard output. A reader that has seen enough of it is no failure.
///
/// # Errors
/// One that names standard output, if the text cannot be written.
pub(crate) fn print(text: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), String> {
    let mut out = anstream::stdout().lock();
    match text(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("standard output: {error}"))
        }
        _ => Ok(()),
    }
}

/// Says a sentence on standard error. One that cannot be written is lost: it is no reason to end
/// otherwise.
pub(crate) fn say(sentence: impl Display) {
    let _ = writeln!(anstream::stderr(), "ranks: {sentence}");
}
