//! One-sided operations of a scope.

use ranks_comm::Result;

use crate::backend::names::{GET, PUT};
use crate::backend::{Reuse, Strides};
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
        self.put_as(dest, source, pe, Reuse::After)
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
        self.set_begun(true);
        self.put_as(dest, source, pe, Reuse::AfterQuiet)
    }

    #[inline]
    fn put_as<D, S>(&self, dest: D, source: S, pe: usize, reuse: Reuse) -> Result<()>
    where
        D: Symmetric + 'env,
        S: Source<Element = D::Element> + 'env,
    {
        let order = self.order();
        let what = What {
            name: PUT.of(order, reuse),
            pe: Some(pe),
        };
        self.enqueue_with(what, source, false, dest, |source, dest| {
            let checked = self.reach.checked(PUT, dest, source, pe, order, reuse)?;
            let Some((dest, source, bytes)) = checked else {
                return Ok(());
            };
            let Some(direct) = &self.direct else {
                let backend = self.reach.backend;
                return backend.put(dest, source, bytes, pe, order, reuse);
            };
            direct.put(dest, source, bytes, pe, reuse);
            Ok(())
        })
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
        self.get_as(dest, source, pe, Reuse::After)
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
        self.set_begun(true);
        self.get_as(dest, source, pe, Reuse::AfterQuiet)
    }

    #[inline]
    fn get_as<D, S>(&self, dest: D, source: S, pe: usize, reuse: Reuse) -> Result<()>
    where
        S: Symmetric + 'env,
        D: Destination<Element = S::Element> + 'env,
    {
        let order = self.order();
        let what = What {
            name: GET.of(order, reuse),
            pe: Some(pe),
        };
        self.enqueue_with(what, dest, true, source, |dest, source| {
            let checked = self.reach.checked(GET, source, dest, pe, order, reuse)?;
            let Some((source, dest, bytes)) = checked else {
                return Ok(());
            };
            let Some(direct) = &self.direct else {
                let backend = self.reach.backend;
                return backend.get(dest, source, bytes, pe, order, reuse);
            };
            direct.get(dest, source, bytes, pe, reuse);
            Ok(())
        })
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
        let order = self.order();
        let what = What {
            name: "nvshmemx_iput_on_stream",
            pe: Some(pe),
        };
        self.enqueue_with(what, source, false, dest, |source, dest| {
            self.reach.iput(dest, source, strides, count, pe, order)
        })
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
        let order = self.order();
        let what = What {
            name: "nvshmemx_iget_on_stream",
            pe: Some(pe),
        };
        self.enqueue_with(what, dest, true, source, |dest, source| {
            self.reach.iget(dest, source, strides, count, pe, order)
        })
    }
}
