//! A barrier among the ranks of a window, at which they see that all of them call the same.

use std::sync::{Mutex, PoisonError};

use ranks_comm::Result;
use ranks_comm::backend::CallDescription;

/// A barrier: the ranks that have arrived.
#[derive(Debug)]
pub(super) struct Barrier(Mutex<Arrivals>);

#[derive(Debug)]
struct Arrivals {
    /// Number of times that all have arrived.
    rounds: u64,
    /// The calls of those that have arrived.
    arrived: Vec<Option<&'static str>>,
    /// The calls of the last round, if they differ. It is looked at before the next one is over,
    /// for which all come here again.
    differ: Option<Vec<&'static str>>,
}

impl Barrier {
    pub(super) fn new(ranks: usize) -> Self {
        Self(Mutex::new(Arrivals {
            rounds: 0,
            arrived: vec![None; ranks],
            differ: None,
        }))
    }

    /// Arrives for that call, and gives the number of the round; the last one begins the next.
    pub(super) fn arrive(&self, rank: usize, operation: &'static str) -> u64 {
        let mut arrivals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let round = arrivals.rounds;
        arrivals.arrived[rank] = Some(operation);
        if arrivals.arrived.iter().all(Option::is_some) {
            let differ = arrivals.arrived.iter().any(|&call| call != Some(operation));
            arrivals.differ = differ.then(|| arrivals.arrived.iter().copied().flatten().collect());
            arrivals.arrived.fill(None);
            arrivals.rounds += 1;
        }
        round
    }

    /// Returns the outcome for this rank's call if all have arrived: an error if calls differ. Else
    /// a rank that has not.
    pub(super) fn is_over(&self, round: u64, operation: &'static str) -> Result<Result<()>, usize> {
        let arrivals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if arrivals.rounds > round {
            let differ = arrivals.differ.as_deref();
            return Ok(differ.map_or(Ok(()), |calls| compare(operation, calls)));
        }
        let missing = arrivals.arrived.iter().position(Option::is_none);
        missing.map_or(Ok(Ok(())), Err)
    }
}

/// The error of calls that differ.
fn compare(operation: &'static str, calls: &[&'static str]) -> Result<()> {
    let told = calls.iter().map(|call| CallDescription::named(call));
    let told: Vec<u8> = told.flat_map(|told| told.bytes().to_vec()).collect();
    CallDescription::compare(operation, &told)
}
