//! Current use of a team: one thing at a time, for NVSHMEM allows no more.

use std::cell::RefCell;

use ranks_comm::{Error, ErrorKind, Result};

use crate::backend::stream::{Mark, StreamRef};

/// The operation that was enqueued on a team last, and may be in flight.
#[derive(Debug, Default)]
pub(crate) struct TeamUse(RefCell<Use>);

#[derive(Debug, Default)]
enum Use {
    #[default]
    Nothing,
    /// Something in the queue with this number, which is open.
    Queue(usize),
    /// Something before this point of a stream.
    Before(Mark),
    /// Something whose end cannot be known, or did not come in time.
    Lost,
}

impl TeamUse {
    /// The queue with this number comes to work on the team, on that stream, which waits for what
    /// came before. Whether it did not yet.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if another queue that is open works on the team;
    /// [`ErrorKind::Aborted`] if what came before has no end; what the driver reports.
    pub(crate) fn enter(
        &self,
        name: &'static str,
        queue: usize,
        stream: StreamRef<'_>,
    ) -> Result<bool> {
        let mut now = self.0.borrow_mut();
        match &*now {
            Use::Queue(same) if *same == queue => return Ok(false),
            Use::Queue(_) => return Err(busy(name)),
            Use::Lost => return Err(lost(name)),
            Use::Before(mark) => stream.wait_for(mark, name)?,
            Use::Nothing => {}
        }
        *now = Use::Queue(queue);
        Ok(true)
    }

    /// Makes a stream wait for what came before.
    ///
    /// # Errors
    /// As [`enter`](Self::enter).
    pub(crate) fn order_after(&self, name: &'static str, stream: StreamRef<'_>) -> Result<()> {
        match &*self.0.borrow() {
            Use::Nothing => Ok(()),
            Use::Before(mark) => stream.wait_for(mark, name),
            Use::Queue(_) => Err(busy(name)),
            Use::Lost => Err(lost(name)),
        }
    }

    /// The queue is closed, and this point of its stream comes after all of it.
    pub(crate) fn leave(&self, mark: Option<&Mark>) {
        *self.0.borrow_mut() = match mark {
            Some(mark) => Use::Before(mark.clone()),
            None => Use::Lost,
        };
    }

    /// The point of a stream that is to be waited for before the host goes on with the team.
    ///
    /// # Errors
    /// As [`enter`](Self::enter).
    pub(crate) fn before(&self, name: &'static str) -> Result<Option<Mark>> {
        let now = self.0.take();
        match now {
            Use::Nothing => Ok(None),
            Use::Before(mark) => Ok(Some(mark)),
            Use::Queue(queue) => {
                *self.0.borrow_mut() = Use::Queue(queue);
                Err(busy(name))
            }
            Use::Lost => {
                self.lose();
                Err(lost(name))
            }
        }
    }

    /// Records the outcome of something that was waited for.
    ///
    /// # Errors
    /// That.
    pub(crate) fn after(&self, done: Result<()>) -> Result<()> {
        done.inspect_err(|error| {
            // It is under way, or may be.
            if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::Device) {
                self.lose();
            }
        })
    }

    /// Something on the team has no end that is known.
    pub(crate) fn lose(&self) {
        *self.0.borrow_mut() = Use::Lost;
    }
}

#[cold]
fn busy(name: &'static str) -> Error {
    let text = "the team is at work in a scope that is not over, and does one thing at a time: call this on that scope's queue, or split another team of the same PEs for it";
    Error::new(ErrorKind::Argument, name, text)
}

#[cold]
fn lost(name: &'static str) -> Error {
    let text = "an operation on the team was given up before, and may be under way: the team cannot be used any more";
    Error::new(ErrorKind::Aborted, name, text)
}
