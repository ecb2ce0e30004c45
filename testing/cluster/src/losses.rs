//! `cargo xtask cluster faults`: what becomes of a job, on each MPI, when a rank or a host of it is
//! lost.
//!
//! The job is two ranks on each of two hosts which add numbers up without end. What is measured is
//! when its launcher ends and with which status, when each rank ends, what it was told and what it
//! said, what `ranks postmortem` makes of its dump, and what still runs then.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use ranks_harness::{mpi, programs};

use super::faults::{Fault, What};
use super::namespaces::Right;
use crate::Outcome;

mod dumps;
mod seen;
mod told;
mod watch;

use watch::Watch;

const HOSTS: usize = 2;
const RANKS_PER_HOST: usize = 2;
const RANKS: usize = HOSTS * RANKS_PER_HOST;

/// What the ranks are in when they are lost, or wait for those that are.
const OPERATION: &str = "MPI_Allreduce";

/// What is done, and for how long it is watched.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The MPIs, as `cargo xtask mpi` names them. [default: all that are here]
    #[arg(long, num_args = 1.., value_delimiter = ',')]
    mpi: Vec<String>,
    /// What is done to a job, each to one of its own; `+` joins several: `cut:n1+heal:n1@8s`.
    #[arg(long, num_args = 1.., value_delimiter = ',', default_values_t = DEFAULT.map(str::to_owned))]
    fault: Vec<String>,
    /// The time limits that ranks have, as in `3s`; 0 for none. With one, ranks that can be reached
    /// must end in time and say why.
    #[arg(long, num_args = 1.., value_delimiter = ',', value_parser = ranks_launch::any_duration, default_values = ["0", "3s"])]
    limit: Vec<Duration>,
    /// For how long a job is watched from the fault on, before all that is left of it is ended.
    #[arg(long, default_value = "20s", value_parser = ranks_launch::any_duration)]
    deadline: Duration,
    /// How long the job works if nothing keeps it from that.
    #[arg(long, default_value = "60s", value_parser = ranks_launch::any_duration)]
    work: Duration,
    /// By how much ranks may exceed their time limit before they have ended.
    #[arg(long, default_value = "1s", value_parser = ranks_launch::any_duration)]
    over: Duration,
    /// For how long a launcher is watched that lingers when no rank is left that can be reached.
    /// [default: until the deadline]
    #[arg(long, value_parser = ranks_launch::any_duration)]
    linger: Option<Duration>,
    /// The folder of `job-program` and `ranks`, built already. [default: they are built]
    #[arg(long)]
    programs: Option<PathBuf>,
}

const DEFAULT: [&str; 4] = ["kill:3", "kill-host:n1", "cut:n1", "freeze:n1"];

pub(super) fn main(arguments: &Arguments, name: &str, right: Right) -> Outcome {
    let plans: Vec<Plan> = arguments
        .fault
        .iter()
        .map(|text| Plan::parse(text))
        .collect::<Result<_, _>>()?;
    let program = |package, name| match &arguments.programs {
        Some(folder) => folder
            .join(name)
            .canonicalize()
            .map_err(|error| format!("{name} in {}: {error}", folder.display())),
        None => programs::build(package, name, true),
    };
    let watch = Watch {
        program: &program("ranks-jobs", "job-program")?,
        command: &program("ranks-cli", "ranks")?,
        name: match name {
            "up" => format!("faults-{}", std::process::id()),
            other => other.to_owned(),
        },
        right,
        deadline: arguments.deadline,
        work: arguments.work,
        over: arguments.over,
        linger: arguments.linger,
    };
    println!(
        "| MPI | what is done | time limit | the launcher | the ranks | their dumps | still running |\n|---|---|---|---|---|---|---|"
    );
    let mut faults = Vec::new();
    for installation in mpi::matrix(&arguments.mpi)? {
        for plan in &plans {
            for &limit in &arguments.limit {
                let limit = (!limit.is_zero()).then_some(limit);
                let at = format!("{}, {}", installation.name, plan.text);
                match watch.job(&installation, plan, limit) {
                    Ok(seen) => {
                        println!("| {} | {} | {}", installation.name, plan.text, seen.line());
                        faults.extend(
                            seen.faults(plan)
                                .into_iter()
                                .map(|fault| format!("{at}: {fault}")),
                        );
                    }
                    Err(why) => faults.push(format!("{at}: {why}")),
                }
            }
        }
    }
    for fault in &faults {
        println!("FAILED {fault}");
    }
    Ok(if faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What is done to one job.
#[derive(Debug)]
struct Plan {
    text: String,
    faults: Vec<Fault>,
}

impl Plan {
    fn parse(text: &str) -> Result<Plan, String> {
        let mut faults: Vec<Fault> = text.split('+').map(str::parse).collect::<Result<_, _>>()?;
        faults.sort_by_key(|fault| fault.after);
        Ok(Plan {
            text: text.to_owned(),
            faults,
        })
    }

    /// The ranks that are lost by it.
    fn lost(&self) -> Vec<usize> {
        let of = |fault: &Fault| match (fault.what, fault.what.loses()) {
            (What::Kill(rank), _) => vec![rank],
            (_, Some(host)) => (host * RANKS_PER_HOST..(host + 1) * RANKS_PER_HOST).collect(),
            _ => Vec::new(),
        };
        self.faults.iter().flat_map(of).collect()
    }

    /// Returns `true` if what is lost comes back.
    fn mends(&self) -> bool {
        let mends = |fault: &Fault| matches!(fault.what, What::Heal(_) | What::Thaw(_));
        self.faults.iter().any(mends)
    }

    /// Returns `true` if the launcher hears of it, and may end all ranks before they say a word.
    fn is_told(&self) -> bool {
        let told = |fault: &Fault| matches!(fault.what, What::Kill(_) | What::KillHost(_));
        self.faults.iter().any(told)
    }
}
