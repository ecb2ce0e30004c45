//! Memory of operations: the caller's, by its address, or a copy.
//!
//! # Safety
//!
//! A [`PromisedMemory`] is what the caller of an `unsafe fn` of
//! [`RawCollectives`](crate::RawCollectives) says of its memory: an address, and so many bytes that
//! may be read or written until the operation is complete. An address gets into [`Elements`] only
//! where that is so until nobody works on it any more, which `Places::given` decides.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::Pod;
use ranks_comm::{RecvBuffer, Result, SendBuffer};
use ranks_cuda::{Context, DeviceBytes};

use super::pool::{Pool, Staged};
use crate::driver::of_driver;

/// The name of copies in errors.
const NAME: &str = "RawComm";

/// Memory that the caller has promised for an operation.
#[derive(Debug, Clone)]
pub(crate) struct PromisedMemory {
    address: *mut u8,
    bytes: usize,
    kind: Kind,
}

// SAFETY: an address; what may be done with it is promised by the caller for any thread.
unsafe impl Send for PromisedMemory {}

/// Whose memory it is.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// The host's.
    Host,
    /// A device's. Where the library takes its addresses they are passed on, and nobody here looks
    /// behind them.
    Device { context: Context, taken: bool },
}

impl PromisedMemory {
    /// No memory.
    pub(crate) const NONE: Self = Self {
        address: std::ptr::null_mut(),
        bytes: 0,
        kind: Kind::Host,
    };

    pub(crate) fn new(address: *const c_void, bytes: usize, kind: Kind) -> Self {
        let address = address.cast_mut().cast();
        Self {
            address,
            bytes,
            kind,
        }
    }

    /// The same memory, of which the library is given a copy where it is a device's: for operations
    /// that look at elements here.
    pub(crate) fn seen_here(mut self) -> Self {
        if let Kind::Device { taken, .. } = &mut self.kind {
            *taken = false;
        }
        self
    }

    fn overlaps(&self, other: &Self) -> bool {
        let (start, other_start) = (self.address.addr(), other.address.addr());
        start < other_start.saturating_add(other.bytes)
            && other_start < start.saturating_add(self.bytes)
    }

    fn suits<T>(&self) -> bool {
        !matches!(self.kind, Kind::Device { taken: false, .. })
            && self.address.addr().is_multiple_of(align_of::<T>())
    }

    /// Memory for a copy.
    fn room(&self, pool: &Arc<Pool>) -> Result<Staged> {
        match &self.kind {
            Kind::Host => pool.take(self.bytes),
            Kind::Device { context, .. } => pool.take_pinned(self.bytes, context),
        }
    }

    /// The first so many bytes, which are a device's.
    ///
    /// # Safety
    /// They may be used as long as that is.
    unsafe fn on<'c>(&self, context: &'c Context, bytes: usize) -> DeviceBytes<'c> {
        // SAFETY: by this function's contract.
        unsafe { DeviceBytes::at(context, self.address.addr() as u64, bytes) }
    }

    /// A copy of what is there.
    ///
    /// # Safety
    /// It may be read now.
    unsafe fn read(&self, pool: &Arc<Pool>) -> Result<Staged> {
        let mut copy = self.room(pool)?;
        if let Kind::Device { context, .. } = &self.kind {
            // SAFETY: by this function's contract; the copy is over when it returns.
            let there = unsafe { self.on(context, self.bytes) };
            let copied = context.copy_to_host(&there, copy.bytes_mut());
            copied.map_err(|error| of_driver(NAME, error))?;
        } else if self.bytes > 0 {
            let to = copy.bytes_mut().as_mut_ptr();
            // SAFETY: by this function's contract; the copy has as many bytes, and is memory of its
            // own.
            unsafe { std::ptr::copy_nonoverlapping(self.address, to, self.bytes) };
        }
        Ok(copy)
    }

    /// Puts bytes there, as many as fit.
    ///
    /// # Safety
    /// It may be written now.
    pub(crate) unsafe fn write(&self, bytes: &[u8]) -> Result<()> {
        let length = bytes.len().min(self.bytes);
        if let Kind::Device { context, .. } = &self.kind {
            // SAFETY: by this function's contract; the copy is over when it returns.
            let mut there = unsafe { self.on(context, length) };
            let copied = context.copy_to_device(&bytes[..length], &mut there);
            return copied.map_err(|error| of_driver(NAME, error));
        }
        if length > 0 {
            // SAFETY: by this function's contract; `bytes` are a copy's.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.address, length) };
        }
        Ok(())
    }
}

/// Elements of `T` for an operation under way.
#[derive(Debug)]
pub(crate) struct Elements<T> {
    of: Of,
    elements: PhantomData<T>,
}

#[derive(Debug)]
enum Of {
    Given(NonNull<u8>, usize),
    Staged(Staged),
}

// SAFETY: the address is good for any thread, by the promise of the caller, and what is there is
// plain data.
unsafe impl<T: Pod> Send for Elements<T> {}

impl<T: Pod> Elements<T> {
    fn given(side: &PromisedMemory) -> Self {
        let start = NonNull::new(side.address).filter(|_| side.bytes > 0);
        Self {
            of: Of::Given(start.unwrap_or(NonNull::<T>::dangling().cast()), side.bytes),
            elements: PhantomData,
        }
    }

    fn copy(copy: Staged) -> Self {
        Self {
            of: Of::Staged(copy),
            elements: PhantomData,
        }
    }
}

// SAFETY: neither the caller's memory nor what a copy owns moves with the value. The caller changes
// nothing until the operation is over.
unsafe impl<T: Pod> SendBuffer for Elements<T> {
    type Element = T;

    fn as_slice(&self) -> &[T] {
        match &self.of {
            Of::Given(start, bytes) => {
                let (start, length) = (start.cast::<T>(), bytes / size_of::<T>().max(1));
                // SAFETY: so many bytes are there, aligned for `T`, by `Places`, and plain data.
                unsafe { std::slice::from_raw_parts(start.as_ptr(), length) }
            }
            Of::Staged(copy) => bytemuck::cast_slice(copy.bytes()),
        }
    }
}

// SAFETY: as above; what is received into is this operation's alone until it is over.
unsafe impl<T: Pod> RecvBuffer for Elements<T> {
    fn as_mut_slice(&mut self) -> &mut [T] {
        match &mut self.of {
            Of::Given(start, bytes) => {
                let (start, length) = (start.cast::<T>(), *bytes / size_of::<T>().max(1));
                // SAFETY: so many bytes are there, aligned for `T`, by `Places`, and plain data,
                // and nobody else uses them.
                unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), length) }
            }
            Of::Staged(copy) => bytemuck::cast_slice_mut(copy.bytes_mut()),
        }
    }
}

/// The place of the results of an operation that is complete.
pub(crate) trait Received {
    /// The bytes that were received.
    fn received(&self) -> &[u8];
}

impl<T: Pod> Received for Elements<T> {
    fn received(&self) -> &[u8] {
        bytemuck::cast_slice(self.as_slice())
    }
}

impl<S, R: Received> Received for (S, R) {
    fn received(&self) -> &[u8] {
        self.1.received()
    }
}

impl Received for () {
    fn received(&self) -> &[u8] {
        &[]
    }
}

/// A change to the copy that is sent.
pub(crate) type Change = dyn Fn(&mut [u8]);

/// Makes places for operations.
#[derive(Debug)]
pub(crate) struct Places {
    pool: Arc<Pool>,
    /// `true` if operations work on the caller's memory, which they are done with as soon as `sync`
    /// has returned, whatever it has returned.
    given: bool,
}

impl Places {
    /// With `given`, operations work on the caller's memory where they can.
    ///
    /// # Safety
    /// If `given` is set, nobody uses a place after the caller's promise has ended: the backend
    /// lets go of it when it is dropped, or the caller has promised more, or sees no error.
    pub(crate) unsafe fn new(given: bool) -> Self {
        let pool = Arc::new(Pool::default());
        Self { pool, given }
    }

    /// Returns `true` if operations work on the caller's memory where they can.
    pub(crate) fn are_given(&self) -> bool {
        self.given
    }

    /// A place to send from.
    ///
    /// # Safety
    /// The caller has promised that `side` may be read.
    pub(crate) unsafe fn send<T: Pod>(
        &self,
        side: &PromisedMemory,
        copy: bool,
    ) -> Result<Elements<T>> {
        if self.given && !copy && side.suits::<T>() {
            return Ok(Elements::given(side));
        }
        // SAFETY: by this function's contract.
        unsafe { side.read(&self.pool) }.map(Elements::copy)
    }

    /// A place to receive into, and where to copy it to when the operation is over.
    ///
    /// # Safety
    /// The caller has promised that `side` may be written, and also read if `filled` asks for what
    /// is in it.
    pub(crate) unsafe fn recv<T: Pod>(
        &self,
        side: PromisedMemory,
        copy: bool,
        filled: bool,
    ) -> Result<(Elements<T>, Option<PromisedMemory>)> {
        if self.given && !copy && side.suits::<T>() {
            return Ok((Elements::given(&side), None));
        }
        let copy = if filled {
            // SAFETY: by this function's contract.
            unsafe { side.read(&self.pool) }?
        } else {
            side.room(&self.pool)?
        };
        Ok((Elements::copy(copy), Some(side)))
    }

    /// Places for both sides. Of two that overlap the shorter is a copy.
    ///
    /// # Safety
    /// As for [`send`](Self::send) and [`recv`](Self::recv).
    pub(crate) unsafe fn both<T: Pod>(
        &self,
        send: &PromisedMemory,
        recv: PromisedMemory,
        change: Option<&Change>,
    ) -> Result<(Elements<T>, Elements<T>, Option<PromisedMemory>)> {
        let overlap = send.overlaps(&recv);
        let copy_send = change.is_some() || overlap && send.bytes <= recv.bytes;
        let copy_recv = overlap && recv.bytes < send.bytes;
        // SAFETY: by this function's contract.
        let mut from = unsafe { self.send::<T>(send, copy_send) }?;
        if let (Some(change), Of::Staged(copy)) = (change, &mut from.of) {
            change(copy.bytes_mut());
        }
        // SAFETY: by this function's contract.
        let (to, out) = unsafe { self.recv::<T>(recv, copy_recv, false) }?;
        Ok((from, to, out))
    }
}
