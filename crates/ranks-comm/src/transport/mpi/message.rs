//! Matched messages. Their length is known, so nothing can be written past a buffer.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::mem::MaybeUninit;

use ranks_mpi_sys as sys;
use ranks_mpi_sys::native::{self, Cell};
use ranks_mpi_sys::{MPI_Count, MPI_Datatype, MPI_Message};

use super::buffer::{large_count, to_write};
use super::error::check;
use super::recv::{Fits, Room};
use crate::data::buffer::{Buffer, Memory};
use crate::data::datatype::TypeOf;
use crate::data::element::Pod;
use crate::data::raw_slice::Element;
use crate::result::status::whole;
use crate::result::{Error, Result, Status, error};

/// The message of a matched probe, which must be received once, or discarded;
/// `MPI_MESSAGE_NO_PROC` if the source was null.
#[derive(Debug)]
pub(crate) struct Message(pub(super) Cell<MPI_Message>);

impl Message {
    /// Receives it if it fits, else discards it and leaves `buf` untouched.
    #[inline]
    pub(crate) fn recv<T: Pod>(
        self,
        operation: &'static str,
        status: &Status,
        buf: &mut [T],
    ) -> Result<Status> {
        // SAFETY: the slice is borrowed until this returns.
        unsafe { self.recv_into(operation, status, &Room::of(buf)) }
    }

    /// Receives it if it fits, else discards it.
    ///
    /// # Safety
    /// The room may be written to until this returns.
    #[inline]
    pub(crate) unsafe fn recv_into(
        self,
        operation: &'static str,
        status: &Status,
        room: &Room<impl Fits>,
    ) -> Result<Status> {
        if let Err(error) = room.check(operation, status) {
            self.discard(status);
            return Err(error);
        }
        // SAFETY: by this function's contract; the message is no longer, as was compared.
        match unsafe { self.receive(room.pointer, room.count, room.datatype) } {
            sys::MPI_SUCCESS => Ok(*status),
            code => Err(room.not_received(operation, code, status)),
        }
    }

    pub(crate) fn recv_vec<T: Pod>(
        self,
        operation: &'static str,
        status: &Status,
    ) -> Result<(Vec<T>, Status)> {
        let (message, length) = self.of_whole::<T>(operation, status)?;
        let mut values = Vec::<T>::new();
        if let Err(reason) = values.try_reserve_exact(length) {
            return Err(message.no_memory(operation, status, &reason));
        }
        message.fill(operation, &mut values.spare_capacity_mut()[..length])?;
        // SAFETY: so many elements were received, of a type that any bytes are a value of (`Pod`).
        unsafe { values.set_len(length) };
        Ok((values, *status))
    }

    pub(crate) fn recv_buffer<T: Pod>(
        self,
        operation: &'static str,
        status: &Status,
    ) -> Result<(Buffer<T>, Status)> {
        let (message, length) = self.of_whole::<T>(operation, status)?;
        let mut memory = match Memory::<T>::with_room(length) {
            Ok(memory) => memory,
            Err(reason) => return Err(message.no_memory(operation, status, &reason)),
        };
        message.fill(operation, &mut memory.spare()[..length])?;
        // SAFETY: so many elements were received, of a type that any bytes are a value of (`Pod`).
        unsafe { memory.set_length(length) };
        Ok((Buffer::filled(memory), *status))
    }

    /// Checks that it is a whole number of elements, and returns that; discards it otherwise.
    fn of_whole<T: Pod>(self, operation: &'static str, status: &Status) -> Result<(Self, usize)> {
        let bytes = status.bytes();
        let Some(length) = whole::<T>(bytes) else {
            self.discard(status);
            let error = Element::of::<T>().not_whole(operation, bytes);
            return Err(error.of_message(status));
        };
        Ok((self, length))
    }

    /// Receives it into `room`, which has as many elements.
    fn fill<T: Pod>(self, operation: &'static str, room: &mut [MaybeUninit<T>]) -> Result<()> {
        let (pointer, count) = (to_write(room), large_count::<T>(room.len()));
        // SAFETY: `room` is as many elements as the message has, which are `count` items.
        let code = unsafe { self.receive(pointer, count, TypeOf::<T>::datatype()) };
        check(code, operation)
    }

    /// Leaves it unreceived, for want of memory.
    #[cold]
    fn no_memory(
        self,
        operation: &'static str,
        status: &Status,
        reason: &dyn fmt::Display,
    ) -> Error {
        self.abandon();
        error::no_memory(operation, status.bytes(), reason)
    }

    /// Receives it into memory that is freed afterwards, so that its sender can go on.
    pub(crate) fn discard(self, status: &Status) {
        let mut scratch = Vec::<u8>::new();
        let length = status.bytes();
        if scratch.try_reserve_exact(length).is_err() {
            return self.abandon();
        }
        let room = scratch.spare_capacity_mut();
        let (pointer, count) = (to_write(room), large_count::<u8>(length));
        // SAFETY: `room` holds `count` bytes, and the message is that long.
        unsafe { self.receive(pointer, count, sys::MPI_BYTE) };
    }

    /// Leaves it unreceived: there is no memory for it. The library keeps it until `MPI_Finalize`.
    pub(super) fn abandon(self) {
        eprintln!("ranks: a message was not received, because there is no memory for it");
    }

    /// # Safety
    /// There is room for `count` items of `datatype` at `pointer`, and the message is no longer
    /// than that.
    #[inline]
    unsafe fn receive(
        self,
        pointer: *mut c_void,
        count: MPI_Count,
        datatype: MPI_Datatype,
    ) -> c_int {
        let mut handle = self.0;
        let Ok(small) = c_int::try_from(count) else {
            // SAFETY: a matched probe has written it.
            let mut message = unsafe { handle.get() };
            // SAFETY: by this function's contract; the message is received once, as it is consumed
            // here. The probe has told all that a status would.
            return unsafe {
                sys::MPI_Mrecv_c(
                    pointer,
                    count,
                    datatype,
                    &raw mut message,
                    sys::MPI_STATUS_IGNORE,
                )
            };
        };
        // SAFETY: the library is loaded, as it has matched a message.
        let datatype = unsafe { native::datatype(datatype) };
        // SAFETY: as above.
        unsafe {
            native::MPI_Mrecv(
                pointer,
                small,
                datatype,
                &raw mut handle,
                native::status_ignore(),
            )
        }
    }
}
