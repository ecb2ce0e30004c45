//! Views as arguments of MPI, and the operations on them.
//!
//! Messages that are too long, or no whole number of elements, are handled as in `recv`. A receive
//! into a derived datatype is matched first on every library: MPICH 3.4.3 ends the process when a
//! long message is too long for one (`ch3_progress.c`, `!vc_ch->recv_active`).

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Datatype, native};

use super::buffer::{to_read, to_write};
use super::communicator::Comm;
use super::datatypes::{Committed, Description, Frame, Items};
use super::error::{check_with, library};
use super::pending_op::Cell;
use super::recv::{Fits, Room};
use super::send::attempt;
use super::send_mode::SendMode;
use super::sendrecv::Described;
use crate::data::element::Pod;
use crate::data::in_flight::{InFlight, Keep};
use crate::data::layout::shape::Shape;
use crate::data::layout::{Element, Layout, Taken, View, ViewMut};
use crate::data::source::{Destination, Ends, Source};
use crate::data::tag::Tag;
use crate::result::{Result, Status};
use crate::transport::pending_op;

/// The selection of a layout in any slice: `count` items of `datatype`, `offset` bytes behind the
/// beginning of the slice, are those bytes of it, and no others. The datatype is committed as long
/// as this lives, or `committed`, which a request keeps.
#[derive(Debug)]
pub struct Portion {
    /// In bytes, from the beginning of the slice.
    pub offset: usize,
    /// Items of the datatype.
    pub count: c_int,
    /// Lives as long as this.
    pub datatype: MPI_Datatype,
    committed: Option<Arc<Committed>>,
}

impl Comm {
    /// The arguments of a call that reads; the pointer is valid as long as the view's borrow.
    pub(crate) fn to_send<T: Pod>(
        &self,
        view: &View<'_, T>,
        items: Items,
    ) -> Result<(*const c_void, Portion)> {
        let portion = self.selected(&view.taken, items)?;
        // Inside of the slice, as was checked when the view was made.
        let pointer = to_read(view.data).wrapping_byte_add(portion.offset);
        Ok((pointer, portion))
    }

    fn items_to(&self, dest: Destination) -> Items {
        if self.is_oneself(dest) {
            Items::Packed
        } else {
            Items::Typed
        }
    }

    /// The arguments of a call that writes; the pointer is valid as long as the view's borrow, and
    /// nobody else uses the slice.
    pub(crate) fn to_receive<T: Pod>(
        &self,
        view: &mut ViewMut<'_, T>,
    ) -> Result<(*mut c_void, Portion)> {
        let portion = self.selected(&view.taken, Items::Bytes)?;
        // Inside of the slice, as was checked when the view was made.
        let pointer = to_write(view.data).wrapping_byte_add(portion.offset);
        Ok((pointer, portion))
    }

    /// The place of a message in a view's slice.
    fn room_of<'a, T: Pod>(
        &self,
        pointer: *mut c_void,
        portion: &Portion,
        taken: &'a Taken,
    ) -> Room<impl Fits + use<'a, T>> {
        Room {
            pointer,
            count: portion.count.into(),
            datatype: portion.datatype,
            // Where there are gaps, always.
            claims: portion.committed.is_some() || self.must_claim_bytes(taken.bytes()),
            capacity: taken.layout.elements(),
            width: taken.element.bytes(),
            fits: |operation, bytes| taken.fits::<T>(operation, bytes, library()),
        }
    }

    /// The elements that `taken` selects.
    fn selected(&self, taken: &Taken, items: Items) -> Result<Portion> {
        let (layout, element) = (&taken.layout, &taken.element);
        let Some(shape) = layout.known().shape().filter(|_| taken.bytes() > 0) else {
            return Ok(Portion {
                offset: 0,
                count: 0,
                datatype: sys::MPI_BYTE,
                committed: None,
            });
        };
        let offset = layout.start() * element.size();
        if let (Shape::Run(length), Element::Whole { size, item }) = (shape, element) {
            let (datatype, width) = items.of(item);
            if let Ok(count) = c_int::try_from(length * (size / width))
                && items != Items::Packed
            {
                return Ok(Portion {
                    offset,
                    count,
                    datatype,
                    committed: None,
                });
            }
        }
        self.committed(offset, taken, items, None)
    }

    /// One item of a derived datatype.
    fn committed(
        &self,
        offset: usize,
        taken: &Taken,
        items: Items,
        frame: Option<Frame>,
    ) -> Result<Portion> {
        let committed = self.session.datatypes.get(Description {
            known: Arc::clone(taken.layout.known()),
            element: taken.element.clone(),
            items,
            frame,
        })?;
        Ok(Portion {
            offset,
            count: 1,
            datatype: committed.0,
            committed: Some(committed),
        })
    }

    pub(crate) fn send_view<T: Pod>(
        &self,
        mode: SendMode,
        data: &View<'_, T>,
        dest: Destination,
        tag: i32,
    ) -> Result<()> {
        let (pointer, what) = self.to_send(data, self.items_to(dest))?;
        let to = self.sentinels.destination(dest);
        // SAFETY: the library is loaded, as there is a `Comm`.
        let datatype = unsafe { native::datatype(what.datatype) };
        let call = mode.functions().blocking;
        // SAFETY: what is read is inside of `data`; rank and tag are checked.
        let code = unsafe { call(pointer, what.count, datatype, to, tag, self.native) };
        check_with(code, mode.name(), || attempt(data.elements(), dest))
    }

    /// Starts a send.
    ///
    /// # Safety
    /// Until it is complete, the slice of `data` stays where it is and does not change.
    pub(crate) unsafe fn isend_view<T: Pod>(
        &self,
        data: &View<'_, T>,
        dest: Destination,
        tag: i32,
    ) -> Result<pending_op::PendingOp> {
        let (mode, mut cell) = (SendMode::Standard, Cell::new());
        let (role, call) = (mode.role(), mode.functions().nonblocking);
        let (pointer, what) = self.to_send(data, self.items_to(dest))?;
        let to = self.sentinels.destination(dest);
        // SAFETY: the library is loaded, as there is a `Comm`.
        let datatype = unsafe { native::datatype(what.datatype) };
        let place = &raw mut cell;
        // SAFETY: what is read is inside of `data`, which stays; rank and tag are checked.
        let code = unsafe { call(pointer, what.count, datatype, to, tag, self.native, place) };
        check_with(code, role.operation, || attempt(data.elements(), dest))?;
        Ok(match what.committed {
            Some(committed) => {
                let keep: Box<dyn Keep> = Box::new(Held(committed));
                self.native_keeping(cell, role, InFlight::new(keep))
            }
            None => self.native(cell, role, 0),
        })
    }

    pub(crate) fn recv_view<T: Pod>(
        &self,
        buf: &mut ViewMut<'_, T>,
        source: Source,
        tag: Tag,
    ) -> Result<Status> {
        let (pointer, into) = self.to_receive(buf)?;
        let room = self.room_of::<T>(pointer, &into, &buf.taken);
        // SAFETY: what is written is inside of `buf`, which is borrowed.
        unsafe { self.recv_into("MPI_Recv", &room, source, tag) }
    }

    pub(crate) fn sendrecv_view<S: Pod, R: Pod>(
        &self,
        send: &View<'_, S>,
        recv: &mut ViewMut<'_, R>,
        ends: Ends,
    ) -> Result<Status> {
        let (pointer, from) = self.to_send(send, self.items_to(ends.dest))?;
        let what = sent(pointer, &from);
        let (pointer, into) = self.to_receive(recv)?;
        let room = self.room_of::<R>(pointer, &into, &recv.taken);
        // SAFETY: what is read is inside of `send`, which is borrowed, and apart from `recv`, which
        // is borrowed mutably.
        unsafe { self.sendrecv_into(what, &room, ends) }
    }

    /// Sends and receives in one slice; `send` and `recv` select no common element.
    pub(crate) fn sendrecv_within<T: Pod>(
        &self,
        send: &Taken,
        recv: &mut ViewMut<'_, T>,
        ends: Ends,
    ) -> Result<Status> {
        let from = self.selected(send, self.items_to(ends.dest))?;
        let into = self.selected(&recv.taken, Items::Bytes)?;
        // Both pointers come from this one, so that neither makes the other invalid.
        let base = to_write(recv.data);
        let what = sent(base.wrapping_byte_add(from.offset), &from);
        let room = self.room_of::<T>(base.wrapping_byte_add(into.offset), &into, &recv.taken);
        // SAFETY: what is read is inside of the slice and apart from what is written, as the caller
        // has checked.
        unsafe { self.sendrecv_into(what, &room, ends) }
    }
}

impl Comm {
    /// The elements of `T` that `layout`, which fits the slice in question, selects: not more than
    /// `farthest` bytes behind the beginning, which the datatype knows itself if it is more.
    ///
    /// # Errors
    /// Errors of the library about the datatype.
    pub fn portion<T: Pod>(&self, layout: &Layout, farthest: usize) -> Result<Portion> {
        let taken = Taken {
            layout: layout.clone(),
            element: Element::whole::<T>(),
        };
        let portion = self.selected(&taken, Items::Typed)?;
        if portion.offset <= farthest {
            return Ok(portion);
        }
        let frame = Frame {
            start: portion.offset,
            // Of no account, as it is used once.
            extent: taken.bytes(),
        };
        self.committed(0, &taken, Items::Typed, Some(frame))
    }
}

/// A datatype that the library uses until an operation is complete.
#[derive(Debug)]
struct Held(#[expect(dead_code, reason = "it is only held")] Arc<Committed>);

impl Keep for Held {}

/// The elements of a view, to be sent.
fn sent(pointer: *const c_void, portion: &Portion) -> Described {
    Described {
        pointer,
        count: portion.count.into(),
        datatype: portion.datatype,
    }
}
