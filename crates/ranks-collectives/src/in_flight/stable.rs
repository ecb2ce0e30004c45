//! Slices for operations that go on after their call has returned.
#![allow(unsafe_code)]

mod copies;

use std::any::Any;
use std::borrow::Cow;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::{Arc, Mutex};

use bytemuck::Pod;
use ranks_comm::backend::{Again, Lent, OpInfo, Places, Plain, RawSlice, StartedOp};
use ranks_comm::{
    Communicator, Persistent, RecvBuffer, Request, Result, Scope, ScopedRequest, SendBuffer,
};

use crate::arguments::blocks::Blocks;
use crate::arguments::neighbors::Edge;
use crate::arguments::proven::Proven;
use crate::arguments::reducing::Reducing;
use crate::arguments::transfer::Transfer;

pub(crate) use copies::on_copies;

/// The slices that an operation sends and receives into; one that it does not use is empty.
pub(crate) struct Slices<'a, T> {
    /// `None` if the operation has one slice, which is `recv`: in place, or a broadcast.
    pub(crate) send: Option<&'a [T]>,
    pub(crate) recv: &'a mut [T],
}

impl<'a, T> Slices<'a, T> {
    /// From one slice to another.
    #[inline(always)]
    pub(crate) fn between(send: &'a [T], recv: &'a mut [T]) -> Self {
        let send = Some(send);
        Self { send, recv }
    }
}

/// Slices, or what was proven of them, whose memory stays where it is until the operation that is
/// begun with them is over. Until then nobody else writes to it, or reads what is received into.
///
/// It is made by the functions below and by nothing else; they give the memory to what waits for
/// the end.
pub(crate) struct Stable<X>(X);

impl<P: Proven> Proven for Stable<P> {
    fn elements(&self) -> usize {
        self.get().elements()
    }

    fn lengths(&self) -> Cow<'_, [usize]> {
        self.get().lengths()
    }

    fn pairs(&self) -> Option<[&[usize]; 2]> {
        self.get().pairs()
    }

    fn edges(&self) -> Option<[Vec<Edge>; 2]> {
        self.get().edges()
    }
}

impl<X> Stable<X> {
    pub(crate) fn get(&self) -> &X {
        &self.0
    }

    /// Writes to the memory before the operation is begun; what it does captures nothing that could
    /// be put in its place.
    pub(crate) fn write(&mut self, write: impl FnOnce(&mut X) + 'static) {
        write(&mut self.0);
    }

    pub(crate) fn into_inner(self) -> X {
        self.0
    }

    /// The same in another form, or an error if the slices do not fit the operation.
    ///
    /// # Safety
    /// The value that `prove` returns is made out of the one it gets and of no other memory.
    pub(crate) unsafe fn proven<Y>(self, prove: impl FnOnce(X) -> Result<Y>) -> Result<Stable<Y>> {
        prove(self.0).map(Stable)
    }

    /// The same in another form. It is of the same memory, or of some that is there for ever:
    /// `change` has captured no other.
    pub(crate) fn map<Y>(self, change: impl FnOnce(X) -> Y + 'static) -> Stable<Y> {
        Stable(change(self.0))
    }

    /// As [`map`](Self::map), or an error.
    pub(crate) fn try_map<Y>(
        self,
        change: impl FnOnce(X) -> Result<Y> + 'static,
    ) -> Result<Stable<Y>> {
        change(self.0).map(Stable)
    }
}

impl<'a, T: Pod> Stable<Transfer<'a, T>> {
    /// The same in pieces, as [`Transfer::pieces`].
    pub(crate) fn pieces(self, longest: usize) -> impl Iterator<Item = Stable<Transfer<'a, T>>> {
        self.0.pieces(longest).map(Stable)
    }

    /// The same as a reduction to each rank, as [`Transfer::reductions`], each with a copy of what
    /// is sent, if it is in place.
    ///
    /// # Safety
    /// The copy is kept until the reduction is over.
    pub(crate) unsafe fn reductions(
        self,
        me: usize,
        blocks: &Blocks,
        mut each: impl FnMut(Stable<Transfer<'_, T>>, Option<&SharedCopy>),
    ) {
        // SAFETY: by this function's contract.
        let (transfer, kept) = unsafe { not_in_place(self.0) };
        // What `each` says is no error.
        let _ = transfer.reductions(me, blocks, |one| {
            each(Stable(one), kept.as_ref());
            Ok(())
        });
    }
}

impl<T: Pod> Stable<Reducing<'_, T>> {
    /// The same not in place: what is sent is a copy then.
    ///
    /// # Safety
    /// The copy is kept until the operation is over.
    pub(crate) unsafe fn not_in_place(self) -> (Self, Option<SharedCopy>) {
        let Reducing { transfer, share } = self.0;
        // SAFETY: by this function's contract.
        let (transfer, kept) = unsafe { not_in_place(transfer) };
        (Self(Reducing { transfer, share }), kept)
    }
}

/// The same not in place: what is sent is a copy then.
///
/// # Safety
/// The copy is kept as long as what is returned is used.
unsafe fn not_in_place<T: Pod>(
    mut transfer: Transfer<'_, T>,
) -> (Transfer<'_, T>, Option<SharedCopy>) {
    let (None, Some(data)) = transfer.slices_mut() else {
        return (transfer, None);
    };
    let copy = Plain::copy(data);
    let place = NonNull::from(copy.as_slice());
    // SAFETY: the copy stays where it is as long as it is kept, by this function's contract, and
    // does not change.
    let transfer = transfer.sending(unsafe { place.as_ref() });
    (transfer, Some(Arc::new(Mutex::new(copy))))
}

/// Memory that several operations use.
pub(crate) type SharedCopy = Arc<Mutex<dyn Any + Send>>;

impl Stable<&mut [u8]> {
    /// The memory, to be written to until the operation is over.
    pub(crate) fn into_span(self) -> RawSlice {
        // SAFETY: a `Stable` is made for memory that stays there for the operation alone.
        unsafe { RawSlice::of(self.0) }
    }
}

impl<T: Pod> Stable<Slices<'_, T>> {
    /// The elements of `recv` as they will be when the operation is complete.
    pub(crate) fn left(&mut self) -> Left<T> {
        let recv = NonNull::from(&mut *self.0.recv);
        // All that is received comes by way of the same pointer, which so holds for what is left.
        // SAFETY: the slice was there for as long as this, and is used by way of the pointer alone
        // from here on.
        self.0.recv = unsafe { &mut *recv.as_ptr() };
        Left {
            address: recv.cast::<T>().as_ptr().expose_provenance(),
            length: recv.len(),
            elements: PhantomData,
        }
    }
}

/// The elements that an operation leaves. It is for what the operation itself does last: the memory
/// is its own until what waits for the end has been told of it.
///
/// Like a library it keeps the address alone: buffers of persistent operations are lent between
/// starts (`lent.rs` of ranks-comm).
pub(crate) struct Left<T> {
    address: usize,
    length: usize,
    elements: PhantomData<fn() -> T>,
}

impl<T: Pod> Left<T> {
    /// The elements, for a `Keep` or a `Deferred` of the operation at its end, or before the
    /// operation is given to anybody.
    pub(crate) fn elements(&mut self) -> &mut [T] {
        let start = ptr::with_exposed_provenance_mut(self.address);
        // SAFETY: a `Stable` is made for memory that stays there for the operation alone until that
        // is over, and the backends end what they keep before they give the memory back. Nothing
        // else writes to it any more. The pointer that it is used by is exposed: by `left`, or
        // where it was lent out since, by `Lent`.
        unsafe { slice::from_raw_parts_mut(start, self.length) }
    }
}

/// No memory at all.
pub(crate) fn nowhere() -> RawSlice {
    // SAFETY: there are no bytes that anybody could use.
    unsafe { RawSlice::of::<u8>(&mut []) }
}

/// Begins an operation on the slices of `buffer`, which the request owns until it is over.
#[inline]
pub(crate) fn owned<B: Send + 'static, T: Pod, const ONE: bool>(
    comm: &Communicator,
    role: &'static OpInfo,
    buffer: B,
    Shape(slices): Shape<B, T, ONE>,
    begin: impl FnOnce(Stable<Slices<'_, T>>) -> Result<StartedOp>,
) -> Result<Request<B>> {
    let begin = |buffer: &mut B| begin(Stable(slices(buffer)));
    // SAFETY: the operation works on the slices of `buffer`, which stay where they are when that
    // moves, as `Shape` says.
    unsafe { Request::begun(comm, role, buffer, begin) }
}

/// The way to the slices of an operation in a `B`, which owns them: elements of buffers that by
/// their traits stay where they are when it moves. Made by the functions below and by nothing else.
/// `ONE` if there is one slice.
pub(crate) struct Shape<B, T, const ONE: bool>(fn(&mut B) -> Slices<'_, T>);

impl<S, R> Shape<(S, R), R::Element, false>
where
    S: SendBuffer<Element = R::Element>,
    R: RecvBuffer,
{
    /// From one buffer to another.
    pub(crate) fn both() -> Self {
        Self(|(send, recv)| Slices::between(send.as_slice(), recv.as_mut_slice()))
    }
}

impl<B: RecvBuffer> Shape<B, B::Element, true> {
    /// On one buffer.
    pub(crate) fn one() -> Self {
        Self(|buffer| Slices {
            send: None,
            recv: buffer.as_mut_slice(),
        })
    }
}

impl Shape<(), u8, true> {
    /// On no memory.
    pub(crate) fn none() -> Self {
        Self(|()| Slices {
            send: None,
            recv: &mut [],
        })
    }
}

/// Prepares an operation on the slices of `buffer`, which it owns until it is freed: by `prepare`,
/// or where that returns nothing by `again` at each start.
pub(crate) fn prepared<B: Send + 'static, T: Pod, const ONE: bool>(
    comm: &Communicator,
    role: &'static OpInfo,
    buffer: B,
    Shape(slices): Shape<B, T, ONE>,
    prepare: impl FnOnce(Stable<Slices<'_, T>>) -> Result<Option<StartedOp>>,
    mut again: impl FnMut(&Communicator, Stable<Slices<'_, T>>) -> Result<StartedOp> + Send + 'static,
) -> Result<Persistent<B>> {
    let mut prepare = Some(prepare);
    let mut prepare = |slices: Stable<Slices<'_, T>>| match prepare.take() {
        Some(prepare) => prepare(slices),
        None => Ok(None),
    };
    // SAFETY: the places are those of the operation, and its own from its start on.
    let again = move |comm: &Communicator, places| again(comm, unsafe { slices_at(places, ONE) });
    let mut prepare = |places| {
        // SAFETY: the places are those of the operation, which is not started.
        prepare(unsafe { slices_at(places, ONE) })
    };
    prepared_by(comm, role, buffer, slices, &mut prepare, Box::new(again))
}

/// A function that prepares an operation on the slices at these places, or returns nothing.
type Prepare<'p> = &'p mut dyn FnMut(Places) -> Result<Option<StartedOp>>;

/// Compiled for each type of buffers, not for each operation.
#[inline(never)]
fn prepared_by<B: Send + 'static, T: Pod>(
    comm: &Communicator,
    role: &'static OpInfo,
    buffer: B,
    slices: fn(&mut B) -> Slices<'_, T>,
    prepare: Prepare<'_>,
    again: Again,
) -> Result<Persistent<B>> {
    let prepare = |buffer: &mut B| {
        let Slices { send, recv } = slices(buffer);
        let send = Lent::to_read(send.unwrap_or_default());
        // SAFETY: they stay where they are, as `Shape` says; what is made below has the buffer, and
        // uses them by way of this alone.
        let buffer = unsafe { Lent::to_write(recv) };
        let places = Places { send, buffer };
        Ok((places, prepare(places)?))
    };
    // SAFETY: what is made is not started; it and what is begun work on what they keep and on the
    // slices of the buffer, which stay where they are when that moves, as `Shape` says.
    unsafe { Persistent::prepared(comm, role, buffer, prepare, again) }
}

/// The slices at the places of a prepared operation.
///
/// # Safety
/// They are of this type, and stay there for the operation alone until what is begun with them is
/// over.
unsafe fn slices_at<'a, T: Pod>(places: Places, is_one: bool) -> Stable<Slices<'a, T>> {
    Stable(Slices {
        // SAFETY: by this function's contract.
        send: (!is_one).then(|| unsafe { places.send.as_slice() }),
        // SAFETY: the same.
        recv: unsafe { places.buffer.as_mut_slice() },
    })
}

/// Begins an operation from `send` to `recv`, or on that alone; they are borrowed until the scope
/// ends.
#[inline(always)]
pub(crate) fn scoped<'scope, T: Pod>(
    scope: &'scope Scope<'scope, '_>,
    role: &'static OpInfo,
    send: Option<&'scope [T]>,
    recv: &'scope mut [T],
    begin: impl FnOnce(Stable<Slices<'_, T>>) -> Result<StartedOp>,
) -> Result<ScopedRequest<'scope, &'scope mut [T]>> {
    // To pass the slice on while the operation has its address would say that nobody else writes to
    // it.
    let place = NonNull::from(recv);
    // SAFETY: the slice is borrowed for `'scope`, and used by way of the pointer alone from here
    // on.
    let recv = unsafe { &mut *place.as_ptr() };
    let begin = || begin(Stable(Slices { send, recv }));
    // SAFETY: both slices are borrowed for `'scope`, and the operation has `recv` by way of
    // `place`.
    unsafe { scope.begun(role, place, begin) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_what_is_left_was_kept_while_its_buffer_was_lent() {
        let mut buffer = vec![0.0; 4];
        // SAFETY: the buffer is there to the end, and used by way of this alone.
        let place = unsafe { Lent::to_write(&mut buffer) };
        let send = Lent::to_read::<f64>(&[]);
        let buffer = place;
        // SAFETY: the elements of the buffer, which nobody else uses.
        let mut slices = unsafe { slices_at::<f64>(Places { send, buffer }, true) };
        let mut left = slices.left();
        for round in [4.0, 6.0, 8.0] {
            // SAFETY: as above.
            let lent = unsafe { place.as_mut_slice::<f64>() };
            lent.fill(round);
            left.elements().iter_mut().for_each(|one| *one /= 2.0);
            // SAFETY: as above.
            let ended = unsafe { place.as_slice::<f64>() };
            assert_eq!(ended, [round / 2.0; 4]);
        }
    }
}
