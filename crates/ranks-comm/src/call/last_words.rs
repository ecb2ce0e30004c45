//! The reason for which a job is about to be aborted, on standard error.

use std::io::Write as _;
use std::time::Duration;
use std::{fmt, thread};

/// The longest text, in bytes, that is told whole.
const WHOLE: usize = 64 * 1024;

/// The time for which a launcher can read the last words of a rank: MPICH's reads no more once a
/// job aborts.
const TO_BE_READ: Duration = Duration::from_millis(200);

/// The exit status of a process that aborts its job since memory in flight cannot be given back.
pub(crate) const MEMORY_IN_FLIGHT: i32 = 101;

/// Prints on standard error why the job is about to be aborted, and waits for the launcher to read
/// it.
pub fn last_words(what: fmt::Arguments<'_>) {
    let text = format!("ranks: {}\n", bounded(what.to_string()));
    // In one write, so that no other rank's output comes between. An error here could not be
    // reported.
    let _ = std::io::stderr().write_all(text.as_bytes());
    thread::sleep(TO_BE_READ);
}

/// A text of the program, such as that of an error, to be told to others: of a long one its
/// beginning and its end, and how much is left out between them.
pub(crate) fn bounded(text: String) -> String {
    if text.len() <= WHOLE {
        return text;
    }
    let boundary = |at: usize| (at..).find(|&at| text.is_char_boundary(at));
    let [start, end] = [WHOLE / 2, text.len() - WHOLE / 2].map(|at| boundary(at).unwrap_or(at));
    let (first, last) = (&text[..start], &text[end..]);
    format!("{first} [{} bytes are left out] {last}", end - start)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of it was printed, kept in a dump, and copied into the error of each other rank.
    #[test]
    fn of_a_text_that_is_too_long_both_ends_are_told() {
        assert_eq!(bounded("é".repeat(WHOLE / 2)), "é".repeat(WHOLE / 2));
        let long = format!("a{}b", "é".repeat(WHOLE));
        let told = bounded(long.clone());
        assert!(told.starts_with("aéé") && told.ends_with("éb"), "{told}");
        assert!(told.len() < WHOLE + 100);
        let left_out = told.split_once(" [").unwrap().1.split_once(' ').unwrap().0;
        let kept = told.len() - format!(" [{left_out} bytes are left out] ").len();
        assert_eq!(left_out, (long.len() - kept).to_string());
    }
}
