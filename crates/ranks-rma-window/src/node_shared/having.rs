//! Checks that all ranks make the same call on the same array or arena, and that none of them has
//! another handle of it.

use ranks_comm::backend::digest;
use ranks_comm::{Communicator, Error, ErrorKind, Result};

use crate::preflight::told_by_all;

/// Hold of a rank on an array, or an arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Having {
    /// By one handle.
    Alone = 1,
    /// By several.
    WithOthers,
    /// A call on it was not completed.
    Lost,
}

impl Having {
    pub(crate) fn alone_if(alone: bool) -> Self {
        if alone { Self::Alone } else { Self::WithOthers }
    }
}

/// Words that ranks exchange about arrays and arenas; the first identifies the call.
pub(super) type Words = [u64; 6];

/// Returns the last word of each rank, if all of them make the same call on the same object, and
/// each has one handle of it. Collective.
///
/// The words are the number of the object, one that must be the same on all ranks, and one that
/// need not.
///
/// # Errors
/// The inner one is the same on every rank, each of which knows that of all: they are together as
/// before. After the outer one they need not be.
pub(crate) fn all_alone(
    comm: &Communicator,
    operation: &'static str,
    having: Having,
    [number, call, more]: [u64; 3],
) -> Result<Result<Vec<u64>>> {
    let name = digest(operation.bytes().map(u64::from));
    // As many words as where an array is made, lest ranks that do different things pass different
    // lengths.
    let words: Words = [name, number, call, more, having as u64, 0];
    let all = told_by_all(comm, operation, words)?;
    let first = |what: &dyn Fn(&Words) -> bool| all.iter().position(what);
    let error = |kind, why: String| Ok(Err(Error::new(kind, operation, why)));
    if let Some(rank) = first(&|told| [told[0], told[2]] != [all[0][0], all[0][2]]) {
        let why = format!("rank {rank} calls something else than rank 0, or passes something else");
        return error(ErrorKind::Mismatch, why);
    }
    if let Some(rank) = first(&|told| told[1] != all[0][1]) {
        let why = format!(
            "rank {rank} calls it on another array or arena than rank 0; all must call it on the same"
        );
        return error(ErrorKind::Mismatch, why);
    }
    if let Some(rank) = first(&|told| told[4] == Having::Lost as u64) {
        let why = format!("rank {rank} has lost it, when a call on it before was not completed");
        return error(ErrorKind::PeerFailed, why);
    }
    if let Some(rank) = first(&|told| told[4] != Having::Alone as u64) {
        let why = format!("rank {rank} has other handles of it; all ranks must have dropped them");
        return error(ErrorKind::Argument, why);
    }
    Ok(Ok(all.iter().map(|told| told[3]).collect()))
}
