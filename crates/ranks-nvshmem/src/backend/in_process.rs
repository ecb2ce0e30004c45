//! PEs that are threads, over memory of the host.
//!
//! No code here is unsafe: whatever a program does to memory that others work on as well, it does
//! with atomic operations on words (`part.rs`). Waits look for what they wait for, for peers that
//! have gone, and at the clock (`world.rs`); what PEs do together they do in meetings, in which
//! they compare what they call (`meeting.rs`).

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::thread;

use ranks_comm::{Error, ErrorKind, Result};

use crate::backend::stream::StreamRef;
use crate::backend::{Facts, Life, Order, TeamHandle};
use crate::call::time_limit::Limit;

mod deferred_delivery;
mod event;
mod join;
mod kept_place;
mod meeting;
mod memory;
mod movements;
mod one_sided;
mod part;
mod presence;
mod reduce;
mod stream;
mod teams;
#[cfg(test)]
mod tests;
mod world;

pub(crate) use deferred_delivery::Delivery;
pub(crate) use event::HostEvent;
pub use stream::HostStream;

use deferred_delivery::Late;
use meeting::{Gift, Met};
use teams::Table;
use world::{Waiting, World};

/// A heap whose PEs are threads of this process: the handle of one of them, on its thread.
pub(crate) struct Heap {
    pe: Arc<Pe>,
    facts: Facts,
    limit: Limit,
    teams: RefCell<Table>,
}

/// A PE, as its streams know it.
#[derive(Debug)]
struct Pe {
    world: Arc<World>,
    me: usize,
    delivery: Delivery,
    late: Late,
}

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heap")
            .field("my_pe", &self.pe.me)
            .field("n_pes", &self.pe.world.size())
            .finish_non_exhaustive()
    }
}

impl Heap {
    fn new(world: Arc<World>, me: usize, limit: Limit, delivery: Delivery) -> Heap {
        presence::ends_with_this_thread(&world, me);
        Heap {
            teams: RefCell::new(Table::of(world.size(), me)),
            facts: Facts {
                my_pe: me,
                n_pes: world.size(),
                name: "in process".to_owned(),
                limited: false,
                context: None,
            },
            pe: Arc::new(Pe {
                world,
                me,
                delivery,
                late: Late::default(),
            }),
            limit,
        }
    }

    /// Does it now, or when the stream comes to it, where nothing but the end of its peers limits
    /// how long it waits.
    fn carry_out(
        &self,
        operation: &'static str,
        order: Order<'_>,
        job: impl FnOnce(&Pe, Waiting) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let Some(stream) = self.own(operation, order)? else {
            let limit = self.limit;
            return job(&self.pe, Waiting { operation, limit });
        };
        let pe = Arc::clone(&self.pe);
        let limit = None;
        stream.enqueue(Box::new(move || job(&pe, Waiting { operation, limit })));
        Ok(())
    }

    /// The stream of an order, if it has one. What all PEs count is not counted before.
    ///
    /// # Errors
    /// `Argument` unless it is of this PE.
    fn own<'s>(&self, operation: &'static str, order: Order<'s>) -> Result<Option<&'s HostStream>> {
        match order {
            Order::Now => Ok(None),
            Order::On(StreamRef::Host(stream)) if stream.belongs_to(&self.pe.world, self.pe.me) => {
                Ok(Some(stream))
            }
            Order::On(StreamRef::Host(_)) => {
                let me = self.pe.me;
                let why = format_args!(
                    "the stream is of another PE or heap than this, PE {me}: `Nvshmem::stream` makes what fits"
                );
                Err(Error::new(ErrorKind::Argument, operation, why))
            }
            Order::On(StreamRef::Cuda(..)) => {
                let why = "the stream is of a GPU, and the heap is in process: `Nvshmem::stream` makes what fits";
                Err(Error::new(ErrorKind::Argument, operation, why))
            }
        }
    }

    /// Meets all PEs.
    fn meet_all(&self, operation: &'static str, text: String, gift: Gift) -> Result<Arc<Met>> {
        let limit = self.limit;
        let (team, number) = self.teams.borrow_mut().next(operation, TeamHandle::WORLD)?;
        team.meet_with(
            &self.pe,
            Waiting { operation, limit },
            number,
            0,
            text,
            gift,
        )
    }
}

impl Life for Heap {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn host_stream(&self) -> Result<HostStream> {
        HostStream::of(&self.pe.world, self.pe.me)
    }

    fn accept(&self, operation: &'static str, stream: StreamRef<'_>) -> Result<()> {
        self.own(operation, Order::On(stream)).map(drop)
    }

    fn is_parked(&self) {
        // Whoever unwinds past the handle does not do its part, though the thread may go on.
        if thread::panicking() {
            self.pe.world.leave(self.pe.me, presence::PANICKED);
        }
    }

    fn finalize(&self) -> Result<()> {
        const OPERATION: &str = "nvshmem_finalize";
        self.pe.late.complete()?;
        self.meet_all(OPERATION, OPERATION.to_owned(), Gift::Nothing)?;
        self.pe.world.leave(self.pe.me, presence::FINALIZED);
        Ok(())
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        let how = if thread::panicking() {
            presence::PANICKED
        } else {
            presence::DROPPED
        };
        self.pe.world.leave(self.pe.me, how);
    }
}
