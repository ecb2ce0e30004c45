//! Ordering and completion of puts, and barriers of all PEs.

use ranks_comm::Result;

use crate::backend::{Order, Point};
use crate::pe::handle::Nvshmem;
use crate::stream::queue::Queue;
use crate::stream::reach::Reach;

impl Nvshmem<'_> {
    /// Orders puts: those of this PE to a PE from now on arrive there after its earlier ones.
    /// Operations of streams are not ordered by it.
    ///
    /// # Errors
    /// Errors that the library reports.
    #[doc(alias = "nvshmem_fence")]
    pub fn fence(&self) -> Result<()> {
        self.point(Point::Fence).map(drop)
    }

    /// Waits until all has arrived that this PE has put by calls that are done when they return,
    /// and until those with `nbi` are complete.
    ///
    /// Operations enqueued on streams are not waited for: [`Queue::quiet`] does that.
    ///
    /// # Errors
    /// Errors that the library reports.
    #[doc(alias = "nvshmem_quiet")]
    pub fn quiet(&self) -> Result<()> {
        let reach = self.point(Point::Quiet)?;
        reach.pe.own.begun.set(false);
        Ok(())
    }

    /// Waits until what was put from by calls with `nbi` may be used again. It may not have
    /// arrived.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`](ranks_comm::ErrorKind::NotInLibrary) before NVSHMEM 3.7:
    /// [`quiet`](Self::quiet) does more, and is in every release.
    #[doc(alias = "nvshmemx_flush")]
    pub fn flush(&self) -> Result<()> {
        self.point(Point::Flush).map(drop)
    }

    /// Waits until all PEs have come, and all has arrived that they have put:
    /// [`quiet`](Self::quiet) and [`sync_all`](Self::sync_all). Collective.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`](ranks_comm::ErrorKind::TimedOut) after the heap's time limit, if it
    /// has one.
    #[doc(alias = "nvshmem_barrier_all")]
    pub fn barrier_all(&self) -> Result<()> {
        let reach = self.all(Point::BarrierAll)?;
        reach.pe.own.begun.set(false);
        Ok(())
    }

    /// Waits until all PEs have come. What was put may not have arrived. Collective.
    ///
    /// # Errors
    /// As [`barrier_all`](Self::barrier_all).
    #[doc(alias = "nvshmem_sync_all")]
    pub fn sync_all(&self) -> Result<()> {
        self.all(Point::SyncAll).map(drop)
    }

    fn point(&self, point: Point) -> Result<Reach<'_>> {
        let reach = self.reach(point.name(Order::Now))?;
        reach.backend.point(point, Order::Now)?;
        Ok(reach)
    }

    /// Comes to what all PEs come to.
    fn all(&self, point: Point) -> Result<Reach<'_>> {
        let name = point.name(Order::Now);
        let reach = self.reach(name)?;
        let world = reach.pe.world();
        world.rest(&reach, name)?;
        let done = reach.together(name, |order| reach.backend.point(point, order));
        world.in_use.after(done)?;
        Ok(reach)
    }
}

impl Queue<'_> {
    /// The stream goes on when all has arrived that was put on it before, and when operations with
    /// `nbi` are complete, those of the host included.
    ///
    /// # Errors
    /// Errors that the library reports.
    #[doc(alias = "nvshmemx_quiet_on_stream")]
    pub fn quiet(&self) -> Result<()> {
        self.point(Point::Quiet)?;
        self.set_begun(false);
        Ok(())
    }

    /// The stream goes on when what was put from with `nbi` may be used again. It may not have
    /// arrived.
    ///
    /// # Errors
    /// [`ErrorKind::NotInLibrary`](ranks_comm::ErrorKind::NotInLibrary) before NVSHMEM 3.7:
    /// [`quiet`](Self::quiet) does more, and is in every release.
    #[doc(alias = "nvshmemx_flush_on_stream")]
    pub fn flush(&self) -> Result<()> {
        self.point(Point::Flush)
    }

    /// The stream goes on when the streams of all PEs have come here, and all has arrived that was
    /// put on them before. Collective.
    ///
    /// # Errors
    /// Errors that the library reports.
    #[doc(alias = "nvshmemx_barrier_all_on_stream")]
    pub fn barrier_all(&self) -> Result<()> {
        self.all(Point::BarrierAll)?;
        self.set_begun(false);
        Ok(())
    }

    /// The stream goes on when the streams of all PEs have come here. Collective.
    ///
    /// # Errors
    /// Errors that the library reports.
    #[doc(alias = "nvshmemx_sync_all_on_stream")]
    pub fn sync_all(&self) -> Result<()> {
        self.all(Point::SyncAll)
    }

    fn point(&self, point: Point) -> Result<()> {
        let order = self.order();
        self.enqueue(point.name(order), None, || {
            self.reach.backend.point(point, order)
        })
    }

    /// The stream comes to what those of all PEs come to.
    fn all(&self, point: Point) -> Result<()> {
        let (order, name) = (self.order(), point.name(self.order()));
        self.enter(self.reach.pe.world(), name)?;
        self.enqueue_wait(name, None, || self.reach.backend.point(point, order))
    }
}
