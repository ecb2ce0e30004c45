//! Fault tolerance, where the library has it.
//!
//! A library may have the functions although they do not work: MPICH and Intel MPI have them too,
//! and where a process has failed the others wait for ever. So three things are checked, once,
//! before any failure: that the functions are there, that the library says that this job is fault
//! tolerant (only Open MPI has a way to say so), and that they do what they should on a
//! communicator of this process alone, where no call can block.

use std::ffi::c_int;
use std::fmt::Display;
use std::sync::OnceLock;
use std::time::Duration;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::fault_tolerance::{KEY, not_exported};
use ranks_mpi_sys::{Family, Loaded, MPI_Comm};

use super::attributes::attribute;
use super::communicator::{Group, is_between, on_own_comm, rank_and_size, return_errors};
use super::error::check;
use super::probe::iprobe;
use crate::call::limit::Pause;
use crate::data::source::Source;
use crate::data::tag::Tag;
use crate::result::{Error, ErrorKind, Result};

/// The remedy where it is not offered.
const REMEDY: &str = "Open MPI 5 can go on, where the job is started with `mpiexec --with-ft ulfm`";

/// The result of these checks: `Ok`, or the reason why this process cannot go on after a failure.
static TOLERANCE: OnceLock<Result<(), String>> = OnceLock::new();

/// Makes the checks; MPI has just been initialised.
pub(crate) fn find_out(loaded: &Loaded) {
    TOLERANCE.get_or_init(|| find(loaded));
}

/// Returns `true` if this process can go on after a failure, so that failures are reported at all.
pub(crate) fn is_on() -> bool {
    matches!(TOLERANCE.get(), Some(Ok(())))
}

fn find(loaded: &Loaded) -> Result<(), String> {
    let name = loaded.name();
    if let Some(function) = not_exported().next() {
        let function = function.name();
        return Err(format!("{name} has no {function}; {REMEDY}"));
    }
    if loaded.family() != Family::OpenMpi {
        return Err(format!(
            "{name} has the functions, but its ranks wait for ever where one is lost; {REMEDY}"
        ));
    }
    match attribute(KEY) {
        Ok(Some(1..)) => {}
        _ => return Err(format!("this job cannot go on without a rank; {REMEDY}")),
    }
    on_own_comm(try_on).map_err(|error| {
        format!("{name} says that it can go on without a rank, but a trial of it fails: {error}")
    })
}

/// Revokes and shrinks a communicator of this process alone.
fn try_on(alone: MPI_Comm) -> Result<()> {
    const SHRINK: &str = "MPIX_Comm_shrink";
    return_errors(alone)?;
    if is_revoked(alone)? {
        return Err(surprise("MPIX_Comm_is_revoked", "a new one is revoked"));
    }
    revoke(alone)?;
    if !is_revoked(alone)? {
        return Err(surprise("MPIX_Comm_revoke", "it is not revoked"));
    }
    let mut shrunk = shrink(alone)?;
    let size = rank_and_size(shrunk)?.1;
    // SAFETY: it was just made, and is freed once.
    let code = unsafe { sys::MPI_Comm_free(&raw mut shrunk) };
    check(code, "MPI_Comm_free")?;
    if size == 1 {
        Ok(())
    } else {
        Err(surprise(SHRINK, "of 1 rank it has made another number"))
    }
}

fn surprise(operation: &'static str, what: impl Display) -> Error {
    Error::new(ErrorKind::Library, operation, what)
}

pub(crate) fn revoke(comm: MPI_Comm) -> Result<()> {
    // SAFETY: the communicator is alive.
    let code = unsafe { sys::MPIX_Comm_revoke(comm) };
    check(code, "MPIX_Comm_revoke")
}

pub(crate) fn is_revoked(comm: MPI_Comm) -> Result<bool> {
    let mut flag: c_int = 0;
    // SAFETY: the communicator is alive, and the flag is ours.
    let code = unsafe { sys::MPIX_Comm_is_revoked(comm, &raw mut flag) };
    check(code, "MPIX_Comm_is_revoked")?;
    Ok(flag != 0)
}

pub(crate) fn shrink(comm: MPI_Comm) -> Result<MPI_Comm> {
    let mut new = sys::MPI_COMM_NULL;
    // SAFETY: the communicator is alive, and the new handle is ours.
    let code = unsafe { sys::MPIX_Comm_shrink(comm, &raw mut new) };
    check(code, "MPIX_Comm_shrink")?;
    Ok(new)
}

fn failed_group(comm: MPI_Comm) -> Result<Group> {
    let mut group = sys::MPI_GROUP_NULL;
    // SAFETY: the communicator is alive, and the group is ours.
    let code = unsafe { sys::MPIX_Comm_get_failed(comm, &raw mut group) };
    check(code, "MPIX_Comm_get_failed")?;
    Ok(Group(group))
}

/// The ranks of a communicator that are known to have failed.
pub(crate) fn failed_ranks(comm: MPI_Comm) -> Result<Vec<usize>> {
    failed_group(comm)?.ranks_in(&Group::of(comm)?)
}

/// Acknowledges that many of the failed ranks, in the order of their report; returns the number
/// that is acknowledged then.
pub(crate) fn acknowledge(comm: MPI_Comm, operation: &'static str, count: usize) -> Result<usize> {
    let count = c_int::try_from(count).unwrap_or(c_int::MAX);
    let mut acknowledged: c_int = 0;
    // SAFETY: the communicator is alive, and the number is ours.
    let code = unsafe { sys::MPIX_Comm_ack_failed(comm, count, &raw mut acknowledged) };
    check(code, operation)?;
    Ok(usize::try_from(acknowledged).unwrap_or(0))
}

/// The failed rank that a receive from `source` waits for: from any source, one whose failure is
/// not acknowledged. Local.
///
/// `None` for intercommunicators. Libraries report this to a posted receive, and need not report it
/// to a probe: Open MPI 5.0.9 never does, 5.0.11 does.
pub(crate) fn awaited_loss(comm: MPI_Comm, source: Source) -> Result<Option<usize>> {
    if is_between(comm)? {
        return Ok(None);
    }
    let lost = failed_ranks(comm)?;
    Ok(match source {
        Source::Any if lost.is_empty() => None,
        Source::Any => lost
            .get(acknowledge(comm, "MPIX_Comm_ack_failed", 0)?)
            .copied(),
        Source::Rank(rank) => Some(rank).filter(|rank| lost.contains(rank)),
        Source::Null => None,
    })
}

/// The world ranks that are known to have failed; none without fault tolerance. Local.
pub(crate) fn lost() -> Vec<usize> {
    if !is_on() {
        return Vec::new();
    }
    let failed = failed_group(sys::MPI_COMM_WORLD);
    failed
        .and_then(|group| group.world_ranks())
        .unwrap_or_default()
}

/// Returns `true` if no rank is known to have failed when MPI is about to end; if `all` end it,
/// they agree on that. Collective then, over the surviving ranks, in a fault-tolerant job.
///
/// After a failure the survivors must not call `MPI_Finalize`: in one of five cases it waits for
/// the failed rank in Open MPI 5.0.11 (<https://github.com/open-mpi/ompi/issues/11404>). They have
/// met here, and the end of a process is the end of its MPI; `mpiexec` accepts that.
pub(crate) fn nobody_is_lost(all: bool) -> bool {
    if !is_on() {
        return true;
    }
    let nobody = lost().is_empty();
    if !all {
        return nobody;
    }
    let mut word = c_int::from(nobody);
    // SAFETY: MPI is not finalized yet, and the word is ours.
    let code = unsafe { sys::MPIX_Comm_agree(sys::MPI_COMM_WORLD, &raw mut word) };
    code == sys::MPI_SUCCESS && word != 0
}

/// As [`lost`], after an operation has failed: a failure is reported a little later than it has
/// effects.
pub(crate) fn lost_meanwhile() -> Vec<usize> {
    const PATIENCE: Duration = Duration::from_secs(5);
    let mut lost = Vec::new();
    if is_on() {
        // The closure cannot fail.
        let _ = Pause::until(PATIENCE, &mut || {
            // The library makes progress; what it says of this process tells nothing of others.
            // SAFETY: this process's own communicator lives as long as MPI.
            drop(unsafe { iprobe(sys::MPI_COMM_SELF, Source::Any, Tag::Any) });
            lost = self::lost();
            Ok(!lost.is_empty())
        });
    }
    lost
}

/// Returns the reason as an error, unless this job is fault tolerant.
pub(crate) fn tolerance(operation: &'static str) -> Result<()> {
    let why_not = match TOLERANCE.get() {
        Some(Ok(())) => return Ok(()),
        Some(Err(why_not)) => why_not.as_str(),
        None => REMEDY,
    };
    Err(Error::new(ErrorKind::NotInLibrary, operation, why_not))
}
