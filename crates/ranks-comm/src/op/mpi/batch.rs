//! Up to 64 requests in an array of the library's own width, completed by one call.

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr;

use ranks_launch::Count;
use ranks_mpi_sys as sys;
use ranks_mpi_sys::native;

use super::request_copies::ROOMS;
use crate::call::record::Over;
use crate::communicator::Communicator;
use crate::data::element::Pod;
use crate::data::raw_slice::{OpInfo, RawSlice};
use crate::data::source::{Destination, Source};
use crate::data::tag::Tag;
use crate::result::status::{EMPTY_STATUS, Status, Words};
use crate::result::{Error, ErrorKind, Result};
use crate::transport::backend::Backend;
use crate::transport::mpi::buffer::small_bytes;
use crate::transport::mpi::communicator::Comm;
use crate::transport::mpi::error::{check, class, failed, library};
use crate::transport::mpi::fast_path::Unclaimed;
use crate::transport::mpi::pending_op::{Cell as Request, outcome};
use crate::transport::mpi::recv::not_received;
use crate::transport::mpi::send_mode::SendMode;
use crate::transport::mpi::status;
use crate::transport::mpi::waitall::wait_all;

/// Pending requests, in rooms 0 to `used` of `R`, which are on the stack or in a box.
///
/// A room whose request was completed alone holds the null request, which the library skips.
pub(crate) struct Batch<R> {
    rooms: R,
    used: Cell<u32>,
    /// The rooms below `used` whose request is complete, a bit each.
    holes: Cell<u64>,
    /// The distance of requests: the logarithm of the bytes.
    shift: u32,
    /// `true` once its receives were cancelled, after which none is begun.
    cancelling: Cell<bool>,
}

/// The memory of a batch, uninitialised until a request is started: a value of its own, so that no
/// part of it is ever written for the sake of the rest.
pub(crate) struct Rooms {
    requests: UnsafeCell<MaybeUninit<[u64; ROOMS]>>,
    parts: UnsafeCell<MaybeUninit<[RequestInfo; ROOMS]>>,
}

impl Rooms {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self {
            requests: UnsafeCell::new(MaybeUninit::uninit()),
            parts: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }
}

/// The facts about a request that are needed at its completion.
#[derive(Clone, Copy)]
struct RequestInfo {
    role: &'static OpInfo,
    /// The number of elements that fit, if it receives.
    capacity: usize,
}

impl<R: Deref<Target = Rooms>> Batch<R> {
    /// A batch for requests on `comm`.
    #[inline(always)]
    pub(crate) fn new(comm: &Communicator, rooms: R) -> Self {
        Self {
            rooms,
            used: Cell::new(0),
            holes: Cell::new(0),
            shift: comm.request_shift(),
            cancelling: Cell::new(false),
        }
    }

    /// A free room; `None` if there is none.
    #[inline(always)]
    pub(crate) fn room(&self) -> Option<u32> {
        let used = self.used.get();
        if (used as usize) < ROOMS {
            Some(used)
        } else {
            self.hole()
        }
    }

    #[cold]
    #[inline(never)]
    fn hole(&self) -> Option<u32> {
        let holes = self.holes.get();
        (holes != 0).then(|| holes.trailing_zeros())
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.used.get() == 0
    }

    /// Starts a send in `room`, which was free.
    ///
    /// # Safety
    /// Until the request is complete, `data` stays where it is and does not change.
    #[inline(always)]
    pub(crate) unsafe fn isend<T: Pod>(
        &self,
        comm: &Comm,
        room: u32,
        data: &[T],
        dest: Destination,
        tag: i32,
    ) -> Result<u32> {
        let place = self.place(room);
        // SAFETY: by this function's contract; the place is that of the room.
        let code = unsafe { comm.isend_small(SendMode::Standard, data, dest, tag, place) };
        let role = SendMode::Standard.role();
        check(code, role.operation)?;
        self.take(room, RequestInfo { role, capacity: 0 });
        Ok(room)
    }

    /// Starts a receive of elements of `T` in `room`, which was free.
    #[inline(always)]
    pub(crate) fn irecv<T: Pod>(
        &self,
        comm: &Unclaimed<&Comm>,
        room: u32,
        role: &'static OpInfo,
        span: RawSlice,
        source: Source,
        tag: Tag,
    ) -> Result<u32> {
        let comm = comm.0;
        let place = self.place(room);
        let (start, count) = (span.start(), small_bytes(span.bytes()));
        // SAFETY: the span is promised until the request is over; this library writes no more than
        // `count`; the place is that of the room.
        let code = unsafe { comm.irecv_small(start, count, source, tag, place) };
        let capacity = span.bytes().checked_div(size_of::<T>()).unwrap_or(0);
        if code != sys::MPI_SUCCESS {
            let (status, width) = (Status::null(), size_of::<T>());
            return Err(not_received(code, role.operation, capacity, width, &status));
        }
        self.take(room, RequestInfo { role, capacity });
        Ok(room)
    }

    /// Keeps a request without a received length to find out in `room`, which was free.
    #[inline(always)]
    pub(crate) fn adopt(&self, room: u32, role: &'static OpInfo, request: &Request) {
        let (from, to) = (ptr::from_ref(request), self.place(room));
        // Lengths that are known at compile time are copied without a call.
        match self.shift {
            // SAFETY: a request of the library's has four bytes, in its cell and in its room, which
            // are apart.
            2 => unsafe { ptr::copy_nonoverlapping(from.cast::<[u32; 1]>(), to.cast(), 1) },
            // SAFETY: the same with eight.
            _ => unsafe { ptr::copy_nonoverlapping(from.cast::<[u32; 2]>(), to.cast(), 1) },
        }
        self.take(room, RequestInfo { role, capacity: 0 });
    }

    #[inline(always)]
    fn take(&self, room: u32, part: RequestInfo) {
        let parts = self.rooms.parts.get().cast::<MaybeUninit<RequestInfo>>();
        // SAFETY: rooms are below `ROOMS`.
        let place = unsafe { parts.add(room as usize) };
        // SAFETY: inside the array; nobody holds a reference into it.
        unsafe { place.write(MaybeUninit::new(part)) };
        if room == self.used.get() {
            self.used.set(room + 1);
        } else {
            self.holes.set(self.holes.get() & !(1 << room));
        }
    }

    /// The address of the request of a room.
    #[inline(always)]
    fn place(&self, room: u32) -> *mut Request {
        let start = self.rooms.requests.get().cast::<u8>();
        // SAFETY: rooms are below `ROOMS`, and a request has at most the 8 bytes that there are for
        // each.
        unsafe { start.add((room as usize) << self.shift) }.cast()
    }

    fn part(&self, room: u32) -> RequestInfo {
        let parts = self.rooms.parts.get().cast::<MaybeUninit<RequestInfo>>();
        // SAFETY: inside the array: only rooms that were taken are asked for.
        let place = unsafe { parts.add(room as usize) };
        // SAFETY: nobody holds a reference into the array.
        let part = unsafe { place.read() };
        // SAFETY: written when the room was taken.
        unsafe { part.assume_init() }
    }

    fn is_over(&self, room: u32) -> bool {
        room >= self.used.get() || self.holes.get() & 1 << room != 0
    }

    fn leave(&self, room: u32) {
        self.holes.set(self.holes.get() | 1 << room);
        // The last rooms need no holes.
        while self.used.get() > 0 && self.holes.get() & 1 << (self.used.get() - 1) != 0 {
            self.used.set(self.used.get() - 1);
            self.holes.set(self.holes.get() & !(1 << self.used.get()));
        }
    }

    /// The outcome of the request of a room, if it is complete; the room is free then.
    pub(crate) fn test(&self, comm: &Communicator, room: u32) -> Option<Result<Status>> {
        if self.is_over(room) {
            return Some(Ok(Status::null()));
        }
        let mut words = EMPTY_STATUS;
        let code = self.ask(room, &mut words)?;
        Some(self.outcome(comm, room, code, &words))
    }

    /// Tests a request that was not complete; the code, if it is complete now.
    fn ask(&self, room: u32, words: &mut Words) -> Option<c_int> {
        let mut flag: c_int = 0;
        let place = self.place(room);
        // SAFETY: the request was begun and is not over; flag and status are ours.
        let code = unsafe { native::MPI_Test(place, &raw mut flag, status::to_write(words)) };
        (code != sys::MPI_SUCCESS || flag != 0).then_some(code)
    }

    /// Waits for the request of a room.
    pub(crate) fn wait(&self, comm: &Communicator, room: u32) -> Result<Status> {
        if self.is_over(room) {
            return Ok(Status::null());
        }
        let mut words = EMPTY_STATUS;
        let place = self.place(room);
        // SAFETY: the request was begun and is not over; the status is ours.
        let code = unsafe { native::MPI_Wait(place, status::to_write(&mut words)) };
        self.outcome(comm, room, code, &words)
    }

    fn outcome(
        &self,
        comm: &Communicator,
        room: u32,
        code: c_int,
        words: &Words,
    ) -> Result<Status> {
        let part = self.part(room);
        self.leave(room);
        let count_word = match comm.backend() {
            Backend::Mpi(comm) => comm.count_word,
            Backend::InProcess(_) => status::CountWord::default(),
        };
        outcome(code, words, part.role, part.capacity, count_word)
    }

    /// Waits for all requests.
    ///
    /// Statuses are not requested: they would cost as much as all else that is done for a request,
    /// and nobody reads them.
    #[inline(always)]
    pub(crate) fn wait_all(&self, comm: impl Over<Target = Comm>) -> Result<()> {
        if self.used.get() == 1 {
            return self.wait_alone(comm);
        }
        // SAFETY: that many requests lie side by side, begun or null; no statuses are asked for.
        let code = unsafe {
            wait_all(
                self.count(),
                self.rooms.requests.get().cast(),
                ptr::null_mut(),
            )
        };
        comm.over();
        if code != sys::MPI_SUCCESS {
            return self.one_by_one(&comm, code);
        }
        self.holes.set(0);
        self.used.set(0);
        Ok(())
    }

    /// Waits for the one request that there is: libraries do that in fewer steps.
    #[inline(always)]
    fn wait_alone(&self, comm: impl Over<Target = Comm>) -> Result<()> {
        let place = self.place(0);
        // SAFETY: the request was begun and is not over, or the room were free; no status is asked
        // for.
        let code = unsafe { native::MPI_Wait(place, comm.status_ignore.pointer()) };
        comm.over();
        if code != sys::MPI_SUCCESS {
            return self.one_by_one(&comm, code);
        }
        self.used.set(0);
        Ok(())
    }

    #[expect(clippy::cast_possible_wrap, reason = "at most ROOMS")]
    fn count(&self) -> c_int {
        self.used.get() as c_int
    }

    /// As [`wait_all`](Self::wait_all), on the slow path.
    #[cold]
    pub(crate) fn wait_all_of(&self, comm: &Communicator) -> Result<()> {
        match comm.backend() {
            Backend::Mpi(comm) => self.wait_all(comm),
            Backend::InProcess(_) => Ok(()),
        }
    }

    /// Waits for the requests that are still pending after an error.
    #[cold]
    #[inline(never)]
    fn one_by_one(&self, comm: &Comm, code: c_int) -> Result<()> {
        let mut first = Ok(());
        let mut unknown = 0;
        let mut receives = false;
        let alone = self.used.get() == 1;
        // SAFETY: the library is loaded, as there is a `Comm`.
        let null = unsafe { native::request_null() };
        for room in (0..self.used.get()).filter(|&room| !self.is_over(room)) {
            let part = self.part(room);
            if comm.request_at(self.place(room)) == null {
                if alone {
                    // The code is its own.
                    first = outcome(
                        code,
                        &EMPTY_STATUS,
                        part.role,
                        part.capacity,
                        comm.count_word,
                    )
                    .map(drop);
                }
                unknown += 1;
                receives |= part.role.element.is_some();
                continue;
            }
            let mut status = EMPTY_STATUS;
            // SAFETY: the request was begun and is not over; the status is ours.
            let own = unsafe { native::MPI_Wait(self.place(room), status::to_write(&mut status)) };
            if own != sys::MPI_SUCCESS && first.is_ok() {
                first = outcome(own, &status, part.role, part.capacity, comm.count_word).map(drop);
            }
        }
        self.used.set(0);
        self.holes.set(0);
        first.and_then(|()| Err(one_of(unknown, receives, code)))
    }

    /// Cancels the receives that have no message, once: Open MPI 4.1 ends by a signal if one is
    /// cancelled twice.
    pub(crate) fn cancel_all(&self) {
        if self.cancelling.replace(true) {
            return;
        }
        for room in (0..self.used.get()).filter(|&room| !self.is_over(room)) {
            if self.part(room).role.element.is_some() {
                // SAFETY: the request was begun and is not over.
                unsafe { native::MPI_Cancel(self.place(room)) };
            }
        }
    }

    /// Frees the rooms of requests that are complete; returns the first error.
    #[cold]
    pub(crate) fn test_each(&self, comm: &Communicator) -> Result<()> {
        let mut outcome = Ok(());
        for room in 0..self.used.get() {
            if !self.is_over(room)
                && let Some(ended) = self.test(comm, room)
            {
                outcome = outcome.and(ended.map(drop));
            }
        }
        outcome
    }

    /// The C names of the pending requests.
    pub(crate) fn operations(&self) -> impl Iterator<Item = &'static str> {
        (0..self.used.get())
            .filter(|&room| !self.is_over(room))
            .map(|room| self.part(room).role.operation())
    }

    /// Frees the rooms of requests that are complete, whatever their outcome.
    pub(crate) fn test_all(&self) {
        for room in 0..self.used.get() {
            let mut words = EMPTY_STATUS;
            if !self.is_over(room) && self.ask(room, &mut words).is_some() {
                self.leave(room);
            }
        }
    }
}

/// The error if one of so many has failed, and there are no statuses to tell which.
#[cold]
fn one_of(operations: usize, receives: bool, code: c_int) -> Error {
    const OPERATION: &str = "MPI_Waitall";
    if class(code) != sys::MPI_ERR_IN_STATUS || !receives {
        return failed(code, OPERATION, &"");
    }
    let text = format_args!(
        "one of {} that were waited for together has failed; what fails a receive is a message \
         longer than its buffer; wait for each request to see which it is (MPI_ERR_IN_STATUS, {})",
        Count(operations, "operation"),
        library()
    );
    Error::new(ErrorKind::Truncated, OPERATION, text).with_code(code, sys::MPI_ERR_IN_STATUS)
}
