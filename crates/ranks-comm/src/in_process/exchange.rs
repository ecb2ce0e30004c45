//! What all ranks pass, with a limit to how long the others are waited for.
//!
//! It lies where all of them see it, once, and only the last one to come wakes the others: there may be thousands.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::comm::Comm;
use super::world::lock;
use crate::checks::Checks;
use crate::error::{Error, ErrorKind, Result};

/// What errors call whatever ranks exchange this for.
const OPERATION: &str = "a collective";

/// The exchanges of a world that not all of their ranks have left, by context and number there.
#[derive(Debug, Default)]
pub(super) struct Exchanges(Mutex<HashMap<(u64, u64), Exchange>>);

#[derive(Debug)]
struct Exchange {
    came: Vec<Option<Vec<u8>>>,
    missing: usize,
    /// Once all have come: in rank order, or who differ in their lengths.
    all: Option<Result<Arc<[u8]>, String>>,
    to_be_told: usize,
}

/// How an exchange is.
enum State {
    Over(Result<Arc<[u8]>, String>),
    /// This rank will not come any more.
    Without(usize),
    Open,
}

impl Exchanges {
    /// Leaves what rank `me` of so many passes; whether all have come.
    fn come(&self, key: (u64, u64), me: usize, size: usize, mine: &[u8]) -> bool {
        let mut all = lock(&self.0);
        let exchange = all.entry(key).or_insert_with(|| Exchange {
            came: vec![None; size],
            missing: size,
            all: None,
            to_be_told: size,
        });
        exchange.came[me] = Some(mine.to_vec());
        exchange.missing -= 1;
        if exchange.missing > 0 {
            return false;
        }
        let came: Vec<_> = exchange.came.drain(..).flatten().collect();
        let other = came.iter().position(|theirs| theirs.len() != came[0].len());
        exchange.all = Some(match other {
            None => Ok(came.concat().into()),
            Some(other) => Err(format!(
                "rank 0 passes {} bytes, and rank {other} {}",
                came[0].len(),
                came[other].len()
            )),
        });
        true
    }

    /// Looks at an exchange; whoever sees that it is over has left it.
    fn look(&self, key: (u64, u64), has_ended: impl Fn(usize) -> bool) -> State {
        let mut open = lock(&self.0);
        let Some(exchange) = open.get_mut(&key) else {
            return State::Open;
        };
        let Some(all) = exchange.all.clone() else {
            // What a rank leaves here it leaves before it ends.
            let missing = |&rank: &usize| exchange.came[rank].is_none() && has_ended(rank);
            let gone = (0..exchange.came.len()).find(missing);
            return gone.map_or(State::Open, State::Without);
        };
        exchange.to_be_told -= 1;
        if exchange.to_be_told == 0 {
            open.remove(&key);
        }
        State::Over(all)
    }
}

impl Comm {
    /// Whether the calls of ranks are compared.
    pub(crate) fn compares(&self) -> bool {
        self.place.comparing.checks == Checks::Collective
    }

    /// What all ranks pass, in rank order, each as many bytes; `None` if not all of them came in time, or in
    /// what is left of it. Collective.
    pub(crate) fn exchange(&self, mine: &[u8], left: Duration) -> Result<Option<Arc<[u8]>>> {
        let limit = self.place.comparing.limit.min(left);
        let end = Instant::now().checked_add(limit);
        let (world, me) = (self.ranks(), self.place.rank);
        world.not_revoked(OPERATION, self.context)?;
        let number = self.exchanged.fetch_add(1, Ordering::Relaxed);
        let key = (self.context, number);
        if world.exchanges.come(key, self.rank(), self.size(), mine) {
            self.members().iter().for_each(|&rank| world.wake(rank));
        }
        let mailbox = &world.mailboxes[me];
        let mut queues = lock(&mailbox.queues);
        loop {
            let state = world
                .exchanges
                .look(key, |rank| world.has_ended(self.members()[rank]));
            match state {
                State::Over(Ok(all)) => return Ok(Some(all)),
                State::Over(Err(differ)) => {
                    return Err(Error::with_text(ErrorKind::Mismatch, OPERATION, differ));
                }
                State::Without(rank) => {
                    world.no_failure(OPERATION, me)?;
                    let detail = format_args!("rank {rank} ended without doing its part");
                    return Err(Error::new(ErrorKind::PeerFailed, OPERATION, detail));
                }
                State::Open => {
                    world.not_revoked(OPERATION, self.context)?;
                    world.no_failure(OPERATION, me)?;
                }
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            queues = match left {
                None => mailbox.rest(queues, None)?,
                Some(Duration::ZERO) => return Ok(None),
                Some(_) => mailbox.sleep(queues, None, left),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_is_over_when_all_have_come_and_forgotten_when_all_know() {
        let exchanges = Exchanges::default();
        let look = || exchanges.look((0, 0), |_| false);
        assert!(!exchanges.come((0, 0), 2, 3, b"c"));
        assert!(!exchanges.come((0, 0), 0, 3, b"a"));
        assert!(matches!(look(), State::Open));
        // Rank 2 came before it ended, rank 1 did not.
        assert!(matches!(
            exchanges.look((0, 0), |rank| rank > 0),
            State::Without(1)
        ));
        assert!(exchanges.come((0, 0), 1, 3, b"b"));
        for _ in 0..3 {
            assert!(matches!(look(), State::Over(Ok(all)) if *all == *b"abc"));
        }
        assert!(exchanges.0.lock().unwrap().is_empty());
    }

    #[test]
    fn lengths_that_differ_are_the_same_error_on_all_ranks() {
        let exchanges = Exchanges::default();
        exchanges.come((0, 0), 0, 2, b"a");
        exchanges.come((0, 0), 1, 2, b"bc");
        for _ in 0..2 {
            let state = exchanges.look((0, 0), |_| true);
            let State::Over(Err(text)) = state else {
                panic!("it is over")
            };
            assert_eq!(text, "rank 0 passes 1 bytes, and rank 1 2");
        }
    }
}
