//! Memory that NCCL allocates, as it likes it best.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr;

use bytemuck::Pod;
use ranks_comm::{Error, ErrorKind, Result};
use ranks_cuda::DeviceVec;
use ranks_nccl_sys::ncclSuccess;

use super::NcclCommunicator;
use super::error::{Caller, check, missing, of_driver};

pub(crate) mod registration;
pub(crate) mod window;

const ALLOC: &str = "ncclMemAlloc";

impl NcclCommunicator {
    /// `len` elements on this rank's device, all bits zero, in memory that NCCL allocates: what can
    /// be [registered](Self::register) for all of its ways to move data, and be a
    /// [window](Self::window). It is a vector like any other, and may outlive the communicator.
    ///
    /// # Errors
    /// [`NotInLibrary`](ErrorKind::NotInLibrary) before NCCL 2.19, [`Length`](ErrorKind::Length)
    /// for more than memory can have; what NCCL and the driver report.
    #[doc(alias = "ncclMemAlloc")]
    #[doc(alias = "ncclMemFree")]
    pub fn alloc<T: Pod>(&self, len: usize) -> Result<DeviceVec<T>> {
        let (nccl, context) = (self.shared().nccl(), self.context());
        let allocate = nccl.table().ncclMemAlloc;
        let allocate = allocate.ok_or_else(|| missing(nccl, ALLOC))?;
        let free = nccl.table().ncclMemFree;
        let free = free.ok_or_else(|| missing(nccl, "ncclMemFree"))?;
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| {
            let detail = format_args!("{len} elements of {} bytes are too many", size_of::<T>());
            Error::new(ErrorKind::Length, ALLOC, detail)
        })?;
        let mut address: *mut c_void = ptr::null_mut();
        let code = {
            let current = context.enter();
            let _current = current.map_err(|error| of_driver(ALLOC, error))?;
            // SAFETY: it writes one address to the address of one, of memory in the context that is
            // current.
            unsafe { allocate(&raw mut address, bytes.max(1)) }
        };
        check(nccl, ALLOC, code, Caller::Nobody)?;
        let (owner, place) = (context.clone(), address.addr());
        let give_back = move || {
            let _current = owner.enter();
            // SAFETY: the address came from the library's other function, and this is called once.
            let code = unsafe { free(ptr::with_exposed_provenance_mut(place)) };
            debug_assert!(code == ncclSuccess, "ncclMemFree returns {code}");
        };
        address.expose_provenance();
        // SAFETY: the library has allocated so many bytes, aligned to a page at least, for this
        // alone.
        let vec = unsafe { DeviceVec::adopt(context, place as u64, len, give_back) };
        vec.map_err(|error| of_driver(ALLOC, error))
    }
}
