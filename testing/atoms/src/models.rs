//! The models: each says what holds in every order.

mod boards;
mod lists;
mod partitions;
mod threads;
mod waits;

use std::fmt::Debug;
use std::sync::Arc;

use crate::shared_window::{lock_models, phase_models};

/// A name, and what is executed.
type Model = (&'static str, fn());

macro_rules! named {
    ($($file:ident::$model:ident,)*) => {
        &[$((stringify!($model), $file::$model),)*]
    };
}

pub(crate) const ALL: &[Model] = named![
    threads::one_thread_alone_is_inside,
    threads::two_calls_at_the_serialized_level,
    threads::held_fast_path_takes_nothing,
    threads::a_closed_gate_refuses,
    threads::work_that_is_left_is_done_once,
    boards::notices_of_a_round_are_read,
    boards::notices_of_three_ranks_are_read,
    boards::a_round_ends_for_all_or_nobody,
    lists::an_entry_is_counted_before_it_is_taken,
    partitions::a_partition_has_one_writer,
    partitions::all_of_a_list_is_ready_or_nothing,
    partitions::what_has_arrived_is_read,
    waits::a_change_wakes_who_waits_for_it,
    waits::a_message_wakes_its_receiver,
    waits::an_end_wakes_the_receiver,
    waits::what_a_rank_did_before_its_end_is_seen,
    waits::a_failure_ends_a_wait,
    waits::a_revocation_ends_a_wait,
    waits::a_match_wakes_its_sender,
    lock_models::exclusive_locks_exclude,
    lock_models::shared_locks_exclude_exclusive_ones,
    phase_models::memory_of_a_phase_is_read_in_the_next,
];

/// Shares what threads work on, when each atomic of it is there.
pub(crate) fn shared<T: Debug>(value: T) -> Arc<T> {
    drop(format!("{value:?}"));
    Arc::new(value)
}

/// Memory that is no atomic: loom tells accesses that nothing orders.
#[derive(Debug, Default)]
pub(crate) struct Memory(loom::cell::UnsafeCell<u64>);

// SAFETY: loom fails where two threads would use it at the same time.
unsafe impl Sync for Memory {}

impl Memory {
    pub(crate) fn read(&self) -> u64 {
        self.0.with(|at| {
            // SAFETY: as above.
            unsafe { *at }
        })
    }

    pub(crate) fn write(&self, value: u64) {
        self.0.with_mut(|at| {
            // SAFETY: as above.
            unsafe { *at = value };
        });
    }

    pub(crate) fn add(&self, value: u64) {
        self.write(self.read() + value);
    }
}
