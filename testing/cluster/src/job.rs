//! `cargo xtask cluster run`: one job on each MPI, over hosts that are made for it and end with it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, PipeReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use ranks_harness::{mpi, programs};
use ranks_launch::Installation;

use super::faults::Fault;
use super::lifetime::{Cluster, Life};
use super::namespaces::Right;
use super::state::State;
use super::verdict::{End, Expected, Mark, faults};
use super::wire::{self, Program, Request};
use super::{names, network};
use crate::Outcome;

/// What the job that is run by default sends to each host, in bytes.
const OWN_BYTES: u64 = 4 << 20;

/// How long what is asked to end may take to do so.
const GRACE: Duration = Duration::from_secs(2);

/// What to run, and on what.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The number of hosts.
    #[arg(long, default_value_t = 2)]
    pub(super) hosts: usize,
    /// The number of ranks on each.
    #[arg(long, default_value_t = 2)]
    pub(super) ppn: usize,
    /// The MPIs, as `cargo xtask mpi` names them, or `all` that are here.
    #[arg(long, value_delimiter = ',', default_value = "all")]
    pub(super) mpi: Vec<String>,
    /// When the job is ended, whatever its launcher does, as in `60s`.
    #[arg(long, default_value = "60s", value_parser = ranks_launch::any_duration)]
    pub(super) deadline: Duration,
    /// At least so many bytes must come to each host but the first. [default: 4 MiB for the job of
    /// the tests, else 1]
    #[arg(long)]
    bytes: Option<u64>,
    /// What is done to the job, so long after its first line: kill:RANK@2s, kill-host:n1@2s,
    /// cut:n1@2s, heal:n1@5s, freeze:n1@2s, thaw:n1@5s.
    #[arg(long, value_delimiter = ',')]
    fault: Vec<Fault>,
    /// The path of a program, or the name of an example, and its arguments. Each rank prints
    /// `rank 3 of 4, host 1 of 2` when its work is done. [default: a job that prints where its
    /// ranks are]
    #[arg(last = true)]
    pub(super) program: Vec<String>,
}

impl Arguments {
    /// How much must come to each host but the first.
    pub(super) fn least_bytes(&self) -> u64 {
        let own = self.program.is_empty();
        self.bytes.unwrap_or(if own { OWN_BYTES } else { 1 })
    }
}

pub(super) fn main(arguments: &Arguments, name: &str, right: Right) -> Outcome {
    if arguments.ppn == 0 {
        return Err("a host needs at least one rank".into());
    }
    let all = arguments.mpi == ["all"];
    let chosen = mpi::matrix(if all { &[] } else { &arguments.mpi })?;
    let (program, rest) = program(&arguments.program)?;
    let job = Job {
        expected: Expected {
            hosts: arguments.hosts,
            ranks_per_host: arguments.ppn,
            bytes: arguments.least_bytes(),
            most: None,
            may_hang_at_end: false,
        },
        deadline: arguments.deadline,
        faults: &arguments.fault,
        program: &program,
        rest: &rest,
        right,
        // Where nobody gave it a name it bears that of this process, so that several run at once.
        name: if name == "up" {
            format!("run-{}", std::process::id())
        } else {
            name.to_owned()
        },
    };
    let mut failed = 0;
    for installation in &chosen {
        match job.run(installation) {
            Ok(line) => println!("{:<16} {line}", installation.name),
            Err(why) => {
                failed += 1;
                println!("{:<16} FAILED: {why}", installation.name);
            }
        }
    }
    println!(
        "{} of {} MPIs ran over {} hosts",
        chosen.len() - failed,
        chosen.len(),
        arguments.hosts
    );
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What jobs of the tests send to each host: the word that the program knows them by, and between
/// which bounds, in bytes. What libraries say to each other on the way comes on top.
const OWN: [(&str, u64, u64); 3] = [
    ("", OWN_BYTES, u64::MAX),
    // One copy for each host, and not one for each rank.
    ("node-shared", OWN_BYTES, OWN_BYTES * 3 / 2),
    // A broadcast, and a sum that a host hears of once as well, or twice where it passes on what it
    // heard.
    ("in-two-steps", OWN_BYTES * 2, OWN_BYTES * 7 / 2),
];

/// Runs the jobs of the tests on one MPI; says how it was, or why one is not believed.
pub(super) fn own(
    installation: &Installation,
    (hosts, ranks_per_host): (usize, usize),
    may_hang_at_end: bool,
    name: &str,
    right: Right,
) -> Result<Vec<String>, String> {
    let (program, rest) = program(&[])?;
    let one = |(word, bytes, most): (&str, u64, u64)| {
        let mut rest = rest.clone();
        rest.extend((!word.is_empty()).then(|| word.to_owned()));
        let job = Job {
            expected: Expected {
                hosts,
                ranks_per_host,
                bytes,
                most: Some(most),
                may_hang_at_end,
            },
            deadline: Duration::from_secs(60),
            faults: &[],
            program: &program,
            rest: &rest,
            right,
            name: name.to_owned(),
        };
        let said = job.run(installation);
        let words = format!("job {}", rest.join(" "));
        said.map(|line| format!("{words}: {line}"))
            .map_err(|why| format!("{words}: {why}"))
    };
    OWN.into_iter().map(one).collect()
}

/// The program to run, built if it must be, and its arguments.
pub(super) fn program(words: &[String]) -> Result<(PathBuf, Vec<String>), String> {
    match words.split_first() {
        None => Ok((
            programs::build("ranks-jobs", "job-program", true)?,
            vec!["hosts".to_owned()],
        )),
        Some((path, rest)) if path.contains('/') => {
            let path = Path::new(path)
                .canonicalize()
                .map_err(|error| format!("{path}: {error}"))?;
            Ok((path, rest.to_vec()))
        }
        Some((example, rest)) => Ok((
            programs::build("ranks-examples", example, false)?,
            rest.to_vec(),
        )),
    }
}

/// A job that is run on one MPI after the other.
struct Job<'a> {
    expected: Expected,
    deadline: Duration,
    faults: &'a [Fault],
    program: &'a Path,
    rest: &'a [String],
    right: Right,
    name: String,
}

impl Job<'_> {
    /// Runs it; says how it was, or why it is not believed.
    fn run(&self, installation: &Installation) -> Result<String, String> {
        let hosts = self.expected.hosts;
        let cluster = Cluster::up(
            State::named(&self.name)?,
            hosts,
            self.right,
            Life::Held,
            Some(self.program),
        )?;
        let up = cluster.took();
        let state = cluster.state();
        let mut command =
            installation.command_on(hosts * self.expected.ranks_per_host, &names::hosts(hosts));
        command.arg(self.program).args(self.rest);

        let started = Instant::now();
        let failed = |error: io::Error| error.to_string();
        let ((output, write), (errors, write_errors)) =
            (io::pipe().map_err(failed)?, io::pipe().map_err(failed)?);
        let null = std::fs::File::open("/dev/null").map_err(failed)?;
        let request = Request::Run(on_host(state, &command)?);
        // A launcher is at home on the first host, as in a job of a batch system.
        let launcher = state.ask(
            &names::host(0),
            &request,
            [null.as_fd(), write.as_fd(), write_errors.as_fd()],
        )?;
        drop((write, write_errors));
        let (say, begun) = mpsc::channel();
        let readers = [
            thread::spawn(move || {
                // Nobody may listen any more.
                heard(output, false, || {
                    let _ = say.send(());
                })
            }),
            thread::spawn(|| copied(errors, true)),
        ];
        self.trouble(state, begun);
        let end = wait(state, &launcher, started + self.deadline);
        let took = started.elapsed();
        let traffic = state.read(names::HEAD, &["cat", "/proc/net/dev"]);
        let told = state.told();
        // With the hosts ends whatever still holds the streams.
        let down = cluster.down();
        let [output, _] = readers.map(|reader| reader.join().unwrap_or_default());
        let traffic = network::traffic(&traffic?);

        let faults = faults(self.expected, end, &Mark::all(&output), &traffic);
        let received: Vec<String> = traffic
            .values()
            .map(|traffic| format!("{:.1}", traffic.received as f64 / 1e6))
            .collect();
        let line = format!(
            "up {up:.0?}, job {:.2} s, down {down:.0?}, MB to the hosts: {}",
            took.as_secs_f64(),
            received.join(" ")
        );
        if faults.is_empty() {
            Ok(match end {
                End::Itself(_) => line,
                _ => format!("{line}; it hung while it ended, as this library is known to"),
            })
        } else {
            Err(format!("{}; {line}{told}", faults.join("; ")))
        }
    }
}

impl Job<'_> {
    /// Does to the job what is to be done to it, in its time.
    fn trouble(&self, state: &State, begun: Receiver<()>) {
        let (state, program) = (state.clone(), self.program.to_path_buf());
        let mut faults = self.faults.to_vec();
        faults.sort_by_key(|fault| fault.after);
        // It ends with this process, if the job does not begin.
        thread::spawn(move || {
            if begun.recv().is_err() {
                return;
            }
            let began = Instant::now();
            for fault in faults {
                thread::sleep(fault.after.saturating_sub(began.elapsed()));
                match fault.what.carry_out(&state, Some(&program)) {
                    Ok(()) => println!(
                        "{} after {:.1} s",
                        fault.what,
                        began.elapsed().as_secs_f64()
                    ),
                    Err(why) => println!("{} failed: {why}", fault.what),
                }
            }
        });
    }
}

/// What a command of this machine is on a host.
pub(super) fn on_host(state: &State, command: &Command) -> Result<Program, String> {
    let mut variables: HashMap<OsString, OsString> = std::env::vars_os().collect();
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => variables.insert(name.to_owned(), value.to_owned()),
            None => variables.remove(name),
        };
    }
    // Intel MPI asks no shell by default.
    variables
        .entry("I_MPI_HYDRA_BOOTSTRAP".into())
        .or_insert_with(|| "ssh".into());
    let words = [command.get_program()]
        .into_iter()
        .chain(command.get_args());
    Ok(Program {
        arguments: words.map(OsString::from).collect(),
        environment: state.environment(variables.into_iter().collect()),
        directory: std::env::current_dir().map_err(|error| error.to_string())?,
        privileged: false,
    })
}

/// Waits for the launcher until the deadline, which ends everything on all hosts.
pub(super) fn wait(state: &State, launcher: &UnixStream, deadline: Instant) -> End {
    let answer = |until: Instant| {
        let left = until
            .saturating_duration_since(Instant::now())
            .max(Duration::from_millis(1));
        launcher.set_read_timeout(Some(left))?;
        wire::answered(launcher)
    };
    match answer(deadline) {
        Ok(code) => return End::Itself(code),
        Err(error)
            if !matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
            ) =>
        {
            return End::Lost;
        }
        Err(_) => {}
    }
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        for host in state.hosts() {
            // A host may be gone.
            let _ = state.signal(&host, signal);
        }
        if answer(Instant::now() + GRACE).is_ok() {
            break;
        }
    }
    End::Late
}

/// Hands on what comes, line by line, and returns it.
pub(super) fn copied(pipe: PipeReader, is_error: bool) -> String {
    heard(pipe, is_error, || ())
}

/// The same; each line is told of.
fn heard(pipe: PipeReader, is_error: bool, tell: impl Fn()) -> String {
    let mut all = String::new();
    let mut lines = BufReader::new(pipe);
    let mut line = Vec::new();
    while lines
        .read_until(b'\n', &mut line)
        .is_ok_and(|length| length > 0)
    {
        let text = String::from_utf8_lossy(&line);
        // There may be nobody to read it.
        let _ = if is_error {
            io::stderr().write_all(&line)
        } else {
            tell();
            io::stdout().write_all(&line)
        };
        all.push_str(&text);
        line.clear();
    }
    all
}
