//! Up to 64 requests side by side in the library's own width, completed by one call.

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::native;

use super::communicator::Comm;
use super::error::{check, class, failed};
use super::express::Unclaimed;
use super::flight::{Cell as Request, SEND, SendMode, outcome, whole};
use super::status;
use crate::backend::Backend;
use crate::communicator::Communicator;
use crate::element::Pod;
use crate::error::Result;
use crate::landing::Role;
use crate::source::{Destination, Source};
use crate::status::{ROOM, Status, Words};
use crate::tag::Tag;

/// How many requests a batch holds.
const ROOMS: usize = 64;

/// Requests that are under way, in rooms 0 to `used`.
///
/// A room whose request was completed alone holds the null request, which the library passes over.
pub(crate) struct Batch {
    requests: UnsafeCell<[MaybeUninit<u64>; ROOMS]>,
    parts: UnsafeCell<[MaybeUninit<Part>; ROOMS]>,
    used: Cell<u32>,
    /// The rooms below `used` whose request is over, a bit each.
    holes: Cell<u64>,
    /// Whether a receive must be looked at when it is over.
    looks: Cell<bool>,
    /// How far apart the requests lie, in bytes; 0 before the first.
    stride: Cell<u32>,
}

/// What must be known of a request when it is over.
#[derive(Clone, Copy)]
struct Part {
    role: &'static Role,
    /// How many elements there is room for, if it receives.
    capacity: usize,
}

impl Batch {
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self {
            requests: UnsafeCell::new([MaybeUninit::uninit(); ROOMS]),
            parts: UnsafeCell::new([MaybeUninit::uninit(); ROOMS]),
            used: Cell::new(0),
            holes: Cell::new(0),
            looks: Cell::new(false),
            stride: Cell::new(0),
        }
    }

    /// A room for one more; `None` if there is none.
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

    /// Begins a send in `room`, which was free.
    ///
    /// # Safety
    /// Until the request is over, `data` stays where it is and does not change.
    #[inline(always)]
    pub(crate) unsafe fn isend<T: Pod>(
        &self,
        comm: &Comm,
        room: u32,
        data: &[T],
        dest: Destination,
        tag: i32,
    ) -> Result<u32> {
        let place = self.place(comm, room);
        // SAFETY: by this function's contract; the place is that of the room.
        let code = unsafe { comm.isend_small(SendMode::Standard, data, dest, tag, place) };
        check(code, SEND.operation)?;
        let role = &SEND;
        self.take(room, Part { role, capacity: 0 });
        Ok(room)
    }

    /// Begins a receive in `room`, which was free.
    ///
    /// # Safety
    /// Until the request is over, `buf` stays where it is and nobody else looks at it.
    #[inline(always)]
    pub(crate) unsafe fn irecv<T: Pod>(
        &self,
        comm: &Unclaimed<'_>,
        room: u32,
        role: &'static Role,
        buf: &mut [T],
        source: Source,
        tag: Tag,
    ) -> Result<u32> {
        let comm = comm.0;
        let place = self.place(comm, room);
        let (start, count) = (buf.as_mut_ptr().cast(), super::buffer::small_bytes(buf));
        // SAFETY: by this function's contract; this library writes no more than `count`; the place is that of the room.
        let code = unsafe { comm.irecv_small(start, count, source, tag, place) };
        check(code, role.operation)?;
        if size_of::<T>() != 1 {
            self.looks.set(true);
        }
        let capacity = buf.len();
        self.take(room, Part { role, capacity });
        Ok(room)
    }

    #[inline(always)]
    fn take(&self, room: u32, part: Part) {
        let parts = self.parts.get().cast::<MaybeUninit<Part>>();
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

    /// Where the request of a room is.
    #[inline(always)]
    fn place(&self, comm: &Comm, room: u32) -> *mut Request {
        let stride = comm.request_stride;
        self.stride.set(stride);
        let start = self.requests.get().cast::<u8>();
        // SAFETY: rooms are below `ROOMS`, and a request has at most the 8 bytes that there are for each.
        unsafe { start.add((room * stride) as usize) }.cast()
    }

    /// The same once a request has been begun.
    fn known_place(&self, room: u32) -> *mut Request {
        let start = self.requests.get().cast::<u8>();
        // SAFETY: as in `place`.
        unsafe { start.add((room * self.stride.get()) as usize) }.cast()
    }

    fn part(&self, room: u32) -> Part {
        let parts = self.parts.get().cast::<MaybeUninit<Part>>();
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

    /// What became of the request of a room, if it is over; the room is free then.
    pub(crate) fn test(&self, comm: &Communicator, room: u32) -> Option<Result<Status>> {
        if self.is_over(room) {
            return Some(Ok(Status::null()));
        }
        let mut words = ROOM;
        let mut flag: c_int = 0;
        let place = self.known_place(room);
        // SAFETY: the request was begun and is not over; flag and status are ours.
        let code = unsafe { native::MPI_Test(place, &raw mut flag, status::to_write(&mut words)) };
        if code == sys::MPI_SUCCESS && flag == 0 {
            return None;
        }
        Some(self.outcome(comm, room, code, &words))
    }

    /// Waits for the request of a room.
    pub(crate) fn wait(&self, comm: &Communicator, room: u32) -> Result<Status> {
        if self.is_over(room) {
            return Ok(Status::null());
        }
        let mut words = ROOM;
        let place = self.known_place(room);
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

    /// Waits for all; the first error.
    #[inline]
    pub(crate) fn wait_all(&self, comm: &Comm) -> Result<()> {
        if self.looks.get() {
            return self.wait_and_look(comm);
        }
        // SAFETY: that many requests lie side by side, begun or null; no statuses are asked for.
        let code = unsafe {
            native::MPI_Waitall(self.count(), self.requests.get().cast(), ptr::null_mut())
        };
        if code != sys::MPI_SUCCESS {
            return self.one_by_one(comm, code, None);
        }
        self.holes.set(0);
        self.used.set(0);
        Ok(())
    }

    #[inline(never)]
    fn wait_and_look(&self, comm: &Comm) -> Result<()> {
        let mut statuses = [ROOM; ROOMS];
        let array = statuses.as_mut_ptr().cast();
        // SAFETY: that many requests lie side by side, begun or null, and there is room for as many statuses.
        let code = unsafe { native::MPI_Waitall(self.count(), self.requests.get().cast(), array) };
        if code != sys::MPI_SUCCESS {
            return self.one_by_one(comm, code, Some(&statuses));
        }
        self.looks.set(false);
        let holes = self.holes.replace(0);
        for room in 0..self.used.replace(0) {
            let part = self.part(room);
            match part.role.element {
                Some(element) if holes & 1 << room == 0 => {
                    whole(
                        part.role,
                        element,
                        &words(comm, &statuses, room),
                        comm.count_word,
                    )?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    #[expect(clippy::cast_possible_wrap, reason = "at most ROOMS")]
    fn count(&self) -> c_int {
        self.used.get() as c_int
    }

    /// The same for who has not yet found out the library's communicator.
    #[cold]
    pub(crate) fn wait_all_of(&self, comm: &Communicator) -> Result<()> {
        match comm.backend() {
            Backend::Mpi(comm) => self.wait_all(comm),
            Backend::InProcess(_) => Ok(()),
        }
    }

    /// After an error: who it was, and waits for those that are still under way.
    #[cold]
    #[inline(never)]
    fn one_by_one(
        &self,
        comm: &Comm,
        code: c_int,
        statuses: Option<&[Words; ROOMS]>,
    ) -> Result<()> {
        let mut first = Ok(());
        self.looks.set(false);
        let statuses = statuses.filter(|_| class(code) == sys::MPI_ERR_IN_STATUS);
        // SAFETY: the library is loaded, as there is a `Comm`.
        let null = unsafe { native::request_null() };
        for room in 0..self.used.get() {
            if self.is_over(room) {
                continue;
            }
            let part = self.part(room);
            let mut status = ROOM;
            let mut own = sys::MPI_SUCCESS;
            if comm.request_at(self.known_place(room)) == null {
                if let Some(statuses) = statuses {
                    status = words(comm, statuses, room);
                    own = error_of(&status);
                }
            } else {
                // SAFETY: the request was begun and is not over; the status is ours.
                own = unsafe {
                    native::MPI_Wait(self.known_place(room), status::to_write(&mut status))
                };
            }
            if own != sys::MPI_SUCCESS && first.is_ok() {
                first = outcome(own, &status, part.role, part.capacity, comm.count_word).map(drop);
            }
        }
        self.used.set(0);
        self.holes.set(0);
        first.and_then(|()| Err(failed(code, "MPI_Waitall", &"")))
    }

    /// Asks the library to let go of the receives that have no message.
    pub(crate) fn cancel_all(&self) {
        for room in (0..self.used.get()).filter(|&room| !self.is_over(room)) {
            if self.part(room).role.element.is_some() {
                // SAFETY: the request was begun and is not over.
                unsafe { native::MPI_Cancel(self.known_place(room)) };
            }
        }
    }

    /// Frees the rooms of those that are over, whatever became of them.
    pub(crate) fn test_all(&self) {
        for room in 0..self.used.get() {
            if self.is_over(room) {
                continue;
            }
            let mut words = ROOM;
            let mut flag: c_int = 0;
            let place = self.known_place(room);
            // SAFETY: the request was begun and is not over; flag and status are ours.
            let code =
                unsafe { native::MPI_Test(place, &raw mut flag, status::to_write(&mut words)) };
            if code != sys::MPI_SUCCESS || flag != 0 {
                self.leave(room);
            }
        }
    }
}

/// The status of a room, of an array that the library has written.
#[inline(always)]
fn words(comm: &Comm, statuses: &[Words; ROOMS], room: u32) -> Words {
    let bytes: &[u8] = bytemuck::must_cast_slice(statuses);
    let stride = comm.status_stride as usize;
    let start = room as usize * stride;
    let mut words = ROOM;
    let room: &mut [u8] = bytemuck::must_cast_slice_mut(&mut words);
    if let (Some(from), Some(to)) = (bytes.get(start..start + stride), room.get_mut(..stride)) {
        to.copy_from_slice(from);
    }
    words
}

/// What a status says became of its request.
fn error_of(status: &Words) -> c_int {
    let ints: &[c_int; 8] = bytemuck::must_cast_ref(status);
    let error = ints.get(native::status_error_word());
    error.copied().unwrap_or(sys::MPI_ERR_UNKNOWN)
}
