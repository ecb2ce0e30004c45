//! The elements of this PE as memory of its device, for the program's kernels and other libraries.
#![allow(unsafe_code)]

use std::fmt;

use bytemuck::Pod;
use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::{Context, Cuda, DeviceSlice, DeviceSliceMut, Event, Stream};

use crate::backend::stream::Mark;
use crate::call::check;
use crate::heap::symmetric_vec::{SymmetricSlice, SymmetricSliceMut, SymmetricVec};
use crate::team::Team;

const DEVICE: &str = "SymmetricVec::device";

/// Elements of this PE's part, where its device has them.
///
/// Other PEs put to them and get from them at any time. What works on them is waited for before the
/// block is freed, but not by operations of the heap: their streams are to be ordered by events.
pub struct SymmetricView<'a, T: Pod> {
    elements: SymmetricSlice<'a, T>,
    context: &'a Context,
}

/// Elements of this PE's part, where its device has them, to be written to.
pub struct SymmetricViewMut<'a, T: Pod>(SymmetricView<'a, T>);

impl<T: Pod> SymmetricVec<'_, T> {
    /// This PE's part as memory of its device.
    ///
    /// # Errors
    /// [`ErrorKind::NotAvailable`] in process, where it is memory of the host that other threads
    /// write to.
    pub fn device(&self) -> Result<SymmetricView<'_, T>> {
        self.as_slice().device()
    }

    /// This PE's part as memory of its device, to be written to.
    ///
    /// # Errors
    /// As [`device`](Self::device).
    pub fn device_mut(&mut self) -> Result<SymmetricViewMut<'_, T>> {
        self.as_slice_mut().device_mut()
    }

    /// Returns the address at which this PE's device (in process: this thread) can load from and
    /// store to the first element of another PE's part, if it can.
    ///
    /// The program is responsible for the soundness of what is done there: the address is good
    /// until the block is freed, others use it at the same time, and it is never to be passed to
    /// NVSHMEM.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] for a PE that is not there.
    #[doc(alias = "nvshmem_ptr")]
    pub fn peer(&self, pe: usize) -> Result<Option<*mut T>> {
        self.as_slice().peer(pe)
    }

    /// Returns the address at which the first elements of the parts of all PEs of a team can be
    /// stored to at once, if the hardware can.
    ///
    /// As for [`peer`](Self::peer), the program is responsible for the soundness of what is done
    /// there.
    ///
    /// # Errors
    /// [`ErrorKind::Aborted`] after a failure that left the heap in no known state.
    #[doc(alias = "nvshmemx_mc_ptr")]
    pub fn multicast(&self, team: &Team<'_>) -> Result<Option<*mut T>> {
        self.as_slice().multicast(team)
    }
}

impl<'a, T: Pod> SymmetricSlice<'a, T> {
    /// These elements as memory of this PE's device.
    ///
    /// # Errors
    /// As [`SymmetricVec::device`].
    pub fn device(self) -> Result<SymmetricView<'a, T>> {
        let heap = self.span().heap;
        heap.begin(DEVICE)?;
        let context = heap.context().ok_or_else(|| {
            let text = "in process the heap is memory of the host, and there is no device";
            Error::new(ErrorKind::NotAvailable, DEVICE, text)
        })?;
        Ok(SymmetricView {
            elements: self,
            context,
        })
    }

    /// As [`SymmetricVec::peer`], of the first of these.
    ///
    /// # Errors
    /// As [`SymmetricVec::peer`].
    #[doc(alias = "nvshmem_ptr")]
    pub fn peer(self, pe: usize) -> Result<Option<*mut T>> {
        const PTR: &str = "nvshmem_ptr";
        let span = self.span();
        let backend = span.heap.begin(PTR)?;
        check::pe(PTR, pe, span.heap.n_pes())?;
        let place = span.place(size_of::<T>());
        Ok(place
            .and_then(|place| backend.peer(place, pe))
            .map(<*mut u8>::cast))
    }

    /// As [`SymmetricVec::multicast`], of the first of these.
    ///
    /// # Errors
    /// As [`SymmetricVec::multicast`].
    #[doc(alias = "nvshmemx_mc_ptr")]
    pub fn multicast(self, team: &Team<'_>) -> Result<Option<*mut T>> {
        let span = self.span();
        let backend = span.heap.begin("nvshmemx_mc_ptr")?;
        let place = span.place(size_of::<T>());
        Ok(place
            .and_then(|place| backend.multicast(place, team.state().handle))
            .map(<*mut u8>::cast))
    }
}

impl<'a, T: Pod> SymmetricSliceMut<'a, T> {
    /// These elements as memory of this PE's device, to be written to.
    ///
    /// # Errors
    /// As [`SymmetricVec::device`].
    pub fn device_mut(self) -> Result<SymmetricViewMut<'a, T>> {
        self.into_slice().device().map(SymmetricViewMut)
    }
}

// SAFETY: the elements lie in a block of the heap, on the device of its context, as long as the
// block is borrowed. Before it is freed, which is a collective call of the heap, the heap waits for
// the events that it was told of.
unsafe impl<T: Pod> DeviceSlice for SymmetricView<'_, T> {
    type Element = T;

    fn address(&self) -> u64 {
        let place = self.elements.span().place(size_of::<T>());
        place.map_or(0, |place| {
            let address = place.block.local.as_ptr().wrapping_add(place.offset);
            address.addr() as u64
        })
    }

    fn len(&self) -> usize {
        self.elements.len()
    }

    fn ordinal(&self) -> usize {
        self.context.device().ordinal()
    }

    fn cuda(&self) -> ranks_cuda::Result<Cuda> {
        Ok(self.context.cuda())
    }

    fn used_until(&self, event: &Event) {
        let heap = self.elements.span().heap;
        heap.pe().in_flight.add(Mark::Cuda(event.clone()));
    }

    fn order_after_use(&self, _stream: &dyn Stream) -> ranks_cuda::Result<()> {
        // Nobody knows which of the operations under way work on these elements, and waiting for
        // all of them could be waiting for this one.
        Ok(())
    }
}

ranks_cuda::device_slice_by! {
    // SAFETY: it holds these elements as long as it lives.
    unsafe impl[T: Pod] SymmetricViewMut<'_, T>: T, |this| this.0;
}

impl<T: Pod> fmt::Debug for SymmetricView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, device) = (self.len(), self.ordinal());
        write!(f, "{len} symmetric elements on device {device}")
    }
}

impl<T: Pod> fmt::Debug for SymmetricViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// SAFETY: the elements are borrowed mutably; what other PEs do with them is never looked at but as
// bits, which all are elements.
unsafe impl<T: Pod> DeviceSliceMut for SymmetricViewMut<'_, T> {}
