//! The processes of a job on Unix.

use std::io;
use std::process::{Command, Stdio};

use super::{Job, Starter};
use session::Session;
use tree::Mark;

mod input;
mod kernel;
mod session;
mod stand_in;
mod supervisor;
mod tree;

pub use stand_in::stand_in;
pub(super) use supervisor::Supervised;

/// Starts the command that is to run the ranks of a job.
pub(super) fn start(job: &Job, mut command: Command) -> io::Result<Supervised> {
    let mark = Mark::new();
    command.env(Mark::VARIABLE, mark.value());
    let session = match &job.installation {
        Some(installation) if job.starter == Starter::Launcher => {
            Session::of(installation, &mut command, &mark)?
        }
        _ => None,
    };
    command
        .stdin(if job.reads_input && input::is_ours() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Supervised::start(command, mark, session)
}
