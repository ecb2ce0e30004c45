//! Tests that start jobs themselves, and so cannot be run inside of one: each binary runs once on
//! each MPI.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::process::Command;
use std::{iter, mem};

use ranks_harness::faults::{BESIDE_OTHERS, printed};
use ranks_harness::place::{Place, cores};
use ranks_harness::tally::{Cell, Failure, Tally};
use ranks_test::driver::{Binary, Case, KnownFault};

use super::Arguments;
use super::cargo;
use crate::lanes;

/// The binaries with such tests: those of the driver itself, whole programs, and the command that
/// starts programs.
const BINARIES: [&str; 3] = ["ranks-test::driver", "jobs::jobs", "ranks-cli::command"];

/// Such tests of all binaries, as far as they are chosen.
pub(super) fn tests(
    arguments: &Arguments,
    binaries: &[Binary],
) -> Result<Vec<(Binary, Vec<String>)>, String> {
    let mut tests = Vec::new();
    for binary in binaries
        .iter()
        .filter(|binary| BINARIES.contains(&binary.name.as_str()))
    {
        let mut names = ignored(binary)?;
        names.retain(|name| Case::parse(name).is_none() && arguments.chooses(name));
        if !names.is_empty() {
            tests.push((binary.clone(), names));
        }
    }
    Ok(tests)
}

/// The tests of a binary that run at the same time: their jobs wait for each other, or for a time
/// limit, most of the time.
fn at_once() -> usize {
    2 * cores()
}

/// The ignored tests of a binary.
pub(super) fn ignored(binary: &Binary) -> Result<Vec<String>, String> {
    let output = command(binary)
        .args(["--list", "--ignored", "--format", "terse"])
        .output()
        .map_err(|error| format!("{}: {error}", binary.path.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(names.map(str::to_owned).collect())
}

fn command(binary: &Binary) -> Command {
    let mut command = Command::new(&binary.path);
    command.envs(binary.environment.iter().map(|(key, value)| (key, value)));
    if let Some(folder) = &binary.folder {
        command.current_dir(folder);
    }
    command
}

/// Runs them on MPIs, several at a time: what jobs of one wait for, those of another use. One by
/// one where ranks that wait keep their cores.
pub(super) fn on_mpis<'places>(
    places: &[&'places Place],
    tests: &[(Binary, Vec<String>)],
    faults: &[KnownFault],
    tally: &mut Tally,
) -> BTreeMap<&'places str, Cell> {
    let here = places.iter().filter(|place| place.installation.is_ok());
    let (alone, together): (Vec<&Place>, _) = here.partition(|place| place.keeps_cores());
    let mut cells = BTreeMap::new();
    for (places, lanes) in [(together, cores()), (alone, 1)] {
        let done = lanes::side_by_side(&places, lanes, |place| {
            let mut tally = Tally::default();
            let (tests, known) = without_known(place, tests, faults, &mut tally);
            let mut cell = run(&place.name, &environment(place), &tests, &mut tally);
            cell.known = known;
            (cell, tally)
        });
        for (place, (mut cell, mut of_place)) in places.iter().zip(done) {
            for fault in of_any_job(place, faults) {
                let alone = |test: &_| on_one(&place.name, &environment(place), test, 1);
                once_more(fault, tests, alone, &mut cell, &mut of_place);
            }
            tally.total += cell;
            tally.append(of_place);
            cells.insert(place.name.as_str(), cell);
        }
    }
    cells
}

/// The variables that such tests read, and those that the MPI of a place needs.
fn environment(place: &Place) -> Vec<(&'static str, &OsStr)> {
    let own = place.environment();
    let own = own.map(|(name, value)| (name, OsStr::new(value)));
    iter::once(("RANKS_TEST_MPI", OsStr::new(&place.name)))
        .chain(own)
        .collect()
}

/// The faults that any job of this place may meet.
fn of_any_job<'faults>(
    place: &Place,
    faults: &'faults [KnownFault],
) -> impl Iterator<Item = &'faults KnownFault> {
    let is_of_jobs = |fault: &KnownFault| fault.test == BESIDE_OTHERS || printed(fault).is_some();
    faults
        .iter()
        .filter(move |fault| is_of_jobs(fault) && fault.is_of(place.library()))
}

/// Runs those that have failed and may have met the fault once more, when nothing else runs. One
/// that passes has met it, and what it printed the first time is shown.
fn once_more(
    fault: &KnownFault,
    tests: &[(Binary, Vec<String>)],
    alone: impl Fn(&(Binary, Vec<String>)) -> (Cell, Tally),
    cell: &mut Cell,
    tally: &mut Tally,
) {
    let failures = mem::take(&mut tally.failures);
    for failure in failures {
        let of_it = |(binary, names): &&(Binary, Vec<String>)| {
            failure.place.ends_with(&format!(", {}", binary.name)) && names.contains(&failure.test)
        };
        let may_have_met = printed(fault).is_none_or(|text| failure.details.contains(text));
        let test = tests.iter().find(of_it).filter(|_| may_have_met);
        let again = test.map(|(binary, _)| alone(&(binary.clone(), vec![failure.test.clone()])));
        if again.is_some_and(|(again, _)| again.passed == 1) {
            let (test, place) = (failure.test, failure.place);
            println!("{}", failure.details);
            tally.known(fault, &format!("passed alone: {test}"), &place);
            cell.failed -= 1;
            cell.passed += 1;
        } else {
            tally.failures.push(failure);
        }
    }
}

/// The tests that the library of a place is not known to fail, and the number of the others.
fn without_known(
    place: &Place,
    tests: &[(Binary, Vec<String>)],
    faults: &[KnownFault],
    tally: &mut Tally,
) -> (Vec<(Binary, Vec<String>)>, usize) {
    let here = |fault: &&KnownFault| !fault.over_hosts && fault.is_of(place.library());
    let faults: Vec<&KnownFault> = faults.iter().filter(here).collect();
    let mut tests = tests.to_vec();
    for (binary, names) in &mut tests {
        names.retain(|name| {
            let about = |fault: &&&KnownFault| fault.is_about_function(&binary.name, name);
            let known = faults.iter().find(about);
            if let Some(fault) = known {
                tally.known(fault, name, &place.name);
            }
            known.is_none()
        });
    }
    let known = tally.known.len();
    (tests, known)
}

/// Runs ignored tests with variables in the environment, at a place whose name is shown.
pub(super) fn run(
    place: &str,
    environment: &[(&str, &OsStr)],
    tests: &[(Binary, Vec<String>)],
    tally: &mut Tally,
) -> Cell {
    let mut sum = Cell::default();
    let work = |test: &_| on_one(place, environment, test, at_once());
    for (cell, of_binary) in lanes::side_by_side(tests, tests.len(), work) {
        sum += cell;
        tally.append(of_binary);
    }
    tally.total += sum;
    sum
}

/// Those of one binary, so many at once.
fn on_one(
    place: &str,
    environment: &[(&str, &OsStr)],
    (binary, names): &(Binary, Vec<String>),
    at_once: usize,
) -> (Cell, Tally) {
    let mut tally = Tally::default();
    let at = format!("{place}, {}", binary.name);
    let began = std::time::Instant::now();
    let output = command(binary)
        .args(["--ignored", "--exact"])
        .args(names)
        .env("RUST_TEST_THREADS", at_once.to_string())
        .envs(environment.iter().copied())
        .output();
    let (text, ended) = match output {
        Ok(output) => (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            output.status.to_string(),
        ),
        Err(error) => (String::new(), error.to_string()),
    };
    let (cell, failed) = verdicts(names, &text);
    println!(
        "{at}: {} in {:.1} s",
        cell.text(),
        began.elapsed().as_secs_f64()
    );
    for test in failed {
        println!("FAILED {test} ({at})");
        tally.failures.push(Failure {
            place: at.clone(),
            details: cargo::output_of(&text, &test),
            test,
            why: format!("the test binary ended with {ended}"),
        });
    }
    (cell, tally)
}

/// The tests that libtest says have passed; what it says nothing of has failed.
fn verdicts(names: &[String], text: &str) -> (Cell, Vec<String>) {
    let passed = |name: &&String| {
        text.lines()
            .any(|line| line == format!("test {name} ... ok"))
    };
    let failed: Vec<String> = names.iter().filter(|name| !passed(name)).cloned().collect();
    let cell = Cell {
        passed: names.len() - failed.len(),
        failed: failed.len(),
        ..Cell::default()
    };
    (cell, failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_alone_has_met_the_fault_and_what_does_not_has_failed() {
        let binary = Binary {
            name: "jobs::jobs".to_owned(),
            path: "/t/jobs".into(),
            folder: None,
            environment: Vec::new(),
            runner: Vec::new(),
        };
        let tests = ["a", "b", "c"].map(str::to_owned);
        let failed = |test: &str| Failure {
            place: "openmpi-5.0.11, jobs::jobs".to_owned(),
            test: test.to_owned(),
            why: String::new(),
            details: String::new(),
        };
        let alone = |(_, names): &(Binary, Vec<String>)| {
            let passed = usize::from(names == &["b"]);
            let cell = Cell {
                passed,
                failed: 1 - passed,
                ..Cell::default()
            };
            (cell, Tally::default())
        };
        let mut cell = Cell {
            passed: 1,
            failed: 2,
            ..Cell::default()
        };
        let mut tally = Tally {
            failures: vec![failed("b"), failed("c")],
            ..Tally::default()
        };
        let tests = [(binary, tests.to_vec())];
        let by_sigpipe = KnownFault {
            test: "(jobs that print \"SIGPIPE\")".to_owned(),
            ..KnownFault::default()
        };
        // They have not printed it.
        once_more(&by_sigpipe, &tests, alone, &mut cell, &mut tally);
        assert_eq!((cell.passed, cell.failed), (1, 2));
        once_more(&KnownFault::default(), &tests, alone, &mut cell, &mut tally);
        assert_eq!((cell.passed, cell.failed), (2, 1));
        assert_eq!(tally.known.len(), 1);
        assert!(tally.known[0].starts_with("passed alone: b (openmpi-5.0.11, jobs::jobs)"));
        let left: Vec<&str> = tally.failures.iter().map(|one| &*one.test).collect();
        assert_eq!(left, ["c"]);
    }

    #[test]
    fn what_libtest_does_not_call_ok_has_failed() {
        let names = ["a::b", "a::c", "a::d"].map(str::to_owned);
        let (cell, failed) = verdicts(&names, "test a::b ... ok\ntest a::c ... FAILED\n");
        assert_eq!((cell.passed, cell.failed), (1, 2));
        assert_eq!(failed, ["a::c", "a::d"]);
    }
}
