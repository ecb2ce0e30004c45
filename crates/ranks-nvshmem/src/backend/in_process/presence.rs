//! A PE ends with its thread, whatever becomes of its handle.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use super::world::World;

pub(super) const PANICKED: &str = "panicked";
pub(super) const DROPPED: &str = "has dropped its handle";
pub(super) const FINALIZED: &str = "has finalized";
const ENDED: &str = "has ended its thread without finalizing";

/// The heaps that a thread is a PE of.
#[derive(Debug, Default)]
struct Here(RefCell<Vec<(Weak<World>, usize)>>);

thread_local! {
    static HERE: Here = Here::default();
}

/// Makes the PE count as gone when this thread ends.
pub(super) fn ends_with_this_thread(world: &Arc<World>, pe: usize) {
    // A thread that is ending already is seen to by its handle alone.
    let _ = HERE.try_with(|here| {
        if let Ok(mut heaps) = here.0.try_borrow_mut() {
            heaps.retain(|(world, _)| world.strong_count() > 0);
            heaps.push((Arc::downgrade(world), pe));
        }
    });
}

impl Drop for Here {
    fn drop(&mut self) {
        for (world, pe) in self.0.take() {
            if let Some(world) = world.upgrade() {
                world.leave(pe, ENDED);
            }
        }
    }
}
