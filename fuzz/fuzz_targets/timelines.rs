//! When ranks called what: the files of a job, one after the other.
#![no_main]

use libfuzzer_sys::fuzz_target;

/// What is between two files.
const BETWEEN: &str = "\n--\n";

fuzz_target!(|text: &str| {
    let entries = ranks_cli::fuzzing::traced(text.split(BETWEEN));
    let entries = entries.expect("a trace is JSON, whatever it was made of");
    // A call is a slice, a thread with its name, and at most an end of two arrows; a file is three
    // entries more.
    assert!(entries <= 4 * text.lines().count() + 4);
});
