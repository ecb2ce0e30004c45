//! Exchanges of bytes among all ranks, as far as they have come.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ranks_launch::Count;

use crate::call::lock::lock;

/// The context of an exchange, and its number there.
pub(super) type Key = (u64, u64);

/// The exchanges of a world that not all of their ranks have left.
#[derive(Debug, Default)]
pub(crate) struct Exchanges(Mutex<HashMap<Key, Exchange>>);

#[derive(Debug)]
struct Exchange {
    came: Vec<Option<Vec<u8>>>,
    missing: usize,
    /// The result, once all have come: the bytes in rank order, or the ranks that differ in their
    /// lengths.
    all: Option<Result<Arc<[u8]>, String>>,
    to_be_told: usize,
}

/// The state of an exchange.
pub(super) enum ExchangeState {
    Over(Result<Arc<[u8]>, String>),
    /// This rank has ended and will not come any more.
    Without(usize),
    Open,
}

impl Exchanges {
    /// Adds the bytes of rank `me` of so many; returns `true` if all have come.
    pub(super) fn come(&self, key: Key, me: usize, size: usize, mine: &[u8]) -> bool {
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
                "rank 0 passes {}, and rank {other} {}",
                Count(came[0].len(), "byte"),
                came[other].len()
            )),
        });
        true
    }

    /// The state of an exchange; a rank that sees that it is complete has left it.
    pub(super) fn look(&self, key: Key, has_ended: impl Fn(usize) -> bool) -> ExchangeState {
        let mut open = lock(&self.0);
        let Some(exchange) = open.get_mut(&key) else {
            return ExchangeState::Open;
        };
        let Some(all) = exchange.all.clone() else {
            // A rank adds its bytes before it ends.
            let missing = |&rank: &usize| exchange.came[rank].is_none() && has_ended(rank);
            let gone = (0..exchange.came.len()).find(missing);
            return gone.map_or(ExchangeState::Open, ExchangeState::Without);
        };
        exchange.to_be_told -= 1;
        if exchange.to_be_told == 0 {
            open.remove(&key);
        }
        ExchangeState::Over(all)
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
        assert!(matches!(look(), ExchangeState::Open));
        // Rank 2 came before it ended, rank 1 did not.
        assert!(matches!(
            exchanges.look((0, 0), |rank| rank > 0),
            ExchangeState::Without(1)
        ));
        assert!(exchanges.come((0, 0), 1, 3, b"b"));
        for _ in 0..3 {
            assert!(matches!(look(), ExchangeState::Over(Ok(all)) if *all == *b"abc"));
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
            let ExchangeState::Over(Err(text)) = state else {
                panic!("it is over")
            };
            assert_eq!(text, "rank 0 passes 1 byte, and rank 1 2");
        }
    }
}
