//! A barrier among the ranks of a window.

use std::sync::{Mutex, PoisonError};

/// A barrier: the ranks that have arrived.
#[derive(Debug)]
pub(super) struct Barrier(Mutex<Arrivals>);

#[derive(Debug)]
struct Arrivals {
    /// Number of times that all have arrived.
    rounds: u64,
    arrived: Vec<bool>,
}

impl Barrier {
    pub(super) fn new(ranks: usize) -> Self {
        Self(Mutex::new(Arrivals {
            rounds: 0,
            arrived: vec![false; ranks],
        }))
    }

    /// Arrives, and gives the number of the round; the last one begins the next.
    pub(super) fn arrive(&self, rank: usize) -> u64 {
        let mut arrivals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let round = arrivals.rounds;
        arrivals.arrived[rank] = true;
        if arrivals.arrived.iter().all(|&arrived| arrived) {
            arrivals.arrived.fill(false);
            arrivals.rounds += 1;
        }
        round
    }

    /// Returns `Ok` if all have arrived; else a rank that has not.
    pub(super) fn is_over(&self, round: u64) -> Result<(), usize> {
        let arrivals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if arrivals.rounds > round {
            return Ok(());
        }
        let missing = arrivals.arrived.iter().position(|&arrived| !arrived);
        missing.map_or(Ok(()), Err)
    }
}
