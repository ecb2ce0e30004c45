//! `cargo xtask cluster submit`: a job on a real cluster, on each MPI: writes the script of its
//! batch system, submits it, waits, and shows what came of it. With `--test` that is all tests on
//! ranks, and an archive to send in.
//!
//! What this machine and the nodes have in common is the folder of the workspace.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ranks_harness::{mpi, workspace};
use ranks_launch::Installation;

use super::job;
use super::slurm::By;
use super::verdict::{End, Expected, Mark, faults};
use crate::Outcome;

mod matrix;
mod plan;
mod script;
mod shell;
mod system;
mod within;

use system::System;
pub(super) use within::main as within;

/// How long the last file of a job may take to be seen here when the job has ended: file systems of
/// clusters are slow.
const GRACE: Duration = Duration::from_secs(20);

/// How often the batch system is asked; it serves others, too.
const EACH: Duration = Duration::from_secs(5);

/// What `timeout` returns when time was up.
const TIME_IS_UP: i32 = 124;

/// What to run, and what to ask for.
#[derive(clap::Args)]
#[group(skip)]
pub(crate) struct Arguments {
    /// The number of nodes.
    #[arg(long, default_value_t = 2)]
    nodes: usize,
    /// The number of ranks on each.
    #[arg(long, default_value_t = 2)]
    ppn: usize,
    /// The MPIs, as `cargo xtask mpi` names them, or `all` that are here. They lie where nodes find
    /// them, too.
    #[arg(long, value_delimiter = ',', default_value = "all")]
    mpi: Vec<String>,
    /// The batch system. [default: the one whose command is in PATH]
    #[arg(long, value_enum)]
    system: Option<System>,
    /// Who starts the ranks. [default: the batch system and mpiexec under Slurm and Flux, else
    /// mpiexec]
    #[arg(long, value_enum, value_delimiter = ',')]
    by: Vec<By>,
    /// For how many minutes nodes are asked for. [default: 10, with --test 120]
    #[arg(long)]
    minutes: Option<u32>,
    /// After how long each of the jobs is ended.
    #[arg(long, default_value = "60s", value_parser = ranks_launch::any_duration)]
    deadline: Duration,
    /// The queue, or the partition.
    #[arg(long)]
    queue: Option<String>,
    /// Whose time it is.
    #[arg(long)]
    account: Option<String>,
    /// More to ask for, as it stands behind `#SBATCH`, `#PBS`, `#BSUB` or `#flux:`; may be given
    /// several times.
    #[arg(long, allow_hyphen_values = true)]
    directive: Vec<String>,
    /// Shows the script, and submits nothing.
    #[arg(long)]
    dry_run: bool,
    /// Runs the tests on ranks of this workspace and a benchmark on each MPI instead, all in one
    /// job, and packs what came of it into an archive.
    #[arg(long)]
    test: bool,
    /// With --test: packages to test; all of the workspace if none is named.
    #[arg(short, long, num_args = 1, requires = "test")]
    package: Vec<String>,
    /// With --test: a program to measure, as below, and its arguments; may be given several times.
    /// [default: three of the examples]
    #[arg(long, requires = "test")]
    bench: Vec<String>,
    /// The path of a program, or the name of an example, and its arguments. Each rank prints
    /// `rank 3 of 4, host 1 of 2` when its work is done. [default: a job that prints where its
    /// ranks are] With --test: tests whose names contain one of these.
    #[arg(last = true)]
    program: Vec<String>,
}

/// What a batch system is asked for.
#[derive(Debug, Clone, Default)]
struct Wish {
    hosts: usize,
    each: usize,
    minutes: u32,
    queue: Option<String>,
    account: Option<String>,
    directives: Vec<String>,
}

/// One of the jobs that a script starts: on which MPI, and who starts its ranks.
type Part = (Installation, By);

pub(super) fn main(arguments: &Arguments) -> Outcome {
    if arguments.nodes == 0 || arguments.ppn == 0 {
        return Err("a job needs a node, and at least one rank on it".into());
    }
    let system = arguments.system.or_else(System::here).ok_or(
        "no batch system is here: none of sbatch, qsub, bsub and flux is in PATH; --system with --dry-run shows the script of one",
    )?;
    let all = arguments.mpi == ["all"];
    let chosen = mpi::matrix(if all { &[] } else { &arguments.mpi })?;
    if chosen.is_empty() {
        return Err("no MPI is here: cargo xtask mpi install, or load a module of one".into());
    }
    let ways: &[By] = match arguments.by.as_slice() {
        [] => system.starts(),
        by => by,
    };
    if let Some(other) = ways.iter().find(|by| !system.starts().contains(by)) {
        return Err(format!("{other} starts no ranks in jobs of {system}").into());
    }
    let wish = Wish {
        hosts: arguments.nodes,
        each: arguments.ppn,
        minutes: arguments
            .minutes
            .unwrap_or(if arguments.test { 120 } else { 10 }),
        queue: arguments.queue.clone(),
        account: arguments.account.clone(),
        directives: arguments.directive.clone(),
    };
    if arguments.test {
        return matrix::main(arguments, system, &wish, &chosen, ways);
    }
    let with = |one: &Installation| ways.iter().map(|by| (one.clone(), *by)).collect::<Vec<_>>();
    let parts: Vec<Part> = chosen.iter().flat_map(with).collect();
    let words = words(&arguments.program)?;
    let folder = folder()?;
    let text = script::jobs(system, &wish, &parts, &words, arguments.deadline, &folder);
    if arguments.dry_run {
        print!("{text}");
        return Ok(ExitCode::SUCCESS);
    }
    hand_in(system, &folder, &text)?;
    let expected = Expected {
        hosts: wish.hosts,
        ranks_per_host: wish.each,
        bytes: 0,
        most: None,
        may_hang_at_end: false,
    };
    Ok(show(expected, &parts, &folder))
}

/// A program, built if it must be, and its arguments.
fn words(program: &[String]) -> Result<Vec<String>, String> {
    let (program, rest) = job::program(program)?;
    let program = program.into_os_string().into_string();
    let program = program.map_err(|_| "the path of the program is no text")?;
    Ok(std::iter::once(program).chain(rest).collect())
}

/// Submits a script, and waits until the job has ended.
fn hand_in(system: System, folder: &Path, script: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(failed)?;
    let file = folder.join("script");
    fs::write(&file, script).map_err(failed)?;
    let job = system.submit(&file)?;
    println!(
        "job {job}, in {}; {} {job} ends it",
        folder.display(),
        system.ends()
    );
    wait(system, &job, folder)
}

/// A folder of this job alone: processes of several hosts may have the same number.
fn folder() -> Result<PathBuf, String> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_err(|error| error.to_string())?.as_nanos();
    let name = format!("{now}-{}", std::process::id());
    Ok(workspace::root()
        .join("target")
        .join("submitted")
        .join(name))
}

/// Waits until the job has ended, and says what becomes of it meanwhile.
fn wait(system: System, job: &str, folder: &Path) -> Result<(), String> {
    let ended = folder.join("ended");
    let mut step = Duration::from_millis(100);
    let (mut asked, mut said): (Option<Instant>, String) = (None, String::new());
    let mut gone: Option<Instant> = None;
    while !ended.exists() {
        if gone.is_some_and(|since| since.elapsed() > GRACE) {
            let output = fs::read_to_string(folder.join("output")).unwrap_or_default();
            let lines: Vec<&str> = output.lines().rev().take(10).collect();
            let lines: Vec<&str> = lines.into_iter().rev().collect();
            return Err(format!(
                "job {job} ended before its script did\n{}",
                lines.join("\n")
            ));
        }
        if gone.is_none() && asked.is_none_or(|at| at.elapsed() > EACH) {
            asked = Some(Instant::now());
            match system.state(job) {
                Some(state) if state != said => {
                    println!("job {job}: {state}");
                    said = state;
                }
                Some(_) => {}
                None => gone = Some(Instant::now()),
            }
        }
        thread::sleep(step);
        step = (step * 2).min(Duration::from_secs(2));
    }
    Ok(())
}

/// A line for each part: whether its ranks ran, and where.
fn show(expected: Expected, parts: &[Part], folder: &Path) -> ExitCode {
    let results = fs::read_to_string(folder.join("results")).unwrap_or_default();
    let mut failed = 0;
    println!("{:<16} {:<8} {:>9}  result", "MPI", "by", "seconds");
    for (installation, by) in parts {
        let name = &installation.name;
        let output = fs::read_to_string(folder.join(format!("{name}.{by}"))).unwrap_or_default();
        let (seconds, faults) = judged(expected, &results, name, *by, &output);
        let result = if faults.is_empty() {
            format!(
                "{} ranks on {} nodes",
                expected.hosts * expected.ranks_per_host,
                expected.hosts
            )
        } else {
            failed += 1;
            format!("FAILED: {}", faults.join("; "))
        };
        println!("{name:<16} {by:<8} {seconds:>9}  {result}");
    }
    println!("{} of {} jobs ran", parts.len() - failed, parts.len());
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// How long a part took, and what is wrong with it.
fn judged(
    expected: Expected,
    results: &str,
    name: &str,
    by: By,
    output: &str,
) -> (String, Vec<String>) {
    let by = by.to_string();
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [one, way, status, millis] if *one == name && *way == by => {
                Some((status.parse::<i32>().ok()?, millis.parse::<f64>().ok()?))
            }
            _ => None,
        }
    };
    let Some((status, millis)) = results.lines().find_map(of_line) else {
        return ("-".to_owned(), vec!["it did not run".to_owned()]);
    };
    let end = match status {
        TIME_IS_UP => End::Late,
        status => End::Itself(status),
    };
    let faults = faults(expected, end, &Mark::all(output), &BTreeMap::new());
    (format!("{:.2}", millis / 1000.0), faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_believed_for_what_its_ranks_say() {
        let expected = Expected {
            hosts: 1,
            ranks_per_host: 1,
            bytes: 0,
            most: None,
            may_hang_at_end: false,
        };
        let output = "rank 0 of 1, host 0 of 1\n";
        let of = |results, output| judged(expected, results, "one", By::Srun, output);
        assert_eq!(of("one srun 0 1500\n", output), ("1.50".to_owned(), vec![]));
        assert!(of("one srun 0 1500\n", "").1[0].contains("0 of 1 ranks"));
        assert!(of("one srun 124 1500\n", output).1[0].contains("the deadline ended it"));
        assert!(of("one srun 9 1500\n", output).1[0].contains("returned 9"));
        assert_eq!(
            of("two srun 0 1500\none mpiexec 0 3", output).1,
            ["it did not run"]
        );
    }
}
