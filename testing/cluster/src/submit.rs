//! `cargo xtask cluster submit`: a job on a real cluster, on each MPI: writes the script of its
//! batch system, submits it, waits, and shows what came of it.
//!
//! What this machine and the nodes have in common is the folder of the workspace.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ranks_harness::{mpi, workspace};
use ranks_launch::Installation;

use super::job;
use super::slurm::By;
use super::verdict::{End, Expected, Mark, faults};
use crate::Outcome;

mod shell;
mod system;

use system::System;

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
    /// Who starts the ranks. [default: both under Slurm, else mpiexec]
    #[arg(long, value_enum, value_delimiter = ',')]
    by: Vec<By>,
    /// For how many minutes nodes are asked for.
    #[arg(long, default_value_t = 10)]
    minutes: u32,
    /// After how long each of the jobs is ended.
    #[arg(long, default_value = "60s", value_parser = job::seconds)]
    deadline: Duration,
    /// The queue, or the partition.
    #[arg(long)]
    queue: Option<String>,
    /// Whose time it is.
    #[arg(long)]
    account: Option<String>,
    /// More to ask for, as it stands behind `#SBATCH` or `#PBS`; may be given several times.
    #[arg(long, allow_hyphen_values = true)]
    directive: Vec<String>,
    /// Shows the script, and submits nothing.
    #[arg(long)]
    dry_run: bool,
    /// The path of a program, or the name of an example, and its arguments. Each rank prints
    /// `rank 3 of 4, host 1 of 2` when its work is done. [default: a job that prints where its
    /// ranks are]
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
        "no batch system is here: neither sbatch nor qsub is in PATH; --system with --dry-run shows the script of one",
    )?;
    let all = arguments.mpi == ["all"];
    let chosen = mpi::matrix(if all { &[] } else { &arguments.mpi })?;
    let ways: &[By] = match (system, arguments.by.as_slice()) {
        (System::Slurm, []) => &[By::Srun, By::Mpiexec],
        (System::Pbs, []) => &[By::Mpiexec],
        (System::Pbs, by) if by.contains(&By::Srun) => {
            return Err("srun is of Slurm, not of PBS".into());
        }
        (_, by) => by,
    };
    let with = |one: &Installation| ways.iter().map(|by| (one.clone(), *by)).collect::<Vec<_>>();
    let parts: Vec<Part> = chosen.iter().flat_map(with).collect();
    let (program, rest) = job::program(&arguments.program)?;
    let wish = Wish {
        hosts: arguments.nodes,
        each: arguments.ppn,
        minutes: arguments.minutes,
        queue: arguments.queue.clone(),
        account: arguments.account.clone(),
        directives: arguments.directive.clone(),
    };
    let folder = folder()?;
    let what = [program
        .into_os_string()
        .into_string()
        .map_err(|_| "the path of the program is no text")?];
    let words: Vec<String> = what.into_iter().chain(rest).collect();
    let text = script(system, &wish, &parts, &words, arguments.deadline, &folder);
    if arguments.dry_run {
        print!("{text}");
        return Ok(ExitCode::SUCCESS);
    }
    fs::create_dir_all(&folder)?;
    let file = folder.join("script");
    fs::write(&file, text)?;
    let job = system.submit(&file)?;
    println!(
        "job {job}, in {}; {} {job} ends it",
        folder.display(),
        system.ends()
    );
    wait(system, &job, &folder)?;
    let expected = Expected {
        hosts: wish.hosts,
        ranks_per_host: wish.each,
        bytes: 0,
        most: None,
        may_hang_at_end: false,
    };
    Ok(show(expected, &parts, &folder))
}

/// A folder of this job alone.
fn folder() -> Result<PathBuf, String> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let seconds = now.map_err(|error| error.to_string())?.as_secs();
    let name = format!("{seconds}-{}", std::process::id());
    Ok(workspace::root()
        .join("target")
        .join("submitted")
        .join(name))
}

/// The script: each part writes into a file of its own, and how it ended into a list.
fn script(
    system: System,
    wish: &Wish,
    parts: &[Part],
    words: &[String],
    deadline: Duration,
    folder: &Path,
) -> String {
    let mut lines = vec!["#!/bin/bash".to_owned()];
    lines.extend(system.directives(wish, &folder.join("output")));
    let mut enter = Command::new("cd");
    enter.arg(folder);
    let enter = shell::line(&enter);
    let enter = enter.strip_prefix("env ").unwrap_or(&enter);
    lines.push(format!("{enter} || exit 1"));
    if system == System::Pbs {
        lines.push("mapfile -t hosts < <(sort -u \"$PBS_NODEFILE\")".to_owned());
    }
    let seconds = deadline.as_secs().max(1);
    lines.push(format!(
        "part() {{\n    \
             local name=$1 by=$2 began; shift 2\n    \
             began=$(date +%s%N)\n    \
             timeout --kill-after=5 {seconds} \"$@\" > \"$name.$by\" 2>&1\n    \
             echo \"$name $by $? $(( ($(date +%s%N) - began) / 1000000 ))\" >> results\n\
         }}"
    ));
    for (installation, by) in parts {
        let ranks = wish.hosts * wish.each;
        let hosts: Vec<String> = match system {
            // It tells the launchers itself.
            System::Slurm => Vec::new(),
            System::Pbs => (0..wish.hosts).map(shell::host).collect(),
        };
        let mut command = match by {
            By::Srun => installation.srun(ranks, &hosts),
            By::Mpiexec => installation.command_in_allocation(ranks, &hosts),
        };
        command.args(words);
        lines.push(format!(
            "part {} {by} {}",
            installation.name,
            shell::line(&command)
        ));
    }
    lines.push("touch ended\n".to_owned());
    lines.join("\n")
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
    use ranks_launch::Family;

    fn installation(name: &str, family: Family) -> Installation {
        Installation {
            name: name.to_owned(),
            family,
            version: None,
            library: "/m/lib/libmpi.so".into(),
            launcher: "/m/bin/mpiexec".into(),
            env: Vec::new(),
        }
    }

    fn text(system: System, by: By, family: Family) -> String {
        let wish = Wish {
            hosts: 2,
            each: 3,
            minutes: 90,
            queue: Some("short".to_owned()),
            account: Some("me".to_owned()),
            directives: vec!["-m n".to_owned()],
        };
        let parts = [(installation("one", family), by)];
        let words = ["/w/program".to_owned(), "a b".to_owned()];
        let folder = Path::new("/w/f");
        script(
            system,
            &wish,
            &parts,
            &words,
            Duration::from_secs(30),
            folder,
        )
    }

    #[test]
    fn a_script_of_slurm_leaves_places_to_slurm() {
        let text = text(System::Slurm, By::Srun, Family::OpenMpi);
        let head = "#!/bin/bash\n#SBATCH --job-name=ranks\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=3\n#SBATCH --time=90\n\
                    #SBATCH --output=/w/f/output\n#SBATCH --partition=short\n#SBATCH --account=me\n#SBATCH -m n\ncd /w/f || exit 1\n";
        assert!(text.starts_with(head), "{text}");
        assert!(text.contains("timeout --kill-after=5 30 "), "{text}");
        let line = text
            .lines()
            .find(|line| line.starts_with("part one "))
            .unwrap();
        assert!(line.starts_with("part one srun env "), "{line}");
        assert!(
            line.ends_with(
                "RANKS_MPI=/m/lib/libmpi.so UCX_HANDLE_ERRORS=none srun --ntasks=6 --mpi=pmix --kill-on-bad-exit=1 /w/program 'a b'"
            ),
            "{line}"
        );
        assert!(text.ends_with("\ntouch ended\n"), "{text}");
    }

    #[test]
    fn a_script_of_pbs_names_the_nodes_that_it_was_given() {
        let text = text(System::Pbs, By::Mpiexec, Family::Mpich);
        let head = "#!/bin/bash\n#PBS -N ranks\n#PBS -l select=2:ncpus=3:mpiprocs=3\n#PBS -l walltime=01:30:00\n#PBS -j oe\n\
                    #PBS -o /w/f/output\n#PBS -q short\n#PBS -A me\n#PBS -m n\ncd /w/f || exit 1\n\
                    mapfile -t hosts < <(sort -u \"$PBS_NODEFILE\")\n";
        assert!(text.starts_with(head), "{text}");
        let line = text
            .lines()
            .find(|line| line.starts_with("part one "))
            .unwrap();
        assert!(
            line.ends_with(
                "/m/bin/mpiexec -n 6 -hosts \"${hosts[0]}\"','\"${hosts[1]}\" -ppn 3 /w/program 'a b'"
            ),
            "{line}"
        );
    }

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
