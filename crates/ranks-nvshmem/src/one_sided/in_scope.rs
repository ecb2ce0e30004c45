//! One-sided operations of a scope.

use ranks_comm::Result;

use crate::backend::{Direction, Reuse, Strides};
use crate::heap::arguments::part::{Near, Part};
use crate::heap::arguments::{Destination, Source, Symmetric};
use crate::stream::queue::Queue;
use crate::stream::reach::What;

impl<'env> Queue<'env> {
    /// Puts the elements of `source` to where `dest` is on `pe`. Both have as many.
    ///
    /// Once the stream is past it, `source` may be used again; the elements have arrived after the
    /// next [`quiet`](Self::quiet) or barrier.
    ///
    /// # Errors
    /// As [`Nvshmem::put`](crate::Nvshmem::put).
    #[doc(alias = "nvshmemx_putmem_on_stream")]
    #[inline]
    pub fn put<D, S>(&self, dest: D, source: S, pe: usize) -> Result<()>
    where
        D: Symmetric + 'env,
        S: Source<Element = D::Element> + 'env,
    {
        self.access(Direction::Put, dest, source, pe, Reuse::After)
    }

    /// As [`put`](Self::put), and `source` may be used again after [`quiet`](Self::quiet),
    /// [`flush`](Self::flush) or a barrier only.
    ///
    /// # Errors
    /// As [`Nvshmem::put`](crate::Nvshmem::put).
    #[doc(alias = "nvshmemx_putmem_nbi_on_stream")]
    #[inline]
    pub fn put_nbi<D, S>(&self, dest: D, source: S, pe: usize) -> Result<()>
    where
        D: Symmetric + 'env,
        S: Source<Element = D::Element> + 'env,
    {
        self.access(Direction::Put, dest, source, pe, Reuse::AfterQuiet)
    }

    /// Gets the elements of `source` on `pe` into `dest` here. Both have as many.
    ///
    /// Once the stream is past it, they are there.
    ///
    /// # Errors
    /// As [`Nvshmem::put`](crate::Nvshmem::put).
    #[doc(alias = "nvshmemx_getmem_on_stream")]
    #[inline]
    pub fn get<D, S>(&self, dest: D, source: S, pe: usize) -> Result<()>
    where
        S: Symmetric + 'env,
        D: Destination<Element = S::Element> + 'env,
    {
        self.access(Direction::Get, source, dest, pe, Reuse::After)
    }

    /// As [`get`](Self::get), and the elements are there after [`quiet`](Self::quiet) or a barrier
    /// only.
    ///
    /// # Errors
    /// As [`Nvshmem::put`](crate::Nvshmem::put).
    #[doc(alias = "nvshmemx_getmem_nbi_on_stream")]
    #[inline]
    pub fn get_nbi<D, S>(&self, dest: D, source: S, pe: usize) -> Result<()>
    where
        S: Symmetric + 'env,
        D: Destination<Element = S::Element> + 'env,
    {
        self.access(Direction::Get, source, dest, pe, Reuse::AfterQuiet)
    }

    /// Puts `count` elements of `source`, of which each is [`Strides::source`] after the one
    /// before, to where `dest` is on `pe`, each [`Strides::dest`] after the one before.
    ///
    /// # Errors
    /// As [`Nvshmem::iput`](crate::Nvshmem::iput).
    #[doc(alias = "nvshmemx_iput32_on_stream")]
    pub fn iput<D, S>(
        &self,
        dest: D,
        source: S,
        strides: Strides,
        count: usize,
        pe: usize,
    ) -> Result<()>
    where
        D: Symmetric + 'env,
        S: Source<Element = D::Element> + 'env,
    {
        self.access_strided(Direction::Put, dest, source, strides, count, pe)
    }

    /// Gets `count` elements of `source` on `pe`, of which each is [`Strides::source`] after the
    /// one before, into `dest` here, each [`Strides::dest`] after the one before.
    ///
    /// # Errors
    /// As [`Nvshmem::iput`](crate::Nvshmem::iput).
    #[doc(alias = "nvshmemx_iget32_on_stream")]
    pub fn iget<D, S>(
        &self,
        dest: D,
        source: S,
        strides: Strides,
        count: usize,
        pe: usize,
    ) -> Result<()>
    where
        S: Symmetric + 'env,
        D: Destination<Element = S::Element> + 'env,
    {
        self.access_strided(Direction::Get, source, dest, strides, count, pe)
    }

    #[inline]
    fn access<F, N>(
        &self,
        direction: Direction,
        far: F,
        near: N,
        pe: usize,
        reuse: Reuse,
    ) -> Result<()>
    where
        F: Part + 'env,
        N: Near<Element = F::Element> + 'env,
    {
        if reuse == Reuse::AfterQuiet {
            self.set_begun(true);
        }
        let order = self.order();
        let what = What::with(direction.name(order, reuse), pe);
        self.enqueue_with(what, near, direction, far, |near, far| {
            let checked = self.reach.checked(what.name, direction, far, near, pe)?;
            let Some(access) = checked else {
                return Ok(());
            };
            let Some(direct) = &self.direct else {
                return self.reach.backend.access(access, order, reuse);
            };
            direct.access(access, reuse);
            Ok(())
        })
    }

    fn access_strided<F, N>(
        &self,
        direction: Direction,
        far: F,
        near: N,
        strides: Strides,
        count: usize,
        pe: usize,
    ) -> Result<()>
    where
        F: Part + 'env,
        N: Near<Element = F::Element> + 'env,
    {
        let order = self.order();
        let what = What::with(direction.strided_name(size_of::<F::Element>(), order)?, pe);
        self.enqueue_with(what, near, direction, far, |near, far| {
            let reach = &self.reach;
            reach.access_strided(direction, far, near, strides, count, pe, order)
        })
    }
}
