//! Runs the tests of a binary as jobs of an MPI: one job runs them all, and a crash or a hang costs
//! its own test only.
//!
//! `cargo xtask test` of this workspace and `RANKS_TEST_MPI` both stand on it, and so can a runner
//! of your own:
//!
//! 1. [`Binary::cases`] lists the tests on ranks in a test binary.
//! 2. A [`Suite`] of the cases of one number of ranks runs under a launcher. Each rank runs the
//!    test binary itself with the names of the tests, initialises MPI once and records what it
//!    does.
//! 3. The driver follows these records. A test has passed when all ranks say so. The test in which
//!    a rank fails, the job ends or the time limit is reached has failed, and the rest goes on in a
//!    new job.

use std::path::PathBuf;
use std::time::Duration;

mod binary;
mod case;
mod excerpt;
mod fault;
mod folder;
mod job;
mod records;
mod suite;
mod system;

pub use binary::Binary;
pub use case::Case;
pub use fault::{KnownFault, Library};
pub use suite::{Ran, Suite};

/// The result of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its name as libtest has it, or `(end of the job)`.
    pub test: String,
    /// The result.
    pub verdict: Verdict,
    /// The time from the first rank that began it to the last that ended it.
    pub time: Duration,
}

impl Report {
    fn new(test: &str, verdict: Verdict, time: Duration) -> Self {
        Self {
            test: test.to_owned(),
            verdict,
            time,
        }
    }
}

/// The verdict on a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All ranks passed.
    Passed,
    /// Not all ranks passed.
    Failed {
        /// The rank that failed first and the reason, or the ranks that are silent: one line unless
        /// the failure has more.
        why: String,
        /// A paragraph a rank: how far it came, and its last lines of output.
        details: String,
    },
    /// Not run, because the library is known to fail it.
    Known(KnownFault),
}

/// The reason why no test could be run at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The test binary does not answer.
    #[error("the test binary {} cannot be used: {why}", path.display())]
    Binary {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The launcher does not start.
    #[error("the launcher {} cannot be started: {why}", program.display())]
    Launcher {
        /// The program.
        program: PathBuf,
        /// The error of the system.
        why: std::io::Error,
    },
    /// The folder in which ranks record what they do cannot be used.
    #[error("the records in {} cannot be written or read: {why}", folder.display())]
    Records {
        /// The folder.
        folder: PathBuf,
        /// The error of the system.
        why: std::io::Error,
    },
}
