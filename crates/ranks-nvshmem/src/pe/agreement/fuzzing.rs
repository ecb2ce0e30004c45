//! Access for fuzz targets to the messages of PEs.

use super::{Said, is_dropped, same_calls};
use ranks_comm::Result;

/// Decodes the message of a PE and encodes it again; `None` if it is not understood.
pub fn said(bytes: &[u8]) -> Option<Vec<u8>> {
    Some(Said::decoded(bytes)?.encoded())
}

/// Compares what PEs have said; `None` if one of them is not understood.
pub fn compare(all: &[Vec<u8>]) -> Option<Result<()>> {
    let all: Option<Vec<Said>> = all.iter().map(|bytes| Said::decoded(bytes)).collect();
    let all = all?;
    for team in all.iter().flat_map(|said| &said.teams) {
        let _ = is_dropped(team, &all);
    }
    Some(same_calls("nvshmem_malloc", &all))
}
