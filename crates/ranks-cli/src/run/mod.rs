//! `ranks run`: ranks of a program, under the launcher that belongs to the MPI.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use clap::builder::{NonEmptyStringValueParser, RangedU64ValueParser};
use ranks_launch::{
    Allocation, Count, Installation, Job, JobError, Outcome, Running, Starter, Written,
};

use crate::choice::{self, Choice};
use crate::run::observing::Observing;
use crate::run::rank::{End, Ends, Silence, Stuck};
use crate::tell::say;

mod observing;
pub(crate) mod rank;
pub(crate) mod system;

/// More ranks than MPI can number.
const MOST_RANKS: u64 = 1 << 31;

/// The program to run, and the ranks to run it on.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The number of ranks.
    #[arg(short = 'n', long, default_value_t = 2, value_parser = RangedU64ValueParser::<usize>::new().range(1..MOST_RANKS))]
    ranks: usize,
    /// The MPI: a name as `ranks doctor` shows it, a family, the prefix or the library of one;
    /// `none`: ranks are threads of one process. [default: RANKS_MPI, or what a program takes that
    /// is started alone, as `ranks doctor` shows it]
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    mpi: Option<String>,
    /// The launcher to use instead of the one that belongs to the MPI; it names the MPI where
    /// neither --mpi nor RANKS_MPI does.
    #[arg(long)]
    mpiexec: Option<PathBuf>,
    /// The hosts to run on.
    #[arg(long, value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    host: Vec<String>,
    /// Lets the job go on without a rank that dies (docs/reliability.md): of launchers those of
    /// Open MPI 5 and later can.
    #[arg(long)]
    fault_tolerant: bool,
    /// Ends the job when it takes longer: `90`, `60s`, `10m`, `2h`. It ends with 124 then.
    #[arg(long, value_parser = ranks_launch::duration)]
    time_limit: Option<Duration>,
    #[command(flatten)]
    observing: Observing,
    /// The program and its arguments; `--` before a program whose name begins with `-`.
    #[arg(required = true, trailing_var_arg = true)]
    program: Vec<OsString>,
}

/// The exit status of a job that has timed out, as of `timeout`.
const TIME_IS_UP: u8 = 124;

pub(crate) fn main(arguments: Arguments) -> crate::Outcome {
    let choice = choice::choose(arguments.mpi.as_deref(), arguments.mpiexec.as_deref())?;
    if let Choice::Threads { missing } = &choice {
        as_threads(&arguments, missing.as_deref())?;
    }
    let installation = choice.installation();
    let threads = installation.is_none();
    let (job, ends) = prepare(&arguments, installation)?;
    let signalled = system::watch_signals()?;
    let running = match job.start() {
        Err(error @ JobError::Start { .. }) if threads => {
            say(error);
            return Ok(ExitCode::from(rank::NOT_STARTED));
        }
        started => started?,
    };
    let watched = ends.as_ref().filter(|_| !arguments.fault_tolerant);
    let ended = follow(running, arguments.ranks, watched, &signalled);
    let status = tell_of(&ended, &arguments, ends.as_ref(), threads);
    // What was not started calls nothing, and waits for nobody.
    if ![0, rank::NOT_STARTED].contains(&status)
        && ended.signal == 0
        && let Some(advice) = arguments
            .observing
            .where_to_look(!threads || ended.outcome.timed_out)
    {
        say(advice);
    }
    // Output that is not complete is no success.
    Ok(ExitCode::from(status.max(ended.is_lost.into())))
}

/// Says so if ranks are threads for want of an MPI; they cannot be on other hosts.
fn as_threads(arguments: &Arguments, missing: Option<&str>) -> Result<(), String> {
    if !arguments.host.is_empty() {
        return Err(
            "without an MPI ranks are threads of one process, and cannot be on --host".into(),
        );
    }
    if let Some(missing) = missing {
        say(format_args!(
            "{missing} (ranks doctor says more): {} in one process, as threads",
            Count(arguments.ranks, "rank")
        ));
    }
    Ok(())
}

/// The job, and where the ends of its ranks are noted if it is on this host.
fn prepare(
    arguments: &Arguments,
    installation: Option<Installation>,
) -> Result<(Job, Option<Ends>), Box<dyn std::error::Error>> {
    if let Some(installation) = installation.as_ref().filter(|_| arguments.fault_tolerant) {
        can_lose_ranks(installation)?;
    }
    // A batch system ends a job of which a task dies; the launcher of the MPI starts its daemons on
    // the nodes of the allocation.
    let starter = if arguments.fault_tolerant || arguments.mpiexec.is_some() {
        Starter::Launcher
    } else {
        Starter::detect()
    };
    let mut hosts = arguments.host.clone();
    if let Some(installation) = installation.as_ref().filter(|_| hosts.is_empty()) {
        hosts = starter.hosts(installation.family);
    }
    // On other hosts this command need not be.
    let here = starter == Starter::Launcher && hosts.is_empty() && Allocation::detect().is_none();
    let ends = if installation.is_some() && here {
        Some(Ends::new()?)
    } else {
        None
    };
    let mut program = arguments.program.iter().cloned();
    let file = program.next().filter(|file| !file.is_empty());
    let file = file.ok_or("the name of the program is empty; name a program")?;
    let program: Vec<OsString> = match ends {
        Some(_) => program.map(rank::through_launcher).collect(),
        None => program.collect(),
    };
    let variables = arguments.observing.variables();
    let (start, before) = match &ends {
        Some(ends) => (
            std::env::current_exe()?,
            vec!["rank".into(), ends.folder().into(), file],
        ),
        // Not every launcher passes variables on to other hosts.
        None if installation.is_some() && !variables.is_empty() => {
            let set = observing::assignments(&variables);
            ("env".into(), set.chain([file]).collect())
        }
        None => (file.into(), Vec::new()),
    };
    let mut job = Job::new(start)
        .started_by(starter)
        .fault_tolerant(arguments.fault_tolerant)
        .whole_output(true)
        .stand_ins(ends.as_ref().map(|ends| ends.folder().to_owned()))
        .on(installation)
        .ranks(arguments.ranks)
        .hosts(hosts)
        .args(before)
        .args(program);
    job.env.extend(variables);
    job.timeout = arguments.time_limit;
    job.reads_input = true;
    Ok((job, ends))
}

/// A job that has ended, or was ended.
struct Ended {
    outcome: Outcome,
    /// The signal that this command got before; 0 for none.
    signal: i32,
    /// The launcher waited for what would not come.
    stuck: Option<Stuck>,
    /// Some of the output could not be written.
    is_lost: bool,
}

/// Writes the output of the job until it ends; ends it at a signal, or when it is silent after one
/// of the `watched` ranks has ended badly.
fn follow(running: Running, ranks: usize, watched: Option<&Ends>, signalled: &AtomicI32) -> Ended {
    let labels = Labels::new(ranks);
    let silence = Silence::new();
    let mut stuck = None;
    let mut is_lost = false;
    let outcome = running.follow(
        || {
            stuck = watched.and_then(|ends| silence.is_for_good(ends, ranks));
            stuck.is_some() || signalled.load(Ordering::Relaxed) != 0
        },
        |written| {
            match labels.write(written) {
                // As a launcher whose reader has gone away does.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    signalled.store(system::PIPE, Ordering::Relaxed);
                }
                // Its results may be elsewhere: the job goes on.
                Err(error) if !is_lost => {
                    is_lost = true;
                    say(format_args!(
                        "the output of the ranks could not be written: {error}"
                    ));
                }
                _ => {}
            }
            silence.begin_again();
        },
    );
    Ended {
        outcome,
        signal: signalled.load(Ordering::Relaxed),
        stuck,
        is_lost,
    }
}

/// Says how a job has ended that has not ended well, and returns the exit status for it.
fn tell_of(ended: &Ended, arguments: &Arguments, ends: Option<&Ends>, threads: bool) -> u8 {
    let Ended {
        outcome, signal, ..
    } = ended;
    let mut status = status(outcome, *signal);
    if let (true, Some(limit)) = (outcome.timed_out, arguments.time_limit) {
        say(format_args!(
            "the time limit of {limit:?} was reached; all processes of the job were killed"
        ));
    }
    if *signal != 0 || outcome.timed_out {
        return status;
    }
    // Where a job goes on without ranks that die, no launcher ends others for them.
    let bad = if arguments.fault_tolerant {
        ends.map(Ends::all_bad)
    } else {
        ends.map(Ends::bad)
    };
    let bad = bad.unwrap_or_default();
    for (rank, end) in &bad {
        say(format_args!("rank {rank}: {end}"));
    }
    // A launcher may report success for a job that has lost ranks.
    if let Some((_, first)) = bad.first()
        && (status != 0 || !arguments.fault_tolerant)
    {
        status = first.status();
    }
    let has_code = outcome.status.is_some_and(|status| status.code().is_some());
    if bad.is_empty()
        && has_code
        && ended.stuck.is_none()
        && !arguments.fault_tolerant
        && let Some(told) = ends.and_then(|ends| ends.cut_short(arguments.ranks))
    {
        say(told);
        status = status.max(1);
    }
    if let Some(stuck) = ended.stuck {
        say(format_args!(
            "{stuck}; all processes of the job were killed"
        ));
        // That of a launcher that was ended says nothing.
        return bad.first().map_or(0, |_| status);
    }
    let end = outcome.status.and_then(system::signal).map(End::Signal);
    if let Some(end) = end.filter(|end| bad.iter().all(|(_, of_rank)| of_rank != end)) {
        let what = if threads { "program" } else { "launcher" };
        say(format_args!("the {what}: {end}"));
    }
    status
}

/// Checks that the launcher of this MPI lets a job go on without a rank that dies.
fn can_lose_ranks(installation: &Installation) -> Result<(), String> {
    if installation.fault_tolerance().is_some() {
        return Ok(());
    }
    let others = choice::installations().into_iter();
    let others = others.filter(|other| other.fault_tolerance().is_some());
    let others: Vec<String> = others.map(|other| other.name).collect();
    let remedy = if others.is_empty() {
        "none is found here; `--mpi none`, where ranks are threads, can as well".to_owned()
    } else {
        format!("use --mpi {}", others.join(" or --mpi "))
    };
    Err(format!(
        "--fault-tolerant: the launcher of {} ({}) ends a job of which a rank dies, and has no option that works against it; \
         that of Open MPI 5 and later has: {remedy}",
        installation.name, installation.family
    ))
}

/// The launcher's exit status if it fits into one byte; that of a shell for signals.
fn status(outcome: &Outcome, signal: i32) -> u8 {
    if outcome.timed_out {
        return TIME_IS_UP;
    }
    let of_signal = |signal: i32| u8::try_from(128 + signal).unwrap_or(1);
    if signal != 0 {
        return of_signal(signal);
    }
    let status = outcome.status;
    let code = status.and_then(|status| status.code());
    let killed = status.and_then(system::signal);
    match (code, killed) {
        (Some(code), _) => u8::try_from(code).unwrap_or(1),
        (None, Some(signal)) => of_signal(signal),
        (None, None) => 1,
    }
}

/// Writes what ranks write as it is, each line with its rank before it where that is known.
struct Labels {
    width: usize,
    /// On standard output and on standard error.
    coloured: [bool; 2],
}

impl Labels {
    fn new(ranks: usize) -> Labels {
        let choices = [
            AutoStream::choice(&io::stdout()),
            AutoStream::choice(&io::stderr()),
        ];
        Labels {
            width: ranks.saturating_sub(1).to_string().len(),
            coloured: choices.map(|choice| choice != ColorChoice::Never),
        }
    }

    fn write(&self, written: Written<'_>) -> io::Result<()> {
        let [stdout, stderr] = self.coloured;
        if written.is_error {
            self.line(&mut io::stderr().lock(), stderr, &written)
        } else {
            self.line(&mut io::stdout().lock(), stdout, &written)
        }
    }

    fn line(&self, out: &mut dyn Write, coloured: bool, written: &Written<'_>) -> io::Result<()> {
        const COLOURS: [AnsiColor; 6] = [
            AnsiColor::Green,
            AnsiColor::Cyan,
            AnsiColor::Yellow,
            AnsiColor::Magenta,
            AnsiColor::Blue,
            AnsiColor::Red,
        ];
        if let Some(rank) = written.rank {
            let colour = coloured.then(|| COLOURS[rank % COLOURS.len()].into());
            let style = Style::new().fg_color(colour);
            write!(out, "{style}[{rank:>width$}]{style:#} ", width = self.width)?;
        }
        out.write_all(written.text)?;
        // What comes next bears a rank too.
        if written.rank.is_some() && !written.text.ends_with(b"\n") {
            out.write_all(b"\n")?;
        }
        out.flush()
    }
}
