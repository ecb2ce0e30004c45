//! A job on hosts of its own while something is done to it: what becomes of each of its ranks, and
//! when.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use ranks_launch::Installation;

use super::super::lifetime::{Cluster, Life};
use super::super::namespaces::Right;
use super::super::state::State;
use super::super::wire::{self, Request};
use super::super::{faults, job, names};
use super::seen::{Limit, Seen, SeenRank};
use super::{HOSTS, Plan, RANKS, dumps, told};

/// How long a job may take to begin.
const START_LIMIT: Duration = Duration::from_secs(60);

/// How often it is looked at.
const TICK: Duration = Duration::from_millis(20);

/// How jobs are watched.
pub(super) struct Watch<'a> {
    /// The job.
    pub(super) program: &'a Path,
    /// The command `ranks`, which reads dumps.
    pub(super) command: &'a Path,
    pub(super) name: String,
    pub(super) right: Right,
    pub(super) deadline: Duration,
    pub(super) work: Duration,
    pub(super) over: Duration,
    pub(super) linger: Option<Duration>,
}

impl Watch<'_> {
    pub(super) fn job(
        &self,
        installation: &Installation,
        plan: &Plan,
        limit: Option<Duration>,
    ) -> Result<Seen, String> {
        let cluster = Cluster::up(
            State::named(&self.name)?,
            HOSTS,
            self.right,
            Life::Held,
            Some(self.program),
        )?;
        let state = cluster.state();
        // Each host has a /tmp of its own; this folder all of them see.
        let (marks, dumped) = (state.folder().join("marks"), state.folder().join("dumps"));
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
        command.env("RANKS_DUMP", &dumped);
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
        let dumps = dumps::read(self.command, &dumped);
        let told = state.told();
        cluster.down();
        let output = reader.join().unwrap_or_default();
        // Its folder is gone by now, and is what its processes are known by all the same.
        let left = faults::ranks(&State::named(&self.name)?, Some(self.program)).len();
        let mut seen = seen.map_err(|why| format!("{why}: {}{told}", output.trim()))?;
        seen.left = left;
        for (number, text) in told::reports(&output) {
            seen.rank(number).reported = Some(text);
        }
        for (number, dump) in dumps? {
            seen.rank(number).dump = Some(dump);
        }
        Ok(seen)
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
            limit: limit.map(|time| Limit {
                time,
                over: self.over,
            }),
            launcher: None,
            ranks: (0..RANKS).map(|rank| (rank, SeenRank::default())).collect(),
            left: 0,
        };
        let lost = plan.lost();
        let mut to_do = plan.faults.iter().peekable();
        let mut fault = None;
        loop {
            while let Some(next) = to_do.next_if(|next| next.after <= began.elapsed()) {
                // Its time is that of its beginning: the end of a host takes some.
                fault.get_or_insert_with(Instant::now);
                next.what.carry_out(state, Some(self.program))?;
            }
            if seen.launcher.is_none()
                && let Some(code) = ended(launcher)?
            {
                seen.launcher = Some((fault.unwrap_or(began).elapsed(), code));
            }
            let there = faults::ranks(state, Some(self.program));
            for (number, rank) in &mut seen.ranks {
                let runs = there.iter().any(|rank| rank.number == *number);
                if !runs && rank.ended.is_none() {
                    rank.ended = Some(fault.unwrap_or(began).elapsed());
                }
            }
            let over = seen.launcher.is_some() && there.is_empty();
            let since_fault = fault.map_or(Duration::ZERO, |fault: Instant| fault.elapsed());
            let lingers = |linger| {
                let last = seen.last_end(&lost);
                last.is_some_and(|last| since_fault > last + linger) && to_do.peek().is_none()
            };
            if over || since_fault > self.deadline || self.linger.is_some_and(lingers) {
                break;
            }
            thread::sleep(TICK);
        }
        for (number, text) in said(marks) {
            seen.rank(number).said = text;
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
