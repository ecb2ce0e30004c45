//! Memory of the library's, and the driver's copies of it.
#![allow(unsafe_code)]

use std::any::Any;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::DeviceBytes;

use super::{LibraryHeap, not_of_device};
use crate::backend::block::{Block, Known, Local, Offset};
use crate::backend::names::{
    ALLOC, FILL, FREE, READ, REGISTER, REGISTER_SYMMETRIC, UNREGISTER, WRITE,
};
use crate::backend::stream::StreamRef;
use crate::backend::{Memory, Order, TeamHandle};
use crate::call::error::of_driver;

const UNREGISTER_SYMMETRIC: &str = "nvshmemx_buffer_unregister_symmetric";

impl Memory for LibraryHeap {
    fn alloc(&self, bytes: usize, number: u64) -> Result<Block> {
        // Not `nvshmem_calloc`, which ends the process where there is no room.
        let address = self.call(ALLOC, |table| {
            let malloc = table.nvshmem_malloc?;
            // SAFETY: the library is initialised, and all PEs call it with the same length, which
            // is not 0.
            Some(unsafe { malloc(bytes) })
        })?;
        let Some(local) = NonNull::new(address.cast::<u8>()) else {
            self.is_not_lost(ALLOC)?;
            let text = format_args!(
                "the symmetric heap has no room for {bytes} bytes on each PE; NVSHMEM_SYMMETRIC_SIZE makes it larger, and `collect` frees what all PEs have dropped"
            );
            return Err(Error::new(ErrorKind::Memory, ALLOC, text));
        };
        if let Some(room) = &self.room {
            room.taken(local.addr().get(), bytes);
        }
        let block = Block {
            local,
            bytes,
            number,
            kept: None,
        };
        let place = Offset {
            block: &block,
            offset: 0,
        };
        self.fill(place, bytes, 0, Order::Now)?;
        if self.all_near.get().is_none() {
            let all_near = (0..self.facts.n_pes).all(|pe| self.peer(place, pe).is_some());
            self.all_near.set(Some(all_near));
        }
        Ok(block)
    }

    fn has_room(&self, bytes: usize) -> Result<()> {
        let Some(room) = &self.room else {
            return Ok(());
        };
        let known = self.context.memory();
        let (free, _) = known.map_err(|error| of_driver(ALLOC, error))?;
        room.check(ALLOC, bytes, free)
    }

    fn free(&self, block: Block) -> Result<()> {
        let address: *mut c_void = block.local.as_ptr().cast();
        if let Some(memory) = block.kept {
            self.call_checked(UNREGISTER_SYMMETRIC, |table| {
                let unregister = table.nvshmemx_buffer_unregister_symmetric?;
                // SAFETY: the address is one that the library has given for memory that was
                // registered, of that length, and nobody works on it.
                Some(unsafe { unregister(address, block.bytes) })
            })?;
            if let Ok(memory) = memory.downcast::<Known>() {
                memory.release();
            }
            return Ok(());
        }
        self.call(FREE, |table| {
            let free = table.nvshmem_free?;
            // SAFETY: the library has allocated it, all PEs call this for the same block, and
            // nobody works on it.
            unsafe { free(address) };
            Some(())
        })?;
        if let Some(room) = &self.room {
            room.given(address.addr(), block.bytes);
        }
        Ok(())
    }

    fn read(&self, from: Offset<'_>, to: &mut [u8]) -> Result<()> {
        let bytes = self.bytes(from, to.len());
        let copied = self.context.copy_to_host(&bytes, to);
        copied.map_err(|error| of_driver(READ, error))
    }

    fn write(&self, from: &[u8], to: Offset<'_>) -> Result<()> {
        let mut bytes = self.bytes(to, from.len());
        let copied = self.context.copy_to_device(from, &mut bytes);
        copied.map_err(|error| of_driver(WRITE, error))
    }

    fn fill(&self, to: Offset<'_>, bytes: usize, value: u8, order: Order<'_>) -> Result<()> {
        let mut bytes = self.bytes(to, bytes);
        let filled = match order {
            Order::Now => self.context.fill_bytes(&mut bytes, value),
            Order::On(StreamRef::Cuda(stream, _)) => {
                // SAFETY: no block is freed before the streams are over that were used; the stream
                // is of the PE's device.
                unsafe { self.context.enqueue_fill(stream, &mut bytes, value) }
            }
            Order::On(StreamRef::Host(_)) => return Err(not_of_device(FILL)),
        };
        filled.map_err(|error| of_driver(FILL, error))
    }

    fn peer(&self, place: Offset<'_>, pe: usize) -> Option<*mut u8> {
        let ptr = self.library.table().nvshmem_ptr?;
        let _entered = self.context.enter().ok()?;
        let pe = c_int::try_from(pe).ok()?;
        // SAFETY: the place lies in a block of the heap, and the PE is one of them.
        let address = unsafe { ptr(address_of(place).cast_const(), pe) };
        (!address.is_null()).then(|| address.cast())
    }

    fn multicast(&self, place: Offset<'_>, team: TeamHandle) -> Option<*mut u8> {
        let ptr = self.library.table().nvshmemx_mc_ptr?;
        self.full("nvshmemx_mc_ptr").ok()?;
        let _entered = self.context.enter().ok()?;
        // SAFETY: the place lies in a block of the heap, and the team is live.
        let address = unsafe { ptr(team.0, address_of(place).cast_const()) };
        (!address.is_null()).then(|| address.cast())
    }

    fn register(&self, address: u64, bytes: usize) -> Result<()> {
        self.call_checked(REGISTER, |table| {
            let register = table.nvshmemx_buffer_register?;
            // SAFETY: the library is initialised, and there are so many bytes of the PE's device,
            // which the caller keeps.
            Some(unsafe { register(pointer(address), bytes) })
        })
    }

    fn unregister(&self, address: u64) -> Result<()> {
        self.call_checked(UNREGISTER, |table| {
            let unregister = table.nvshmemx_buffer_unregister?;
            // SAFETY: the memory was registered, and nobody works on it.
            Some(unsafe { unregister(pointer(address)) })
        })
    }

    fn register_symmetric(
        &self,
        address: u64,
        bytes: usize,
        number: u64,
        memory: Box<dyn Any>,
    ) -> Result<Block> {
        let register = self.library.table().nvshmemx_buffer_register_symmetric;
        let register = register.ok_or_else(|| self.missing(REGISTER_SYMMETRIC))?;
        if self.room.is_some() {
            let version = self.library.version();
            let text = format_args!(
                "NVSHMEM {version} unmaps the whole symmetric heap where it does not take memory; NVSHMEM 3.8 is needed"
            );
            return Err(Error::new(
                ErrorKind::NotInLibrary,
                REGISTER_SYMMETRIC,
                text,
            ));
        }
        let _entered = self.enter(REGISTER_SYMMETRIC)?;
        // SAFETY: there are so many bytes of the PE's device, which the block keeps, and all PEs
        // call it with the same length.
        let at = unsafe { register(pointer(address), bytes, 0) };
        let Some(local) = NonNull::new(at.cast::<u8>()) else {
            let text = format_args!(
                "NVSHMEM takes no {bytes} bytes at {address:#x} into the symmetric heap: the memory must be made by cuMemCreate, with handles that can be shared"
            );
            return Err(Error::new(ErrorKind::Library, REGISTER_SYMMETRIC, text));
        };
        Ok(Block {
            local,
            bytes,
            number,
            kept: Some(Box::new(Known::new(memory))),
        })
    }
}

impl LibraryHeap {
    /// Some bytes of the heap, as the driver's copies take them.
    fn bytes(&self, place: Offset<'_>, len: usize) -> DeviceBytes<'_> {
        let address = address_of(place).addr() as u64;
        // SAFETY: they lie in a block of the heap, on its device, and no block is freed before all
        // is over that is known to work on it. Other PEs write to it at any time, so that nobody
        // may count on its elements.
        unsafe { DeviceBytes::at(&self.context, address, len) }
    }

    /// # Errors
    /// [`ErrorKind::Aborted`] where the library has unmapped the heap before it gave nothing.
    fn is_not_lost(&self, name: &'static str) -> Result<()> {
        if self.room.is_none() {
            return Ok(());
        }
        let version = self.library.version();
        let text = format_args!(
            "there was no memory, and NVSHMEM {version} unmaps the whole symmetric heap then: nothing of it can be used any more. NVSHMEM 3.8 keeps it, and so do \
             earlier ones with NVSHMEM_DISABLE_CUDA_VMM=1, where NVSHMEM_SYMMETRIC_SIZE says how large it is"
        );
        Err(Error::new(ErrorKind::Aborted, name, text))
    }
}

/// The address in this PE's part, as the library counts.
#[inline]
pub(super) fn address_of(place: Offset<'_>) -> *mut c_void {
    // It lies in the block, as whoever makes a place has checked.
    let address = place.block.local.as_ptr();
    address.wrapping_add(place.offset).cast()
}

/// The same of what is put from or gotten into.
#[inline]
pub(super) fn local_address(local: Local<'_>) -> *mut c_void {
    match local {
        Local::Symmetric(place) => address_of(place),
        Local::Device(address) => pointer(address),
    }
}

/// An address of the device as the library takes it.
#[inline]
fn pointer(address: u64) -> *mut c_void {
    // Where this is built addresses have 64 bits.
    std::ptr::without_provenance_mut(usize::try_from(address).unwrap_or_default())
}
