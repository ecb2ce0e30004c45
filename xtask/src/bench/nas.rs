//! `cargo xtask bench nas`: the kernels of the examples beside those of the NAS Parallel
//! Benchmarks, by turns in one run.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ranks_harness::place::{self, Place};
use ranks_harness::programs::built;
use ranks_harness::workspace;
use ranks_launch::Installation;

use super::provenance;
use super::samples::{Run, Sample, cell};
use crate::Outcome;
use crate::command::succeeded;
use crate::demo::result::Reported;

/// The reference, and what to run of it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder `NPB3.3-MPI` of the NAS Parallel Benchmarks, which are not part of this project.
    reference: PathBuf,
    /// An MPI with compilers for C and Fortran; may be given several times.
    #[arg(long = "mpi", default_values = ["debian-mpich"])]
    mpis: Vec<String>,
    /// The size of the problems: S, W or A.
    #[arg(long, default_value = "W")]
    class: String,
    /// The number of rounds: in each, every program runs once.
    #[arg(long, default_value_t = 9)]
    rounds: u32,
    /// The file for the page.
    #[arg(long, default_value = "target/bench/nas.md")]
    out: PathBuf,
}

const KERNELS: [&str; 5] = ["is", "cg", "ep", "ft", "mg"];
const RANKS: &str = "2";

/// The names of the two in the table.
const REFERENCE: &str = "reference";
const OURS: &str = "ranks";

/// The files in which the reference prints its times, with two digits, too few for a class that
/// takes milliseconds; and the formats of more.
const REPORTS: [(&str, &str, &str); 2] = [
    ("common/print_results.f", "f12.2", "f12.6"),
    ("common/c_print_results.c", "12.2f", "12.6f"),
];

const OPENING: &str = "\
# NAS kernels

Written by `cargo xtask bench nas`: the kernels of the examples, and those of the NAS Parallel Benchmarks in Fortran and C (`-O3`), by turns on two ranks of one machine. A time is the
median over rounds, in ms, with its quartiles; a ratio is the median over rounds of the time over that of the reference in the same round: less than 1 is faster.
";

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    println!("building the examples, as for release");
    let examples = built(&["--release", "--package=ranks-examples", "--bins"])?;
    let (mut run, mut here) = (Run::default(), Vec::new());
    for place in place::places(&arguments.mpis)? {
        let built = match &place.installation {
            Ok(installation) => {
                reference(arguments, &place, installation).map(|folder| (installation, folder))
            }
            Err(why) => Err(why.clone()),
        };
        match built {
            Ok((installation, folder)) => {
                let programs = Programs {
                    place: &place,
                    installation,
                    folder: &folder,
                    examples: &examples,
                    class: &arguments.class,
                };
                for round in 1..=arguments.rounds {
                    println!("{}: round {round} of {}", place.name, arguments.rounds);
                    programs.turn(round, &mut run)?;
                }
                here.push(place);
            }
            Err(why) => run.leave_out(&place.name, "everything", &why),
        }
    }
    if here.is_empty() {
        return Err("nothing could be timed".into());
    }
    run.facts = provenance::machine(&here);
    run.facts
        .push(provenance::versions(&["rustc", "cc", "gfortran"]));
    run.facts.push(format!(
        "class {}, {} rounds",
        arguments.class, arguments.rounds
    ));
    let page = draw(&run);
    print!("{page}");
    write(&workspace::root().join(&arguments.out), &page)?;
    Ok(ExitCode::SUCCESS)
}

/// Builds the reference against an installation, in a copy: the folder of its programs.
fn reference(
    arguments: &Arguments,
    place: &Place,
    installation: &Installation,
) -> Result<PathBuf, String> {
    if !arguments.reference.join(REPORTS[0].0).is_file() {
        let folder = arguments.reference.display();
        return Err(format!("{folder} is not the folder NPB3.3-MPI"));
    }
    let launcher = installation.launcher.to_string_lossy();
    let [fortran, c] = ["mpif90", "mpicc"].map(|name| launcher.replace("mpiexec", name));
    let copy = workspace::root().join("target/bench").join(&place.name);
    fs::create_dir_all(&copy).map_err(|error| format!("{}: {error}", copy.display()))?;
    let copy = copy.join("nas");
    let mut cp = Command::new("cp");
    succeeded(cp.args(["-rT"]).arg(&arguments.reference).arg(&copy))?;
    // What was built there before may be of another MPI.
    let programs = copy.join("bin");
    let _ = fs::remove_dir_all(&programs);
    fs::create_dir_all(&programs).map_err(|error| format!("{}: {error}", programs.display()))?;
    write(
        &copy.join("config/make.def"),
        &format!(
            "MPIF77 = {fortran}\nFLINK = {fortran}\nFFLAGS = -O3 -std=legacy -fallow-argument-mismatch -fallow-invalid-boz\nFLINKFLAGS = -O3\n\
             MPICC = {c}\nCLINK = {c}\nCFLAGS = -O3\nCLINKFLAGS = -O3\nCC = cc\nBINDIR = ../bin\nRAND = randi8\n"
        ),
    )?;
    for (file, few, more) in REPORTS {
        let text = fs::read_to_string(copy.join(file));
        let text = text.map_err(|error| format!("{file}: {error}"))?;
        write(&copy.join(file), &text.replace(few, more))?;
    }
    let make = || {
        let mut make = Command::new("make");
        make.current_dir(&copy);
        make
    };
    succeeded(make().arg("clean"))?;
    for kernel in KERNELS {
        let mut make = make();
        make.arg(kernel.to_uppercase());
        make.arg(format!("CLASS={}", arguments.class));
        succeeded(make.arg(format!("NPROCS={RANKS}")))?;
    }
    Ok(programs)
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

/// The programs that are run on one MPI.
struct Programs<'a> {
    place: &'a Place,
    installation: &'a Installation,
    /// Of the reference.
    folder: &'a Path,
    examples: &'a [(String, PathBuf)],
    class: &'a str,
}

impl Programs<'_> {
    /// Runs each program once.
    fn turn(&self, round: u32, run: &mut Run) -> Result<(), String> {
        for kernel in KERNELS {
            let reference = format!("{kernel}.{}.{RANKS}", self.class);
            let said = self.run(&self.folder.join(reference), &[])?;
            let time = of_the_reference(&said).ok_or_else(|| unverified(kernel, &said))?;
            run.samples
                .extend(self.sample(kernel, REFERENCE, round, time));
            let name = format!("nas_{kernel}");
            let example = self.examples.iter().find(|(other, _)| *other == name);
            let (_, example) = example.ok_or_else(|| format!("there is no example {name}"))?;
            let said = self.run(example, &[self.class])?;
            let reported = Reported::find(&name, &said).filter(|told| told.verified == "yes");
            let time = reported.ok_or_else(|| unverified(kernel, &said))?.seconds;
            run.samples.extend(self.sample(kernel, OURS, round, time));
        }
        Ok(())
    }

    fn run(&self, program: &Path, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(&self.installation.launcher);
        command.args(["-n", RANKS]).arg(program).args(arguments);
        command.env("RANKS_MPI", &self.installation.library);
        command.envs(
            self.installation
                .env
                .iter()
                .map(|(name, value)| (name, value)),
        );
        command.envs(self.place.environment());
        succeeded(&mut command)
    }

    fn sample(&self, kernel: &str, peer: &str, round: u32, seconds: f64) -> Option<Sample> {
        let line = format!("{},0,{}", kernel.to_uppercase(), seconds * 1e6);
        Sample::parse(&self.place.name, peer, round, &line)
    }
}

fn unverified(kernel: &str, said: &str) -> String {
    format!("{kernel} is not verified:\n{said}")
}

/// The seconds that a program of the reference prints, if it is verified.
fn of_the_reference(said: &str) -> Option<f64> {
    let line = said.lines().find(|line| line.contains("Time in seconds"))?;
    let seconds = line.split('=').nth(1)?.trim().parse().ok()?;
    let is_verified = said.contains("SUCCESSFUL") && !said.contains("UNSUCCESSFUL");
    is_verified.then_some(seconds)
}

fn draw(run: &Run) -> String {
    let mut text = OPENING.to_owned() + &run.notes();
    text.push_str(
        "\n| MPI | kernel | reference, ms | ranks, ms | ratio |\n|---|---|---|---|---|\n",
    );
    for row in run.rows() {
        let cells = [
            run.time(row, REFERENCE).map(|time| time.times(1e-3)),
            run.time(row, OURS).map(|time| time.times(1e-3)),
            run.ratio(row, OURS, REFERENCE),
        ];
        let cells = cells.map(cell).join(" | ");
        let _ = writeln!(text, "| {} | {} | {cells} |", row.track, row.operation);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_verified_results() {
        let said = " Time in seconds =                 0.046800\n Verification    =               SUCCESSFUL\n";
        assert_eq!(of_the_reference(said), Some(0.0468));
        assert_eq!(of_the_reference(&said.replace("SUCC", "UNSUCC")), None);
    }
}
