//! Operations on the parts of other PEs: puts, gets, signals, and their order.
//!
//! Those that are done when they return are here; [`in_scope`] has those of a scope, which borrow,
//! and [`on_stream`] those that own their memory. [`transfer`] is what all of them do.

use ranks_comm::Result;

use crate::backend::{Direction, Order, Reuse, Strides};
use crate::heap::arguments::part::{Near, Part};
use crate::heap::arguments::{Destination, Source, Symmetric, SymmetricMut};
use crate::pe::handle::Nvshmem;

mod in_scope;
mod on_stream;
mod order;
pub(crate) mod signals;
mod transfer;

impl Nvshmem<'_> {
    /// Puts the elements of `source` to where `dest` is on the PE `pe`. Both have as many.
    ///
    /// On return, `source` may be used again; the elements have arrived after the next
    /// [`quiet`](Self::quiet) or [`barrier_all`](Self::barrier_all).
    ///
    /// Operations in flight on streams are not waited for, except those known to work on `source`
    /// if that is [`OnDevice`](crate::OnDevice).
    ///
    /// # Errors
    /// [`ErrorKind::Rank`](ranks_comm::ErrorKind::Rank) if there is no such PE,
    /// [`ErrorKind::Length`](ranks_comm::ErrorKind::Length) unless both have as many elements,
    /// [`ErrorKind::Argument`](ranks_comm::ErrorKind::Argument) for memory of another device.
    #[doc(alias = "nvshmem_putmem")]
    pub fn put<D, S>(&self, dest: D, source: S, pe: usize) -> Result<()>
    where
        D: Symmetric,
        S: Source<Element = D::Element>,
    {
        self.access(Direction::Put, dest, source, pe)
    }

    /// As [`put`](Self::put), and `source` may be used again after [`quiet`](Self::quiet),
    /// [`flush`](Self::flush) or a barrier only. It is of the heap: what is written to it before,
    /// by whom ever, may arrive instead.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    #[doc(alias = "nvshmem_putmem_nbi")]
    pub fn put_nbi<D, S>(&self, dest: D, source: S, pe: usize) -> Result<()>
    where
        D: Symmetric,
        S: Symmetric<Element = D::Element>,
    {
        self.access_nbi(Direction::Put, &dest, &source, pe)
    }

    /// Gets the elements of `source` on the PE `pe` into `dest` here. Both have as many. When it
    /// returns, they are there.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    #[doc(alias = "nvshmem_getmem")]
    pub fn get<D, S>(&self, dest: D, source: S, pe: usize) -> Result<()>
    where
        S: Symmetric,
        D: Destination<Element = S::Element>,
    {
        self.access(Direction::Get, source, dest, pe)
    }

    /// As [`get`](Self::get), and the elements are there after [`quiet`](Self::quiet) or a barrier
    /// only. `dest` is of the heap.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    #[doc(alias = "nvshmem_getmem_nbi")]
    pub fn get_nbi<D, S>(&self, dest: D, source: S, pe: usize) -> Result<()>
    where
        S: Symmetric,
        D: SymmetricMut<Element = S::Element>,
    {
        self.access_nbi(Direction::Get, &source, &dest, pe)
    }

    /// Puts `count` elements of `source`, of which each is [`Strides::source`] after the one
    /// before, to where `dest` is on the PE `pe`, each [`Strides::dest`] after the one before.
    ///
    /// Only where this PE can store to the other's memory directly.
    ///
    /// # Errors
    /// As [`put`](Self::put); [`ErrorKind::Length`](ranks_comm::ErrorKind::Length) if they do not
    /// fit, [`ErrorKind::Argument`](ranks_comm::ErrorKind::Argument) for a stride of 0, for
    /// elements that have not 1, 2, 4, 8 or 16 bytes, and for a PE that is reached over a network,
    /// where NVSHMEM would end the process.
    #[doc(alias = "nvshmem_iput8")]
    #[doc(alias = "nvshmem_iput16")]
    #[doc(alias = "nvshmem_iput32")]
    #[doc(alias = "nvshmem_iput64")]
    #[doc(alias = "nvshmem_iput128")]
    pub fn iput<D, S>(
        &self,
        dest: D,
        source: S,
        strides: Strides,
        count: usize,
        pe: usize,
    ) -> Result<()>
    where
        D: Symmetric,
        S: Source<Element = D::Element>,
    {
        self.access_strided(Direction::Put, dest, source, strides, count, pe)
    }

    /// Gets `count` elements of `source` on the PE `pe`, of which each is [`Strides::source`] after
    /// the one before, into `dest` here, each [`Strides::dest`] after the one before.
    ///
    /// # Errors
    /// As [`iput`](Self::iput).
    #[doc(alias = "nvshmem_iget8")]
    #[doc(alias = "nvshmem_iget16")]
    #[doc(alias = "nvshmem_iget32")]
    #[doc(alias = "nvshmem_iget64")]
    #[doc(alias = "nvshmem_iget128")]
    pub fn iget<D, S>(
        &self,
        dest: D,
        source: S,
        strides: Strides,
        count: usize,
        pe: usize,
    ) -> Result<()>
    where
        S: Symmetric,
        D: Destination<Element = S::Element>,
    {
        self.access_strided(Direction::Get, source, dest, strides, count, pe)
    }

    fn access<F: Part, N: Near<Element = F::Element>>(
        &self,
        direction: Direction,
        far: F,
        near: N,
        pe: usize,
    ) -> Result<()> {
        let name = direction.name(Order::Now, Reuse::After);
        let reach = self.reach(name)?;
        reach.now(name, near, direction, |near| {
            reach.access(direction, &far, near, pe, Order::Now, Reuse::After)
        })
    }

    fn access_nbi<F: Part, N: Near<Element = F::Element>>(
        &self,
        direction: Direction,
        far: &F,
        near: &N,
        pe: usize,
    ) -> Result<()> {
        let reach = self.reach(direction.name(Order::Now, Reuse::AfterQuiet))?;
        reach.pe.own.begun.set(true);
        reach.access(direction, far, near, pe, Order::Now, Reuse::AfterQuiet)
    }

    fn access_strided<F: Part, N: Near<Element = F::Element>>(
        &self,
        direction: Direction,
        far: F,
        near: N,
        strides: Strides,
        count: usize,
        pe: usize,
    ) -> Result<()> {
        let name = direction.strided_name(size_of::<F::Element>(), Order::Now)?;
        let reach = self.reach(name)?;
        reach.now(name, near, direction, |near| {
            reach.access_strided(direction, &far, near, strides, count, pe, Order::Now)
        })
    }
}
