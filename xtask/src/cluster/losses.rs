//! `cargo xtask cluster faults`: what becomes of a job, on each MPI, when a rank or a host of it is lost.
//!
//! The job is two ranks on each of two hosts which add numbers up without end. What is measured is when its launcher ends and with
//! which status, when each rank ends and what it was told, and what still runs then.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use ranks_launch::Installation;

use super::faults::{self, Fault, What};
use super::lifetime::{Cluster, Life};
use super::namespaces::Right;
use super::state::State;
use super::wire::{self, Request};
use super::{job, names};
use crate::{Outcome, mpi, run};

const HOSTS: usize = 2;
const RANKS_PER_HOST: usize = 2;
const RANKS: usize = HOSTS * RANKS_PER_HOST;

/// How long a job may take to begin.
const START_LIMIT: Duration = Duration::from_secs(60);

/// How often it is looked at.
const TICK: Duration = Duration::from_millis(20);

/// By how much ranks may exceed their time limit before they have ended.
const OVER_LIMIT: Duration = Duration::from_secs(1);

/// What is done, and for how long it is watched.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The MPIs, as `cargo xtask mpi` names them. [default: all that are here]
    #[arg(long, num_args = 1.., value_delimiter = ',')]
    mpi: Vec<String>,
    /// What is done to a job, each to one of its own; `+` joins several: `cut:n1+heal:n1@8s`.
    #[arg(long, num_args = 1.., value_delimiter = ',', default_values_t = DEFAULT.map(str::to_owned))]
    fault: Vec<String>,
    /// The time limits that ranks have, as in `3s`; 0 for none. With one, ranks that can be reached must end in time and say why.
    #[arg(long, num_args = 1.., value_delimiter = ',', value_parser = job::seconds, default_values = ["0", "3s"])]
    limit: Vec<Duration>,
    /// For how long a job is watched from the fault on, before all that is left of it is ended.
    #[arg(long, default_value = "20s", value_parser = job::seconds)]
    deadline: Duration,
    /// How long the job works if nothing keeps it from that.
    #[arg(long, default_value = "60s", value_parser = job::seconds)]
    work: Duration,
}

const DEFAULT: [&str; 4] = ["kill:3", "kill-host:n1", "cut:n1", "freeze:n1"];

pub(super) fn main(arguments: &Arguments, name: &str, right: Right) -> Outcome {
    let plans: Vec<Plan> = arguments
        .fault
        .iter()
        .map(|text| Plan::parse(text))
        .collect::<Result<_, _>>()?;
    let program = run::build("ranks-jobs", "job-program", true)?;
    let watch = Watch {
        program: &program,
        name: match name {
            "up" => format!("faults-{}", std::process::id()),
            other => other.to_owned(),
        },
        right,
        deadline: arguments.deadline,
        work: arguments.work,
    };
    println!(
        "| MPI | what is done | time limit | the launcher | the ranks | still running |\n|---|---|---|---|---|---|"
    );
    let mut faults = Vec::new();
    for installation in mpi::matrix(&arguments.mpi, false)? {
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

    /// Whether what is lost comes back.
    fn mends(&self) -> bool {
        let mends = |fault: &Fault| matches!(fault.what, What::Heal(_) | What::Thaw(_));
        self.faults.iter().any(mends)
    }

    /// Whether the launcher hears of it, and may end all ranks before they say a word.
    fn is_told(&self) -> bool {
        let told = |fault: &Fault| matches!(fault.what, What::Kill(_) | What::KillHost(_));
        self.faults.iter().any(told)
    }
}

/// How jobs are watched.
struct Watch<'a> {
    program: &'a Path,
    name: String,
    right: Right,
    deadline: Duration,
    work: Duration,
}

/// What became of a job; times are from the fault on.
#[derive(Debug)]
struct Seen {
    limit: Option<Duration>,
    /// When the launcher ended by itself, and its status.
    launcher: Option<(Duration, i32)>,
    ranks: BTreeMap<usize, SeenRank>,
    /// What was there of the job when all of it had been ended.
    left: usize,
}

#[derive(Debug, Default)]
struct SeenRank {
    /// When there was no process any more.
    ended: Option<Duration>,
    /// What it wrote down last.
    said: String,
}

impl Watch<'_> {
    fn job(
        &self,
        installation: &Installation,
        plan: &Plan,
        limit: Option<Duration>,
    ) -> Result<Seen, String> {
        let keep: Vec<PathBuf> = self
            .program
            .parent()
            .map(Path::to_path_buf)
            .into_iter()
            .collect();
        let cluster = Cluster::up(
            State::named(&self.name)?,
            HOSTS,
            self.right,
            Life::Held,
            &keep,
        )?;
        let state = cluster.state();
        let marks = state.folder().join("marks");
        let failed = |error: io::Error| error.to_string();
        fs::create_dir(&marks).map_err(failed)?;
        let mut command = installation.command_on(RANKS, &names::hosts(HOSTS));
        command
            .arg(self.program)
            .args(["hosts", "watched"])
            .arg(&marks);
        command.arg(self.work.as_secs().to_string());
        match limit {
            Some(limit) => command.env("RANKS_TIMEOUT", format!("{}ms", limit.as_millis())),
            None => command.env_remove("RANKS_TIMEOUT"),
        };
        let (output, write) = io::pipe().map_err(failed)?;
        let null = fs::File::open("/dev/null").map_err(failed)?;
        let request = Request::Run(job::on_host(state, &command)?);
        let launcher = state.ask(
            &names::host(0),
            &request,
            [null.as_fd(), write.as_fd(), write.as_fd()],
        )?;
        drop(write);
        let reader = thread::spawn(|| all(output));
        let began = self.begins(&marks, &launcher);
        let seen = began.and_then(|()| self.follow(state, &launcher, &marks, plan, limit));
        cluster.down();
        let output = reader.join().unwrap_or_default();
        // Its folder is gone by now, and is what its processes are known by all the same.
        let left = faults::ranks(&State::named(&self.name)?, self.program).len();
        seen.map(|seen| Seen { left, ..seen })
            .map_err(|why| format!("{why}: {}", output.trim()))
    }

    /// Waits until all ranks work.
    fn begins(&self, marks: &Path, launcher: &UnixStream) -> Result<(), String> {
        let started = Instant::now();
        loop {
            if said(marks).len() == RANKS {
                return Ok(());
            }
            if let Some(code) = ended(launcher)? {
                return Err(format!("the job ended with {code} before it began"));
            }
            if started.elapsed() > START_LIMIT {
                return Err(format!("the job did not begin within {START_LIMIT:?}"));
            }
        }
    }

    /// Does what is planned, and watches until nothing is left of the job, or for so long.
    fn follow(
        &self,
        state: &State,
        launcher: &UnixStream,
        marks: &Path,
        plan: &Plan,
        limit: Option<Duration>,
    ) -> Result<Seen, String> {
        let began = Instant::now();
        let mut seen = Seen {
            limit,
            launcher: None,
            ranks: (0..RANKS).map(|rank| (rank, SeenRank::default())).collect(),
            left: 0,
        };
        let mut to_do = plan.faults.iter().peekable();
        let mut fault = None;
        loop {
            while let Some(next) = to_do.next_if(|next| next.after <= began.elapsed()) {
                // Its time is that of its beginning: the end of a host takes some.
                fault.get_or_insert_with(Instant::now);
                next.what.carry_out(state, self.program)?;
            }
            if seen.launcher.is_none()
                && let Some(code) = ended(launcher)?
            {
                seen.launcher = Some((fault.unwrap_or(began).elapsed(), code));
            }
            let there = faults::ranks(state, self.program);
            for (number, rank) in &mut seen.ranks {
                let runs = there.iter().any(|rank| rank.number == *number);
                if !runs && rank.ended.is_none() {
                    rank.ended = Some(fault.unwrap_or(began).elapsed());
                }
            }
            let over = seen.launcher.is_some() && there.is_empty();
            if over || fault.is_some_and(|fault: Instant| fault.elapsed() > self.deadline) {
                break;
            }
            thread::sleep(TICK);
        }
        for (number, text) in said(marks) {
            if let Some(rank) = seen.ranks.get_mut(&number) {
                rank.said = text;
            }
        }
        Ok(seen)
    }
}

/// How the launcher ended, if it has.
fn ended(launcher: &UnixStream) -> Result<Option<i32>, String> {
    launcher
        .set_read_timeout(Some(TICK))
        .map_err(|error| error.to_string())?;
    match wire::answered(launcher) {
        Ok(code) => Ok(Some(code)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(format!("the host of the launcher ended: {error}")),
    }
}

/// What each rank has written down.
fn said(marks: &Path) -> BTreeMap<usize, String> {
    let of = |rank: usize| {
        let text = fs::read_to_string(marks.join(format!("rank-{rank}"))).ok()?;
        (!text.is_empty()).then_some((rank, text))
    };
    (0..RANKS).filter_map(of).collect()
}

fn all(mut pipe: PipeReader) -> String {
    let mut bytes = Vec::new();
    let _ = pipe.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Seen {
    /// What was seen, as the rest of a line of the table.
    fn line(&self) -> String {
        let limit = self.limit.map_or("none".to_owned(), seconds);
        let launcher = self
            .launcher
            .map_or("does not end".to_owned(), |(after, code)| {
                format!("{}, status {code}", seconds(after))
            });
        let mut kinds: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (number, rank) in &self.ranks {
            let Some(after) = rank.ended else { continue };
            let how = match rank.said.strip_prefix("error: ") {
                Some(error) => format!("{}, told: {error}", seconds(after)),
                None if rank.said == "done" => "done".to_owned(),
                None => format!("{}, told nothing", seconds(after)),
            };
            kinds.entry(how).or_default().push(*number);
        }
        let ended: Vec<String> = kinds
            .iter()
            .map(|(how, ranks)| format!("{}: {how}", list(ranks)))
            .collect();
        let runs = self.ranks.iter().filter(|(_, rank)| rank.ended.is_none());
        let running: Vec<usize> = runs.map(|(number, _)| *number).collect();
        let running = if running.is_empty() {
            "nothing".to_owned()
        } else {
            list(&running)
        };
        format!("{limit} | {launcher} | {} | {running} |", ended.join("; "))
    }

    /// What is not as it should be.
    fn faults(&self, plan: &Plan) -> Vec<String> {
        let mut faults = Vec::new();
        if self.left > 0 {
            faults.push(format!("{} ranks were left when all was ended", self.left));
        }
        let done = self
            .ranks
            .values()
            .filter(|rank| rank.said == "done")
            .count();
        if plan.mends() {
            if self.limit.is_none() && done < RANKS {
                faults.push(format!("{done} of {RANKS} ranks went on to their end"));
            }
            return faults;
        }
        if done > 0 {
            faults.push(format!(
                "{done} ranks say that they have done all their work"
            ));
        }
        let Some(limit) = self.limit else {
            return faults;
        };
        let lost = plan.lost();
        for (number, rank) in self
            .ranks
            .iter()
            .filter(|(number, _)| !lost.contains(number))
        {
            match rank.ended {
                None => faults.push(format!("rank {number} does not end")),
                Some(after) if after > limit + OVER_LIMIT => {
                    faults.push(format!("rank {number} ended after {}", seconds(after)));
                }
                Some(_) => {}
            }
            let names_lost = lost.iter().any(|lost| is_silent(&rank.said, *lost));
            let tells = rank.said.contains("MPI_Allreduce") && names_lost;
            if !tells && !plan.is_told() {
                faults.push(format!(
                    "rank {number} does not name the operation and a lost rank: {}",
                    rank.said
                ));
            }
        }
        faults
    }
}

/// Whether the text of an error says that a rank is silent, as those of time limits do.
fn is_silent(text: &str, rank: usize) -> bool {
    let of_rank = format!("rank {rank} (does not answer)");
    text.split_once("silent: ")
        .is_some_and(|(_, silent)| silent.contains(&of_rank))
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn list(ranks: &[usize]) -> String {
    let words: Vec<String> = ranks.iter().map(usize::to_string).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(texts: [&str; RANKS], ended: [Option<u64>; RANKS], limit: u64) -> Seen {
        let ranks = texts.iter().zip(ended).map(|(said, ended)| SeenRank {
            ended: ended.map(Duration::from_millis),
            said: (*said).to_owned(),
        });
        Seen {
            limit: (limit > 0).then(|| Duration::from_millis(limit)),
            launcher: None,
            ranks: ranks.enumerate().collect(),
            left: 0,
        }
    }

    const TOLD: &str = "error: MPI_Allreduce: not over within the time limit of 3s (RANKS_TIMEOUT) on rank 0 of 4 of world; waiting too: rank 1 in MPI_Allreduce for 3.0 s; silent: rank 2 (does not answer), rank 3 (does not answer)";

    #[test]
    fn ranks_that_end_in_time_and_say_why_are_as_they_should_be() {
        let plan = Plan::parse("freeze:n1@1s").unwrap();
        let good = seen(
            [TOLD, TOLD, "at work", "at work"],
            [Some(3100), Some(3200), None, None],
            3000,
        );
        assert_eq!(good.faults(&plan), [""; 0]);
        assert!(
            good.line()
                .contains("does not end | 0: 3.1 s, told: MPI_Allreduce"),
            "{}",
            good.line()
        );
        assert!(good.line().ends_with("| 2 3 |"), "{}", good.line());
    }

    #[test]
    fn what_is_late_or_silent_or_hangs_is_seen() {
        let plan = Plan::parse("cut:n1").unwrap();
        let late = seen(
            [TOLD, TOLD, "", ""],
            [Some(3100), Some(4100), None, None],
            3000,
        );
        assert!(
            late.faults(&plan)
                .join(";")
                .contains("rank 1 ended after 4.1 s")
        );
        let hangs = seen([TOLD, TOLD, "", ""], [Some(3100), None, None, None], 3000);
        assert!(
            hangs
                .faults(&plan)
                .join(";")
                .contains("rank 1 does not end")
        );
        let silent = seen([TOLD, "at work", "", ""], [Some(3100); RANKS], 3000);
        assert!(
            silent
                .faults(&plan)
                .join(";")
                .contains("rank 1 does not name")
        );
        let other = TOLD
            .replace("rank 2 (does", "rank 1 (does")
            .replace("rank 3 (does", "rank 0 (does");
        let wrong = seen([&other, TOLD, "", ""], [Some(3100); RANKS], 3000);
        assert!(
            wrong
                .faults(&plan)
                .join(";")
                .contains("rank 0 does not name")
        );
        // Without a limit nothing is promised.
        assert_eq!(
            seen(["", "", "", ""], [None; RANKS], 0).faults(&plan),
            [""; 0]
        );
    }

    #[test]
    fn a_job_that_is_mended_goes_on() {
        let plan = Plan::parse("thaw:n1@5s+freeze:n1@1s").unwrap();
        assert_eq!(plan.faults[0].what, What::Freeze(1));
        let done = ["done"; RANKS];
        assert_eq!(seen(done, [Some(8000); RANKS], 0).faults(&plan), [""; 0]);
        let stuck = ["done", "done", "done", "at work"];
        assert_eq!(seen(stuck, [None; RANKS], 0).faults(&plan).len(), 1);
        // Without mending nobody can have done all its work.
        assert_eq!(
            seen(done, [Some(8000); RANKS], 0)
                .faults(&Plan::parse("cut:n1").unwrap())
                .len(),
            1
        );
    }
}
