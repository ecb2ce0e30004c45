//! Waiting on the host, for no longer than a limit.

use std::time::Duration;

use ranks_comm::Result;
use ranks_raw::backend::Deadline;

/// The time limit of a wait of this PE.
pub(crate) type Limit = Option<Duration>;

/// Asks `over` until it says so. What came of it: `Err(limit)` inside if that has passed.
///
/// # Errors
/// Errors that `over` returns.
pub(crate) fn until(
    limit: Limit,
    mut over: impl FnMut() -> Result<bool>,
) -> Result<std::result::Result<(), Duration>> {
    let mut deadline = Deadline::after(limit);
    while !over()? {
        if let Some(limit) = deadline.pause() {
            return Ok(Err(limit));
        }
    }
    Ok(Ok(()))
}
