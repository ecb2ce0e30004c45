//! What ranks left when they were in trouble: the files of a job, one after the other.
#![no_main]

use libfuzzer_sys::fuzz_target;

/// What is between two files.
const BETWEEN: &str = "\n--\n";

fuzz_target!(|text: &str| {
    let files: Vec<String> = text.split(BETWEEN).map(str::to_owned).collect();
    let count = files.len();
    let (report, json, is_well) = ranks_cli::fuzzing::report(files);
    assert!(!report.is_empty() && !json.is_empty());
    let finds = ["TROUBLE", "no dump of a rank"].iter().any(|words| report.contains(words));
    assert!(if is_well { report.contains("differ in nothing") } else { finds });
    // What is told is bounded by what was there.
    assert!(report.len() <= 4096 + 64 * count + 64 * text.len().max(64) * 8);
});
