//! The operations on memory of a rank, as all epochs have them: checked, and started on the
//! window's backend.
#![allow(unsafe_code)]

use std::slice::{from_mut, from_ref};

use bytemuck::{Pod, bytes_of, cast_slice, cast_slice_mut};
use ranks_collectives::Integer;
use ranks_comm::backend::TypeOf;
use ranks_comm::{Error, ErrorKind, Result};
use ranks_launch::Count;

use crate::epoch::accumulation::Accumulation;
use crate::window::inner::{Inner, Terms};

/// # Safety
///
/// Of all methods: with [`Completion::Later`](crate::window::inner::Completion::Later), the slices
/// and elements stay as they are, and nobody else uses those that are written to, until the
/// operation was completed by the end of an epoch or by a flush.
impl<T: Pod> Inner<T> {
    #[inline(always)]
    pub(crate) unsafe fn put(
        &self,
        terms: Terms<'_>,
        data: &[T],
        rank: usize,
        at: usize,
    ) -> Result<()> {
        const NAME: &str = "MPI_Put";
        let place = self
            .table
            .place(NAME, terms.targets, rank, at, data.len())?;
        let items = data.len() * TypeOf::<T>::items();
        self.access(
            NAME,
            terms.completion,
            items,
            place,
            data,
            // SAFETY: the place is as long as `data`, which stays by contract, or until it is
            // completed in `access`.
            move |window, data| unsafe { window.put(data, place) },
            move |window, data| window.put(cast_slice(data), rank, place.at_bytes),
        )
    }

    #[inline(always)]
    pub(crate) unsafe fn get(
        &self,
        terms: Terms<'_>,
        into: &mut [T],
        rank: usize,
        at: usize,
    ) -> Result<()> {
        const NAME: &str = "MPI_Get";
        let place = self
            .table
            .place(NAME, terms.targets, rank, at, into.len())?;
        let items = into.len() * TypeOf::<T>::items();
        self.access(
            NAME,
            terms.completion,
            items,
            place,
            into,
            // SAFETY: the place is as long as `into`, which stays by contract, or until it is
            // completed in `access`.
            move |window, into| unsafe { window.get(into, place) },
            move |window, into| window.get(cast_slice_mut(into), rank, place.at_bytes),
        )
    }

    #[inline(always)]
    pub(crate) unsafe fn accumulate<O: Accumulation<T>>(
        &self,
        terms: Terms<'_>,
        data: &[T],
        op: O,
        rank: usize,
        at: usize,
    ) -> Result<()> {
        const NAME: &str = "MPI_Accumulate";
        let place = self
            .table
            .place(NAME, terms.targets, rank, at, data.len())?;
        self.access(
            NAME,
            terms.completion,
            data.len(),
            place,
            data,
            // SAFETY: the place is as long as `data`, which stays by contract, or until it is
            // completed in `access`.
            move |window, data| unsafe { window.accumulate::<O>(data, place) },
            move |window, data| window.accumulate(rank, place.at_bytes, data, op),
        )
    }

    #[inline(always)]
    pub(crate) unsafe fn get_accumulate<O: Accumulation<T>>(
        &self,
        terms: Terms<'_>,
        data: &[T],
        old: &mut [T],
        op: O,
        rank: usize,
        at: usize,
    ) -> Result<()> {
        const NAME: &str = "MPI_Get_accumulate";
        let place = self
            .table
            .place(NAME, terms.targets, rank, at, data.len())?;
        if old.len() != data.len() {
            return Err(lengths_differ(NAME, data.len(), old.len()));
        }
        self.access(
            NAME,
            terms.completion,
            data.len(),
            place,
            old,
            // SAFETY: the place is as long as both slices, which stay by contract, or until it is
            // completed in `access`.
            move |window, old| unsafe { window.get_accumulate::<O>(data, old, place) },
            move |window, old| window.get_accumulate(rank, place.at_bytes, data, old, op),
        )
    }

    #[inline(always)]
    pub(crate) unsafe fn fetch_and_op<O: Accumulation<T>>(
        &self,
        terms: Terms<'_>,
        value: &T,
        old: &mut T,
        op: O,
        rank: usize,
        at: usize,
    ) -> Result<()> {
        const NAME: &str = "MPI_Fetch_and_op";
        let place = self.table.place(NAME, terms.targets, rank, at, 1)?;
        self.access(
            NAME,
            terms.completion,
            1,
            place,
            old,
            // SAFETY: an element is at the place; both stay by contract, or until it is completed
            // in `access`.
            move |window, old| unsafe { window.fetch_and_op::<O>(value, old, place) },
            move |window, old| {
                let (value, old) = (from_ref(value), from_mut(old));
                window.get_accumulate(rank, place.at_bytes, value, old, op)
            },
        )
    }

    #[inline(always)]
    pub(crate) unsafe fn compare_and_swap(
        &self,
        terms: Terms<'_>,
        expected: &T,
        new: &T,
        old: &mut T,
        rank: usize,
        at: usize,
    ) -> Result<()>
    where
        T: Integer,
    {
        const NAME: &str = "MPI_Compare_and_swap";
        let place = self.table.place(NAME, terms.targets, rank, at, 1)?;
        self.access(
            NAME,
            terms.completion,
            1,
            place,
            old,
            // SAFETY: an element is at the place; all stay by contract, or until it is completed in
            // `access`.
            move |window, old| unsafe { window.compare_and_swap(expected, new, old, place) },
            move |window, old| {
                window.update(rank, place.at_bytes, 1, |there: &mut [T]| {
                    for there in there {
                        *old = *there;
                        if bytes_of(there) == bytes_of(expected) {
                            *there = *new;
                        }
                    }
                })
            },
        )
    }
}

#[cold]
#[inline(never)]
pub(crate) fn lengths_differ(operation: &'static str, data: usize, old: usize) -> Error {
    Error::new(
        ErrorKind::Length,
        operation,
        format_args!(
            "{} to combine, but room for {}; both must be as many",
            Count(data, "element"),
            Count(old, "old one")
        ),
    )
}
