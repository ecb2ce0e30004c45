//! `cargo xtask test`: everything in process, then every test on ranks on every MPI, and a table of
//! what ran on what.

use std::collections::BTreeMap;
use std::process::Command;

use ranks_harness::place::{self, Place};
use ranks_harness::tally::{Cell, Failure, Row, Tally};
use ranks_harness::{faults, suites};
use ranks_test::driver::{Binary, Case, KnownFault, Suite};

use crate::command::exit;
use crate::{Outcome, lanes, mpi};
use emulated::Emulated;

mod cargo;
mod emulated;
mod fast_path;
mod huge;
mod jobs;
mod libraries;

/// The choice of tests and of MPIs.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// MPIs to run on, as `cargo xtask mpi` names them; `none` for none. Those that are named must
    /// be there. [default: all that are there; all must be there where CI is set]
    #[arg(long, num_args = 1.., value_delimiter = ',')]
    mpi: Vec<String>,
    /// Numbers of ranks.
    #[arg(long, num_args = 1.., value_delimiter = ',', default_values_t = [1, 2, 3, 4])]
    np: Vec<usize>,
    /// Packages to test; all of the workspace if none is named.
    #[arg(short, long, num_args = 1)]
    package: Vec<String>,
    /// A processor that is emulated: the tests of the crates that deal with MPI, as with --quick,
    /// in process and on two ranks of the MPIs that there are for it. [default: this machine's]
    #[arg(long, value_parser = ["aarch64"])]
    arch: Option<String>,
    /// Downloads nothing: runs on the MPIs that are here.
    #[arg(long)]
    offline: bool,
    /// Leaves out what takes long: examples of the documentation, whole jobs, what takes gigabytes,
    /// emulated hosts, and GPUs.
    #[arg(long)]
    quick: bool,
    /// Tests whose names contain one of these; all if there is none.
    #[arg(last = true)]
    filter: Vec<String>,
}

/// The parts that `--quick` and `--arch` leave out, in words.
const LEFT_OUT: &str =
    "examples of the documentation, whole jobs, what takes gigabytes, emulated hosts, and GPUs";

/// The name of the emulator among libraries with known faults.
const EMULATOR: &str = "qemu";

pub(crate) fn main(mut arguments: Arguments) -> Outcome {
    let mut faults = faults::known()?;
    let emulated = arguments.arch.is_some();
    let emulated = emulated.then(|| Emulated::of(!arguments.offline));
    let emulated = emulated.transpose()?;
    let places = if let Some(emulated) = &emulated {
        arguments.quick = true;
        if arguments.package.is_empty() {
            arguments.package = emulated::PACKAGES.map(str::to_owned).to_vec();
        }
        faults.extend(faults::read("aarch64/limits.toml")?);
        place::emulated(&arguments.mpi, &emulated.mpis())?
    } else {
        if !arguments.offline {
            mpi::bring(&arguments.mpi);
        }
        place::places(&arguments.mpi)?
    };
    let arguments = &arguments;
    let prepare = |cargo: &mut Command| {
        if let Some(emulated) = &emulated {
            emulated.prepare(cargo);
        }
    };
    let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    let required = in_ci || !arguments.mpi.is_empty();

    let ranks = arguments.np.iter().map(|ranks| format!("np {ranks}"));
    let mut tally = Tally {
        columns: ranks
            .chain(["jobs".to_owned(), "huge".to_owned()])
            .collect(),
        ..Tally::default()
    };
    let mut elsewhere = in_process(arguments, &faults, prepare, &mut tally)?;
    if arguments.quick {
        elsewhere = Elsewhere::default();
        let option = arguments.arch.as_ref().map_or("quick", |_| "arch");
        tally
            .left_out
            .push(format!("{LEFT_OUT}: without --{option}"));
    }
    let Elsewhere { huge, libraries } = elsewhere;
    let mut binaries = if places.is_empty() && libraries.is_empty() {
        Vec::new()
    } else {
        let mut cargo = suites::cargo_test(&arguments.package);
        prepare(&mut cargo);
        if arguments.quick {
            cargo::be_quick(&mut cargo, &arguments.package);
        }
        suites::binaries(cargo)?
    };
    if let Some(emulated) = &emulated {
        binaries
            .iter_mut()
            .for_each(|binary| binary.runner = emulated.runner());
    }
    if !places.is_empty() {
        let tests = Tests {
            on_ranks: suites::tests(&binaries)?,
            jobs: if arguments.quick {
                Vec::new()
            } else {
                jobs::tests(arguments, &binaries)?
            },
            huge: huge::tests(&binaries, &huge, &places)?,
        };
        let all = arguments.package.is_empty() && arguments.filter.is_empty() && !arguments.quick;
        for fault in faults::about_nothing(&faults, &tests.on_ranks, &tests.jobs)
            .into_iter()
            .filter(|_| all)
        {
            tally.fail(Failure {
                place: "testing/known-faults.toml".to_owned(),
                test: fault.test.clone(),
                why: format!(
                    "no test of this name is left for the fault of {}",
                    fault.library
                ),
                details: String::new(),
            });
        }
        for case in &tests.huge.left_out {
            tally.total.skipped += 1;
            tally.left_out.push(case.clone());
        }
        let with_jobs = |place: &&Place| !arguments.mpi.is_empty() || !place.is_between_others();
        let with_jobs: Vec<&Place> = places.iter().filter(with_jobs).collect();
        let mut of_jobs = jobs::on_mpis(&with_jobs, &tests.jobs, &faults, &mut tally);
        for place in &places {
            let of_jobs = of_jobs.remove(place.name.as_str()).unwrap_or_default();
            on_mpi(
                place, arguments, required, &faults, &tests, of_jobs, &mut tally,
            );
        }
    }
    libraries::run(&libraries, &binaries, !arguments.offline, in_ci, &mut tally)?;
    println!("\n{}", tally.table());
    println!("{}", tally.last_line());
    Ok(exit(tally.total.failed == 0))
}

/// The suites that run on MPIs.
struct Tests {
    on_ranks: Vec<(Binary, Vec<Case>)>,
    /// Those that start jobs themselves.
    jobs: Vec<(Binary, Vec<String>)>,
    /// Those that take gigabytes.
    huge: huge::Huge,
}

/// Tests that `cargo test` did not run, because they need something.
#[derive(Default)]
struct Elsewhere {
    /// Those that take much memory, and how many gigabytes.
    huge: BTreeMap<String, u64>,
    /// Those that need a library for GPUs.
    libraries: libraries::Needing,
}

/// `cargo test`, and its row of the table. Tests that are to run elsewhere come back.
fn in_process(
    arguments: &Arguments,
    faults: &[KnownFault],
    prepare: impl Fn(&mut Command),
    tally: &mut Tally,
) -> Result<Elsewhere, String> {
    let mut words: Vec<&str> = arguments.filter.iter().map(String::as_str).collect();
    let chosen = |limit: &&KnownFault| {
        let package = limit
            .binary
            .as_ref()
            .and_then(|name| name.split("::").next());
        package.is_none_or(|package| arguments.package.iter().any(|name| name == package))
    };
    let limits = faults.iter().filter(|fault| fault.library == EMULATOR);
    for limit in limits.filter(chosen) {
        words.extend(["--skip", &limit.test]);
        tally.total.known += 1;
        tally.known(limit, &limit.test, "in process");
    }
    let counted = cargo::test(&arguments.package, &words, arguments.quick, prepare)?;
    tally.total += counted.all;
    tally.failures.extend(counted.failures);
    let cell = |ranks: &usize| {
        let row = counted
            .in_process
            .iter()
            .find(|(number, _)| number == ranks);
        row.map_or(Cell::default(), |(_, cell)| *cell)
    };
    tally.rows.push(Row {
        name: "in process".to_owned(),
        library: String::new(),
        abi: String::new(),
        cells: Ok(arguments.np.iter().map(cell).collect()),
    });
    Ok(Elsewhere {
        huge: counted.huge,
        libraries: counted.libraries,
    })
}

/// All numbers of ranks on one MPI.
fn on_mpi(
    place: &Place,
    arguments: &Arguments,
    required: bool,
    faults: &[KnownFault],
    tests: &Tests,
    of_jobs: Cell,
    tally: &mut Tally,
) {
    let mut row = Row::of(place);
    let installation = match &place.installation {
        Ok(installation) => installation,
        Err(why) => {
            println!("{}: {why}", place.name);
            if required {
                tally.fail(Failure {
                    place: place.name.clone(),
                    test: "(all)".to_owned(),
                    why: why.clone(),
                    details: String::new(),
                });
            }
            row.cells = Err(why.clone());
            tally.rows.push(row);
            return;
        }
    };
    let faults: Vec<&KnownFault> = faults
        .iter()
        .filter(|fault| !fault.over_hosts)
        .filter(|fault| fault.is_of(place.library()) || fault.library == EMULATOR)
        .collect();
    let named = !arguments.mpi.is_empty();
    let mut cells = Vec::new();
    let mut run_suites = |tests: &[(Binary, Vec<Case>)], ranks: usize, tally: &mut Tally| {
        let chosen: Vec<(&Binary, Vec<Case>)> = tests
            .iter()
            .map(|(binary, cases)| (binary, arguments.chosen(cases, ranks, place)))
            .filter(|(_, cases)| !cases.is_empty())
            .collect();
        let done = lanes::side_by_side(&chosen, lanes::of(ranks), |(binary, cases)| {
            let suite = Suite {
                binary,
                cases,
                ranks,
                faults: &faults,
                launch: &|ranks| {
                    let mut command = installation.command(ranks);
                    command.envs(place.environment());
                    command
                },
                folder: None,
            };
            let mut tally = Tally::default();
            let way = fast_path::way(binary);
            let at = format!("{}, np {ranks}, {}{way}", place.name, binary.name);
            let (cell, library) = suites::run(&suite, &at, &mut tally);
            (cell, library, tally)
        });
        let mut sum = Cell::default();
        for (cell, library, of_suite) in done {
            sum += cell;
            row.library = library.unwrap_or(std::mem::take(&mut row.library));
            tally.append(of_suite);
        }
        tally.total += sum;
        sum
    };
    for &ranks in &arguments.np {
        let several = arguments.several();
        if ranks > several && place.is_short_of_cores(ranks) {
            tally.left_out.push(format!(
                "{}, np {ranks}: tests that run on {several} ranks as well; there are fewer cores, and ranks that wait there keep theirs",
                place.name
            ));
        }
        let mut cell = Cell::default();
        if named || place.tries(ranks) {
            cell += run_suites(&tests.on_ranks, ranks, tally);
            cell += run_suites(&fast_path::at(place, &tests.on_ranks), ranks, tally);
        }
        cells.push(cell);
    }
    cells.push(of_jobs);
    let mut huge = Cell::default();
    let of_gigabytes = tests.huge.at(place);
    for &ranks in &arguments.np {
        huge += run_suites(&of_gigabytes, ranks, tally);
    }
    cells.push(huge);
    row.cells = Ok(cells);
    tally.rows.push(row);
}

impl Arguments {
    /// Those of `cases` that run on so many ranks of an MPI.
    fn chosen(&self, cases: &[Case], ranks: usize, place: &Place) -> Vec<Case> {
        let leaves_out = place.is_short_of_cores(ranks);
        let several = self.several();
        cases
            .iter()
            .filter(|case| case.ranks() == ranks && case.runs_on_mpi())
            .filter(|case| !leaves_out || !self.is_on_fewer(cases, case, several))
            .filter(|case| self.chooses(case.name()))
            .cloned()
            .collect()
    }

    /// The number of ranks that stand for more where these have fewer cores, and keep them while
    /// they wait: a test that runs on so many is not tried on more. Three differ from two by the
    /// library's algorithms, which later versions have as well; an MPI that is asked for is tried
    /// on both.
    fn several(&self) -> usize {
        if self.mpi.is_empty() { 2 } else { 3 }
    }

    /// Returns `true` if the function of `case` runs on fewer ranks as well, `several` at least.
    fn is_on_fewer(&self, cases: &[Case], case: &Case, several: usize) -> bool {
        cases.iter().any(|other| {
            other.function() == case.function()
                && (several..case.ranks()).contains(&other.ranks())
                && self.np.contains(&other.ranks())
        })
    }

    fn chooses(&self, test: &str) -> bool {
        self.filter.is_empty() || self.filter.iter().any(|part| test.contains(part.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_on_fewer_ranks_if_these_are_several_and_run() {
        let cases = ["a::np2", "a::np3", "a::np4", "b::np2", "b::np4", "c::np4"];
        let cases = cases.map(|name| Case::parse(name).expect("a case"));
        let on_fewer = |np: &[usize], several| {
            let arguments = Arguments {
                mpi: Vec::new(),
                arch: None,
                np: np.to_vec(),
                package: Vec::new(),
                offline: true,
                quick: false,
                filter: Vec::new(),
            };
            let such = cases
                .iter()
                .filter(|case| arguments.is_on_fewer(&cases, case, several));
            such.map(|case| case.name()).collect::<Vec<_>>()
        };
        assert_eq!(on_fewer(&[1, 2, 3, 4], 3), ["a::np4"]);
        assert_eq!(on_fewer(&[1, 2, 3, 4], 2), ["a::np3", "a::np4", "b::np4"]);
        assert!(on_fewer(&[2, 4], 3).is_empty());
    }
}
