//! `cargo xtask demo`: the same executables in process and on every MPI there is, in one table.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use ranks_harness::place::cores;
use ranks_harness::table::aligned;
use ranks_harness::workspace;
use ranks_launch::{Installation, Job};

use crate::command::exit;
use crate::{Outcome, mpi};

mod executable;
pub(crate) mod result;

use executable::Executable;
use result::Reported;

/// The choice of what to run on.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Runs on the MPIs that are there, and downloads none.
    #[arg(long)]
    offline: bool,
}

/// What is shown, and on how many ranks of each MPI. CG is a thousand short waits for all ranks:
/// where those are more than the cores, some MPIs take ten seconds for it.
const EXAMPLES: [(&str, &[usize]); 5] = [
    ("nas_ep", &[2, 4]),
    ("nas_is", &[2, 4]),
    ("nas_cg", &[2]),
    ("heat2d", &[2, 4]),
    ("prk_stencil", &[2]),
];
const HEADINGS: [&str; 6] = ["example", "library", "ABI", "ranks", "verified", "time"];
const IN_PROCESS: [usize; 3] = [1, 2, 4];
/// The slowest run takes seconds; what takes longer hangs.
const TIME_LIMIT: Duration = Duration::from_secs(120);

pub(crate) fn main(arguments: &Arguments) -> Outcome {
    println!("building the examples, as for release");
    let executables = executable::build(&EXAMPLES.map(|(example, _)| example))?;
    let installations = mpi::matrix(&[], !arguments.offline)?;

    let mut demo = Demo::default();
    for (executable, (_, on_mpi)) in executables.iter().zip(EXAMPLES) {
        demo.show(executable, &installations, on_mpi)?;
    }

    let headings = HEADINGS.map(str::to_owned).to_vec();
    println!("\n{}", aligned(&[vec![headings], demo.rows].concat()));
    println!(
        "time: relative to one rank in process; * more ranks than this machine's {} cores, which some MPIs, \
         used from C as well, bear badly",
        cores()
    );
    println!("picture: {}", picture()?.display());
    for executable in &executables {
        println!("{executable}");
        for mpi in executable.linked_mpis() {
            demo.faults.push(format!(
                "{} is linked with {mpi}; it is to be linked with no MPI",
                executable.example
            ));
        }
        if !executable.is_unchanged() {
            demo.faults.push(format!(
                "{} changed while it was run",
                executable.path.display()
            ));
        }
    }
    if installations.is_empty() {
        println!("{NO_MPI}");
    }
    for fault in &demo.faults {
        println!("FAULT: {fault}");
    }
    Ok(exit(demo.faults.is_empty()))
}

const NO_MPI: &str = "\
No MPI is on this machine, so all of the above ran in process. To see the same executables run on MPIs:
  with python3 and pip     cargo xtask mpi install      (no root needed), then this again
  on Debian and Ubuntu     apt install mpich            or openmpi-bin, then this again";

/// The runs, and their faults.
#[derive(Default)]
struct Demo {
    /// A row for each job.
    rows: Vec<Vec<String>>,
    faults: Vec<String>,
}

impl Demo {
    /// Runs one example everywhere, on those numbers of ranks where there is an MPI.
    fn show(
        &mut self,
        executable: &Executable,
        installations: &[Installation],
        on_mpi: &[usize],
    ) -> Result<(), Box<dyn std::error::Error>> {
        let example = executable.example;
        let mut alone = None;
        for ranks in IN_PROCESS {
            let mut job = Job::new(&executable.path).ranks(ranks);
            if example == "heat2d" && ranks == 4 {
                job = job.args(["--png".into(), picture()?.into_os_string()]);
            }
            let seconds = self.row(example, None, &job, alone);
            alone = alone.or(seconds);
        }
        for installation in installations {
            for &ranks in on_mpi {
                let job = Job::new(&executable.path)
                    .on(installation.clone())
                    .ranks(ranks);
                self.row(example, Some(installation), &job, alone);
            }
        }
        Ok(())
    }

    /// Runs one job and adds its row; the seconds that it took, if all is well.
    fn row(
        &mut self,
        example: &str,
        installation: Option<&Installation>,
        job: &Job,
        alone: Option<f64>,
    ) -> Option<f64> {
        let place = installation.map_or("in process", |installation| &installation.name);
        let preposition = if installation.is_some() { "on " } else { "" };
        println!("  {example} {preposition}{place}, np {}", job.ranks);
        let job = job.clone().timeout(TIME_LIMIT);
        let checked = job
            .run()
            .map_err(|error| error.to_string())
            .and_then(|outcome| check(example, installation, job.ranks, &outcome));
        let (library, verified, seconds) = match &checked {
            Ok(reported) => (
                reported.library.clone(),
                reported.verified.clone(),
                Some(reported.seconds),
            ),
            Err(_) => (place.to_owned(), "NO".to_owned(), None),
        };
        let time = match (seconds, alone.or(seconds)) {
            (Some(seconds), Some(alone)) => relative(seconds / alone.max(0.001), job.ranks),
            _ => "-".to_owned(),
        };
        let abi = installation.map_or("none", abi);
        self.rows.push(vec![
            example.to_owned(),
            library,
            abi.to_owned(),
            job.ranks.to_string(),
            verified,
            time,
        ]);
        if let Err(why) = checked {
            self.faults
                .push(format!("{example} on {} ranks, {place}: {why}", job.ranks));
        }
        seconds
    }
}

/// Believes a run only if it ended well, said so itself, and ran where it was meant to.
fn check(
    example: &str,
    installation: Option<&Installation>,
    ranks: usize,
    outcome: &ranks_launch::Outcome,
) -> Result<Reported, String> {
    if !outcome.success() {
        return Err(outcome.to_string());
    }
    let output = outcome
        .output
        .first()
        .map(|rank| rank.stdout.as_str())
        .unwrap_or_default();
    let reported = Reported::find(example, output)
        .ok_or_else(|| format!("it printed no result; {outcome}"))?;
    if reported.verified != "yes" {
        return Err(format!("verified={}", reported.verified));
    }
    if reported.ranks != ranks {
        return Err(format!("it ran on {} ranks", reported.ranks));
    }
    if installation.is_some() == (reported.library == "in process") {
        return Err(format!("it ran on {}", reported.library));
    }
    Ok(reported)
}

/// A time for the table, marked where ranks have to share cores.
fn relative(time: f64, ranks: usize) -> String {
    let digits = if time < 10.0 { 2 } else { 0 };
    let mark = if ranks > cores() { "*" } else { "" };
    format!("{time:.digits$}{mark}")
}

/// The binary interface of an installation's library.
fn abi(installation: &Installation) -> &'static str {
    match installation.family {
        _ if installation.name.ends_with("-abi") => "MPI-5 standard",
        ranks_launch::Family::OpenMpi => "Open MPI",
        _ => "MPICH",
    }
}

/// The path of the picture.
fn picture() -> std::io::Result<PathBuf> {
    let folder = workspace::root().join("target").join("demo");
    fs::create_dir_all(&folder)?;
    Ok(folder.join("heat2d.png"))
}
