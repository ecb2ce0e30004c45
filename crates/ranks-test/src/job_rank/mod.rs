//! Runs this process as one rank of a job of the driver: MPI is up once for all tests, and each is
//! recorded.
//!
//! libtest runs every test in a thread of its own. MPI wants one thread to initialise, to
//! communicate below `MPI_THREAD_SERIALIZED`, and to finalize. So one thread does all of that, and
//! the tests' functions run on it.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use ranks_comm::Communicator;

use crate::outcome::Outcome;
use crate::test::Test;

mod exit;
mod recorder;
mod thread;

use thread::Work;

/// The time beyond its limit that a test may take before the rank ends itself, in case that the
/// driver is gone.
const DRIVER_GONE: Duration = Duration::from_secs(60);

/// The way to the thread of MPI.
static THREAD: OnceLock<Mutex<Sender<Work>>> = OnceLock::new();

/// Runs the test on this rank. If it fails, the job ends and this does not return.
pub(crate) fn run<R: Outcome>(
    folder: &Path,
    test: &'static Test,
    body: fn(Communicator) -> R,
) -> Result<(), String> {
    let (passed, verdict) = channel();
    let work = Work::Test {
        test,
        body: Box::new(move |communicator| body(communicator).into_result()),
        passed,
    };
    thread(folder)
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .send(work)
        .map_err(|_| "the thread of MPI has ended".to_owned())?;
    match verdict.recv_timeout(test.limit().saturating_add(DRIVER_GONE)) {
        Ok(()) => Ok(()),
        Err(RecvTimeoutError::Disconnected) => Err("the thread of MPI has ended".to_owned()),
        Err(RecvTimeoutError::Timeout) => {
            eprintln!(
                "{}: no end, and nobody ended the job: aborting",
                test.name()
            );
            std::process::abort()
        }
    }
}

fn thread(folder: &Path) -> &'static Mutex<Sender<Work>> {
    THREAD.get_or_init(|| Mutex::new(thread::start(folder.to_path_buf())))
}
