//! Memory of the program's own that NVSHMEM is told of.
#![allow(unsafe_code)]

use std::fmt;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::{DeviceSlice, DeviceSliceMut};

use crate::backend::block::{Block, Known};
use crate::backend::names::{REGISTER, REGISTER_SYMMETRIC, UNREGISTER};
use crate::call::check;
use crate::call::error::of_driver;
use crate::heap::symmetric_vec::SymmetricVec;
use crate::pe::Gone;
use crate::pe::handle::Nvshmem;

/// Memory of this PE's device that NVSHMEM puts from and gets into directly, also over a network:
/// what [`Nvshmem::register`] makes.
///
/// It is a [`DeviceSlice`]: operations take it as [`OnDevice`](crate::OnDevice)`(&registered)`. It
/// ends, with the memory, when it is dropped and nothing that was enqueued is under way any more.
pub struct Registered<'c, D: DeviceSlice + 'static> {
    heap: &'c Nvshmem<'c>,
    /// Taken when this ends.
    memory: Option<D>,
}

impl Nvshmem<'_> {
    /// Tells NVSHMEM of memory of this PE's device. Each PE does so for itself.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for memory of another device or driver; [`ErrorKind::NotAvailable`]
    /// in process; what the library reports.
    #[doc(alias = "nvshmemx_buffer_register")]
    pub fn register<D: DeviceSlice + 'static>(&self, memory: D) -> Result<Registered<'_, D>> {
        let backend = self.begin(REGISTER)?;
        let bytes = self.own_bytes(REGISTER, &memory)?;
        if bytes > 0 {
            backend.register(memory.address(), bytes)?;
        }
        let memory = Some(memory);
        Ok(Registered { heap: self, memory })
    }

    /// Makes memory that every PE has on its device, as long on each, part of the symmetric heap.
    /// What is in it stays. Collective.
    ///
    /// It must be made by `cuMemCreate`, with handles that can be shared, and be a whole number of
    /// its granularity long: memory of [`Context::alloc`](ranks_cuda::Context::alloc) is not.
    ///
    /// # Errors
    /// The same on all PEs: [`ErrorKind::NotInLibrary`] before NVSHMEM 3.3,
    /// [`ErrorKind::NotAvailable`] in process, [`ErrorKind::Mismatch`] if the lengths differ,
    /// [`ErrorKind::Argument`] for memory of another device and for none; what the library reports.
    #[doc(alias = "nvshmemx_buffer_register_symmetric")]
    pub fn register_symmetric<D>(&self, memory: D) -> Result<SymmetricVec<'_, D::Element>>
    where
        D: DeviceSliceMut + 'static,
    {
        let bytes = self.own_bytes(REGISTER_SYMMETRIC, &memory);
        let bytes = bytes.and_then(|bytes| {
            if bytes > 0 {
                return Ok(bytes);
            }
            let text = "there is no memory to register";
            Err(Error::new(ErrorKind::Argument, REGISTER_SYMMETRIC, text))
        });
        let (bytes, fit) = match bytes {
            Ok(bytes) => (bytes, Ok(())),
            Err(error) => (0, Err(error)),
        };
        let (len, number) = (memory.len(), self.pe().blocks.get());
        let size = size_of::<D::Element>() as u64;
        self.meet(REGISTER_SYMMETRIC, &[len as u64, size, number], fit)?;
        self.pe().blocks.set(number.saturating_add(1));
        let address = memory.address();
        let backend = self.begin(REGISTER_SYMMETRIC)?;
        let made = backend.register_symmetric(address, bytes, number, Box::new(memory));
        let block = self.made(REGISTER_SYMMETRIC, made)?;
        Ok(SymmetricVec::of(self, Some(block), len))
    }

    /// Returns the size in bytes of memory that is of this PE's device.
    fn own_bytes<D: DeviceSlice>(&self, operation: &'static str, memory: &D) -> Result<usize> {
        let Some(context) = self.context() else {
            let text = "in process there is no device, whose memory could be registered";
            return Err(Error::new(ErrorKind::NotAvailable, operation, text));
        };
        let cuda = memory.cuda().map_err(|error| of_driver(operation, error))?;
        let (here, there) = (context.device().ordinal(), memory.ordinal());
        if cuda != context.cuda() || here != there {
            let text =
                format_args!("the memory is of device {there}, and the PE's is device {here}");
            return Err(Error::new(ErrorKind::Argument, operation, text));
        }
        check::bytes::<D::Element>(operation, memory.len())
    }

    /// Tells the library that memory is gone, unless it may work on it still.
    pub(crate) fn forget_registrations(&self) {
        let pe = self.pe();
        let none = pe.gone.borrow().is_empty();
        if none
            || pe
                .in_flight
                .settle(UNREGISTER, Some(Default::default()))
                .is_err()
        {
            return;
        }
        for one in pe.gone.take() {
            let told = self
                .begin(UNREGISTER)
                .and_then(|backend| backend.unregister(one.address));
            if told.is_ok() {
                one.memory.release();
            }
        }
    }
}

/// The message that tells the others of the outcome.
fn said<T>(operation: &'static str, outcome: &Result<T>) -> Result<Vec<u8>> {
    match outcome {
        Ok(_) => Ok(Vec::new()),
        Err(error) => Err(Error::with_text(error.kind(), operation, error.to_string())),
    }
}

impl Nvshmem<'_> {
    /// The block that all PEs have made, or the error of all. Collective.
    ///
    /// # Errors
    /// As [`tell`](Self::tell). One that is not the library's own refusal leaves PEs apart, and the
    /// heap cannot be used any more.
    pub(crate) fn made(&self, operation: &'static str, made: Result<Block>) -> Result<Block> {
        let told = self.tell(operation, said(operation, &made));
        let refusals = [
            ErrorKind::Memory,
            ErrorKind::Library,
            ErrorKind::NotInLibrary,
        ];
        for error in [told.as_ref().err(), made.as_ref().err()]
            .into_iter()
            .flatten()
        {
            if !refusals.contains(&error.kind()) {
                self.pe().fail(error);
            }
        }
        told?;
        made
    }
}

impl<D: DeviceSlice + 'static> Registered<'_, D> {
    fn memory(&self) -> &D {
        match &self.memory {
            Some(memory) => memory,
            None => unreachable!("the memory is taken by `drop` alone"),
        }
    }

    fn memory_mut(&mut self) -> &mut D {
        match &mut self.memory {
            Some(memory) => memory,
            None => unreachable!("the memory is taken by `drop` alone"),
        }
    }
}

impl<D: DeviceSlice + 'static> Drop for Registered<'_, D> {
    #[doc(alias = "nvshmemx_buffer_unregister")]
    fn drop(&mut self) {
        // What has no bytes the library was not told of.
        let has_bytes = |memory: &D| !memory.is_empty() && size_of::<D::Element>() > 0;
        if let Some(memory) = self.memory.take().filter(has_bytes) {
            let (address, memory) = (memory.address(), Known::new(Box::new(memory)));
            let gone = Gone { address, memory };
            self.heap.pe().gone.borrow_mut().push(gone);
            self.heap.forget_registrations();
        }
    }
}

ranks_cuda::device_slice_by! {
    // SAFETY: the memory is not moved out before this ends, and kept then until the heap is idle.
    unsafe impl[D: DeviceSlice + 'static] Registered<'_, D>: D::Element, |this| this.memory(), mut this.memory_mut();
}

// SAFETY: as of the memory, which this owns.
unsafe impl<D: DeviceSliceMut + 'static> DeviceSliceMut for Registered<'_, D> {}

impl<D: DeviceSlice + 'static> fmt::Debug for Registered<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} registered elements on device {}",
            self.len(),
            self.ordinal()
        )
    }
}
