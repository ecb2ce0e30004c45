//! Deferred free of what was dropped while a device worked on it.

use std::sync::Mutex;

use crate::driver::counted_list::CountedList;
use crate::driver::{Context, Event, lock};
use crate::table::Handle;

/// List of what waits to be freed, and of the events that it waits for.
///
/// Two things are waited for. Memory that a device works on is kept until the work is complete:
/// freeing it would be an error. And the driver waits for the whole device when memory is freed,
/// whichever: a `drop` that must not block therefore frees nothing while any operation is pending
/// that was enqueued through this crate (one of another rank that is gone, say, which never ends),
/// and nothing of another device: the thread that works with that one may be enqueueing what waits
/// for this thread.
#[derive(Debug, Default)]
pub(crate) struct Aside {
    /// As a rule nothing waits, and nothing is locked.
    waiting: CountedList<Waiting>,
    /// The event that was recorded last on each stream, by context and stream.
    latest: Mutex<Vec<Latest>>,
}

struct Waiting {
    until: Vec<Event>,
    /// Freed by being dropped, in this context: other libraries' slices may expect the current one
    /// to be theirs.
    what: Box<dyn Send>,
    context: Context,
}

impl Waiting {
    fn free(self) {
        let Waiting {
            until,
            what,
            context,
        } = self;
        let entered = context.enter();
        drop(what);
        drop(entered);
        drop(until);
    }
}

#[derive(Debug)]
struct Latest {
    stream: usize,
    event: Event,
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiting")
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

impl Aside {
    /// Remembers what was enqueued last.
    pub(crate) fn recorded(&self, stream: Handle, event: &Event) {
        let stream = stream.addr();
        let event = event.clone();
        let mut latest = lock(&self.latest);
        let known = latest
            .iter_mut()
            .find(|known| known.stream == stream && known.event.context() == event.context());
        // The former event is dropped when nothing is locked.
        let _former = match known {
            Some(known) => Some(std::mem::replace(&mut known.event, event)),
            None => {
                latest.push(Latest { stream, event });
                None
            }
        };
        drop(latest);
    }

    /// Returns true if anything of all that was recorded is still pending.
    fn under_way(&self) -> bool {
        // The driver is asked when nothing is locked.
        let all: Vec<Event> = lock(&self.latest)
            .iter()
            .map(|one| one.event.clone())
            .collect();
        let over: Vec<&Event> = all.iter().filter(|event| event.is_over()).collect();
        lock(&self.latest).retain(|one| !over.iter().any(|event| event.is(&one.event)));
        over.len() < all.len()
    }

    /// Drops `what` when that neither blocks nor takes memory from under a device that works on it:
    /// now, or later.
    ///
    /// `until` are the events that must be over before.
    pub(crate) fn release(
        &self,
        context: &Context,
        mut until: Vec<Event>,
        what: impl Send + 'static,
    ) {
        until.retain(|event| !event.is_over());
        if until.is_empty() && !self.under_way() {
            let entered = context.enter();
            drop(what);
            drop(entered);
            self.collect(Some(context));
            return;
        }
        self.waiting.push(Waiting {
            until,
            what: Box::new(what),
            context: context.clone(),
        });
    }

    /// Frees what may be freed, and says how much is left. Where the caller may not block it names
    /// its context: then nothing is freed while anything is pending, and nothing of another
    /// context.
    pub(crate) fn collect(&self, here: Option<&Context>) -> usize {
        if here.is_some() && self.waiting.len() == 0 {
            return 0;
        }
        // This also drops complete events, and their contexts.
        if self.under_way() && here.is_some() {
            return self.waiting.len();
        }
        let free = self.waiting.take(|one| {
            let here = here.is_none_or(|here| *here == one.context);
            here && one.until.iter().all(Event::is_over)
        });
        // Nothing is locked: what is dropped may put something aside in its turn.
        free.into_iter().for_each(Waiting::free);
        self.waiting.len()
    }
}
