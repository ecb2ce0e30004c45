//! Put and get with layouts on both sides: columns, blocks and faces in one operation.
#![allow(unsafe_code)]

use bytemuck::Pod;
use ranks_comm::backend::{Backend as CommFastPath, MpiComm, TypeOf};
use ranks_comm::layout::Layout;
use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::Count;

use crate::epoch::table::{TargetRange, Targets};
use crate::in_process::LocalWindow;
use crate::window::inner::{Inner, Terms};
use crate::window::locked::Locked;
use crate::window::of_two_kinds;
use crate::window::operations::Operations;

const PUT: &str = "MPI_Put";
const GET: &str = "MPI_Get";

impl<'scope, T: Pod> Operations<'scope, '_, T> {
    /// Begins to write what `from` takes of `data` to what `to` takes of the memory of `rank`, in
    /// their orders.
    ///
    /// ```
    /// use ranks::layout::Layout;
    /// use ranks::{Communicator, Result};
    /// use ranks::rma::Window;
    ///
    /// /// The last column of each rank but one becomes the first one of the next rank.
    /// fn halo(world: &Communicator, rows: usize, columns: usize) -> Result<()> {
    ///     let column = Layout::vector(rows, 1, columns);
    ///     let mine = vec![world.rank() as f32; rows * columns];
    ///     let next = world.rank() + 1;
    ///     let mut fenced = Window::<f32>::allocate(world, rows * columns)?.fence()?;
    ///     fenced.step(|ops| {
    ///         if next < world.size() {
    ///             ops.put_layout(&mine, &column.at(columns - 1), next, &column)?;
    ///         }
    ///         Ok(())
    ///     })?;
    ///     fenced.close()?.free()?;
    ///     Ok(())
    /// }
    /// # ranks::run(|world| halo(&world, 4, 3)).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`put`](Self::put); [`Length`](ErrorKind::Length) if a layout reaches beyond the memory
    /// that it is for, or the two take different numbers of elements;
    /// [`Argument`](ErrorKind::Argument) if `to` takes one twice.
    ///
    /// MPI 5.0 §12.3.1 (`MPI_Put` of derived datatypes).
    #[doc(alias = "MPI_Put")]
    pub fn put_layout(
        &self,
        data: &'scope [T],
        from: &Layout,
        rank: usize,
        to: &Layout,
    ) -> Result<()> {
        // SAFETY: the slice is borrowed for the scope, whose operations are over when it ends.
        let begun = unsafe { self.inner.put_layout(self.terms(), data, from, rank, to) };
        self.note(rank, begun)
    }

    /// Begins to read what `from` takes of the memory of `rank` into what `to` takes of `into`, in
    /// their orders.
    ///
    /// # Errors
    /// As [`put_layout`](Self::put_layout).
    ///
    /// MPI 5.0 §12.3.2 (`MPI_Get` of derived datatypes).
    #[doc(alias = "MPI_Get")]
    pub fn get_layout(
        &self,
        into: &'scope mut [T],
        to: &Layout,
        rank: usize,
        from: &Layout,
    ) -> Result<()> {
        // SAFETY: as above.
        let begun = unsafe { self.inner.get_layout(self.terms(), into, to, rank, from) };
        self.note(rank, begun)
    }
}

impl<T: Pod> Locked<'_, T> {
    /// As [`Operations::put_layout`]; it is complete when this returns.
    ///
    /// # Errors
    /// As [`Operations::put_layout`] and [`put`](Self::put).
    ///
    /// MPI 5.0 §12.3.1 (`MPI_Put` of derived datatypes), §12.5.4 (`MPI_Win_flush`).
    #[doc(alias = "MPI_Put")]
    pub fn put_layout(&self, data: &[T], from: &Layout, rank: usize, to: &Layout) -> Result<()> {
        // SAFETY: it is over when this returns.
        unsafe { self.inner.put_layout(self.terms(), data, from, rank, to) }
    }

    /// As [`Operations::get_layout`]; it is complete when this returns.
    ///
    /// # Errors
    /// As [`Operations::get_layout`] and [`put`](Self::put).
    ///
    /// MPI 5.0 §12.3.2 (`MPI_Get` of derived datatypes), §12.5.4 (`MPI_Win_flush`).
    #[doc(alias = "MPI_Get")]
    pub fn get_layout(
        &self,
        into: &mut [T],
        to: &Layout,
        rank: usize,
        from: &Layout,
    ) -> Result<()> {
        // SAFETY: it is over when this returns.
        unsafe { self.inner.get_layout(self.terms(), into, to, rank, from) }
    }
}

/// # Safety
///
/// Of both methods: with [`Completion::Later`](crate::window::inner::Completion::Later), the slice
/// stays as it is, and nobody else uses one that is written to, until the operation was completed
/// by the end of an epoch or by a flush.
impl<T: Pod> Inner<T> {
    unsafe fn put_layout(
        &self,
        terms: Terms<'_>,
        data: &[T],
        from: &Layout,
        rank: usize,
        to: &Layout,
    ) -> Result<()> {
        let view = from.of(data).map_err(|error| error.of(PUT))?;
        let (place, items) = self.place_of(PUT, terms.targets, rank, to, view.elements())?;
        if items > 0 && !to.is_disjoint() {
            return Err(twice());
        }
        self.access(
            PUT,
            terms.completion,
            items,
            place,
            (),
            // SAFETY: the layouts fit the slice and the part of the target; the slice stays by
            // contract, or until it is completed in `access`.
            |window, ()| unsafe { window.put_layout(self.library()?, data, from, place, to) },
            |window, ()| {
                let mut payload = Vec::new();
                view.gather(PUT, &mut payload)?;
                in_process(window, place, to, |there: &mut [T]| {
                    to.of_mut(there).map(|mut there| there.scatter(&payload))
                })
            },
        )
    }

    unsafe fn get_layout(
        &self,
        terms: Terms<'_>,
        into: &mut [T],
        to: &Layout,
        rank: usize,
        from: &Layout,
    ) -> Result<()> {
        let elements = to.of_mut(into).map_err(|error| error.of(GET))?.elements();
        let (place, items) = self.place_of(GET, terms.targets, rank, from, elements)?;
        self.access(
            GET,
            terms.completion,
            items,
            place,
            into,
            // SAFETY: as above.
            |window, into| unsafe { window.get_layout(self.library()?, into, to, place, from) },
            |window, into| {
                let mut payload = Vec::new();
                in_process(window, place, from, |there: &mut [T]| {
                    from.of(there)?.gather(GET, &mut payload)
                })?;
                to.of_mut(into)?.scatter(&payload);
                Ok(())
            },
        )
    }

    /// Returns the begin of `rank`'s part and the number of items, if `layout` fits the part and
    /// takes so many elements of it.
    fn place_of(
        &self,
        operation: &'static str,
        targets: Targets<'_>,
        rank: usize,
        layout: &Layout,
        elements: usize,
    ) -> Result<(TargetRange, usize)> {
        let place = self.table.place(operation, targets, rank, 0, 0)?;
        let len = self.len_of(rank);
        if let Err(reason) = layout.fits::<T>(len) {
            let len = Count(len, "element");
            let detail = format_args!("at rank {rank}, which has {len}: {reason}");
            return Err(Error::new(ErrorKind::Length, operation, detail));
        }
        if layout.elements() != elements {
            let detail = format_args!(
                "the layout here takes {}, that at rank {rank} {}; both must take as many",
                Count(elements, "element"),
                layout.elements()
            );
            return Err(Error::new(ErrorKind::Length, operation, detail));
        }
        Ok((place, elements * TypeOf::<T>::items()))
    }

    /// Communicator whose library makes datatypes, over MPI.
    fn library(&self) -> Result<&MpiComm> {
        match self.comm.backend() {
            CommFastPath::Mpi(comm) => Ok(comm),
            CommFastPath::InProcess(_) => Err(of_two_kinds()),
        }
    }
}

/// Works on as much of a part as `layout` needs.
fn in_process<T: Pod>(
    window: &LocalWindow,
    place: TargetRange,
    layout: &Layout,
    work: impl FnOnce(&mut [T]) -> Result<()>,
) -> Result<()> {
    let needed = layout.true_extent().end;
    window.update(place.rank, place.at_bytes, needed, work)?
}

#[cold]
fn twice() -> Error {
    Error::new(
        ErrorKind::Argument,
        PUT,
        "a layout that is written to must not take an element twice; use one whose blocks do not overlap",
    )
}
