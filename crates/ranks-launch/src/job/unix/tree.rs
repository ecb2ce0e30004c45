//! All processes of a job, found by a mark in their environment: also those that left its process
//! group, its session, or their parents.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::environment::ancestors::{VariablesOf, field, parent};

/// A mark that every process of a job inherits.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    own: String,
    value: String,
}

impl Mark {
    pub(super) const VARIABLE: &'static str = "RANKS_JOB";

    /// A mark that no other job has; jobs inside of jobs keep the outer mark too.
    pub(super) fn new() -> Mark {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let time = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |time| time.as_nanos());
        let own = format!(
            "{}.{time}.{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let value = match std::env::var(Self::VARIABLE) {
            Ok(outer) if !outer.is_empty() => format!("{outer}:{own}"),
            _ => own.clone(),
        };
        Mark { own, value }
    }

    /// The mark of the job that this process is one of.
    pub(super) fn of_this_process() -> Option<Mark> {
        let value = std::env::var(Self::VARIABLE).ok()?;
        let own = value.rsplit(':').next().unwrap_or_default().to_owned();
        (!own.is_empty()).then_some(Mark { own, value })
    }

    /// The value for the variable.
    pub(super) fn value(&self) -> &str {
        &self.value
    }

    /// The part of it that no other job has.
    pub(super) fn own(&self) -> &str {
        &self.own
    }

    /// Returns `true` if the process that lies at `folder` bears it.
    fn is_on(&self, folder: &Path) -> bool {
        let variables = VariablesOf::process(folder);
        let value = variables.as_ref().and_then(|all| all.get(Self::VARIABLE));
        let mut marks = value
            .into_iter()
            .flat_map(|value| value.split(|&byte| byte == b':'));
        marks.any(|mark| mark == self.own.as_bytes())
    }
}

/// The processes that run now and bear `mark`, and all that descend from `root`, without this one
/// and `root` itself.
fn members(mark: &Mark, root: Option<u32>) -> HashSet<u32> {
    let proc = Path::new("/proc");
    let me = std::process::id();
    let Ok(entries) = fs::read_dir(proc) else {
        return HashSet::new();
    };
    let pids: Vec<u32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    let mut found: HashSet<u32> = pids
        .iter()
        .copied()
        .filter(|pid| mark.is_on(&proc.join(pid.to_string())))
        .collect();
    let mut family: HashSet<u32> = root.into_iter().collect();
    loop {
        let before = family.len();
        for &pid in &pids {
            if parent(proc, pid).is_some_and(|parent| family.contains(&parent)) {
                family.insert(pid);
            }
        }
        if family.len() == before {
            break;
        }
    }
    found.extend(family);
    found.retain(|&pid| pid != me && Some(pid) != root);
    found
}

/// Returns `true` if this process has children, of which all have ended.
pub(super) fn all_children_are_dead(pid: u32) -> bool {
    let proc = Path::new("/proc");
    let list = fs::read_to_string(proc.join(format!("{pid}/task/{pid}/children")));
    let list = list.unwrap_or_default();
    let is_dead = |child: &str| {
        let stat = fs::read(proc.join(child).join("stat"));
        stat.is_ok_and(|stat| field(&stat, 0).as_deref() == Some("Z"))
    };
    let mut children = list.split_ascii_whitespace().peekable();
    children.peek().is_some() && children.all(is_dead)
}

/// Sends `signal` to every process of the job but its launcher; returns how many there are.
fn signal(mark: &Mark, root: Option<u32>, signal: Signal) -> usize {
    let members = members(mark, root);
    for &pid in &members {
        if let Ok(pid) = i32::try_from(pid) {
            // It may have ended since it was seen, which is the aim.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }
    members.len()
}

/// Kills every process of the job but its launcher `root`, which its parent has to reap, again
/// until none is left.
///
/// Gives up after `patience`: a process in the kernel's hands cannot be helped.
pub(super) fn kill_all(mark: &Mark, root: Option<u32>, patience: Duration) {
    let until = Instant::now() + patience;
    while signal(mark, root, Signal::SIGKILL) > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
}
