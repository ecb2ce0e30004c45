//! Tests on ranks: their binaries, and one binary on one MPI.

use std::path::{Path, PathBuf};
use std::process::Command;

use ranks_test::driver::{Binary, Case, Report, Suite, Verdict};
use serde_json::Value;

use crate::tally::{Cell, Failure, Tally};
use crate::{faults, programs, workspace};

/// `cargo test` of the packages, or of the whole workspace. Features have tests as well, so all of
/// them are on.
pub fn cargo_test(packages: &[String]) -> Command {
    let mut command = workspace::cargo();
    command.arg("test");
    if packages.is_empty() {
        command.arg("--workspace");
    }
    for package in packages {
        command.args(["--package", package]);
    }
    command.arg("--all-features");
    command
}

/// Builds the test binaries of a [`cargo_test`] without running them.
///
/// # Errors
/// A sentence if cargo fails.
pub fn binaries(mut command: Command) -> Result<Vec<Binary>, String> {
    command.arg("--no-run");
    let messages = programs::messages(command)?;
    let mut binaries: Vec<Binary> = messages.iter().filter_map(binary).collect();
    binaries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(binaries)
}

/// The binary in a message of cargo, if it is about one with tests.
fn binary(message: &Value) -> Option<Binary> {
    let target = &message["target"];
    let kinds = target["kind"].as_array()?;
    // Compiler plug-ins need the compiler's libraries to run, and have no tests on ranks.
    if message["profile"]["test"] != true || kinds.iter().any(|kind| kind == "proc-macro") {
        return None;
    }
    let path = PathBuf::from(message["executable"].as_str()?);
    let folder = Path::new(message["manifest_path"].as_str()?)
        .parent()?
        .to_path_buf();
    let package = folder.file_name()?.to_str()?.to_owned();
    let target_name = target["name"].as_str()?;
    let name = if kinds.iter().any(|kind| kind == "test") {
        format!("{package}::{target_name}")
    } else {
        package
    };
    let manifest = folder.display().to_string();
    Some(Binary {
        name,
        path,
        folder: Some(folder),
        environment: vec![("CARGO_MANIFEST_DIR".to_owned(), manifest)],
        runner: Vec::new(),
    })
}

/// The test binaries that have tests on ranks, with these.
///
/// # Errors
/// A sentence if a binary does not list its tests.
pub fn tests(binaries: &[Binary]) -> Result<Vec<(Binary, Vec<Case>)>, String> {
    let mut tests = Vec::new();
    for binary in binaries {
        let cases = binary.cases().map_err(|error| error.to_string())?;
        tests.push((binary.clone(), cases));
    }
    tests.retain(|(_, cases)| !cases.is_empty());
    Ok(tests)
}

/// Runs one binary on one MPI and number of ranks.
pub fn run(suite: &Suite<'_>, at: &str, tally: &mut Tally) -> (Cell, Option<String>) {
    let began = std::time::Instant::now();
    let mut cell = Cell::default();
    // How a job ends is no test that could be left out: it may go well.
    let known_end = |test: &str| {
        let mut faults = suite.faults.iter();
        faults.find(|fault| fault.test == test && test == faults::END)
    };
    let mut progress = |report: &Report| match &report.verdict {
        Verdict::Failed { .. } if known_end(&report.test).is_some() => cell.known += 1,
        Verdict::Passed => cell.passed += 1,
        Verdict::Known(_) => cell.known += 1,
        Verdict::Failed { why, .. } => {
            cell.failed += 1;
            println!("FAILED {} ({at}): {why}", report.test);
        }
    };
    let ran = match suite.run(&mut progress) {
        Ok(ran) => ran,
        Err(error) => {
            tally.failures.push(Failure {
                place: at.to_owned(),
                test: "(all)".to_owned(),
                why: error.to_string(),
                details: String::new(),
            });
            // What the driver did not come to has not passed.
            cell.failed += suite
                .cases
                .len()
                .saturating_sub(cell.passed + cell.known + cell.failed)
                .max(1);
            return (cell, None);
        }
    };
    println!(
        "{at}: {} in {:.1} s",
        cell.text(),
        began.elapsed().as_secs_f64()
    );
    for report in ran.reports {
        tally.took(report.time, &report.test, at);
        if let (Verdict::Failed { .. }, Some(fault)) = (&report.verdict, known_end(&report.test)) {
            tally.known(fault, &report.test, at);
            continue;
        }
        match report.verdict {
            Verdict::Passed => {}
            Verdict::Known(fault) => tally.known(&fault, &report.test, at),
            Verdict::Failed { why, details } => tally.failures.push(Failure {
                place: at.to_owned(),
                test: report.test,
                why,
                details,
            }),
        }
    }
    (cell, ran.library)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_binaries_are_found_among_the_messages() {
        let message = |kind: &str, test: bool| {
            let text = format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/crates/ranks-comm/Cargo.toml",
                "target":{{"kind":["{kind}"],"name":"p2p"}},"profile":{{"test":{test}}},"executable":"/t/p2p-1"}}"#
            );
            serde_json::from_str::<Value>(&text).unwrap()
        };
        assert_eq!(
            binary(&message("test", true)).unwrap().name,
            "ranks-comm::p2p"
        );
        assert_eq!(binary(&message("lib", true)).unwrap().name, "ranks-comm");
        assert_eq!(binary(&message("lib", false)), None);
        assert_eq!(binary(&message("proc-macro", true)), None);
        assert_eq!(binary(&Value::Null), None);
    }
}
