//! Windows: memory of each rank that the others may put to.
#![allow(unsafe_code)]

use std::any::type_name;
use std::ffi::c_void;
use std::fmt;
use std::ops::{Deref, RangeBounds};
use std::ptr;
use std::sync::Arc;

use ranks_comm::backend::unused_number;
use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::{DeviceSlice, DeviceSliceMut, DeviceVec, DeviceViewMut};
use ranks_nccl_sys::{NCCL_WIN_COLL_SYMMETRIC, NCCL_WIN_REQUIRED_ALIGNMENT, ncclWindow_t};

use super::registration::{Registered, registrable};
use crate::communicator::NcclCommunicator;
use crate::element::Element;
use crate::error::of_driver;
use crate::state::Shared;
use crate::state::memory_handle::MemoryHandle;
use crate::state::open_group;

const REGISTER: &str = "ncclCommWindowRegister";

/// This rank's part of a window, which the other ranks may put to, and which it reads and writes
/// itself as any memory of its device.
///
/// It owns the memory, and keeps the communicator. Dropped, it is taken back with the communicator;
/// [`free`](Self::free) does it at once. Puts of others are mixed up with what this rank does to
/// the same elements meanwhile: signals say when something has come.
#[doc(alias = "ncclWindow_t")]
pub struct Window<T: Element> {
    memory: Registered<DeviceVec<T>>,
    /// The number of elements of each rank.
    lengths: Box<[usize]>,
    /// The number by which all ranks know it.
    number: u64,
}

impl NcclCommunicator {
    /// Makes a window of memory that NCCL has allocated ([`alloc`](Self::alloc)). Each rank passes
    /// as much. Collective.
    ///
    /// # Errors
    /// [`NotInLibrary`](ErrorKind::NotInLibrary) before NCCL 2.27,
    /// [`Argument`](ErrorKind::Argument) for no elements or memory that does not begin at a
    /// multiple of 4096 bytes, which is [`PeerFailed`](ErrorKind::PeerFailed) on the other ranks;
    /// on all ranks [`Mismatch`](ErrorKind::Mismatch) if their elements are of different types,
    /// [`Length`](ErrorKind::Length) if they pass different lengths; otherwise as [all
    /// operations](crate#operations).
    #[doc(alias = "ncclCommWindowRegister")]
    pub fn window<T: Element>(&self, memory: DeviceVec<T>) -> Result<Window<T>> {
        open_group::none_open(REGISTER)?;
        let shared = self.shared();
        let mine = fit(shared, &memory);
        shared.deregister_dropped();
        let element = mine.as_ref().map_or(UNFIT, |_| element_of::<T>());
        let told = self.told([memory.len() as u64, unused_number(), element])?;
        let bytes = mine?;
        if let Some(rank) = told.iter().position(|&[.., other]| other == UNFIT) {
            let detail = format_args!("the memory of rank {rank} can be no window");
            return Err(Error::new(ErrorKind::PeerFailed, REGISTER, detail));
        }
        if let Some(rank) = told.iter().position(|&[.., other]| other != element) {
            let (own, name) = (self.rank(), type_name::<T>());
            let detail = format_args!(
                "rank {own} passes elements of {name}, rank {rank} of another type; all must pass the same"
            );
            return Err(Error::new(ErrorKind::Mismatch, REGISTER, detail));
        }
        let lengths: Box<[usize]> = told
            .iter()
            .map(|&[length, ..]| usize::try_from(length).unwrap_or(usize::MAX))
            .collect();
        if lengths.iter().any(|length| *length != memory.len()) {
            let detail = format_args!("the ranks pass different lengths: {lengths:?}");
            return Err(Error::new(ErrorKind::Length, REGISTER, detail));
        }
        // The library may write to it after the call has returned, until the communicator is well
        // or gone.
        let place: *mut ncclWindow_t = Box::into_raw(Box::new(ptr::null_mut()));
        shared.call(REGISTER, |table, comm| {
            let register = table.ncclCommWindowRegister?;
            let address = memory.address() as *mut c_void;
            // SAFETY: the communicator is alive, the memory has so many bytes, and the place for
            // the handle is given back only when the library is done with the call.
            Some(unsafe { register(comm, address, bytes, place, NCCL_WIN_COLL_SYMMETRIC) })
        })?;
        // SAFETY: the place was made by a box, and the library is done with it. After an error it
        // is left.
        let handle = *unsafe { Box::from_raw(place) };
        let known = MemoryHandle::Window(handle.expose_provenance());
        Ok(Window {
            memory: Registered::of(memory, known, shared),
            lengths,
            number: told.first().map_or(0, |&[_, number, _]| number),
        })
    }

    /// Exchanges what each rank says of its part of a window: the number of elements, the window's
    /// own, and the type. Collective.
    fn told(&self, mine: [u64; 3]) -> Result<Vec<[u64; 3]>> {
        let failed = |error| of_driver(REGISTER, error);
        let stream = self.shared().own_stream()?;
        let mine = self.context().device_vec_of(&mine).map_err(failed)?;
        let mut all = self
            .context()
            .alloc::<u64>(3 * self.size())
            .map_err(failed)?;
        self.scope(stream, |s| s.allgather(&mine, &mut all))?;
        let all = all.to_vec().map_err(failed)?;
        Ok(all
            .chunks_exact(3)
            .map(|all| [all[0], all[1], all[2]])
            .collect())
    }
}

/// In the place of a type: that the memory of this rank can be no window.
const UNFIT: u64 = 0;

/// The number by which all ranks know the type of elements.
fn element_of<T: Element>() -> u64 {
    u64::from(T::DATATYPE.cast_unsigned()) + 1
}

/// The size in bytes of a window of this memory.
fn fit<T: Element>(shared: &Shared, memory: &DeviceVec<T>) -> Result<usize> {
    let bytes = registrable(REGISTER, shared, memory)?;
    let address = memory.address();
    if address.is_multiple_of(NCCL_WIN_REQUIRED_ALIGNMENT.unsigned_abs() as u64) {
        return Ok(bytes);
    }
    let detail = format_args!(
        "a window begins at a multiple of {NCCL_WIN_REQUIRED_ALIGNMENT} bytes, and not at {address:#x}"
    );
    Err(Error::new(ErrorKind::Argument, REGISTER, detail))
}

impl<T: Element> Window<T> {
    /// The number of elements of each rank.
    #[must_use]
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// Some elements of this rank, to be written to.
    ///
    /// # Errors
    /// [`Argument`](ranks_cuda::ErrorKind::Argument) for a range that it does not have.
    pub fn slice_mut(
        &mut self,
        range: impl RangeBounds<usize>,
    ) -> ranks_cuda::Result<DeviceViewMut<'_, T>> {
        self.memory.slice_mut(range)
    }

    /// Waits for all ranks, and for those who work on the memory here, takes the window back and
    /// gives the memory. Collective.
    ///
    /// # Errors
    /// [`Mismatch`](ErrorKind::Mismatch) on all ranks if they free different windows; as [all
    /// operations](crate#operations). The memory is then freed with the communicator.
    #[doc(alias = "ncclCommWindowDeregister")]
    pub fn free(mut self) -> Result<DeviceVec<T>> {
        const CALL: &str = "ncclCommWindowDeregister";
        self.memory.rest(CALL)?;
        // Nobody puts to it any more when all have come here, for puts are over then too.
        let comm = NcclCommunicator::of(Arc::clone(self.memory.shared()));
        let told = comm.told([self.memory.len() as u64, self.number, element_of::<T>()])?;
        if told.iter().any(|&[_, number, _]| number != self.number) {
            let text = "ranks free different windows; all must free the same";
            return Err(Error::new(ErrorKind::Mismatch, CALL, text));
        }
        self.memory.forget()
    }

    /// The handle, if the window is one of `shared`.
    pub(crate) fn handle_for(
        &self,
        operation: &'static str,
        shared: &Arc<Shared>,
    ) -> Result<ncclWindow_t> {
        match self.memory.known() {
            MemoryHandle::Window(handle) if Arc::ptr_eq(self.memory.shared(), shared) => {
                Ok(ptr::with_exposed_provenance_mut(handle))
            }
            _ => {
                let text = "the window belongs to another communicator";
                Err(Error::new(ErrorKind::Argument, operation, text))
            }
        }
    }
}

impl<T: Element> Deref for Window<T> {
    type Target = DeviceVec<T>;

    fn deref(&self) -> &DeviceVec<T> {
        &self.memory
    }
}

ranks_cuda::device_slice_by! {
    // SAFETY: the vector is owned, and never lent so that another could take its place.
    unsafe impl[T: Element] Window<T>: T, |this| this.memory;
}

// SAFETY: as above. That other ranks put to it makes wrong numbers at the worst.
unsafe impl<T: Element> DeviceSliceMut for Window<T> {}

impl<T: Element> fmt::Debug for Window<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window")
            .field("lengths", &self.lengths)
            .finish_non_exhaustive()
    }
}
