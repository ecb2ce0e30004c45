//! Runs a test when libtest calls it: in process and on the MPIs that are named, or as a rank of a
//! job.

use std::fmt::Write as _;
use std::path::PathBuf;

use ranks_comm::Communicator;
use ranks_launch::Installation;

use crate::driver::{Binary, Case, Suite, Verdict};
use crate::outcome::Outcome;
use crate::test::{Backends, Test, asked_limit};
use crate::{in_process, installations, job_rank, record};

/// Runs the test where it is to run, and panics with a report if it fails anywhere. The attribute
/// calls it.
///
/// # Panics
/// If the test fails: this is how libtest is told.
pub fn run<R: Outcome>(test: &'static Test, body: fn(Communicator) -> R) {
    let failures = if let Err(why) = asked_limit() {
        why
    } else if let Some(folder) = std::env::var_os(record::REPORT) {
        job_rank::run(&PathBuf::from(folder), test, body)
            .err()
            .unwrap_or_default()
    } else {
        everywhere(test, body)
    };
    assert!(failures.is_empty(), "{failures}");
}

/// Runs the test in process, then on each MPI. Returns the text of all failures.
fn everywhere<R: Outcome>(test: &'static Test, body: fn(Communicator) -> R) -> String {
    let mut failures = String::new();
    if test.backends != Backends::MpiOnly
        && let Err(why) = in_process::run(test, body)
    {
        let _ = writeln!(failures, "{} failed in process: {why}", test.name());
    }
    if test.backends == Backends::InProcessOnly {
        return failures;
    }
    match installations::named() {
        Ok(installations) => {
            if installations.is_empty() && test.backends == Backends::MpiOnly {
                let _ = writeln!(
                    failures,
                    "{} needs an MPI: name one in {}, or `all`",
                    test.name(),
                    record::MPIS,
                );
            }
            for installation in installations {
                if let Err(why) = on_mpi(test, &installation) {
                    let _ = writeln!(
                        failures,
                        "{} failed on {}\n{why}",
                        test.name(),
                        installation.name
                    );
                }
            }
        }
        Err(why) => {
            let _ = writeln!(failures, "{why}");
        }
    }
    failures
}

/// A job for this one test, run by this very binary.
fn on_mpi(test: &Test, installation: &Installation) -> Result<(), String> {
    let path = std::env::current_exe()
        .map_err(|error| format!("this binary is not to be found: {error}"))?;
    let binary = Binary {
        name: test.path.split("::").next().unwrap_or_default().to_owned(),
        path,
        folder: None,
        environment: Vec::new(),
        runner: Vec::new(),
    };
    let case = Case::asked_for(test.name())
        .ok_or_else(|| format!("{} is not a name that #[ranks] gives", test.name()))?;
    let suite = Suite {
        binary: &binary,
        cases: &[case],
        ranks: test.ranks,
        faults: &[],
        launch: &|ranks| installation.command(ranks),
        folder: None,
    };
    let ran = suite.run(&mut |_| ()).map_err(|error| error.to_string())?;
    let failures: Vec<String> = ran
        .reports
        .into_iter()
        .filter_map(|report| match report.verdict {
            Verdict::Failed { why, details } => Some(format!("{why}\n{details}")),
            Verdict::Passed | Verdict::Known(_) => None,
        })
        .collect();
    if failures.is_empty() {
        Ok(())
    } else {
        Err(failures.concat())
    }
}
