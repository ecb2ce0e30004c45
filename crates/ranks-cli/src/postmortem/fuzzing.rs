//! Access to this for fuzz targets: reports of any texts.

use super::Report;
use super::job::Job;
use super::text;

/// The report, and the same as JSON, of the files of these texts; whether nothing is wrong with
/// them.
pub fn report(texts: Vec<String>) -> (String, String, bool) {
    let files = texts.into_iter().enumerate();
    let job = Job::of(files.map(|(at, text)| (format!("rank-{at}.json"), Ok(text))));
    let report = Report::of(job);
    let mut plain = Vec::new();
    let written = text::write(&report, &mut plain);
    assert!(written.is_ok());
    let json = serde_json::to_string(&report).unwrap_or_default();
    (
        String::from_utf8_lossy(&plain).into_owned(),
        json,
        report.is_well(),
    )
}
