//! Memory of the heap: how it is made and freed, and what the host copies from and to it.

use bytemuck::Pod;
use ranks_comm::{Error, ErrorKind, Result};

use crate::backend::Order;
use crate::backend::names::{ALLOC, FILL, FREE, READ, WRITE};
use crate::call::check;
use crate::heap::symmetric_vec::{Span, SymmetricSlice, SymmetricSliceMut, SymmetricVec};
use crate::pe::deferred_free::Dropped;
use crate::pe::handle::Nvshmem;

/// Blocks of the heap are aligned to so many bytes.
const ALIGNMENT: usize = 512;

/// The number of what has no block.
const NO_BLOCK: u64 = u64::MAX;

impl Nvshmem<'_> {
    /// `len` elements on every PE, all bits zero. Collective; `len` and the size of `T` are the
    /// same on all PEs.
    ///
    /// Memory that all PEs have dropped is freed before.
    ///
    /// # Errors
    /// The same on all PEs: [`ErrorKind::Mismatch`] if they do not call the same,
    /// [`ErrorKind::Memory`] if the heap has no room (`NVSHMEM_SYMMETRIC_SIZE`),
    /// [`ErrorKind::Length`] for more bytes than there are addresses, [`ErrorKind::TimedOut`] if
    /// what works on memory that is to be freed is not over in time.
    #[doc(alias = "nvshmem_malloc")]
    #[doc(alias = "nvshmem_align")]
    #[doc(alias = "nvshmem_calloc")]
    pub fn alloc<T: Pod>(&self, len: usize) -> Result<SymmetricVec<'_, T>> {
        let bytes = check::bytes::<T>(ALLOC, len).and_then(|bytes| {
            if align_of::<T>() <= ALIGNMENT {
                return Ok(bytes);
            }
            let text = format_args!(
                "elements that are aligned to {} bytes are not for the symmetric heap, whose blocks are aligned to {ALIGNMENT}",
                align_of::<T>()
            );
            Err(Error::new(ErrorKind::Argument, ALLOC, text))
        });
        let (bytes, fit) = match bytes {
            Ok(bytes) => (bytes, Ok(())),
            Err(error) => (0, Err(error)),
        };
        let number = self.pe().blocks.get();
        self.meet(ALLOC, &[len as u64, size_of::<T>() as u64, number], fit)?;
        if bytes == 0 {
            return Ok(SymmetricVec::of(self, None, len));
        }
        self.pe().blocks.set(number.saturating_add(1));
        let backend = self.begin(ALLOC)?;
        // What was dropped is free now.
        let room = backend.has_room(bytes);
        self.tell(ALLOC, room.map(|()| Vec::new()))?;
        let made = backend.alloc(bytes, number);
        // Nobody writes to it before it is zero everywhere.
        let block = self.made(ALLOC, made)?;
        Ok(SymmetricVec::of(self, Some(block), len))
    }

    /// Frees what was dropped on all PEs. Collective, as [`alloc`](Self::alloc),
    /// [`free`](SymmetricVec::free) and [`finalize`](Self::finalize) are, which do it as well.
    ///
    /// # Errors
    /// The same on all PEs: [`ErrorKind::Mismatch`] if they do not call the same,
    /// [`ErrorKind::TimedOut`] if what works on it is not over in time.
    #[doc(alias = "nvshmem_free")]
    pub fn collect(&self) -> Result<()> {
        self.meet("collect", &[], Ok(()))
    }
}

impl<T: Pod> SymmetricVec<'_, T> {
    /// Frees it on all PEs, and what all have dropped before. Collective.
    ///
    /// # Errors
    /// As [`Nvshmem::collect`]. It is dropped then, and freed at a later collective point.
    #[doc(alias = "nvshmem_free")]
    pub fn free(self) -> Result<()> {
        let heap = self.heap();
        let mut number = NO_BLOCK;
        if let Some(block) = self.take() {
            number = block.number;
            heap.put_aside(Dropped::Block(block));
        }
        heap.meet(FREE, &[number], Ok(()))
    }

    /// Copies to this PE's part, and waits until it is there. What others do with it at the same
    /// time is not waited for.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] unless both have as many elements; what the driver reports.
    #[doc(alias = "cuMemcpyHtoDAsync_v2")]
    pub fn copy_from_host(&mut self, from: &[T]) -> Result<()> {
        self.as_slice_mut().copy_from_host(from)
    }

    /// Copies from this PE's part. What others put there at the same time may come in parts.
    ///
    /// # Errors
    /// As [`copy_from_host`](Self::copy_from_host).
    #[doc(alias = "cuMemcpyDtoH_v2")]
    pub fn copy_to_host(&self, to: &mut [T]) -> Result<()> {
        self.as_slice().copy_to_host(to)
    }

    /// This PE's part, on the host.
    ///
    /// # Errors
    /// As [`copy_from_host`](Self::copy_from_host).
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.as_slice().to_vec()
    }

    /// Sets every byte of this PE's part.
    ///
    /// # Errors
    /// Errors that the driver reports.
    #[doc(alias = "cuMemsetD8Async")]
    pub fn fill_bytes(&mut self, value: u8) -> Result<()> {
        self.as_slice_mut().fill_bytes(value)
    }
}

impl<T: Pod> SymmetricSlice<'_, T> {
    /// Copies from this PE's part. What others put there at the same time may come in parts.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] unless both have as many elements; what the driver reports.
    pub fn copy_to_host(self, to: &mut [T]) -> Result<()> {
        read(self.span(), to)
    }

    /// This PE's part, on the host.
    ///
    /// # Errors
    /// Errors that the driver reports.
    pub fn to_vec(self) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); self.len()];
        self.copy_to_host(&mut values)?;
        Ok(values)
    }
}

impl<T: Pod> SymmetricSliceMut<'_, T> {
    /// Copies to this PE's part, and waits until it is there. What others do with it at the same
    /// time is not waited for.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] unless both have as many elements; what the driver reports.
    pub fn copy_from_host(&mut self, from: &[T]) -> Result<()> {
        let span = self.span();
        check::same_length(WRITE, self.len(), from.len())?;
        let backend = span.heap.begin(WRITE)?;
        match span.place(size_of::<T>()) {
            Some(place) => backend.write(bytemuck::cast_slice(from), place),
            None => Ok(()),
        }
    }

    /// Sets every byte of this PE's part.
    ///
    /// # Errors
    /// Errors that the driver reports.
    pub fn fill_bytes(&mut self, value: u8) -> Result<()> {
        let span = self.span();
        let bytes = size_of::<T>().saturating_mul(self.len());
        let backend = span.heap.begin(FILL)?;
        match span.place(size_of::<T>()) {
            Some(place) => backend.fill(place, bytes, value, Order::Now),
            None => Ok(()),
        }
    }
}

fn read<T: Pod>(span: Span<'_>, to: &mut [T]) -> Result<()> {
    check::same_length(READ, to.len(), span.len())?;
    let backend = span.heap.begin(READ)?;
    match span.place(size_of::<T>()) {
        Some(place) => backend.read(place, bytemuck::cast_slice_mut(to)),
        None => Ok(()),
    }
}
