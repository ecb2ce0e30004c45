//! Several things at the same time, where there are cores for them.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

use ranks_harness::place::cores;

/// The number of jobs of so many ranks that have a core for each rank at the same time; one in any
/// case.
pub(crate) fn of(ranks: usize) -> usize {
    (cores() / ranks.max(1)).max(1)
}

/// The results of `work` for each item, in their order; on so many threads.
pub(crate) fn side_by_side<I: Sync, R: Send>(
    items: &[I],
    lanes: usize,
    work: impl Fn(&I) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let lane = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else {
                return done;
            };
            done.push((index, work(item)));
        }
    };
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..lanes).map(|_| scope.spawn(lane)).collect();
        lanes
            .into_iter()
            .flat_map(|lane| lane.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_items_whoever_made_them() {
        let items: Vec<u64> = (0..40).collect();
        for lanes in [1, 3, 100] {
            let done = side_by_side(&items, lanes, |item| item * item);
            assert!(
                done.iter()
                    .copied()
                    .eq(items.iter().map(|item| item * item))
            );
        }
    }

    #[test]
    fn there_is_a_lane_for_jobs_of_more_ranks_than_cores() {
        assert_eq!(of(usize::MAX), 1);
        assert!(of(1) >= 1);
    }
}
