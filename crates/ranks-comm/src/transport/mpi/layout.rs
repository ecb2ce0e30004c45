//! Views as arguments of MPI, and the operations on them.
//!
//! Messages that are too long, or no whole number of elements, are handled as in `recv`. A receive
//! into a derived datatype is matched first on every library: MPICH 3.4.3 ends the process when a
//! long message is too long for one (`ch3_progress.c`, `!vc_ch->recv_active`).

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use ranks_launch::Count;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::{MPI_Datatype, MPI_Status};

use super::buffer::{to_read, to_write};
use super::communicator::Comm;
use super::datatypes::{Committed, Description, Frame, Items};
use super::error::{check, check_with, library};
use super::peer::to_standard;
use super::pending_op::Cell;
use super::recv::not_received;
use super::send_mode::SendMode;
use super::sendrecv::Sending;
use super::status;
use crate::data::element::Pod;
use crate::data::in_flight::{InFlight, Keep};
use crate::data::layout::shape::Shape;
use crate::data::layout::{Element, Layout, Taken, View, ViewMut};
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::result::{Result, Status, error};
use crate::transport::pending_op;

/// A selection of a slice, as the arguments of a call that takes a datatype.
///
/// `count` items of `datatype` at `pointer` are those bytes of the slice that the view selects, and
/// no others. The datatype is committed as long as this lives, or `_committed`, which a request
/// keeps.
pub(crate) struct Described<P> {
    pub(crate) pointer: P,
    pub(crate) count: c_int,
    pub(crate) datatype: MPI_Datatype,
    pub(crate) _committed: Option<Arc<Committed>>,
}

impl Comm {
    /// The arguments of a call that reads; the pointer is valid as long as the view's borrow.
    pub(crate) fn to_send<T: Pod>(
        &self,
        view: &View<'_, T>,
        items: Items,
    ) -> Result<Described<*const c_void>> {
        let base = to_read(view.data);
        self.describe(&view.taken, items, |offset| {
            // SAFETY: what the view takes begins inside of the slice, as was checked when it was
            // made.
            unsafe { base.byte_add(offset) }
        })
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
    ) -> Result<Described<*mut c_void>> {
        self.to_receive_at(to_write(view.data), &view.taken)
    }

    /// As [`to_receive`](Self::to_receive), for a slice that begins at `base`.
    fn to_receive_at(&self, base: *mut c_void, taken: &Taken) -> Result<Described<*mut c_void>> {
        self.describe(taken, Items::Bytes, |offset| {
            // SAFETY: what the view takes begins inside of the slice, as was checked when it was
            // made.
            unsafe { base.byte_add(offset) }
        })
    }

    fn describe<P>(
        &self,
        taken: &Taken,
        items: Items,
        place: impl FnOnce(usize) -> P,
    ) -> Result<Described<P>> {
        let (layout, element) = (&taken.layout, &taken.element);
        let Some(shape) = layout.known().shape().filter(|_| taken.bytes() > 0) else {
            return Ok(Described {
                pointer: place(0),
                count: 0,
                datatype: sys::MPI_BYTE,
                _committed: None,
            });
        };
        let pointer = place(layout.start() * element.size());
        if let (Shape::Run(length), Element::Whole { size, item }) = (shape, element) {
            let (datatype, width) = items.of(item);
            if let Ok(count) = c_int::try_from(length * (size / width))
                && items != Items::Packed
            {
                return Ok(Described {
                    pointer,
                    count,
                    datatype,
                    _committed: None,
                });
            }
        }
        let committed = self.session.datatypes.get(Description {
            known: Arc::clone(layout.known()),
            element: element.clone(),
            items,
            frame: None,
        })?;
        Ok(Described {
            pointer,
            count: 1,
            datatype: committed.handle(),
            _committed: Some(committed),
        })
    }

    pub(crate) fn send_view<T: Pod>(
        &self,
        mode: SendMode,
        data: &View<'_, T>,
        dest: Destination,
        tag: i32,
    ) -> Result<()> {
        let (what, to) = (
            self.to_send(data, self.items_to(dest))?,
            to_standard::destination(dest),
        );
        let call = match mode {
            SendMode::Synchronous => sys::MPI_Ssend,
            // The others are not there for views.
            SendMode::Standard | SendMode::Buffered | SendMode::Ready => sys::MPI_Send,
        };
        // SAFETY: what is read is inside of `data`; rank and tag are checked.
        let code = unsafe {
            call(
                what.pointer,
                what.count,
                what.datatype,
                to,
                tag,
                self.canonical,
            )
        };
        check_with(code, mode.name(), || attempt(data, dest))
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
        let role = SendMode::Standard.role();
        let (what, to) = (
            self.to_send(data, self.items_to(dest))?,
            to_standard::destination(dest),
        );
        let mut request = sys::MPI_REQUEST_NULL;
        // SAFETY: what is read is inside of `data`, which stays; rank and tag are checked.
        let code = unsafe {
            sys::MPI_Isend(
                what.pointer,
                what.count,
                what.datatype,
                to,
                tag,
                self.canonical,
                &raw mut request,
            )
        };
        check_with(code, role.operation, || attempt(data, dest))?;
        // SAFETY: the library is loaded, as there is a `Comm`.
        let cell = unsafe { Cell::holding(request) };
        Ok(match what._committed {
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
        const OPERATION: &str = "MPI_Recv";
        let what = self.to_receive(buf)?;
        if self.must_claim_described(&what, &buf.taken) {
            return self.recv_claimed_into::<T>(OPERATION, &what, &buf.taken, source, tag);
        }
        let (from, under) = (to_standard::source(source), to_standard::tag(tag));
        let mut status = MPI_Status::EMPTY;
        // SAFETY: what is written is inside of `buf`; this library writes no more; the status is
        // ours.
        let code = unsafe {
            sys::MPI_Recv(
                what.pointer,
                what.count,
                what.datatype,
                from,
                under,
                self.canonical,
                &raw mut status,
            )
        };
        received::<T>(code, OPERATION, &status, &buf.taken)
    }

    pub(crate) fn sendrecv_view<S: Pod, R: Pod>(
        &self,
        send: &View<'_, S>,
        dest: Destination,
        send_tag: i32,
        recv: &mut ViewMut<'_, R>,
        source: Source,
        recv_tag: Tag,
    ) -> Result<Status> {
        let ends = Ends {
            dest,
            send_tag,
            source,
            recv_tag,
        };
        let (from, into) = (
            self.to_send(send, self.items_to(dest))?,
            self.to_receive(recv)?,
        );
        // SAFETY: what is read is inside of `send`, which is borrowed, and apart from `recv`, which
        // is borrowed mutably.
        unsafe { self.sendrecv_described::<R>(&from, &into, &recv.taken, ends) }
    }

    /// Sends and receives in one slice; `send` and `recv` select no common element.
    pub(crate) fn sendrecv_within<T: Pod>(
        &self,
        send: &Taken,
        dest: Destination,
        send_tag: i32,
        recv: &mut ViewMut<'_, T>,
        source: Source,
        recv_tag: Tag,
    ) -> Result<Status> {
        let ends = Ends {
            dest,
            send_tag,
            source,
            recv_tag,
        };
        // Both pointers come from this one, so that neither makes the other invalid.
        let base = to_write(recv.data);
        let from = self.describe(send, self.items_to(dest), |offset| {
            // SAFETY: what is sent begins inside of the slice, as the caller has checked.
            unsafe { base.byte_add(offset) }.cast_const()
        })?;
        let into = self.to_receive_at(base, &recv.taken)?;
        // SAFETY: what is read is inside of the slice and apart from what is written, as the caller
        // has checked.
        unsafe { self.sendrecv_described::<T>(&from, &into, &recv.taken, ends) }
    }

    /// # Safety
    /// The bytes that `send` describes may be read until this returns; those that `recv` describes
    /// are `taken`, may be written until then, and is apart from the former.
    unsafe fn sendrecv_described<R: Pod>(
        &self,
        send: &Described<*const c_void>,
        recv: &Described<*mut c_void>,
        taken: &Taken,
        ends: Ends,
    ) -> Result<Status> {
        const OPERATION: &str = "MPI_Sendrecv";
        let to = to_standard::destination(ends.dest);
        if self.must_claim_described(recv, taken) {
            let (pointer, count, datatype) = (send.pointer, send.count.into(), send.datatype);
            // SAFETY: by this function's contract; it is waited for before this function ends, also
            // on unwinding.
            let sending = unsafe {
                Sending::start_described(self, pointer, count, datatype, to, ends.send_tag)
            }?;
            let received =
                self.recv_claimed_into::<R>(OPERATION, recv, taken, ends.source, ends.recv_tag);
            sending.wait(OPERATION)?;
            return received;
        }
        let (from, under) = (
            to_standard::source(ends.source),
            to_standard::tag(ends.recv_tag),
        );
        let mut status = MPI_Status::EMPTY;
        // SAFETY: by this function's contract; this library writes no more; the status is ours.
        let code = unsafe {
            sys::MPI_Sendrecv(
                send.pointer,
                send.count,
                send.datatype,
                to,
                ends.send_tag,
                recv.pointer,
                recv.count,
                recv.datatype,
                from,
                under,
                self.canonical,
                &raw mut status,
            )
        };
        received::<R>(code, OPERATION, &status, taken)
    }

    /// Returns `true` if a receive must be matched first: as [`Comm::must_claim`], and always
    /// where there are gaps.
    fn must_claim_described(&self, what: &Described<*mut c_void>, taken: &Taken) -> bool {
        what._committed.is_some() || taken.bytes() < self.claim_below || self.claims.is_waiting()
    }

    /// Matches the message, compares its length, and receives it into what `what` describes, which
    /// is `taken`.
    fn recv_claimed_into<T: Pod>(
        &self,
        operation: &'static str,
        what: &Described<*mut c_void>,
        taken: &Taken,
        source: Source,
        tag: Tag,
    ) -> Result<Status> {
        let (message, status) = self.mprobe_in_turn(source, tag)?;
        let bytes = status.bytes();
        if bytes > taken.bytes() {
            message.discard(&status);
            let (capacity, width) = (taken.layout.elements(), taken.element.bytes());
            let error = error::truncated(operation, Some(bytes), capacity, width, library());
            return Err(error.with_class(sys::MPI_ERR_TRUNCATE));
        }
        if let Err(error) = taken.check_whole::<T>(operation, bytes) {
            message.discard(&status);
            return Err(error);
        }
        let (pointer, count, datatype) = (what.pointer, what.count, what.datatype);
        // SAFETY: what is written is inside of the view's slice, and the message is no longer, as
        // was compared.
        let code = unsafe { message.receive(pointer, count.into(), datatype) };
        check(code, operation)?;
        Ok(status)
    }
}

/// The selection of a layout in any slice, for the collectives of a sibling crate: `count` items of
/// `datatype`, `offset` bytes behind the beginning of the slice. The datatype is committed as long
/// as this lives.
#[derive(Debug)]
pub struct Portion {
    /// In bytes, from the beginning of the slice.
    pub offset: usize,
    /// Items of the datatype.
    pub count: c_int,
    /// Lives as long as this.
    pub datatype: MPI_Datatype,
    _committed: Option<Arc<Committed>>,
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
        let described = self.describe(&taken, Items::Typed, |offset| offset)?;
        let start = described.pointer;
        if start <= farthest {
            return Ok(Portion {
                offset: start,
                count: described.count,
                datatype: described.datatype,
                _committed: described._committed,
            });
        }
        // Of no account, as it is used once.
        let extent = taken.bytes();
        let committed = self.session.datatypes.get(Description {
            known: Arc::clone(layout.known()),
            element: taken.element,
            items: Items::Typed,
            frame: Some(Frame { start, extent }),
        })?;
        Ok(Portion {
            offset: 0,
            count: 1,
            datatype: committed.handle(),
            _committed: Some(committed),
        })
    }
}

/// A datatype that the library uses until an operation is complete.
#[derive(Debug)]
struct Held(#[expect(dead_code, reason = "it is only held")] Arc<Committed>);

impl Keep for Held {}

/// The destination of one message and the source of another.
#[derive(Clone, Copy)]
struct Ends {
    dest: Destination,
    send_tag: i32,
    source: Source,
    recv_tag: Tag,
}

/// The outcome of a receive into a selection.
fn received<T: Pod>(
    code: c_int,
    operation: &'static str,
    status: &MPI_Status,
    taken: &Taken,
) -> Result<Status> {
    let (capacity, width) = (taken.layout.elements(), taken.element.bytes());
    if code != sys::MPI_SUCCESS {
        return Err(not_received(code, operation, capacity, width));
    }
    let status = status::decode(status);
    let bytes = status.bytes();
    if bytes > taken.bytes() {
        let error = error::truncated(operation, Some(bytes), capacity, width, library());
        return Err(error.with_class(sys::MPI_ERR_TRUNCATE));
    }
    taken.check_whole::<T>(operation, bytes)?;
    Ok(status)
}

fn attempt<T: Pod>(data: &View<'_, T>, dest: Destination) -> String {
    let elements = Count(data.elements(), "element");
    match dest {
        Destination::Rank(dest) => format!("sending {elements} to rank {dest}"),
        Destination::Null => format!("sending {elements} to nobody"),
    }
}
