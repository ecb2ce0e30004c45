//! The processes of a job on Unix.

use std::io;
use std::process::{Command, Stdio};

use super::output::Labels;
use super::{Job, Starter};
use detour::Detour;
use session::Session;
use tree::Mark;

mod detour;
mod input;
mod kernel;
mod proxies;
mod session;
mod stand_in;
mod supervisor;
mod tree;

pub use stand_in::stand_in;
pub(super) use supervisor::Supervised;

/// Starts the command that is to run the ranks of a job.
pub(super) fn start(job: &Job, mut command: Command, labels: Labels) -> io::Result<Supervised> {
    let mark = Mark::new();
    command.env(Mark::VARIABLE, mark.value());
    let session = match &job.installation {
        Some(installation) if job.starter == Starter::Launcher => {
            Session::of(installation, &mut command, &mark)?
        }
        _ => None,
    };
    let folder = job.stand_ins.as_ref().filter(|_| labels == Labels::StandIn);
    let detour = folder.map(|folder| Detour::new(folder)).transpose()?;
    command
        .stdin(if job.reads_input && input::is_ours() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let is_hydra = labels == Labels::Hydra && job.starter == Starter::Launcher;
    Supervised::start(command, mark, session, detour, is_hydra)
}
