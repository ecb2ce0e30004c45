//! A job: n ranks of a program, output told apart by rank, ended as a whole when it has timed out.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::environment::launchers::{Variables, outside_of_job, slurm_step};
use crate::environment::process_variable;
use crate::library::Installation;

#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod output;
mod splitter;
mod starter;
#[cfg(not(unix))]
#[path = "elsewhere.rs"]
mod system;
#[cfg(unix)]
#[path = "unix/mod.rs"]
mod system;

pub use output::RankOutput;
use output::{Labels, Streams};
use splitter::Splitter;
pub use starter::Starter;
use system::Supervised;
pub use system::stand_in;

/// The variable that lets `srun`, by which launchers start their daemons as well, use the resources
/// that a step of Slurm holds: inside of one, as `srun --pty bash` is, it would wait until that
/// ends.
const OVERLAP: &str = "SLURM_OVERLAP";

/// The word between two programs of one job, for launchers.
const SEPARATOR: &str = ":";

/// The description of a job to start.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use ranks_launch::{Installation, Job};
/// for installation in Installation::of_system() {
///     let outcome = Job::new("target/debug/heat").on(installation).ranks(4).run()?;
///     assert!(outcome.success(), "{outcome}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Job {
    /// The MPI to run on; `None` starts the program once, with its ranks as threads.
    pub installation: Option<Installation>,
    /// The number of ranks, at least 1.
    pub ranks: usize,
    /// The hosts to run on; none leaves it to the launcher.
    pub hosts: Vec<String>,
    /// The starter of the ranks.
    pub starter: Starter,
    /// `true` if it goes on without a rank that dies, where the launcher can.
    pub fault_tolerant: bool,
    /// `true` if its output is to be whole, even if it cannot be told apart by rank then.
    pub whole_output: bool,
    /// The folder of stand-ins, if the program is one of each rank.
    pub stand_ins: Option<PathBuf>,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables for it, added to those of this process.
    pub env: Vec<(OsString, OsString)>,
    /// The folder to run in; `None` is the one of this process.
    pub directory: Option<PathBuf>,
    /// The time limit; `None` is for none.
    pub timeout: Option<Duration>,
    /// `true` if it reads what this process is given on standard input, as rank 0 does under
    /// `mpiexec`. Else there is nothing to read.
    pub reads_input: bool,
}

impl Job {
    /// One rank of `program`, as a process without an MPI, for as long as it takes.
    pub fn new(program: impl Into<PathBuf>) -> Job {
        Job {
            installation: None,
            ranks: 1,
            hosts: Vec::new(),
            starter: Starter::Launcher,
            fault_tolerant: false,
            whole_output: false,
            stand_ins: None,
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            directory: None,
            timeout: None,
            reads_input: false,
        }
    }

    /// Runs on this MPI.
    pub fn on(mut self, installation: impl Into<Option<Installation>>) -> Job {
        self.installation = installation.into();
        self
    }

    /// Runs this many ranks.
    pub fn ranks(mut self, ranks: usize) -> Job {
        self.ranks = ranks;
        self
    }

    /// Runs on these hosts.
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = String>) -> Job {
        self.hosts.extend(hosts);
        self
    }

    /// Lets somebody else start the ranks than the launcher that belongs to the MPI.
    pub fn started_by(mut self, starter: Starter) -> Job {
        self.starter = starter;
        self
    }

    /// Lets the job go on without a rank that dies, where the [launcher
    /// can](Installation::fault_tolerance).
    pub fn fault_tolerant(mut self, yes: bool) -> Job {
        self.fault_tolerant = yes;
        self
    }

    /// Leaves out the labels of a launcher that loses output when it is to label it. Open MPI 4
    /// does, where a rank writes many short lines at once.
    pub fn whole_output(mut self, yes: bool) -> Job {
        self.whole_output = yes;
        self
    }

    /// Names a folder through which [stand-ins](stand_in) of the ranks hand on [whole
    /// output](Self::whole_output), told apart. It must be this user's alone and new for each job,
    /// and the program one that calls them with the same folder.
    pub fn stand_ins(mut self, folder: impl Into<Option<PathBuf>>) -> Job {
        self.stand_ins = folder.into();
        self
    }

    /// Appends arguments for the program.
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Job {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable for the program.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Job {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Ends the job when it takes longer.
    pub fn timeout(mut self, timeout: Duration) -> Job {
        self.timeout = Some(timeout);
        self
    }

    /// Starts the job and waits for its end.
    ///
    /// # Errors
    /// [`JobError`] when it cannot be started. How it ended, also badly or too late, is in the
    /// [`Outcome`].
    pub fn run(&self) -> Result<Outcome, JobError> {
        self.start().map(Running::wait)
    }

    /// Starts the job.
    ///
    /// The launcher leads a process group of its own and ends with this process. Its ranks are told
    /// apart by the labels that the launcher puts on their output.
    ///
    /// # Errors
    /// [`JobError`] when it cannot be started.
    pub fn start(&self) -> Result<Running, JobError> {
        if self.ranks == 0 {
            return Err(JobError::NoRanks);
        }
        let words = [self.program.as_os_str()].into_iter();
        let mut words = words.chain(self.args.iter().map(OsString::as_os_str));
        if self.installation.is_some() && words.any(|word| word == SEPARATOR) {
            return Err(JobError::Separator);
        }
        let (command, labels) = self.command();
        let program = PathBuf::from(command.get_program());
        let supervised = system::start(self, command, labels)
            .map_err(|source| JobError::Start { program, source })?;
        let started = Instant::now();
        Ok(Running {
            supervised,
            labels,
            ranks: self.ranks,
            started,
            // What no clock reaches is no limit.
            deadline: self
                .timeout
                .and_then(|timeout| Some((timeout, started.checked_add(timeout)?))),
        })
    }

    fn command(&self) -> (Command, Labels) {
        let (mut command, labels) = match &self.installation {
            Some(installation) => {
                let (mut command, labels) =
                    self.starter.command(installation, self.ranks, &self.hosts);
                let labels = if self.whole_output {
                    labels.without_loss(self.stand_ins.is_some())
                } else {
                    labels
                };
                if self.fault_tolerant && self.starter == Starter::Launcher {
                    command.args(installation.fault_tolerance().unwrap_or_default());
                }
                command
                    .args(labels.arguments())
                    .arg(&self.program)
                    // Its ranks are processes of this MPI, whatever those of this one are to be.
                    .env_remove("RANKS_BACKEND");
                if slurm_step(&Variables::new(&process_variable)).is_some() {
                    command.env(OVERLAP, "1");
                }
                (command, labels)
            }
            None => {
                let mut command = outside_of_job(&self.program);
                command
                    .env("RANKS_BACKEND", "inprocess")
                    .env("RANKS_NP", self.ranks.to_string())
                    // Inside of a step of `srun` it is none of its tasks.
                    .env_remove("SLURM_PROCID");
                (command, Labels::None)
            }
        };
        command
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        (command, labels)
    }
}

/// The reason why a job could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// A job of no ranks.
    #[error("a job needs at least one rank, and 0 were asked for")]
    NoRanks,
    /// A job over an MPI with an argument that its launcher does not hand on.
    #[error(
        "the program has an argument `:`, which launchers of MPIs take for the beginning of another program; \
         start a script that has it, or give the program another argument"
    )]
    Separator,
    /// The launcher, or the program if there is none, did not start.
    #[error("{} could not be started: {source}{}", program.display(), advice(source))]
    Start {
        /// The launcher or program that was to be started.
        program: PathBuf,
        /// The reason why it was not.
        source: io::Error,
    },
}

/// The advice where the system says only that it should be tried again.
fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::WouldBlock => {
            "; there is no room for it and the threads that watch it: raise the limit of processes (ulimit -u, pids.max)"
        }
        _ => "",
    }
}

/// A job that was started. Dropping it ends the job: no process of it remains.
#[derive(Debug)]
pub struct Running {
    supervised: Supervised,
    labels: Labels,
    ranks: usize,
    started: Instant,
    deadline: Option<(Duration, Instant)>,
}

impl Running {
    /// The process id of the launcher.
    pub fn id(&self) -> u32 {
        self.supervised.id()
    }

    /// Waits as [`wait_unless`](Self::wait_unless) does, and hands on the job's output while it
    /// comes, which is then not in the [`Outcome`].
    pub fn follow(
        mut self,
        stop: impl FnMut() -> bool,
        mut write: impl FnMut(Written<'_>),
    ) -> Outcome {
        let splitters = |labels| [(); 2].map(|()| Splitter::new(labels, self.ranks));
        let mut own = splitters(self.labels);
        let mut of_ranks = splitters(Labels::Hydra);
        let mut hand_on = |fresh: Streams, at_end: bool| {
            let ranks = of_ranks.iter_mut().zip(fresh.of_ranks.unwrap_or_default());
            let own = own.iter_mut().zip(fresh.own);
            for ((splitter, fresh), is_error) in
                ranks.zip([false, true]).chain(own.zip([false, true]))
            {
                splitter.take(&fresh, at_end, &mut |rank, text| {
                    write(Written {
                        rank,
                        is_error,
                        text,
                    });
                });
            }
        };
        self.supervised.follow();
        let outcome = self.end(stop, |supervised| hand_on(supervised.fresh(), false));
        hand_on(self.supervised.output(), true);
        outcome
    }

    /// Waits until the job ends or times out; all of its processes that still run then are killed.
    pub fn wait(self) -> Outcome {
        self.wait_unless(|| false)
    }

    /// Waits as [`wait`](Self::wait) does. `stop` is asked some fifty times a second; when it
    /// returns `true`, the job is ended with all of its processes.
    pub fn wait_unless(mut self, stop: impl FnMut() -> bool) -> Outcome {
        let outcome = self.end(stop, |_| {});
        let Streams { own, of_ranks } = self.supervised.output();
        let [stdout, stderr] = &own;
        let (mut output, launcher) = output::split(self.labels, self.ranks, stdout, stderr);
        if let Some([stdout, stderr]) = &of_ranks {
            output = output::split(Labels::Hydra, self.ranks, stdout, stderr).0;
        }
        Outcome {
            output,
            launcher,
            ..outcome
        }
    }

    /// The end of the job, without its output.
    fn end(
        &mut self,
        mut stop: impl FnMut() -> bool,
        mut meanwhile: impl FnMut(&mut Supervised),
    ) -> Outcome {
        const STEP: Duration = Duration::from_millis(20);
        let mut timed_out = false;
        let status = loop {
            let ended = self.supervised.wait(Instant::now() + STEP);
            if ended.is_some() {
                break ended;
            }
            timed_out = self.deadline.is_some_and(|(_, at)| Instant::now() >= at);
            if timed_out || stop() {
                break self.supervised.kill();
            }
            meanwhile(&mut self.supervised);
        };
        Outcome {
            status,
            timed_out,
            output: Vec::new(),
            launcher: RankOutput::default(),
            elapsed: self.started.elapsed(),
            timeout: self
                .deadline
                .filter(|_| timed_out)
                .map(|(timeout, _)| timeout),
        }
    }
}

/// A piece of what a job writes while it runs: a line, or less where output of others was put
/// between; any piece where nothing tells ranks apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written<'a> {
    /// The rank that wrote it; `None` for the launcher, and where nothing tells ranks apart, as in
    /// one process.
    pub rank: Option<usize>,
    /// `true` if it came from standard error.
    pub is_error: bool,
    /// The bytes, with the end of the line if there is one.
    pub text: &'a [u8],
}

/// The result of a job.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The status of the launcher; `None` if even killed it did not end.
    ///
    /// A launcher may report success for a job that lost ranks: let each rank print a last word,
    /// and look for it.
    pub status: Option<ExitStatus>,
    /// `true` if the job was killed because it timed out.
    pub timed_out: bool,
    /// The output of each rank, by rank; where ranks are threads of one process, its output is rank
    /// 0's.
    pub output: Vec<RankOutput>,
    /// The launcher's own output.
    pub launcher: RankOutput,
    /// The time from start to end.
    pub elapsed: Duration,
    timeout: Option<Duration>,
}

impl Outcome {
    /// Returns `true` if the launcher ended in time and reported success.
    pub fn success(&self) -> bool {
        !self.timed_out && self.status.is_some_and(|status| status.success())
    }
}

impl fmt::Display for Outcome {
    /// Writes the way in which it ended, then the last lines of each rank and of the launcher.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LINES: usize = 10;
        match (self.timeout, self.status) {
            (Some(timeout), _) => write!(f, "killed after its {timeout:?} were over")?,
            (None, Some(status)) => write!(f, "{status} after {:.1?}", self.elapsed)?,
            (None, None) => f.write_str("its launcher could not be ended")?,
        }
        let ranks = self
            .output
            .iter()
            .map(|output| (format!("rank {}", output.rank), output));
        for (name, output) in ranks.chain([("launcher".to_owned(), &self.launcher)]) {
            for (stream, text) in [("", &output.stdout), (" (stderr)", &output.stderr)] {
                for line in output::last_lines(text, LINES) {
                    write!(f, "\n{name}{stream}: {line}")?;
                }
            }
        }
        Ok(())
    }
}
