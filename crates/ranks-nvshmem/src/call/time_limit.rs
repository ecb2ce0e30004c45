//! Waiting on the host, for no longer than a limit.

use std::thread;
use std::time::{Duration, Instant};

use ranks_comm::Result;

/// The time limit of a wait of this PE.
pub(crate) type Limit = Option<Duration>;

/// Looks at short intervals first: most of what is waited for is over soon.
const BUSY: u32 = 64;
const LONGEST: u32 = 500;

/// Asks `over` until it says so. What came of it: `Err(limit)` inside if that has passed.
///
/// # Errors
/// Errors that `over` returns.
pub(crate) fn until(
    limit: Limit,
    mut over: impl FnMut() -> Result<bool>,
) -> Result<std::result::Result<(), Duration>> {
    let end = limit.and_then(|limit| Some((limit, Instant::now().checked_add(limit)?)));
    let mut looks = 0_u32;
    while !over()? {
        if let Some((limit, end)) = end
            && Instant::now() >= end
        {
            return Ok(Err(limit));
        }
        looks = looks.saturating_add(1);
        if looks < BUSY {
            thread::yield_now();
        } else {
            thread::sleep(Duration::from_micros(u64::from(looks.min(LONGEST))));
        }
    }
    Ok(Ok(()))
}
