//! Dumps: the record, written to a file when something goes wrong: `rank-N.json` in the folder that
//! `RANKS_DUMP` names.
//!
//! `ranks postmortem` reads the files of a job. Nothing is written unless the variable is set.

mod content;
mod exit;
mod json;
#[cfg(not(unix))]
#[path = "dump/elsewhere.rs"]
mod signals;
#[cfg(unix)]
mod signals;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, OnceLock};

use crate::call::inflight_calls;
use crate::call::lock::lock;

use super::recorder::{Recorder, recorders};

/// The variable that names the folder.
const VARIABLE: &str = "RANKS_DUMP";

/// The variable that requests a dump at a fault signal.
pub(crate) const FAULTS: &str = "RANKS_DUMP_SIGNALS";

/// The reason for a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    not(unix),
    expect(dead_code, reason = "there are signals on Unix alone")
)]
pub(crate) enum Reason {
    TimeLimit,
    Abort,
    Error,
    Panic,
    Termination,
    Exit,
    /// The signal of that name.
    Fault(&'static str),
}

impl Reason {
    fn text(self) -> &'static str {
        match self {
            Self::TimeLimit => "time limit",
            Self::Abort => "abort",
            Self::Error => "error",
            Self::Panic => "panic",
            Self::Termination => "SIGTERM",
            Self::Exit => "exit",
            Self::Fault(signal) => signal,
        }
    }
}

/// Makes this process write a dump before it ends in a way that this crate is not told of
/// otherwise, if there is to be a dump at all.
pub(crate) fn at_every_end() {
    static ONCE: Once = Once::new();
    if folder().is_some() {
        ONCE.call_once(|| {
            signals::on_termination();
            exit::on_exit();
            if std::env::var_os(FAULTS).is_some_and(|value| value == "1") {
                signals::on_faults();
            }
        });
    }
}

/// Writes a file for each rank that lives in this process, once: later failures follow from the
/// first.
///
/// `error` is what went wrong on `rank` of the world, if there are several here. A rank that fails
/// while another one writes waits for it: its own record is among those written, and is dropped
/// when the rank ends.
pub(crate) fn write(reason: Reason, error: Option<&dyn Display>, rank: Option<usize>) {
    thread_local! {
        static WRITING: Cell<bool> = const { Cell::new(false) };
    }
    // A thread that panics while it writes, where panics abort, does not write again.
    if !WRITING.replace(true) {
        write_once(reason, error, rank);
        WRITING.set(false);
    }
}

fn write_once(reason: Reason, error: Option<&dyn Display>, rank: Option<usize>) {
    static WRITTEN: Mutex<bool> = Mutex::new(false);
    ranks_trace::the_process_ends();
    let Some(folder) = folder() else {
        return;
    };
    // Before the lock is taken, since formatting runs code of the program.
    let error = error.map(ToString::to_string);
    let mut written = lock(&WRITTEN);
    if std::mem::replace(&mut *written, true) {
        return;
    }
    if let Err(problem) = write_all(folder, reason, error.as_deref(), rank) {
        eprintln!(
            "ranks: what was recorded cannot be written to {} ({VARIABLE}): {problem}",
            folder.display()
        );
    }
}

/// The folder, if dumps are wanted.
pub(crate) fn folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let read = || std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
    FOLDER.get_or_init(|| read().map(PathBuf::from)).as_deref()
}

fn write_all(
    folder: &Path,
    reason: Reason,
    error: Option<&str>,
    rank: Option<usize>,
) -> std::io::Result<()> {
    for (place, recorders) in by_rank() {
        let mine = rank.is_none_or(|rank| rank == place.0);
        let mut reason = reason.text().to_owned();
        let mut error = error.map(str::to_owned);
        if let (false, Some(said), Some(rank)) = (mine, &error, rank) {
            reason = format!("{reason} on rank {rank}");
            error = Some(format!("rank {rank} of {}: {said}", place.1));
        }
        let under_way = inflight_calls::of_the_program();
        let here = under_way.iter().filter(|one| one.recorder.place == place);
        let communicators = recorders.iter().map(|one| content::communicator(one));
        let dump = content::dump(
            place,
            (&reason, error.as_deref()),
            communicators,
            here.map(|one| content::under_way(one)),
        );
        let name = format!("rank-{}.json", place.0);
        ranks_trace::own_file::write(folder, &name, dump.as_bytes())?;
    }
    Ok(())
}

/// The recorders, by rank in the world and the size of the world.
fn by_rank() -> BTreeMap<(usize, usize), Vec<Arc<Recorder>>> {
    let mut ranks = BTreeMap::<_, Vec<_>>::new();
    for recorder in recorders() {
        ranks.entry(recorder.place).or_default().push(recorder);
    }
    ranks
}
