//! The thread that initialises MPI, runs the tests' functions and finalizes.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use ranks_comm::backend::to_its_end;
use ranks_comm::{Backend, Communicator, Runtime, Source, Tag, ThreadLevel};
use ranks_launch::Environment;

use super::exit;
use super::recorder::Recorder;
use crate::record::{self, Event};
use crate::system;
use crate::test::Test;

/// The time that a rank that failed waits before it ends the job, so that others can record that
/// they failed too.
const FAILED_LIMIT: Duration = Duration::from_millis(500);

/// The tag of messages that ranks exchange between tests, on the communicator that no test sees.
const MEETING: i32 = 1;

type Body = Box<dyn FnOnce(Communicator) -> Result<(), String> + Send>;

/// A request to the thread.
pub(super) enum Work {
    /// Run a test, and say when it has passed.
    Test {
        test: &'static Test,
        body: Body,
        passed: Sender<()>,
    },
    /// Finalize, and say so by dropping this.
    End(#[allow(dead_code, reason = "it is dropped to say that the end is reached")] Sender<()>),
}

/// Starts the thread.
pub(super) fn start(folder: PathBuf) -> Sender<Work> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || serve(&folder, &receiver));
    sender
}

/// The runtime, its world and the thread level that was asked for.
struct Session {
    runtime: Runtime,
    world: Communicator,
    threads: ThreadLevel,
}

fn serve(folder: &Path, works: &Receiver<Work>) {
    if let Err(error) = redirect_output(folder) {
        // The output then goes to the launcher's, where it is found as well.
        eprintln!("the output cannot be kept in {}: {error}", folder.display());
    }
    let mut log = match Recorder::open(folder) {
        Ok(recorder) => Log {
            recorder,
            output: output_file(folder),
        },
        Err(error) => {
            eprintln!(
                "the record in {} cannot be written: {error}",
                folder.display()
            );
            std::process::exit(1);
        }
    };
    let mut session = None;
    for work in works {
        match work {
            Work::Test { test, body, passed } => {
                exit::set_busy(true);
                log.started(test);
                if let Err(why) = attempt(&mut session, &mut log, test, body) {
                    log.fail(test, &why, session.as_ref());
                }
                exit::set_busy(false);
                // libtest's thread has ended only if it gave up, and then the process has aborted.
                let _ = passed.send(());
            }
            Work::End(end) => {
                if let Some(Session { runtime, world, .. }) = session.take() {
                    drop(world);
                    // Not `finalize`, which leaves MPI to the handles that live on.
                    match to_its_end(runtime) {
                        Ok(()) => log.record(&Event::Finalized),
                        Err(error) => eprintln!("{error}"),
                    }
                }
                drop(end);
                return;
            }
        }
    }
}

/// Runs one test, on a duplicate of the world on which no message is in flight, and with an end
/// that all ranks reach.
fn attempt(
    session: &mut Option<Session>,
    log: &mut Log,
    test: &'static Test,
    body: Body,
) -> Result<(), String> {
    let text = |error: ranks_comm::Error| error.to_string();
    let session = match session {
        Some(session) => session,
        None => session.insert(initialize(log, test)?),
    };
    if session.threads != test.threads {
        return Err(format!(
            "asks for {} in a process that has {}",
            test.threads, session.threads
        ));
    }
    let communicator = session.world.dup().map_err(text)?;
    drain(&communicator).map_err(text)?;
    meet(&session.world).map_err(text)?;
    test.attempt(|| body(communicator))?;
    log.record(&Event::Passed {
        test: test.name().to_owned(),
    });
    meet(&session.world).map_err(text)
}

fn initialize(log: &mut Log, test: &Test) -> Result<Session, String> {
    let environment = Environment::detect();
    if let Some(rank) = environment.rank {
        // Said before MPI is up, for the case that it does not come up.
        log.rank(rank, "");
    }
    let runtime = Runtime::builder()
        .backend(backend())
        .thread_level(test.threads)
        .init()
        .map_err(|error| error.to_string())?;
    exit::register();
    let world = runtime.world();
    log.rank(world.rank(), runtime.facts().library());
    let started: Option<usize> = std::env::var(record::RANKS)
        .ok()
        .and_then(|text| text.parse().ok());
    if started != Some(world.size()) || world.size() != test.ranks {
        return Err(format!(
            "is rank {} of {}, in a job of {} that runs a test for {}",
            world.rank(),
            world.size(),
            started.unwrap_or(0),
            test.ranks
        ));
    }
    Ok(Session {
        runtime,
        world,
        threads: test.threads,
    })
}

/// The backend: MPI, unless the user names one. A job of one rank can be run without any.
fn backend() -> Backend {
    match std::env::var_os("RANKS_BACKEND") {
        Some(_) => Backend::Auto,
        None => Backend::Mpi,
    }
}

/// Returns when all ranks have called this, and when the messages that they sent to this one before
/// have arrived.
///
/// Each hears from each. MPI orders messages within a communicator only, but libraries send all
/// that goes from one rank to another the same way, so what was sent earlier on another
/// communicator is there as well.
fn meet(world: &Communicator) -> ranks_comm::Result<()> {
    let (rank, size) = (world.rank(), world.size());
    for distance in 1..size {
        let mut heard = [0u8];
        world.sendrecv(
            &[1u8],
            (rank + distance) % size,
            MEETING,
            &mut heard,
            (rank + size - distance) % size,
            MEETING,
        )?;
    }
    Ok(())
}

/// Receives the messages that an earlier test left in flight: a library may give a new communicator
/// the context of one that was freed, and with it the messages that nobody received. MPICH does.
fn drain(communicator: &Communicator) -> ranks_comm::Result<()> {
    while let Some(message) = communicator.improbe(Source::Any, Tag::Any)? {
        message.recv_vec::<u8>()?;
    }
    Ok(())
}

/// The two files of this process.
struct Log {
    recorder: Recorder,
    output: PathBuf,
}

impl Log {
    /// A record that cannot be written is a rank that says nothing, which the driver reports.
    fn record(&mut self, event: &Event) {
        if let Err(error) = self.recorder.record(event) {
            eprintln!("the record cannot be written: {error}");
        }
    }

    fn rank(&mut self, rank: usize, library: &str) {
        self.record(&Event::Rank {
            rank,
            library: library.to_owned(),
        });
    }

    fn started(&mut self, test: &Test) {
        let _ = io::stdout().flush();
        let output = std::fs::metadata(&self.output).map_or(0, |file| file.len());
        self.record(&Event::Started {
            test: test.name().to_owned(),
            limit: test.limit().as_secs(),
            output,
        });
    }

    /// Writes down why, and ends the job.
    fn fail(&mut self, test: &Test, why: &str, session: Option<&Session>) -> ! {
        self.record(&Event::Failed {
            test: test.name().to_owned(),
            why: why.to_owned(),
        });
        let _ = io::stdout().flush();
        std::thread::sleep(FAILED_LIMIT);
        match session {
            Some(session) => session.world.abort(1),
            None => std::process::exit(1),
        }
    }
}

fn output_file(folder: &Path) -> PathBuf {
    folder.join(format!("{}.output", record::stem()))
}

/// Redirects all further output of this process to its own file, that of C libraries included.
fn redirect_output(folder: &Path) -> io::Result<()> {
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(output_file(folder))?;
    io::stdout().flush()?;
    system::redirect(&file)
}
