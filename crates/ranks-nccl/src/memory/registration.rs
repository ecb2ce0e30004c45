//! Buffers that the library knows before they are used, so that it need not copy.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, RangeBounds};
use std::ptr;
use std::sync::Arc;

use bytemuck::Pod;
use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::{DeviceSlice, DeviceSliceMut, DeviceVec, DeviceViewMut};

use crate::communicator::NcclCommunicator;
use crate::error::of_driver;
use crate::state::Shared;
use crate::state::memory_handle::MemoryHandle;
use crate::state::open_group;

const REGISTER: &str = "ncclCommRegister";

/// A buffer that is registered with a communicator: operations on it, and on parts of it, need no
/// copies inside of NCCL where that knows a way.
///
/// It owns the buffer, and is memory of the device itself, for operations that own and that borrow.
/// What is read of it is had by `Deref`; of a [`DeviceVec`] also [parts to be written
/// to](Self::slice_mut). It keeps the communicator.
///
/// Dropped, it is taken back when nobody works on it any more: at the next registration, or with
/// the communicator.
#[doc(alias = "ncclCommRegister")]
#[doc(alias = "ncclCommDeregister")]
pub struct Registered<B: DeviceSlice + Send + 'static> {
    /// Taken once: by `forget`, or by `drop`.
    buffer: ManuallyDrop<B>,
    known: MemoryHandle,
    shared: Arc<Shared>,
}

impl NcclCommunicator {
    /// Registers a buffer, which is best one of [`alloc`](Self::alloc).
    ///
    /// ```no_run
    /// # use ranks::collectives::ops::Sum;
    /// # use ranks::nccl::NcclCommunicator;
    /// # fn sums(comm: &NcclCommunicator, stream: &ranks::cuda::CudaStream) -> ranks::Result<()> {
    /// let mut data = comm.register(comm.alloc::<f32>(1024)?)?;
    /// for _ in 0..100 {
    ///     comm.scope(stream, |s| s.allreduce_in_place(&mut data, Sum))?;
    /// }
    /// let data = data.release()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`NotInLibrary`](ErrorKind::NotInLibrary) before NCCL 2.19,
    /// [`Argument`](ErrorKind::Argument) for a buffer of no bytes; otherwise as [all
    /// operations](crate#operations).
    #[doc(alias = "ncclCommRegister")]
    pub fn register<B>(&self, buffer: B) -> Result<Registered<B>>
    where
        B: DeviceSlice + Send + 'static,
    {
        open_group::none_open(REGISTER)?;
        let shared = self.shared();
        let bytes = registrable(REGISTER, shared, &buffer)?;
        // There must be a stream when it is dropped.
        shared.own_stream()?;
        shared.deregister_dropped();
        let address = buffer.address() as *mut c_void;
        let mut handle: *mut c_void = ptr::null_mut();
        shared.call(REGISTER, |table, comm| {
            let register = table.ncclCommRegister?;
            // SAFETY: the communicator is alive, the buffer has so many bytes, and the handle is
            // written to a place for one.
            Some(unsafe { register(comm, address, bytes, &raw mut handle) })
        })?;
        let known = MemoryHandle::Buffer(handle.expose_provenance());
        Ok(Registered::of(buffer, known, shared))
    }
}

/// The size of a buffer in bytes, if it has any and is of the communicator's device.
pub(crate) fn registrable<S: DeviceSlice>(
    operation: &'static str,
    shared: &Shared,
    buffer: &S,
) -> Result<usize> {
    shared.own_memory(operation, buffer)?;
    let bytes = buffer.len() * size_of::<S::Element>();
    if bytes == 0 {
        let text = "a buffer of no bytes cannot be registered";
        return Err(Error::new(ErrorKind::Argument, operation, text));
    }
    Ok(bytes)
}

impl<B: DeviceSlice + Send + 'static> Registered<B> {
    /// A buffer that the library knows by this handle.
    pub(super) fn of(buffer: B, known: MemoryHandle, shared: &Arc<Shared>) -> Self {
        Self {
            buffer: ManuallyDrop::new(buffer),
            known,
            shared: Arc::clone(shared),
        }
    }

    pub(super) fn known(&self) -> MemoryHandle {
        self.known
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Waits until nobody works on it any more, takes it back, and gives the buffer.
    ///
    /// # Errors
    /// As [all operations](crate#operations). The buffer is then freed later.
    #[doc(alias = "ncclCommDeregister")]
    pub fn release(mut self) -> Result<B> {
        self.rest("ncclCommDeregister")?;
        self.forget()
    }

    /// Waits until nobody works on it any more.
    pub(super) fn rest(&mut self, call: &'static str) -> Result<()> {
        open_group::none_open(call)?;
        let event = self.shared.after_use(&mut *self.buffer)?;
        let over = || event.query().map_err(|error| of_driver(call, error));
        self.shared.until(call, None, over)
    }

    /// Lets the library forget what nobody works on, and gives the buffer.
    pub(super) fn forget(self) -> Result<B> {
        self.shared.forget(self.known)?;
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, so that its fields are taken once. So below.
        let buffer = unsafe { ManuallyDrop::take(&mut this.buffer) };
        // SAFETY: as above.
        unsafe { ptr::drop_in_place(&raw mut this.shared) };
        Ok(buffer)
    }
}

impl<T: Pod> Registered<DeviceVec<T>> {
    /// Some elements of it, to be written to.
    ///
    /// # Errors
    /// [`Argument`](ranks_cuda::ErrorKind::Argument) for a range that it does not have.
    pub fn slice_mut(
        &mut self,
        range: impl RangeBounds<usize>,
    ) -> ranks_cuda::Result<DeviceViewMut<'_, T>> {
        self.buffer.slice_mut(range)
    }
}

impl<B: DeviceSlice + Send + 'static> Deref for Registered<B> {
    type Target = B;

    fn deref(&self) -> &B {
        &self.buffer
    }
}

ranks_cuda::device_slice_by! {
    // SAFETY: the buffer is owned, and never lent so that another could take its place.
    unsafe impl[B: DeviceSlice + Send + 'static] Registered<B>: B::Element, |this| this.buffer, mut this.buffer;
}

// SAFETY: as above.
unsafe impl<B: DeviceSliceMut + Send + 'static> DeviceSliceMut for Registered<B> {}

impl<B: DeviceSlice + Send + 'static> Drop for Registered<B> {
    fn drop(&mut self) {
        // SAFETY: taken here, or by `forget`, which prevents this drop.
        let buffer = unsafe { ManuallyDrop::take(&mut self.buffer) };
        self.shared.put_aside(self.known, buffer);
    }
}

impl<B: DeviceSlice + Send + 'static> fmt::Debug for Registered<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} registered elements", self.len())
    }
}
